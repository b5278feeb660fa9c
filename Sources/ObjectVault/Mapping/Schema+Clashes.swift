// Checks that the tables and indexes of a schema have different names, and the entry point of all checks
// of a schema.

internal import CipherSQLite

extension Schema {
  /// Checks the schema.
  /// - Throws: ``StoreError/invalidSchema(_:)`` with every fault.
  public func validate() throws {
    let all = faults + modelFaults + ownNameFaults
    guard all.isEmpty else { throw StoreError.invalidSchema(all) }
  }

  /// The faults of the model itself, without those of its declaration in Swift.
  package var modelFaults: [SchemaFault] {
    let faults = ownFaults + rawFaults
    return faults.isEmpty ? clashFaults : faults
  }

  /// Returns the faults of a model that a step made from a valid one. Entities that did not change, and
  /// whose relationships reference only unchanged entities, are not checked again.
  func modelFaults(after former: Schema) -> [SchemaFault] {
    let old = Dictionary(former.entities.map { ($0.name, $0) }) { first, _ in first }
    var changed = Set(old.keys)
    for entity in entities {
      if old[entity.name] == entity { changed.remove(entity.name) } else { changed.insert(entity.name) }
    }
    // All entities that share a table with a changed entity are checked with it, also when the changed
    // entity has left the table.
    for hierarchy in hierarchies + former.hierarchies
    where hierarchy.contains(where: { changed.contains($0.name) }) {
      changed.formUnion(hierarchy.map(\.name))
    }
    let isTouched = { (entity: EntityDescription) in
      changed.contains(entity.name) || entity.relationships.contains { changed.contains($0.destination) }
    }
    let faults = ownFaults(isTouched) + rawFaults
    guard faults.isEmpty else { return faults }
    // Raw objects have names in the file, too. The few models that have any are checked completely.
    guard rawObjects.isEmpty, former.rawObjects.isEmpty else { return clashFaults }
    // The names of an unchanged entity's links differ only if the relationships of a changed entity
    // differ.
    let relationshipsChanged = changed.contains { name in
      entity(named: name)?.relationships != old[name]?.relationships
    }
    let isAsked = relationshipsChanged ? isTouched : { changed.contains($0.name) }
    return mayClash(after: former, isAsked) ? clashFaults : []
  }

  /// Returns whether a name that the step made may clash with another. Most steps make few names or none,
  /// and comparing all names of a model takes as long as all other checks of a step together.
  private func mayClash(after former: Schema, _ isAsked: (EntityDescription) -> Bool) -> Bool {
    let names = fileNames(isAsked)
    let all = Set(names)
    guard all.count == names.count else { return true }
    let new = all.subtracting(former.fileNames(isAsked))
    guard !new.isEmpty else { return false }
    // All names of an entity begin with the entity's name, after the prefix of an index.
    let asked = new.map { $0[...] } + new.filter(Self.isIndexName).map { $0.drop { $0 != "_" }.dropFirst() }
    return entities.contains { entity in
      guard !isAsked(entity) else { return false }
      let name = entity.name.lowercased()
      let owned = name + "_"
      return asked.contains { $0 == name || $0.hasPrefix(owned) }
    }
  }

  private static func isIndexName(_ name: String) -> Bool {
    ["ix_", "ux_", "ixc_", "ixd_", "ixcd_"].contains(where: name.hasPrefix)
  }

  /// Returns the names of the tables, indexes and join tables of some entities, in lower case.
  private func fileNames(_ isAsked: (EntityDescription) -> Bool) -> [String] {
    let parents = parentNames
    return entities.filter(isAsked).flatMap { entity in
      [entity.name] + indexNames(of: entity, parents)
        + joinNames(of: entity).flatMap { [$0.name] + $0.indexes }
    }.map { $0.lowercased() }
  }

  /// The clashes of names in the file. Tables, indexes and views share one name space, which ignores
  /// case.
  private var clashFaults: [SchemaFault] {
    var faults: [SchemaFault] = []
    var owners: [String: String] = [:]
    func enter(_ name: String, of owner: String) {
      // Two entities of one name are a separate fault, `duplicateName`.
      if let other = owners.updateValue(owner, forKey: name.lowercased()), other != name || owner != name {
        faults.append(.clashingName(name: name, owner: owner, other: other))
      }
    }
    let joins = joinNames
    let parents = parentNames
    let tables =
      entities.map { ($0.name, indexNames(of: $0, parents)) }
      + joins.map { ($0.name, $0.indexes) }
    for (table, indexes) in tables.sorted(by: { $0.0 < $1.0 }) {
      enter(table, of: table)
      for index in indexes { enter(index, of: "an index of \(table)") }
    }
    for join in joins where entity(named: join.name) != nil {
      faults.append(.clashingName(name: join.name, owner: join.name, other: "the links of \(join.source)"))
    }
    // In SQLite, triggers have a separate name space; they are included because people look for all
    // objects in one list.
    for object in rawObjects { enter(object.name, of: "the raw \(object.title)") }
    return faults
  }

  /// Returns the names of the indexes of an entity's table. The table's description has them, too, but
  /// takes many times as long to make, and a chain of steps is checked after each step.
  /// - Parameter parents: The names of all entities that have children.
  private func indexNames(of entity: EntityDescription, _ parents: Set<String>) -> [String] {
    entity.attributes.filter { $0.isUnique || $0.isIndexed }.map {
      Self.indexName(of: entity.name, over: [$0.name], isUnique: $0.isUnique)
    }
      + ownIndexNames(ofToOnesOf: entity)
      + entity.indexes.map { Self.indexName(of: entity.name, $0) }
      + (entity.parent == nil && parents.contains(entity.name)
        ? [Self.indexName(of: entity.name, over: [EntityColumn.name], isUnique: false)] : [])
  }

  private var parentNames: Set<String> { Set(entities.compactMap(\.parent)) }

  private var joinNames: [(name: String, indexes: [String], source: String)] {
    entities.flatMap { entity in joinNames(of: entity).map { ($0.name, $0.indexes, entity.name) } }
  }

  /// Returns the names of the tables of links whose source is an entity, and of their indexes.
  private func joinNames(of entity: EntityDescription) -> [(name: String, indexes: [String])] {
    entity.relationships.compactMap { relationship in
      guard let (name, isSource) = joinName(of: relationship, in: entity), isSource else { return nil }
      let order = relationship.isOrdered ? [Self.orderIndexName(name)] : []
      return (name, [Self.targetIndexName(name)] + order)
    }
  }
}
