// A model rendered as SQL, JSON and a diagram. The documentation tests (RenderedClasses) build programs,
// so they check that the rendered Swift classes compile and have the same model.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct SchemaRendering {
  static let schema = Schema(entities: [
    EntityDescription(
      name: "One",
      attributes: [
        AttributeDescription(name: "name", type: .string, isUnique: true),
        AttributeDescription(
          name: "note", type: .string, isOptional: true, defaultValue: .text("a \"b\"\nc")),
      ],
      relationships: [
        RelationshipDescription(name: "parts", destination: "Straße", isToMany: true, inverse: "whole"),
        RelationshipDescription(name: "friend", destination: "One"),
      ]),
    EntityDescription(
      name: "Straße",
      relationships: [
        RelationshipDescription(
          name: "whole", destination: "One", isRequired: true, inverse: "parts", deleteRule: .nullify),
        RelationshipDescription(name: "tags", destination: "One", isToMany: true),
      ]),
  ])

  @Test func `the rendered SQL creates the same tables as a store of the model`() async throws {
    for schema in [microblog, Schema(entities: microblog.entities)] {
      let store = try await TemporaryStore(microblog)
      store.store.close()
      let connection = try Connection.open(store.store.url.path, key: testKey)
      let query: SQL =
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'vault_%' ORDER BY name"
      let expected = try connection.rows(query)
      let other = try TemporaryDatabase()
      try other.connection.executeScript(schema.rendered(as: .sql).text)
      #expect(try other.connection.rows(query) == expected && expected.count > 10)
    }
    #expect(Schema().rendered(as: .sql).text == "-- The model has no entities.\n")
  }

  @Test func `the rendered JSON gives the same model, whatever the order of declaration`() throws {
    let rendered = Self.schema.rendered(as: .json)
    #expect(try Schema(json: rendered.text) == Self.schema && rendered.notes.isEmpty)
    #expect(Schema(entities: Self.schema.entities.reversed()).rendered(as: .json) == rendered)
  }

  @Test func `the notes of a diagram name the raw objects that it omits`() {
    let view = RawObject.view("Few", sql: "SELECT 1")
    #expect(
      Schema(rawObjects: [view]).rendered(as: .mermaid).notes
        == ["A diagram cannot show the view Few."])
  }

  @Test func `a diagram has a box for each entity and one line for both ends of a relationship`() {
    #expect(
      Self.schema.rendered(as: .mermaid).text
        == """
        erDiagram
            "One" {
                string name UK
                string note "optional, default 'a /'b/'/nc'"
            }
            "Straße"
            "One" }o--o| "One" : "friend"
            "One" ||--o{ "Straße" : "parts / whole"
            "Straße" }o--o{ "One" : "tags"

        """.replacingOccurrences(of: "/'", with: "\\'").replacingOccurrences(of: "/n", with: "\\n"))
    #expect(Schema().rendered(as: .mermaid).text == "erDiagram\n")
  }

  @Test func `the notes name each declaration that a Swift class cannot express`() {
    let schema = Schema(entities: [
      EntityDescription(
        name: "Event",
        attributes: [
          AttributeDescription(name: "at", type: .date, defaultValue: .real(0)),
          AttributeDescription(name: "isFault", type: .int),
          AttributeDescription(name: "price", type: .decimal, defaultValue: .text("1.50")),
        ])
    ])
    let notes = schema.rendered(as: .swift).notes
    #expect(notes.count == 3 && notes.contains { $0.contains("set default of Event.at to none") }, "\(notes)")
    #expect(
      notes.contains { $0.hasPrefix("Event.isFault: ") } && notes.contains { $0.hasPrefix("Event.price: ") })
  }
}
