// The JSON of a chain's models is made from cached texts of their entities. It equals the JSON that each
// model gives alone.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure, .slow)) struct SchemaTextsTests {
  @Test func `the hash made from cached texts of entities equals the hash of the model alone`() throws {
    var random = SeededGenerator(seed: 2600)
    let texts = SchemaTexts()
    #expect(texts.meaningHash(of: Schema()) == Schema().meaningHash)
    var schema = RandomSchemas.schema(&random)
    for _ in 0..<400 {
      schema = RandomSchemas.changed(schema, &random)
      #expect(texts.meaningHash(of: schema) == schema.meaningHash)
      // The order of declaration makes no difference.
      let shuffled = Schema(
        entities: schema.entities.shuffled(using: &random).map { entity in
          EntityDescription(
            name: entity.name, attributes: entity.attributes.shuffled(using: &random),
            relationships: entity.relationships.shuffled(using: &random), indexes: entity.indexes.reversed())
        })
      #expect(texts.meaningHash(of: shuffled) == schema.meaningHash && shuffled == schema)
    }
    let values: [DefaultValue] = [
      .integer(.min), .real(0.1), .real(1e300), .text("a\n\"b\\ é\u{2028}/\u{1}"), .text(""),
    ]
    for value in values {
      let schema = Schema(entities: [
        EntityDescription(
          name: "E", attributes: [AttributeDescription(name: "a", type: .double, defaultValue: value)]),
        EntityDescription(name: "F"),
      ])
      #expect(texts.meaningHash(of: schema) == schema.meaningHash)
    }
  }
}
