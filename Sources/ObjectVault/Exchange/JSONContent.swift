// JSON as a tree of values, for attributes that contain JSON.

internal import Foundation

/// A JSON value. Numbers keep up to 38 digits.
enum JSONContent: Codable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case real(Double)
  case decimal(Decimal)
  case string(String)
  case array([JSONContent])
  case object([String: JSONContent])

  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: JSONKey.self) {
      var members: [String: JSONContent] = [:]
      for key in object.allKeys {
        members[key.stringValue] = try object.decode(JSONContent.self, forKey: key)
      }
      self = .object(members)
      return
    }
    if var array = try? decoder.unkeyedContainer() {
      var elements: [JSONContent] = []
      while !array.isAtEnd { elements.append(try array.decode(JSONContent.self)) }
      self = .array(elements)
      return
    }
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let text = try? value.decode(String.self) {
      self = .string(text)
    } else if let number = try? value.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? value.decode(UInt64.self) {
      self = .unsigned(number)
    } else {
      let real = try value.decode(Double.self)
      // A decimal may have more digits than a double.
      if let exact = try? value.decode(Decimal.self), Decimal(string: "\(real)") != exact {
        self = .decimal(exact)
      } else {
        self = .real(real)
      }
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members):
      var container = encoder.container(keyedBy: JSONKey.self)
      for (key, value) in members { try container.encode(value, forKey: JSONKey(key)) }
    case .array(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(element) }
    default:
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let value): try container.encode(value)
      case .integer(let value): try container.encode(value)
      case .unsigned(let value): try container.encode(value)
      case .real(let value): try container.encode(value)
      case .decimal(let value): try container.encode(value)
      case .string(let value): try container.encode(value)
      case .null, .array, .object: try container.encodeNil()
      }
    }
  }

  /// The text in the form in which JSON is stored.
  var storedText: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  /// Reads a stored text.
  init(storedText text: String) throws {
    self = try JSONDecoder().decode(JSONContent.self, from: Data(text.utf8))
  }
}

/// Any key of a JSON object.
struct JSONKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(_ text: String) { stringValue = text }
  init(stringValue text: String) { stringValue = text }
  init?(intValue: Int) { nil }
}
