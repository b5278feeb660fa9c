// One attempt to make objects of a model: how many of each entity, then their values, then their relationships.

internal import CipherSQLite
internal import ObjectVault

struct ObjectGenerator {
  let schema: Schema
  let links: GeneratedObjects.Links
  /// Where values come from, by the entity.
  let sources: [String: [ValueSource]]
  var random: SeededRandom
  /// How many objects of each entity there are to be.
  var counts: [String: Int]
  var made: [String: [GeneratedObjects.Object]] = [:]
  /// What is taken of unique attributes, by the entity that declares them: objects of those below it take from the same.
  var taken: [String: TakenKeys] = [:]
  /// The to-ones that are linked already, by the root of their entity, below which a name is there once.
  var linked: [String: Set<String>] = [:]

  init(
    _ schema: Schema, _ counts: [String: Int], _ seed: UInt64, _ links: GeneratedObjects.Links,
    _ sources: [String: [ValueSource]]
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

  /// Who needs a partner of its own needs as many of them.
  private mutating func limitCounts() {
    var isStable = false
    while !isStable {
      isStable = true
      for entity in schema.entities {
        for relationship in entity.relationships where relationship.isRequired {
          // Of an entity that others have to share their objects with there may be none.
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

/// One of the objects that are made.
struct MadeObject: Hashable {
  let entity: String
  let number: Int
}

extension ObjectGenerator {
  /// The objects of an entity and of those below it: who is numbered so is what a to-one leads to.
  func members(of entity: String) -> [MadeObject] {
    schema.kinds(of: entity).flatMap { kind in
      (0..<(counts[kind] ?? 0)).map { MadeObject(entity: kind, number: $0) }
    }
  }
}

extension Schema {
  /// An entity and those below it, whose objects are its objects, too.
  func kinds(of name: String) -> [String] {
    [name] + (entity(named: name).map(descendants) ?? []).map(\.name)
  }

  /// The relationship that leads back, whichever of both says so.
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

/// The values that are taken of something unique.
struct TakenKeys {
  private let keys: [[String]]
  private var taken: [Set<[SQLValue]>]

  init(_ keys: [[String]]) {
    self.keys = keys
    taken = keys.map { _ in [] }
  }

  /// The first key of which an object's values are taken; nil when all of them are free.
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

  /// nil where one of them is nil, which is no value.
  private func tuple(_ key: [String], _ values: [String: SQLValue]) -> [SQLValue]? {
    var tuple: [SQLValue] = []
    for name in key {
      guard let value = values[name] else { return nil }
      tuple.append(value)
    }
    return tuple
  }
}
