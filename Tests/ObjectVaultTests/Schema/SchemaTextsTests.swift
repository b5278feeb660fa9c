// The JSON of a chain's models is made entity by entity, and is the text that a model alone gives.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure, .slow)) struct SchemaTextsTests {
  @Test func `the digest of a model is the same by the texts of its entities, whatever came before`() throws {
    var random = SeededGenerator(seed: 2600)
    let texts = SchemaTexts()
    #expect(texts.meaningHash(of: Schema()) == Schema().meaningHash)
    var schema = RandomSchemas.schema(&random)
    for _ in 0..<400 {
      schema = RandomSchemas.changed(schema, &random)
      #expect(texts.meaningHash(of: schema) == schema.meaningHash)
      // Declared in another order it is the same model.
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
