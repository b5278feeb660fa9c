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
      for relationship in entity.relationships { try connect(relationship, of: entity) }
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
          guard let back = schema.partner(of: relationship, in: entity), !back.isToMany else { continue }
          let (own, other) = (counts[entity.name] ?? 0, counts[relationship.destination] ?? 0)
          guard own > other else { continue }
          counts[entity.name] = other
          isStable = false
        }
      }
    }
  }
}

extension Schema {
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

extension EntityDescription {
  /// The properties of which no two objects share all values.
  var uniqueKeys: [[String]] {
    attributes.filter(\.isUnique).map { [$0.name] } + indexes.filter(\.isUnique).map(\.properties)
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
