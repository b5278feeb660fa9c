// Entities with parents, rendered as SQL, JSON, Swift and a diagram.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct HierarchyRendering {
  private let schema = Schema(entities: [
    EntityDescription(
      name: "Person", attributes: [AttributeDescription(name: "name", type: .string)],
      relationships: [RelationshipDescription(name: "boss", destination: "Class")]),
    EntityDescription(
      name: "Class", parent: "Person", attributes: [AttributeDescription(name: "salary", type: .int)],
      indexes: [IndexDescription(properties: ["name", "salary"], isUnique: true)]),
    EntityDescription(name: "Last", parent: "Class"),
  ])

  @Test func `rendered classes inherit, and classes with subclasses are not final`() {
    let text = schema.rendered(as: .swift).text
    #expect(text.contains("\nclass Person: ManagedObject {\n"))
    #expect(text.contains("\nclass Class: Person {\n"))
    #expect(text.contains("\nfinal class Last: Class {\n"))
    #expect(text.contains("  Entity(Class.self)\n    .unique(\\.name, \\.salary)\n"))
  }

  @Test func `the JSON of a hierarchy gives the same model, and its SQL creates one table`() throws {
    #expect(try Schema(json: schema.rendered(as: .json).text) == schema)
    let database = try TemporaryDatabase()
    try database.connection.executeScript(schema.rendered(as: .sql).text)
    #expect(
      try database.connection.rows("SELECT name FROM sqlite_master WHERE name IN ('Person', 'Class', 'Last')")
        == [["Person"]])
  }

  @Test func `a diagram has a line to each parent`() {
    let text = schema.rendered(as: .mermaid).text
    #expect(text.contains("    Person ||--o| \"Class\" : \"is a\"\n"))
    #expect(text.contains("    \"Class\" ||--o| Last : \"is a\"\n"))
  }
}
