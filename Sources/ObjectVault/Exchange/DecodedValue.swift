// JSON values of attributes, read by the attribute's type.

internal import CipherSQLite
private import Foundation

/// The value of an attribute in JSON, in its stored form.
struct DecodedValue: DecodableWithConfiguration {
  let stored: SQLValue

  /// The attribute that has the value.
  struct Place {
    let entity: EntityMapping
    let slot: Int
    let dates: DateStrategy
  }

  init(from decoder: any Decoder, configuration place: Place) throws {
    let info = place.entity.slots[place.slot]
    let refusal = { (reason: String) in
      StoreError.jsonRefused(
        place: decoder.codingPath.shownJSONPath, reason: "\(place.entity.name).\(info.name) \(reason)")
    }
    guard let type = info.attribute?.type else { throw refusal("is no attribute") }
    do {
      let value = try Self.read(decoder, as: type, place.dates)
      stored = try type.stored(value)
    } catch let error as UnstorableValue {
      throw refusal("cannot be stored: \(error)")
    } catch {
      // Foundation throws errors of its own for some numbers.
      throw refusal("needs a value of type \(type.rawValue)")
    }
    if !stored.isNull, let reader = info.reader, !reader.reads(stored) {
      throw refusal("has a value that its Swift type cannot represent")
    }
  }

  private static func read(
    _ decoder: any Decoder, as type: AttributeType, _ dates: DateStrategy
  ) throws -> SQLValue {
    if type == .json {
      let tree = try JSONContent(from: decoder)
      if case .null = tree { return .null }
      return .text(try tree.storedText)
    }
    let value = try decoder.singleValueContainer()
    if value.decodeNil() { return .null }
    switch type {
    case .bool:
      // Programs that copy rows of SQLite write 0 and 1.
      if let number = try? value.decode(Int64.self), number == 0 || number == 1 { return .integer(number) }
      return .integer(try value.decode(Bool.self) ? 1 : 0)
    case .int, .int8, .int16, .int32, .uint8, .uint16, .uint32:
      return .integer(try value.decode(Int64.self))
    case .float, .double: return .real(try value.decode(Double.self))
    case .decimal:
      // As a text, a number keeps all of its digits in every program.
      if let text = try? value.decode(String.self) { return .text(text) }
      return try value.decode(Decimal.self).stored()
    case .string, .uuid, .url: return try text(value.decode(String.self), as: type)
    case .data:
      guard let data = Data(base64Encoded: try value.decode(String.self)) else {
        throw UnstorableValue(description: "the text is not Base64")
      }
      return .blob(data)
    case .date: return try date(value, dates)
    case .json: return .null
    }
  }

  private static func text(_ text: String, as type: AttributeType) throws -> SQLValue {
    switch type {
    case .uuid: try UUID(uuidString: text)?.stored() ?? .text(text)
    case .url: try URL(string: text)?.stored() ?? .text(text)
    default: .text(text)
    }
  }

  private static func date(_ value: any SingleValueDecodingContainer, _ dates: DateStrategy) throws
    -> SQLValue
  {
    let given: SQLValue
    if let text = try? value.decode(String.self) {
      if case .iso8601 = dates {
        // Not Foundation's parser, which has another calendar before 1582.
        guard let date = Date(dateText: text) else {
          throw UnstorableValue(description: "the text is no date in ISO 8601")
        }
        return try date.stored()
      }
      given = .text(text)
    } else {
      given = .real(try value.decode(Double.self))
    }
    guard let date = dates.date(of: given) else {
      throw UnstorableValue(description: "the value is no date in the form of the mapping")
    }
    return try date.stored()
  }
}

extension [any CodingKey] {
  /// The place in the JSON, such as `[3].user.age`.
  var shownJSONPath: String {
    reduce(into: "") { text, key in
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
  }
}
