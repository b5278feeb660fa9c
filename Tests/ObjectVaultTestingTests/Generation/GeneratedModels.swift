// Models for the generator: each kind of relationship, unique value and requirement, and random models.

import CipherSQLite
import ObjectVault

/// Models, by what is special in them.
enum GeneratedModels {
  static func attribute(
    _ name: String, _ type: AttributeType, isOptional: Bool = false, isUnique: Bool = false
  ) -> AttributeDescription {
    AttributeDescription(name: name, type: type, isOptional: isOptional, isUnique: isUnique)
  }

  /// Each attribute type: plain, optional and unique.
  static var allTypes: Schema {
    Schema(entities: [
      EntityDescription(
        name: "Thing",
        attributes: AttributeType.allCases.flatMap { type in
          [
            attribute("\(type.rawValue)Plain", type),
            attribute("\(type.rawValue)Optional", type, isOptional: true),
          ]
        }),
      EntityDescription(
        name: "Key",
        attributes: AttributeType.allCases.filter { $0 != .bool }.map {
          attribute("\($0.rawValue)Key", $0, isUnique: true)
        }),
    ])
  }

  static func toOne(
    _ name: String, _ destination: String, inverse: String? = nil, isRequired: Bool = false,
    rule: DeleteRule = .nullify
  ) -> RelationshipDescription {
    RelationshipDescription(
      name: name, destination: destination, isRequired: isRequired, inverse: inverse, deleteRule: rule)
  }

  static func toMany(
    _ name: String, _ destination: String, inverse: String? = nil, rule: DeleteRule = .nullify
  ) -> RelationshipDescription {
    RelationshipDescription(
      name: name, destination: destination, isToMany: true, inverse: inverse, deleteRule: rule)
  }

  static func entity(
    _ name: String, _ attributes: [AttributeDescription] = [],
    _ relationships: [RelationshipDescription] = [],
    indexes: [IndexDescription] = []
  ) -> EntityDescription {
    EntityDescription(name: name, attributes: attributes, relationships: relationships, indexes: indexes)
  }

  /// By name, so that a failed test names the model.
  static let all: [String: Schema] = [
    "all types": allTypes,
    "self references": Schema(entities: [
      entity(
        "Node", [attribute("name", .string)],
        [
          toOne("boss", "Node", inverse: "staff"), toMany("staff", "Node", inverse: "boss"),
          toOne("next", "Node", inverse: "previous"), toOne("previous", "Node", inverse: "next"),
          toMany("friends", "Node", inverse: "friendOf"), toMany("friendOf", "Node", inverse: "friends"),
          toMany("known", "Node"), toOne("root", "Node", isRequired: true),
        ])
    ]),
    "required circle": Schema(entities: [
      entity("A", [], [toOne("b", "B", isRequired: true)]),
      entity("B", [], [toOne("c", "C", isRequired: true)]),
      entity("C", [], [toOne("a", "A", isRequired: true)]),
    ]),
    "one-to-ones": Schema(entities: [
      entity(
        "Person", [attribute("name", .string, isUnique: true)],
        [
          toOne("passport", "Passport", inverse: "owner", rule: .cascade),
          toOne("locker", "Locker", inverse: "user", rule: .cascade),
        ]),
      entity("Passport", [], [toOne("owner", "Person", inverse: "passport", isRequired: true)]),
      entity("Locker", [], [toOne("user", "Person", inverse: "locker", isRequired: true, rule: .cascade)]),
      entity(
        "Ring", [],
        [
          toOne("left", "Ring", inverse: "right", isRequired: true, rule: .cascade),
          toOne("right", "Ring", inverse: "left", rule: .cascade),
        ]),
    ]),
    "few values": Schema(
      entities: [
        entity("Side", [attribute("isLeft", .bool, isUnique: true)]),
        entity("Hand", [], [toOne("side", "Side", inverse: "hand", isRequired: true)]),
        entity(
          "Glove", [attribute("isOld", .bool), attribute("isRed", .bool)],
          indexes: [IndexDescription(properties: ["isOld", "isRed"], isUnique: true)]),
      ].map { entity in
        var entity = entity
        if entity.name == "Side" {
          entity.relationships = [toOne("hand", "Hand", inverse: "side", rule: .cascade)]
        }
        return entity
      }),
    "unique relationships": Schema(entities: [
      entity("User", [attribute("name", .string, isUnique: true)]),
      entity("Tag", [attribute("name", .string)]),
      entity(
        "Vote", [attribute("isUp", .bool)],
        [toOne("user", "User", isRequired: true), toOne("tag", "Tag")],
        indexes: [
          IndexDescription(properties: ["user", "tag"], isUnique: true),
          IndexDescription(properties: ["isUp", "tag"], isUnique: true),
        ]),
    ]),
    "many-to-many": Schema(entities: [
      entity("Status", [], [toMany("tags", "Tag", inverse: "statuses"), toMany("seenBy", "Status")]),
      entity("Tag", [], [toMany("statuses", "Status", inverse: "tags")]),
    ]),
  ]

  /// A random model of some entities.
  static func random(_ seed: Int) -> Schema {
    var numbers = Numbers(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
    let count = Int.random(in: 1...4, using: &numbers)
    var entities = (0..<count).map { number in
      entity(
        "E\(number)",
        (0..<Int.random(in: 0...4, using: &numbers)).map { index in
          AttributeDescription(
            name: "a\(index)", type: AttributeType.allCases.randomElement(using: &numbers) ?? .int,
            isOptional: .random(using: &numbers),
            isUnique: Int.random(in: 0..<4, using: &numbers) == 0)
        })
    }
    for number in 0..<Int.random(in: 0...6, using: &numbers) {
      let (own, other) = (
        Int.random(in: 0..<count, using: &numbers), Int.random(in: 0..<count, using: &numbers)
      )
      let isToMany = Bool.random(using: &numbers)
      let hasInverse = Bool.random(using: &numbers)
      let isInverseToMany = Bool.random(using: &numbers)
      let isRequired = !isToMany && Int.random(in: 0..<3, using: &numbers) == 0
      entities[own].relationships.append(
        RelationshipDescription(
          name: "r\(number)", destination: "E\(other)", isToMany: isToMany, isRequired: isRequired,
          inverse: hasInverse ? "s\(number)" : nil, deleteRule: .cascade))
      guard hasInverse else { continue }
      entities[other].relationships.append(
        RelationshipDescription(
          name: "s\(number)", destination: "E\(own)", isToMany: isInverseToMany, inverse: "r\(number)",
          deleteRule: .cascade))
    }
    for index in entities.indices where Int.random(in: 0..<3, using: &numbers) == 0 {
      let names =
        entities[index].attributes.map(\.name)
        + entities[index].relationships.filter { !$0.isToMany }.map(\.name)
      let chosen = Array(names.shuffled(using: &numbers).prefix(2))
      if chosen.count == 2 {
        entities[index].indexes = [IndexDescription(properties: chosen, isUnique: true)]
      }
    }
    return Schema(entities: entities)
  }

  private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
  }
}
