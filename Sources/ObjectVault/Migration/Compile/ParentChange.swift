// `set parent of E to P` and `set parent of E to none`: an entity gets another parent, and its
// subentities stay below it. This file has the change of the model; ParentRows has the change of rows.

internal import CipherSQLite

/// A change of an entity's parent in one model.
struct ParentChange {
  enum Way {
    /// A root entity moves into the table of another root entity, and its rows get new ids.
    case into
    /// An entity gets its own table, including the columns that it inherited. Ids do not change.
    case out
    /// The rows remain in their table; the inherited properties differ.
    case within
  }

  let entity: EntityDescription
  let way: Way
  let parent: String?
  /// The entity and all its subentities, whose rows are affected.
  let moved: [EntityDescription]
  /// The ancestors that the entity loses, from the root down.
  let left: [EntityDescription]
  /// The ancestors that the entity gains, from the root down.
  let joined: [EntityDescription]

  /// Creates the change.
  /// - Throws: ``ModelError`` if the change is impossible.
  init(_ name: String, to parent: String?, in model: Schema) throws(ModelError) {
    entity = try model.known(name)
    self.parent = parent
    guard entity.parent != parent else {
      throw ModelError(
        reason: parent.map { "\(name) already inherits from \($0)" } ?? "\(name) has no parent")
    }
    moved = [entity] + model.descendants(of: entity)
    let former = model.ancestors(of: entity)
    guard let parent else {
      (way, left, joined) = (.out, former, [])
      return
    }
    let above = try model.known(parent)
    guard parent != name else {
      throw ModelError(reason: "\(name) cannot inherit from itself; name another entity, or none")
    }
    guard !moved.contains(where: { $0.name == parent }) else {
      throw ModelError(reason: "\(parent) inherits from \(name); first give \(parent) another parent")
    }
    let line = model.ancestors(of: above) + [above]
    guard entity.parent == nil || former.first?.name == line.first?.name else {
      throw ModelError(
        reason:
          "\(name) is in the table of \(former.first?.name ?? ""), but \(parent) is in another one; first "
          + "write: set parent of \(name) to none")
    }
    way = entity.parent == nil ? .into : .within
    left = former.filter { one in !line.contains { $0.name == one.name } }
    joined = line.filter { one in !former.contains { $0.name == one.name } }
  }

  /// The names of the entities whose rows are affected.
  var names: [String] { moved.map(\.name) }

  func moves(_ name: String) -> Bool { moved.contains { $0.name == name } }

  /// Attributes that the entity declares before and inherits afterwards.
  var merged: [(own: AttributeDescription, inherited: AttributeDescription)] {
    guard way == .into else { return [] }
    return joined.flatMap(\.attributes).compactMap { attribute in
      entity.attribute(named: attribute.name).map { ($0, attribute) }
    }
  }

  // MARK: The model

  /// Returns the entity as it is afterwards.
  /// - Throws: ``ModelError`` for properties that cannot be merged.
  func changed(in model: Schema) throws(ModelError) -> EntityDescription {
    var changed = entity
    changed.parent = parent
    switch way {
    case .within: break
    case .out:
      let all = model.flattened(entity)
      changed.attributes = all.attributes
      // Inverses of the inherited relationships keep referring to the entity that declared them.
      changed.relationships =
        left.flatMap(\.relationships).filter { $0.hasColumn }.map { relationship in
          var own = relationship
          own.inverse = nil
          return own
        } + entity.relationships
      changed.indexes = all.indexes
    case .into:
      try requireFit()
      let names = Set(merged.map(\.own.name))
      changed.attributes.removeAll { names.contains($0.name) }
      let own = Set(changed.propertyNames)
      changed.indexes.removeAll { own.isDisjoint(with: $0.properties) }
    }
    return changed
  }

  private func requireFit() throws(ModelError) {
    for above in joined {
      for name in above.propertyNames where entity.propertyNames.contains(name) {
        guard let own = entity.attribute(named: name), let inherited = above.attribute(named: name) else {
          throw ModelError(
            reason:
              "\(entity.name) and \(above.name) both have \(name), and relationships cannot be merged; first "
              + "rename or drop one of them")
        }
        guard own.type == inherited.type else {
          throw ModelError(
            reason: "\(entity.name).\(name) is \(own.type.rawValue) and \(above.name).\(name) is "
              + "\(inherited.type.rawValue); first retype or rename one of them")
        }
      }
    }
    try requireUniqueness()
  }

  /// Refuses the change if it would remove the uniqueness of values, unless a `drop index` before it
  /// states that this is intended.
  private func requireUniqueness() throws(ModelError) {
    let inherited = joined.flatMap(\.uniqueKeys)
    let merged = Set(self.merged.map(\.own.name))
    // An inherited key over the same properties, or some of them, in any order, also keeps the values
    // unique.
    for key in entity.uniqueKeys
    where merged.isSuperset(of: key) && !inherited.contains(where: { Set($0).isSubset(of: key) }) {
      throw Self.sharing(entity.name, key, with: parent ?? "")
    }
  }

  /// Returns the error for values that are unique, but would not be so among the objects of the new
  /// parent.
  /// - Parameter former: An operation that the message puts before the drop of the index: it turns an
  ///   inherited index into the entity's own.
  static func sharing(
    _ entity: String, _ key: [String], with parent: String, after former: String? = nil
  ) -> ModelError {
    let drop = MigrationOperation.dropIndex(entity, key).summary
    return ModelError(
      reason:
        "\(entity)(\(key.joined(separator: ", "))) is unique, but would not be unique among all objects of "
        + "\(parent); make it unique there, or first write: \(former.map { "\($0); " } ?? "")\(drop)")
  }

  /// The indexes that are lost: the entity's own ones over merged attributes, if no ancestor that it
  /// gains has the same index.
  var lostIndexes: [IndexDescription] {
    let merged = Set(self.merged.map(\.own.name))
    // A unique index of the same properties also finds and sorts rows.
    func plain(_ entity: EntityDescription) -> [IndexDescription] {
      entity.attributes.filter(\.isIndexed).map { IndexDescription(properties: [$0.name]) }
        + entity.indexes.map { IndexDescription(properties: $0.properties, comparing: $0.comparing) }
    }
    let inherited = joined.flatMap { above in
      above.uniqueKeys.map { IndexDescription(properties: $0) } + plain(above)
    }
    return plain(entity).filter { merged.isSuperset(of: $0.properties) && !inherited.contains($0) }
  }

  /// Returns what is lost, such as `Employee.salary`: columns and links. A required reference is never
  /// lost, because the step is refused.
  func losses(in model: Schema) -> [String] {
    let left = Set(self.left.map(\.name))
    var losses: [String] = []
    func lose(_ name: String) { if !losses.contains(name) { losses.append(name) } }
    for above in self.left {
      // In the same table the entity no longer has these properties. In a table of its own it keeps them,
      // but references to entities that it no longer inherits from may be lost.
      if way == .within { above.attributes.forEach { lose("\(entity.name).\($0.name)") } }
      for relationship in above.relationships where relationship.hasColumn {
        let isAstray = left.contains(relationship.destination) && !relationship.isRequired
        if way == .within || isAstray { lose("\(entity.name).\(relationship.name)") }
      }
    }
    for other in model.entities {
      for relationship in other.relationships
      where relationship.hasColumn && !relationship.isRequired && left.contains(relationship.destination) {
        lose("\(other.name).\(relationship.name)")
      }
    }
    for join in model.joinTables where left.contains(join.source) || left.contains(join.target) {
      lose("\(join.source).\(join.relationship)")
    }
    // A to-one that the entity keeps loses its inverse. If that is ordered, the row's position in it is
    // lost.
    for above in self.left where way == .out {
      for relationship in above.relationships where model.orderColumn(of: relationship) != nil {
        relationship.inverse.map { lose("\(relationship.destination).\($0)") }
      }
    }
    return losses
  }
}

extension Schema {
  mutating func setParent(of name: String, to parent: String?) throws(ModelError) {
    let change = try ParentChange(name, to: parent, in: self)
    try requireNoRawObjects(of: change)
    let changed = try change.changed(in: self)
    // The inverses of the inherited relationships do not change: they refer to the former ancestor.
    guard let index = entities.firstIndex(where: { $0.name == name }) else { return }
    entities[index] = changed
    entities[index].normalizeIndexes()
    try requireOwnNames(in: changed)
  }

  /// Refuses the change if a view, trigger or index names an entity whose rows move to another table: the
  /// raw object would get another meaning.
  private func requireNoRawObjects(of change: ParentChange) throws(ModelError) {
    guard change.way != .within else { return }
    for object in rawObjects {
      for name in SQLTemplate.names(object.sql) where change.moves(String(name.prefix { $0 != "." })) {
        throw ModelError(
          reason:
            "the \(object.title) uses $\(name), whose rows move to another table; drop the "
            + "\(object.kind.rawValue) first")
      }
    }
  }

  /// Refuses the change if two properties in the table would share a column.
  private func requireOwnNames(in entity: EntityDescription) throws(ModelError) {
    var names = HierarchyNames()
    for relative in hierarchy(of: entity) {
      guard let (name, other) = names.enter(relative).first else { continue }
      throw ModelError(
        reason:
          "\(relative.name).\(name) and \(other.entity).\(other.property) would share a column; first rename "
          + "or drop one of them")
    }
  }
}
