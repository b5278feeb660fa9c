// Faults of inverses across an inheritance hierarchy, and the time that the validation of a large model
// takes.

import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct HierarchyChecks {
  private func faults(_ entities: EntityDescription...) -> [SchemaFault] {
    do { try Schema(entities: entities).validate() } catch StoreError.invalidSchema(let faults) {
      return faults
    } catch {}
    return []
  }

  private func toOne(_ name: String, to destination: String, inverse: String) -> RelationshipDescription {
    RelationshipDescription(name: name, destination: destination, inverse: inverse)
  }

  private func toMany(_ name: String, to destination: String, inverse: String) -> RelationshipDescription {
    RelationshipDescription(name: name, destination: destination, isToMany: true, inverse: inverse)
  }

  @Test func `an inherited inverse is a fault that names the declaring entity`() {
    let found = faults(
      EntityDescription(name: "Person", relationships: [toMany("notes", to: "Note", inverse: "author")]),
      EntityDescription(name: "Employee", parent: "Person"),
      EntityDescription(name: "Note", relationships: [toOne("author", to: "Employee", inverse: "notes")]))
    #expect(
      found.contains(
        .inheritedInverse(
          entity: "Note", relationship: "author", destination: "Employee", inverse: "notes", owner: "Person"))
    )
    #expect(
      found.map(\.description).contains {
        $0.contains("which Employee inherits from Person") && $0.contains("Make Person the target")
      })
  }

  @Test func `an inverse that refers to a parent entity is a fault that names the parent`() {
    let found = faults(
      EntityDescription(name: "Person"),
      EntityDescription(
        name: "Employee", parent: "Person", relationships: [toMany("notes", to: "Note", inverse: "author")]),
      EntityDescription(name: "Note", relationships: [toOne("author", to: "Person", inverse: "notes")]))
    #expect(
      found.contains(
        .narrowInverse(entity: "Employee", relationship: "notes", inverse: "author", owner: "Person")))
    #expect(found.map(\.description).contains { $0.contains("Declare notes in Person") })
  }

  /// Pairs of a parent and a child, with indexes and links. Each parent refers to the parent of the next
  /// pair.
  private func pairs(_ count: Int) -> Schema {
    Schema(
      entities: (0..<count).flatMap { number -> [EntityDescription] in
        let (name, next) = ("Entity\(number)", "Entity\((number + 1) % count)")
        return [
          EntityDescription(
            name: name, attributes: [AttributeDescription(name: "a", type: .int, isIndexed: true)],
            relationships: [
              RelationshipDescription(name: "next", destination: next),
              RelationshipDescription(name: "links", destination: next, isToMany: true),
            ]),
          EntityDescription(
            name: "Child\(number)", parent: name, attributes: [AttributeDescription(name: "b", type: .int)],
            indexes: [IndexDescription(properties: ["a", "b"], isUnique: true)]),
        ]
      })
  }

  @Test func `validating eight times as many entities takes less than 24 times as long`() async throws {
    // A validation that compares each entity with each takes 64 times as long.
    let factor = try await timeFactor(from: 250, to: 2000, below: 24) { count in
      let schema = pairs(count / 2)
      return try threadTime { try schema.validate() }
    }
    #expect(factor < 24)
  }
}
