// The last of a schema's rules: the tables and indexes that it makes have names of their own.

internal import CipherSQLite

extension Schema {
  /// Checks the schema.
  /// - Throws: ``StoreError/invalidSchema(_:)`` with every fault.
  public func validate() throws {
    let all = faults + modelFaults + ownNameFaults
    guard all.isEmpty else { throw StoreError.invalidSchema(all) }
  }

  /// The faults of the model, whichever way it was made.
  package var modelFaults: [SchemaFault] {
    let faults = ownFaults + rawFaults
    return faults.isEmpty ? clashFaults : faults
  }

  /// The same of a model that a step made of one without faults: entities that are as they were, and lead to such, are not
  /// looked at again.
  func modelFaults(after former: Schema) -> [SchemaFault] {
    let old = Dictionary(former.entities.map { ($0.name, $0) }) { first, _ in first }
    var changed = Set(old.keys)
    for entity in entities {
      if old[entity.name] == entity { changed.remove(entity.name) } else { changed.insert(entity.name) }
    }
    // What lies in one table with a changed entity is looked at with it, also where that left.
    for family in families + former.families where family.contains(where: { changed.contains($0.name) }) {
      changed.formUnion(family.map(\.name))
    }
    let isTouched = { (entity: EntityDescription) in
      changed.contains(entity.name) || entity.relationships.contains { changed.contains($0.destination) }
    }
    let faults = ownFaults(isTouched) + rawFaults
    guard faults.isEmpty else { return faults }
    // Raw objects have names of their own, and few models have any.
    guard rawObjects.isEmpty, former.rawObjects.isEmpty else { return clashFaults }
    // What leads to a changed entity has other names only where relationships have changed.
    let hasOtherLinks = changed.contains { name in
      entity(named: name)?.relationships != old[name]?.relationships
    }
    let isAsked = hasOtherLinks ? isTouched : { changed.contains($0.name) }
    return mayClash(after: former, isAsked) ? clashFaults : []
  }

  /// Whether one of the names that a step made may be that of something else. Most steps make few names, or none, and all
  /// names of a model take as long as everything else that is asked of a step.
  private func mayClash(after former: Schema, _ isAsked: (EntityDescription) -> Bool) -> Bool {
    let names = fileNames(isAsked)
    let all = Set(names)
    guard all.count == names.count else { return true }
    let new = all.subtracting(former.fileNames(isAsked))
    guard !new.isEmpty else { return false }
    // Whatever belongs to an entity begins with its name, behind the mark of an index.
    let asked = new.map { $0[...] } + new.filter(Self.isIndexName).map { $0.dropFirst(3) }
    return entities.contains { entity in
      guard !isAsked(entity) else { return false }
      let name = entity.name.lowercased()
      let owned = name + "_"
      return asked.contains { $0 == name || $0.hasPrefix(owned) }
    }
  }

  private static func isIndexName(_ name: String) -> Bool { name.hasPrefix("ix_") || name.hasPrefix("ux_") }

  /// The names that some entities have in the file, with those of their indexes and links, in lower case.
  private func fileNames(_ isAsked: (EntityDescription) -> Bool) -> [String] {
    let parents = parentNames
    return entities.filter(isAsked).flatMap { entity in
      [entity.name] + indexNames(of: entity, parents)
        + joinNames(of: entity).flatMap { [$0.name] + $0.indexes }
    }.map { $0.lowercased() }
  }

  /// Tables, indexes and views share one space of names in the file, and case does not count.
  private var clashFaults: [SchemaFault] {
    var faults: [SchemaFault] = []
    var owners: [String: String] = [:]
    func enter(_ name: String, _ owner: String) {
      // Two entities of one name are told by their name.
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
      enter(table, table)
      for index in indexes { enter(index, "an index of \(table)") }
    }
    for join in joins where entity(named: join.name) != nil {
      faults.append(.clashingName(name: join.name, owner: join.name, other: "the links of \(join.source)"))
    }
    // Triggers have names of their own in SQLite, and people look for all of them in one list.
    for object in rawObjects { enter(object.name, "the raw \(object.title)") }
    return faults
  }

  /// The names of the indexes of an entity's table. The tables themselves would take many times as long: a chain of steps is
  /// checked behind each of them.
  /// - Parameter parents: The names of all entities with others below.
  private func indexNames(of entity: EntityDescription, _ parents: Set<String>) -> [String] {
    entity.attributes.filter { $0.isUnique || $0.isIndexed }.map {
      Self.indexName(entity.name, [$0.name], $0.isUnique)
    }
      + ownIndexNames(ofToOnesOf: entity)
      + entity.indexes.map { Self.indexName(entity.name, $0.properties, $0.isUnique) }
      + (entity.parent == nil && parents.contains(entity.name)
        ? [Self.indexName(entity.name, [EntityColumn.name], false)] : [])
  }

  private var parentNames: Set<String> { Set(entities.compactMap(\.parent)) }

  private var joinNames: [(name: String, indexes: [String], source: String)] {
    entities.flatMap { entity in joinNames(of: entity).map { ($0.name, $0.indexes, entity.name) } }
  }

  /// The names of the tables of links that an entity keeps, and of their indexes.
  private func joinNames(of entity: EntityDescription) -> [(name: String, indexes: [String])] {
    entity.relationships.compactMap { relationship in
      guard let (name, isSource) = joinName(of: relationship, in: entity), isSource else { return nil }
      let order = relationship.isOrdered ? [Self.orderIndexName(name)] : []
      return (name, [Self.targetIndexName(name)] + order)
    }
  }
}
