// What became of the names of a model through some steps, for those who compare a store before with one after.

internal import CipherSQLite

/// Follows entities and properties from one version to a later one.
package struct NameTrail: Sendable {
  /// The entities that are still there: former name, name now.
  package private(set) var entities: [String: String] = [:]
  /// The properties that are still there, by the entity's former name: former name, name now.
  package private(set) var properties: [String: [String: String]] = [:]
  /// Entities whose objects have other ids now.
  private var renumbered: Set<String> = []
  /// The entities that each inherited from, by former names.
  private var ancestors: [String: [String]] = [:]
  /// The properties whose values a step computed anew, or may have, by their former names.
  private var rewritten: [String: Set<String>] = [:]

  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` when an operation does not fit the model.
  package init(_ set: MigrationSet, from version: Int, to later: Int) throws {
    let before = try set.model(at: version)
    var (mapping, model) = (SegmentMapping(before), before)
    // First, as a step may take some of them away.
    for entity in before.entities where entity.parent != nil {
      ancestors[entity.name] = before.ancestors(of: entity).map(\.name)
    }
    for step in set.steps.prefix(later).dropFirst(version) {
      for operation in step.operations {
        do {
          try mapping.follow(operation, model)
          note(operation, mapping, model)
          try operation.apply(to: &model)
        } catch { throw step.failed(operation, error.reason) }
      }
    }
    for (name, former) in mapping.entities where !renumbered.contains(former) {
      entities[former] = name
      for (property, formerProperty) in mapping.formerNames(of: name) {
        properties[former, default: [:]][formerProperty] = property
        if mapping.expressions[name]?[property] != nil {
          rewritten[former, default: []].insert(formerProperty)
        }
      }
    }
  }

  /// The properties of an entity that hold what they held, by their former names.
  package func keptProperties(of entity: String) -> [String: String] {
    ([entity] + (ancestors[entity] ?? [])).reduce(into: [:]) { kept, owner in
      let own = (properties[owner] ?? [:]).filter { rewritten[owner]?.contains($0.key) != true }
      kept.merge(own) { first, _ in first }
    }
  }

  /// Links that lie elsewhere from now on are no values of a column before, or none after; at both ends.
  private mutating func moved(
    _ entity: String, _ name: String, _ mapping: SegmentMapping, _ model: Schema
  ) {
    let relationship = model.entity(named: entity)?.relationship(named: name)
    for (entity, name) in [(entity, name), (relationship?.destination ?? "", relationship?.inverse ?? "")] {
      guard let former = mapping.entities[entity], let formerName = mapping.former(entity, name) else {
        continue
      }
      rewritten[former, default: []].insert(formerName)
    }
  }

  /// Objects have other ids in another table, and who led to them leads there.
  private mutating func note(_ change: ParentChange, _ mapping: SegmentMapping, _ model: Schema) {
    if change.way == .into { renumbered.formUnion(change.names.compactMap { mapping.entities[$0] }) }
    let others = Set((change.way == .into ? change.moved : change.left).map(\.name))
    for entity in model.entities {
      for relationship in entity.relationships
      where others.contains(relationship.destination) || others.contains(entity.name) {
        moved(entity.name, relationship.name, mapping, model)
      }
    }
    let left = Set(change.left.compactMap { mapping.entities[$0.name] })
    for former in change.names.compactMap({ mapping.entities[$0] }) {
      ancestors[former]?.removeAll(where: left.contains)
    }
    // Of what it had inherited and has itself now, some leads to what is another entity's.
    guard change.way == .out, let former = mapping.entities[change.entity.name] else { return }
    for relationship in change.left.flatMap(\.relationships) where others.contains(relationship.destination) {
      if let name = mapping.former(change.entity.name, relationship.name) {
        rewritten[former, default: []].insert(name)
      }
    }
  }

  /// Links of both stand together, and objects of entities below are in another line, or under other ids.
  private mutating func note(_ merge: EntityMerge, _ mapping: SegmentMapping, _ model: Schema) {
    guard let places = try? merge.places(in: model) else { return }
    func owner(_ name: String) -> String {
      model.declarer(of: name, in: places.destination)?.name ?? merge.destination
    }
    for name in (places.toOnes + places.links).map(\.to.name) { moved(owner(name), name, mapping, model) }
    for (member, to) in places.members { moved(member.entity.name, to.name, mapping, model) }
    guard model.isInFamily(places.source) else { return }
    for name in places.attributes.map(\.to.name) {
      guard let former = mapping.entities[owner(name)], let formerName = mapping.former(owner(name), name)
      else {
        continue
      }
      rewritten[former, default: []].insert(formerName)
    }
    noteParts(of: merge, mapping, model)
  }

  /// What the pieces of an operation do to ids, and to who leads to whom.
  private mutating func noteParts(
    of composite: some CompositeOperation, _ mapping: SegmentMapping, _ model: Schema
  ) {
    var model = model
    for part in (try? composite.operations(in: model)) ?? [] {
      switch part {
      case .setParent: note(part, mapping, model)
      // The one that a merge drops has no rows by then.
      case .dropEntity where !(composite is EntityMerge): note(part, mapping, model)
      default: break
      }
      try? part.apply(to: &model)
    }
  }

  /// What a function of the app may have written.
  private mutating func note(_ transform: SwiftTransform, _ mapping: SegmentMapping, _ model: Schema) {
    for (name, former) in mapping.entities {
      // An inherited property may be called that of who inherits it, and all that an entity has includes it.
      let line = model.entity(named: name).map { entity in
        (model.ancestors(of: entity) + model.descendants(of: entity)).map(\.name)
      }
      for (property, formerProperty) in mapping.formerNames(of: name)
      where ([name] + (line ?? [])).contains(where: { transform.mayWrite($0, property) }) {
        rewritten[former, default: []].insert(formerProperty)
      }
    }
  }

  /// An SQL that changes a column names it, or the table of links.
  private mutating func note(_ operation: MigrationOperation, _ mapping: SegmentMapping, _ model: Schema) {
    switch operation {
    case .setParent(let entity, let parent):
      if let change = try? ParentChange(entity, to: parent, in: model) { note(change, mapping, model) }
      return
    case .dropEntity(let name):
      guard let entity = model.entity(named: name) else { return }
      for (owner, relationship) in model.leading(toInheritedOf: entity) {
        moved(owner.name, relationship.name, mapping, model)
      }
      return
    case .makeMany(let entity, let name), .makeOne(let entity, let name, _):
      moved(entity, name, mapping, model)
      return
    case .mergeEntities(let merge):
      note(merge, mapping, model)
      return
    case .makeEntityRelationship(let change):
      noteParts(of: change, mapping, model)
      return
    case .moveAttributes(let move):
      // Who leads nowhere and has a value gets an object, and leads to that.
      if move.owner == move.source, let owner = model.entity(named: move.owner) {
        moved(
          model.declarer(of: move.relationship, in: owner)?.name ?? move.owner, move.relationship, mapping,
          model)
      }
      return
    case .transformSwift(let transform):
      note(transform, mapping, model)
      return
    case .transform: break
    case .createEntity, .renameEntity, .addAttribute, .dropAttribute, .renameAttribute, .retype,
      .retypeBySwift,
      .makeRequired, .makeOptional, .setDefault, .addRelationship, .dropRelationship, .setDeleteRule,
      .makeOrdered,
      .makeUnordered, .makeRelationshipEntity, .renameRelationship, .addIndex, .dropIndex, .createRawObject,
      .dropRawObject, .seed, .require:
      return
    }
    guard case .transform(let sql) = operation else { return }
    let words = Set(sql.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map { $0.lowercased() })
    for (name, former) in mapping.entities {
      for (property, formerProperty) in mapping.formerNames(of: name) {
        let names = [property, RelationshipDescription.columnName(property), "\(name)_\(property)"]
        guard names.contains(where: { words.contains($0.lowercased()) }) else { continue }
        rewritten[former, default: []].insert(formerProperty)
      }
    }
  }
}
