// One attempt to generate objects of a model: first how many, then their values, then their relationships.

internal import CipherSQLite
internal import ObjectVault

struct ObjectGenerator {
  let schema: Schema
  let links: GeneratedObjects.Links
  /// The sources of values, by entity.
  let sources: [String: [ValueSource]]
  var random: SeededRandom
  /// The number of objects to generate, by entity.
  var counts: [String: Int]
  var made: [String: [GeneratedObjects.Object]] = [:]
  /// The values of unique keys that are in use, by the entity that declares the key. Objects of its
  /// subentities share them.
  var taken: [String: TakenKeys] = [:]
  /// The to-ones that are linked already, by the root of their entity. A name occurs only once below a
  /// root.
  var linked: [String: Set<String>] = [:]

  init(
    _ schema: Schema, counts: [String: Int], seed: UInt64, links: GeneratedObjects.Links,
    sources: [String: [ValueSource]]
  ) {
    (self.schema, self.counts, self.links, self.sources) = (schema, counts, links, sources)
    random = SeededRandom(seed: seed)
  }

  mutating func objects() throws(ObjectShortage) -> [GeneratedObjects.Object] {
    limitCounts()
    for entity in schema.entities { made[entity.name] = try objects(of: entity) }
    for entity in schema.entities {
      for relationship in entity.relationships {
        try connect(relationship, of: entity)
        if relationship.hasColumn {
          linked[schema.root(of: entity.name), default: []].insert(relationship.name)
        }
      }
    }
    return schema.entities.flatMap { made[$0.name] ?? [] }
  }

  /// Lowers the numbers of objects whose required relationships would have too few targets.
  private mutating func limitCounts() {
    var isStable = false
    while !isStable {
      isStable = true
      for entity in schema.entities {
        for relationship in entity.relationships where relationship.isRequired {
          // An entity that shares unique values with others may have no objects. Then there can be no
          // object that requires one of them.
          if members(of: relationship.destination).isEmpty, !members(of: entity.name).isEmpty {
            for kind in schema.kinds(of: entity.name) { counts[kind] = 0 }
            isStable = false
          }
          guard let back = schema.partner(of: relationship, in: entity), !back.isToMany else { continue }
          let (own, other) = (members(of: entity.name).count, members(of: relationship.destination).count)
          let kinds = schema.kinds(of: entity.name)
          guard own > other, let most = kinds.max(by: { (counts[$0] ?? 0) < (counts[$1] ?? 0) }) else {
            continue
          }
          counts[most] = kinds.count == 1 ? other : (counts[most] ?? 1) - 1
          isStable = false
        }
      }
    }
  }
}

/// An object that is being generated.
struct GeneratedObjectNumber: Hashable {
  let entity: String
  let number: Int
}

extension ObjectGenerator {
  /// Returns the objects of an entity and its subentities. To-ones refer to them by their position in
  /// this list.
  func members(of entity: String) -> [GeneratedObjectNumber] {
    schema.kinds(of: entity).flatMap { kind in
      (0..<(counts[kind] ?? 0)).map { GeneratedObjectNumber(entity: kind, number: $0) }
    }
  }
}

extension Schema {
  /// Returns the names of an entity and its subentities, whose objects are also objects of the entity.
  func kinds(of name: String) -> [String] {
    [name] + (entity(named: name).map(descendants) ?? []).map(\.name)
  }

  /// Returns the inverse of a relationship, whichever of the two declares it; nil when there is none.
  func partner(
    of relationship: RelationshipDescription, in entity: EntityDescription
  ) -> RelationshipDescription? {
    let destination = self.entity(named: relationship.destination)
    if let inverse = relationship.inverse { return destination?.relationship(named: inverse) }
    return destination?.relationships.first {
      $0.destination == entity.name && $0.inverse == relationship.name
    }
  }
}

/// The values of unique keys that are in use.
struct TakenKeys {
  private let keys: [[String]]
  private var taken: [Set<[SQLValue]>]

  init(_ keys: [[String]]) {
    self.keys = keys
    taken = keys.map { _ in [] }
  }

  /// Returns the first key whose values are in use; nil when all are free.
  func conflict(of values: [String: SQLValue]) -> [String]? {
    for (index, key) in keys.enumerated() {
      if let tuple = tuple(key, values), taken[index].contains(tuple) { return key }
    }
    return nil
  }

  mutating func take(_ values: [String: SQLValue]) {
    for (index, key) in keys.enumerated() {
      if let tuple = tuple(key, values) { taken[index].insert(tuple) }
    }
  }

  /// Returns the values of a key; nil when one of them is nil, because nil causes no conflict.
  private func tuple(_ key: [String], _ values: [String: SQLValue]) -> [SQLValue]? {
    var tuple: [SQLValue] = []
    for name in key {
      guard let value = values[name] else { return nil }
      tuple.append(value)
    }
    return tuple
  }
}
