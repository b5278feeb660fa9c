// Objects as encodable values: the attributes and the related objects that a list of paths names.

internal import CipherSQLite
private import Foundation

/// An object, and the objects that it refers to, as a value that an encoder writes.
///
/// ```swift
/// let value = try user.encoded("name", "statuses.text")
/// let json = try JSONEncoder().encode(value)
/// ```
///
/// It has the keys of the mapping, and is independent of the context.
public struct EncodedObject: Encodable, Sendable {
  /// A value of a key.
  enum Value: Sendable {
    case none
    case stored(SQLValue, AttributeType, DateStrategy)
    case object(EncodedObject)
    case list([EncodedObject])
  }

  let members: [(key: String, value: Value)]

  /// Encodes the object as a keyed container.
  /// - Throws: `EncodingError.invalidValue` for a date outside the years 1 to 9999 in ISO 8601; what the
  ///   encoder throws, as `JSONEncoder` does for infinite numbers.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: JSONKey.self)
    for (key, value) in members {
      let key = JSONKey(key)
      switch value {
      case .none: try container.encodeNil(forKey: key)
      case .object(let object): try container.encode(object, forKey: key)
      case .list(let list): try container.encode(list, forKey: key)
      case .stored(let value, let type, let dates):
        try Self.encode(value, as: type, dates: dates, to: &container, forKey: key)
      }
    }
  }

  private static func encode(
    _ value: SQLValue, as type: AttributeType, dates: DateStrategy,
    to container: inout KeyedEncodingContainer<JSONKey>, forKey key: JSONKey
  ) throws {
    switch type == .date ? try shown(value, dates: dates, at: container.codingPath + [key]) : value {
    case .null: try container.encodeNil(forKey: key)
    case .integer(let number):
      if type == .bool {
        try container.encode(number != 0, forKey: key)
      } else {
        try container.encode(number, forKey: key)
      }
    case .real(let number):
      if type == .float {
        try container.encode(Float(number), forKey: key)
      } else {
        try container.encode(number, forKey: key)
      }
    case .blob(let data): try container.encode(data.base64EncodedString(), forKey: key)
    case .text(let text):
      if type == .decimal, let number = Decimal(stored: value) {
        try container.encode(number, forKey: key)
      } else if type == .json {
        try container.encode(JSONContent(storedText: text), forKey: key)
      } else {
        try container.encode(text, forKey: key)
      }
    }
  }

  /// Returns a date in the form of a strategy.
  private static func shown(
    _ value: SQLValue, dates: DateStrategy, at path: [any CodingKey]
  ) throws -> SQLValue {
    guard let date = Date(stored: value) else { return value }
    guard case .iso8601 = dates else { return dates.value(of: date) }
    // Not Foundation's format, which has another calendar before 1582.
    let seconds = date.timeIntervalSinceReferenceDate
    guard let text = DateText.text(seconds, rounding: .toNearestOrAwayFromZero) else {
      throw EncodingError.invalidValue(
        date,
        .init(
          codingPath: path, debugDescription: "ISO 8601 has no form for a date outside the years 1 to 9999"))
    }
    return .text(text)
  }
}
