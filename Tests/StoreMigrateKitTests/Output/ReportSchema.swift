// The JSON schema of the tool's reports, and a validator for the keywords that it uses. An unknown keyword
// is a fault, so that none is ignored.

import Foundation
import TestSupport

/// A JSON value.
enum JSONValue: Decodable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let string = try? value.decode(String.self) {
      self = .string(string)
    } else if let array = try? value.decode([JSONValue].self) {
      self = .array(array)
    } else {
      self = .object(try value.decode([String: JSONValue].self))
    }
  }

  subscript(_ name: String) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }
  var string: String? { if case .string(let string) = self { string } else { nil } }
  var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
  var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }
}

/// `report.schema.json`, beside the page of the commands.
struct ReportSchema {
  static let file = packageRoot.appendingPathComponent(
    "Sources/StoreMigrateKit/Documentation.docc/report.schema.json")
  private let root: JSONValue
  private var definitions: [String: JSONValue] { root["$defs"]?.members ?? [:] }

  init() throws { root = try JSONDecoder().decode(JSONValue.self, from: Data(contentsOf: Self.file)) }

  /// The commands whose reports are in the schema.
  var commands: Set<String> {
    Set(definitions.values.compactMap { $0["properties"]?["command"]?["const"]?.string })
  }

  /// The faults in the output of a run, compared with the report of its command or with that of a failure.
  func faults(in output: String) throws -> [String] {
    let value = try JSONDecoder().decode(JSONValue.self, from: Data(output.utf8))
    let name = value["error"] == .null ? value["command"]?.string ?? "" : "failure"
    let own = faults(value, schema: .object(["$ref": .string("#/$defs/\(name)")]), place: "")
    return own.isEmpty ? faults(value, schema: root, place: "") : own
  }

  private func faults(_ value: JSONValue, schema: JSONValue?, place: String) -> [String] {
    guard let schema else { return ["\(place): there is no such definition"] }
    return schema.members.sorted { $0.key < $1.key }.flatMap {
      faults(value, word: $0, rule: $1, schema: schema, place: place)
    }
  }

  private func faults(
    _ value: JSONValue, word: String, rule: JSONValue, schema: JSONValue, place: String
  ) -> [String] {
    func fault(_ isWrong: Bool, _ text: String) -> [String] { isWrong ? ["\(place): \(text)"] : [] }
    switch word {
    case "$schema", "$defs", "title", "description": return []
    case "$ref":
      let name = rule.string?.split(separator: "/").last.map(String.init) ?? ""
      return faults(value, schema: definitions[name], place: place)
    case "type": return fault(!Self.isOf(rule.string ?? "", value), "is no \(rule)")
    case "const": return fault(value != rule, "is not \(rule)")
    case "enum": return fault(!rule.elements.contains(value), "is none of \(rule)")
    case "minimum":
      guard case (.number(let number), .number(let least)) = (value, rule) else { return [] }
      return fault(number < least, "is below \(least)")
    case "pattern":
      guard let text = value.string, let pattern = rule.string else { return [] }
      return fault(text.range(of: pattern, options: .regularExpression) == nil, "is not like \(pattern)")
    case "oneOf":
      let fitting = rule.elements.count { faults(value, schema: $0, place: place).isEmpty }
      return fault(fitting != 1, "\(fitting) of the choices fit")
    case "items":
      return value.elements.enumerated().flatMap { faults($1, schema: rule, place: "\(place)[\($0)]") }
    case "required":
      return rule.elements.compactMap(\.string).flatMap { fault(value.members[$0] == nil, "lacks \($0)") }
    case "properties":
      return value.members.flatMap { name, member in
        rule[name].map { faults(member, schema: $0, place: "\(place).\(name)") } ?? []
      }
    case "additionalProperties":
      return value.members.filter { schema["properties"]?[$0.key] == nil }.flatMap { name, member in
        rule == .bool(false)
          ? fault(true, "has \(name), which is not in the schema")
          : faults(member, schema: rule, place: "\(place).\(name)")
      }
    default: return ["the schema says \(word), which this validator does not know"]
    }
  }

  private static func isOf(_ type: String, _ value: JSONValue) -> Bool {
    switch (type, value) {
    case ("object", .object), ("array", .array), ("string", .string), ("null", .null), ("boolean", .bool),
      ("number", .number):
      true
    case ("integer", .number(let number)): number.rounded() == number
    default: false
    }
  }
}
