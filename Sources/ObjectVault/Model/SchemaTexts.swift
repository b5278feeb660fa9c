// The JSON of many models that differ little, as those behind the steps of a chain do: of an entity it is made once.

internal import CipherSQLite
private import Foundation

/// Makes the JSON and the digests of models, and keeps what it made of each entity.
package final class SchemaTexts {
  /// By name, what each was when it was met last.
  private var entities: [String: (entity: EntityDescription, text: String)] = [:]

  package init() {}

  /// The same text as ``Schema/json``.
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

  /// The same digest as ``Schema/meaningHash``.
  package func meaningHash(of schema: Schema) -> String { sha256(Array(json(of: schema).utf8)) }

  /// Raw objects as they stand in a model's JSON, to its end.
  private static func text(of objects: [RawObject]) -> String {
    let json = Schema(rawObjects: objects).json
    return json.range(of: "  \"rawObjects\"").map { String(json[$0.lowerBound...]) } ?? ""
  }

  /// An entity as it stands in a model's JSON: that of a model with it alone, without what is around it.
  private static func text(of entity: EntityDescription) -> String {
    // By bytes: of a model's text a character takes ten times as long to tell.
    let json = Array(Schema(entities: [entity]).json.utf8)
    let ends = json.indices.filter { json[$0] == UInt8(ascii: "\n") }
    guard ends.count > 3 else { return "" }
    let lines = json[(ends[1] + 1)..<ends[ends.count - 2]]
    return String(decoding: lines.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
  }
}
