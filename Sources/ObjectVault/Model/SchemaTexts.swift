// The JSON of many similar models, such as those after each step of a chain: the text of an entity is
// made once and reused.

internal import CipherSQLite
private import Foundation

/// Makes the JSON and the digests of models. It caches the text of each entity.
package final class SchemaTexts {
  /// The last version of each entity and its text, by the entity's name.
  private var entities: [String: (entity: EntityDescription, text: String)] = [:]

  package init() {}

  /// Returns the text of ``Schema/json``.
  func json(of schema: Schema) -> String {
    guard !schema.entities.isEmpty else { return schema.json }
    let texts = schema.entities.sorted { $0.name < $1.name }.map { entity in
      if let known = entities[entity.name], known.entity == entity { return known.text }
      let text = Self.text(of: entity)
      entities[entity.name] = (entity, text)
      return text
    }
    let head = "{\n  \"entities\" : [\n    " + texts.joined(separator: ",\n    ") + "\n  ]"
    return head + (schema.rawObjects.isEmpty ? "\n}" : ",\n" + Self.text(of: schema.rawObjects))
  }

  /// Returns the digest ``Schema/meaningHash``.
  package func meaningHash(of schema: Schema) -> String { sha256(Array(json(of: schema).utf8)) }

  /// Returns the raw objects as they are written in a model's JSON, up to the end of the text.
  private static func text(of objects: [RawObject]) -> String {
    let json = Schema(rawObjects: objects).json
    return json.range(of: "  \"rawObjects\"").map { String(json[$0.lowerBound...]) } ?? ""
  }

  /// Returns an entity as it is written in a model's JSON: taken from the JSON of a model with this
  /// entity alone.
  private static func text(of entity: EntityDescription) -> String {
    // As bytes, because iterating over the characters of a model's text takes ten times as long.
    let json = Array(Schema(entities: [entity]).json.utf8)
    let ends = json.indices.filter { json[$0] == UInt8(ascii: "\n") }
    guard ends.count > 3 else { return "" }
    let lines = json[(ends[1] + 1)..<ends[ends.count - 2]]
    return String(decoding: lines.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
  }
}
