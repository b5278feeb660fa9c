// Reads one part of a JSON text, with equal results in SQL and in memory: `settings.theme`,
// `settings.tags[0]`. Only the part is decoded, by Foundation's JSONDecoder: decoding the whole text would
// take most of the time of a fetch.

internal import CipherSQLite
private import Foundation

/// The place of a part in a JSON text.
struct JSONPath: Hashable {
  enum Step: Hashable {
    case key(String)
    /// An element of an array, counted from 0.
    case index(Int)
    case last
    /// The number of elements of an array.
    case count
  }

  let steps: [Step]

  /// Parses the names of a path, of which each is a key, a key with one index, or an index or a quoted key
  /// in brackets: `theme`, `tags[0]`, `[last]`, `['content-type']`.
  init(_ names: some Collection<String>) { steps = names.flatMap(Self.steps) }

  /// Parses the text that ``text(of:)`` made.
  init(text: String) {
    self.init((try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? [])
  }

  /// Returns the names of a path as one text, for a parameter of SQL.
  static func text(of names: some Collection<String>) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return (try? encoder.encode(Array(names))).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
  }

  /// Returns the name in a path for a key. The key may be any text.
  static func name(ofKey key: String) -> String { Schema.isIdentifier(key) ? key : "['\(key)']" }

  private static func steps(_ name: String) -> [Step] {
    // By bytes: a quote and a combining character after it are one Character.
    if name.utf8.starts(with: "['".utf8), name.utf8.suffix(2).elementsEqual("']".utf8), name.utf8.count > 3 {
      return [.key(String(decoding: name.utf8.dropFirst(2).dropLast(2), as: UTF8.self))]
    }
    guard name.hasSuffix("]"), let bracket = name.firstIndex(of: "[") else { return [.key(name)] }
    let key = name[..<bracket]
    let index: Step? =
      switch name[name.index(after: bracket)...].dropLast() {
      case "last": .last
      case "count": .count
      case let text: Int(text).map { .index($0) }
      }
    guard let index else { return [.key(name)] }
    return key.isEmpty ? [index] : [.key(String(key)), index]
  }
}

extension JSONPath {
  /// Returns the part of a JSON text as a value of a type, in stored form.
  ///
  /// The result is nil where the text has no such part, where the part is null, and where `JSONDecoder`
  /// cannot decode it as the type. As `json` it is the text of the part.
  func value(in text: SQLValue, as type: AttributeType) -> SQLValue {
    guard case .text(let text) = text else { return .null }
    var scanner = JSONScanner(Array(text.utf8))
    for (number, step) in steps.enumerated() {
      if step == .count, number == steps.count - 1 {
        return scanner.count().map { .integer(Int64($0)) } ?? .null
      }
      guard scanner.enter(step) else { return .null }
    }
    guard let part = scanner.value() else { return .null }
    return Self.decoded(scanner.bytes[part], as: type)
  }

  private static func decoded(_ part: ArraySlice<UInt8>, as type: AttributeType) -> SQLValue {
    if part.elementsEqual("null".utf8) { return .null }
    switch type {
    case .json: return .text(String(decoding: part, as: UTF8.self))
    case .string:
      // Most strings have no escaped characters.
      if part.first == UInt8(ascii: "\""), !part.contains(UInt8(ascii: "\\")) {
        return .text(String(decoding: part.dropFirst().dropLast(), as: UTF8.self))
      }
      return stored(String.self, part)
    case .bool: return stored(Bool.self, part)
    case .int: return stored(Int64.self, part)
    case .int8: return stored(Int8.self, part)
    case .int16: return stored(Int16.self, part)
    case .int32: return stored(Int32.self, part)
    case .uint8: return stored(UInt8.self, part)
    case .uint16: return stored(UInt16.self, part)
    case .uint32: return stored(UInt32.self, part)
    case .float: return stored(Float.self, part)
    case .double: return stored(Double.self, part)
    case .decimal: return stored(Decimal.self, part)
    case .data: return stored(Data.self, part)
    case .date: return stored(Date.self, part)
    case .uuid: return stored(UUID.self, part)
    case .url: return stored(URL.self, part)
    }
  }

  private static func stored<Value: AttributeValue & Decodable>(
    _ type: Value.Type, _ part: ArraySlice<UInt8>
  ) -> SQLValue {
    (try? JSONDecoder().decode(type, from: Data(part)).stored()) ?? .null
  }
}

/// Finds parts of a JSON text without decoding it. It accepts some texts that are no JSON.
private struct JSONScanner {
  let bytes: [UInt8]
  /// The offset at which the present value begins.
  private var place = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    skipSpace()
  }

  private var byte: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipSpace() {
    while let byte = byte, byte == 0x20 || (0x09...0x0D).contains(byte) { place += 1 }
  }

  /// Goes past a character and the white space after it.
  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard byte == UInt8(ascii: character) else { return false }
    place += 1
    skipSpace()
    return true
  }

  /// Goes to a part of the present value; false if there is no such part.
  mutating func enter(_ step: JSONPath.Step) -> Bool {
    switch step {
    case .key(let key):
      guard take("{"), byte != UInt8(ascii: "}") else { return false }
      repeat {
        guard let name = string(), take(":") else { return false }
        if name == key { return true }
        guard value() != nil else { return false }
      } while take(",")
      return false
    case .index(let index):
      guard index >= 0, take("["), byte != UInt8(ascii: "]") else { return false }
      for _ in 0..<index {
        guard value() != nil, take(",") else { return false }
      }
      return true
    case .last:
      guard take("["), byte != UInt8(ascii: "]") else { return false }
      while true {
        let start = place
        guard value() != nil else { return false }
        guard take(",") else {
          place = start
          return true
        }
      }
    case .count: return false
    }
  }

  /// Returns the number of elements of the present value; nil if it is no array.
  mutating func count() -> Int? {
    guard take("[") else { return nil }
    if byte == UInt8(ascii: "]") { return 0 }
    var count = 0
    repeat {
      guard value() != nil else { return nil }
      count += 1
    } while take(",")
    return count
  }

  /// Goes past the present value and the white space after it, and returns its bytes; nil at the end of the
  /// text.
  mutating func value() -> Range<Int>? {
    let start = place
    var depth = 0
    repeat {
      switch byte {
      case nil: return nil
      case UInt8(ascii: "\""): guard skipString() else { return nil }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        place += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        place += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        if depth == 0 { return nil }
        place += 1
      case 0x20?, 0x09?, 0x0A?, 0x0D?: place += 1
      default:
        while let byte = byte, !",:]} \t\r\n".utf8.contains(byte) { place += 1 }
      }
    } while depth > 0
    guard depth == 0 else { return nil }
    let end = place
    skipSpace()
    return start..<end
  }

  /// Goes past a string; false if it does not end.
  private mutating func skipString() -> Bool {
    place += 1
    while let byte = byte {
      place += byte == UInt8(ascii: "\\") ? 2 : 1
      if byte == UInt8(ascii: "\"") { return true }
    }
    return false
  }

  /// Goes past a string and the white space after it, and returns its content; nil if there is no string.
  private mutating func string() -> String? {
    let start = place
    guard byte == UInt8(ascii: "\""), skipString() else { return nil }
    let literal = bytes[start..<place]
    skipSpace()
    guard literal.contains(UInt8(ascii: "\\")) else {
      return String(decoding: literal.dropFirst().dropLast(), as: UTF8.self)
    }
    return try? JSONDecoder().decode(String.self, from: Data(literal))
  }
}
