// What leads back from a step: what its author wrote, or else what follows from its operations where they lose nothing.

internal import CipherSQLite

/// What takes a step back.
public enum MigrationWayBack: Sendable, Hashable {
  /// These operations, on the model after the step.
  case operations([MigrationOperation])
  /// Nothing does, for this reason.
  case none(reason: String)

  /// The lines of a `[down]` section that say so.
  var text: String {
    switch self {
    case .operations(let operations): operations.map(\.description).joined(separator: "\n")
    case .none(let reason): "irreversible \(MigrationOperation.quoted(reason))"
    }
  }
}

extension MigrationStep {
  /// What takes this step back: its `[down]` section, or where it has none what is derived from its operations.
  ///
  /// Derived is what restores the model and every value: a property or entity that was added is dropped, a name is given
  /// back, a default, rule or index is as before. What was dropped, retyped or computed is gone, and the step
  /// is irreversible then, unless its author says how in `[down]`. What is entered after the step in properties that it
  /// added goes with them: see ``MigrationPlan/Step/losses`` of a plan that leads back.
  /// - Parameter model: The model before the step.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` where the step does not fit the model.
  public func wayBack(from model: Schema) throws -> MigrationWayBack {
    try wayBack(from: model, to: applied(to: model))
  }

  /// - Parameter after: The model after the step, where it is known already.
  func wayBack(from model: Schema, to after: Schema) throws -> MigrationWayBack {
    if let irreversible { return .none(reason: irreversible) }
    if let down {
      let leads: Bool
      do { leads = try Self.leads(down, from: after, to: model) } catch let error as ModelError {
        return .none(reason: "its [down] section does not fit the model after it: \(error.reason)")
      }
      return leads
        ? .operations(down) : .none(reason: "its [down] section does not lead to the model before it")
    }
    let derived = try derivedWayBack(from: model, to: after)
    // What is kept in another place after the step may be gone without an operation that says so.
    if case .operations = derived, operations.contains(where: \.mayGiveInverses),
      // As for a store of the first format: in that every step can be compiled that any store has run.
      let lost = try compiled(from: model, engine: .current, format: 1).losses.first
    {
      return .none(reason: "what \(lost) held is gone")
    }
    return derived
  }

  private func derivedWayBack(from before: Schema, to after: Schema) throws -> MigrationWayBack {
    var (model, mapping) = (before, SegmentMapping(before))
    var back: [MigrationOperation] = []
    for operation in operations {
      switch operation.wayBack(from: model, mapping) {
      case .operations(let operations): back = operations + back
      case .none(let reason): return .none(reason: "\(operation.summary): \(reason)")
      }
      do { try mapping.follow(operation, model) } catch { throw failed(operation, error.reason) }
      try operation.apply(to: &model)
    }
    for candidate in [back, Self.cuttingFirst(back, in: after)] {
      if (try? Self.leads(candidate, from: after, to: before)) == true { return .operations(candidate) }
    }
    return .none(reason: "its operations depend on each other, so that [down] has to say what leads back")
  }

  /// New entities that lead to each other are dropped after their relationships.
  private static func cuttingFirst(
    _ operations: [MigrationOperation], in model: Schema
  ) -> [MigrationOperation] {
    let dropped = Set(
      operations.compactMap { if case .dropEntity(let name) = $0 { name } else { nil } })
    let cuts = model.entities.filter { dropped.contains($0.name) }.flatMap { entity in
      entity.relationships.map { MigrationOperation.dropRelationship(entity.name, $0.name) }
    }
    return cuts + operations.filter { !cuts.contains($0) }
  }

  private static func leads(
    _ operations: [MigrationOperation], from after: Schema, to before: Schema
  ) throws -> Bool {
    var model = after
    for operation in operations { try operation.apply(to: &model) }
    return model == before
  }
}

extension MigrationOperation {
  /// Whether it may make a relationship the inverse of one that is there, so that the links of that are kept elsewhere.
  fileprivate var mayGiveInverses: Bool {
    switch self {
    case .addRelationship: true
    case .createEntity(let entity): !entity.relationships.isEmpty
    default: false
    }
  }

  /// What takes this operation back, on the model after it.
  /// - Parameters:
  ///   - model: The model before it.
  ///   - mapping: What the step has made of the names so far.
  fileprivate func wayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    if let composite {
      return composite.wayBack(from: model) { mapping.entities[$0] == nil }
    }
    return simpleWayBack(from: model, mapping)
  }

  private func simpleWayBack(from model: Schema, _ mapping: SegmentMapping) -> MigrationWayBack {
    switch self {
    case .moveAttributes, .mergeEntities, .makeEntityRelationship, .makeRelationshipEntity: .operations([])
    case .createEntity(let entity): .operations([.dropEntity(entity.name)])
    case .dropEntity: .none(reason: "its objects are gone")
    case .renameEntity(let name, let new): .operations([.renameEntity(new, to: name)])
    case .setParent(let entity, let parent): Self.parentBack(entity, parent, in: model)
    case .addAttribute(let entity, let attribute): .operations([.dropAttribute(entity, attribute.name)])
    case .dropAttribute: .none(reason: "its values are gone")
    case .renameAttribute(let entity, let name, let new):
      .operations([.renameAttribute(entity, new, to: name)])
    case .retype(let entity, let name, let type, let using):
      Self.retypingBack(
        model.entity(named: entity)?.attribute(named: name), entity, type, isComputed: using != nil)
    case .retypeBySwift: .none(reason: "the values that it computed from are gone")
    case .makeRequired(let entity, let name, nil) where model.isRequired(entity, name): .operations([])
    // What it filled goes with the property that the step has added.
    case .makeRequired(let entity, let name, _) where mapping.former(entity, name) == nil: .operations([])
    case .makeRequired(let entity, let name, let filling):
      // Without a filling no row may lack a value, and none is filled, whatever the default is.
      filling == nil
        ? .operations([.makeOptional(entity, name)])
        : .none(reason: "which of them had no value is not known any more")
    case .makeOptional(let entity, let name) where !model.isRequired(entity, name): .operations([])
    case .makeOptional(let entity, let name): .operations([.makeRequired(entity, name, filling: nil)])
    case .setDefault(let entity, let name, _):
      .operations([
        .setDefault(entity, name, model.entity(named: entity)?.attribute(named: name)?.defaultValue)
      ])
    case .addRelationship(let entity, let relationship):
      .operations([.dropRelationship(entity, relationship.name)])
    case .dropRelationship(let entity, let name): Self.addingBack(entity, name, in: model)
    case .setDeleteRule(let entity, let name, _):
      model.entity(named: entity)?.relationship(named: name).map {
        .operations([.setDeleteRule(entity, name, $0.deleteRule)])
      } ?? .none(reason: "it has no rule")
    case .makeMany(let entity, let name):
      .operations(
        [.makeOne(entity, name, picking: nil)]
          + (model.entity(named: entity)?.relationship(named: name)?.isRequired == true
            ? [.makeRequired(entity, name, filling: nil)] : []))
    case .makeOne(let entity, let name, picking: nil):
      .operations(
        [.makeMany(entity, name)]
          + (model.entity(named: entity)?.relationship(named: name)?.isOrdered == true
            ? [.makeOrdered(entity, name)] : []))
    case .makeOrdered(let entity, let name): .operations([.makeUnordered(entity, name)])
    case .makeUnordered: .none(reason: "the order of its members is gone")
    case .makeOne: .none(reason: "the links that were not picked are gone")
    case .renameRelationship(let entity, let name, let new):
      .operations([.renameRelationship(entity, new, to: name)])
    case .addIndex(let entity, let index):
      // Beside one of the same property, which a drop takes first.
      if let former = model.index(entity, index.properties) {
        .operations([
          .dropIndex(entity, index.properties), .dropIndex(entity, index.properties),
          .addIndex(entity, former),
        ])
      } else {
        .operations([.dropIndex(entity, index.properties)])
      }
    case .dropIndex(let entity, let properties):
      .operations(model.index(entity, properties).map { [.addIndex(entity, $0)] } ?? [])
    case .createRawObject(let object): .operations([.dropRawObject(object.kind, object.name)])
    case .dropRawObject(_, let name):
      .operations(model.rawObject(named: name).map { [.createRawObject($0)] } ?? [])
    // What only the step's own properties hold goes with these.
    case .transformSwift(let transform)
    where !mapping.hasMovedRows && mapping.hasMadeAll(transform.writes, in: model):
      .operations([])
    case .transform, .transformSwift: .none(reason: "what it wrote over is gone")
    case .seed: .none(reason: "which objects it made is not known any more")
    case .require: .operations([])
    }
  }

  private static func parentBack(_ entity: String, _ parent: String?, in model: Schema) -> MigrationWayBack {
    guard let change = try? ParentChange(entity, to: parent, in: model), change.way == .within else {
      return .none(reason: "its objects lie in another table, and have other ids there or here")
    }
    return change.losses(in: model).isEmpty
      ? .operations([.setParent(entity, to: change.entity.parent)])
      : .none(reason: "what it inherited is gone")
  }

  /// A to-many whose other end is a to-one has its links there, and loses none.
  private static func addingBack(_ entity: String, _ name: String, in model: Schema) -> MigrationWayBack {
    guard let relationship = model.entity(named: entity)?.relationship(named: name), relationship.isToMany,
      let inverse = relationship.inverse,
      model.entity(named: relationship.destination)?.relationship(named: inverse)?.isToMany == false
    else { return .none(reason: "its links are gone") }
    guard !relationship.isOrdered else { return .none(reason: "the order of its members is gone") }
    return .operations([.addRelationship(entity, relationship)])
  }

  private static func retypingBack(
    _ former: AttributeDescription?, _ entity: String, _ type: AttributeType, isComputed: Bool
  ) -> MigrationWayBack {
    guard let former, !isComputed else { return .none(reason: "the values that it computed from are gone") }
    let restored: [MigrationOperation] = [.setDefault(entity, former.name, former.defaultValue)]
    if type.converts(to: former.type) {
      return .operations([.retype(entity, former.name, to: former.type, using: nil)] + restored)
    }
    guard type.integerRange != nil, former.type.integerRange != nil else {
      return .none(reason: "not every \(type.rawValue) is \(former.type.rawValue)")
    }
    // Of the same numbers; those that are too large by now are refused when the types of the column are checked.
    let value = "$\(entity).\(former.name)"
    return .operations([.retype(entity, former.name, to: former.type, using: value)] + restored)
  }
}

extension SegmentMapping {
  /// Whether none of these was there before the step.
  /// - Parameter model: The model as the step has made it so far.
  fileprivate func hasMadeAll(_ places: [SwiftTransform.Place]?, in model: Schema) -> Bool {
    places?.allSatisfy { place in
      entities[place.entity] == nil
        || place.property.map { property in
          // An inherited one is as old as it is where it is declared.
          let owner = model.entity(named: place.entity).flatMap { model.declarer(of: property, in: $0) }
          return former(owner?.name ?? place.entity, property) == nil
        } ?? false
    } ?? false
  }
}

extension Schema {
  fileprivate func isRequired(_ entity: String, _ name: String) -> Bool {
    guard let owner = self.entity(named: entity) else { return false }
    return owner.attribute(named: name).map { !$0.isOptional }
      ?? owner.relationship(named: name)?.isRequired ?? false
  }

  /// The index of these properties, however it is declared.
  fileprivate func index(_ entity: String, _ properties: [String]) -> IndexDescription? {
    guard let entity = self.entity(named: entity) else { return nil }
    if let index = entity.indexes.first(where: { $0.properties == properties }) { return index }
    guard properties.count == 1, let attribute = entity.attribute(named: properties[0]),
      attribute.isUnique || attribute.isIndexed
    else { return nil }
    return IndexDescription(properties: properties, isUnique: attribute.isUnique)
  }
}
