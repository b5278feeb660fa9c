// What is wrong with inverses across entities that inherit, and how long a large model is looked at.

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

  private func toOne(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDescription {
    RelationshipDescription(name: name, destination: destination, inverse: inverse)
  }

  private func toMany(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDescription {
    RelationshipDescription(name: name, destination: destination, isToMany: true, inverse: inverse)
  }

  @Test func `an inverse that the other entity inherits is named with who declares it`() {
    let found = faults(
      EntityDescription(name: "Person", relationships: [toMany("notes", "Note", "author")]),
      EntityDescription(name: "Employee", parent: "Person"),
      EntityDescription(name: "Note", relationships: [toOne("author", "Employee", "notes")]))
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

  @Test func `an inverse that leads to an entity above is named with that one`() {
    let found = faults(
      EntityDescription(name: "Person"),
      EntityDescription(
        name: "Employee", parent: "Person", relationships: [toMany("notes", "Note", "author")]),
      EntityDescription(name: "Note", relationships: [toOne("author", "Person", "notes")]))
    #expect(
      found.contains(
        .narrowInverse(entity: "Employee", relationship: "notes", inverse: "author", owner: "Person")))
    #expect(found.map(\.description).contains { $0.contains("Declare notes in Person") })
  }

  /// Pairs of a parent and a child, of which each leads to the next one, with indexes and links.
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

  @Test func `two thousand entities are looked at in little more than eight times the time of an eighth`()
    async throws
  {
    // One that compares each with each takes 64 times as long.
    let factor = try await timeFactor(from: 250, to: 2000, below: 24) { count in
      let schema = pairs(count / 2)
      return try threadTime { try schema.validate() }
    }
    #expect(factor < 24)
  }
}
