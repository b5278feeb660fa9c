// Stored values: whether two have the same bytes in the file, and their forms in archives and in
// messages.

public import CipherSQLite
private import Foundation

extension SQLValue {
  /// Returns whether both values have the same bytes in the file. `==` is less strict: Swift strings are
  /// equal also when their characters are composed differently.
  func isStored(as other: SQLValue) -> Bool {
    switch (self, other) {
    case (.text(var a), .text(var b)):
      a.withUTF8 { a in
        b.withUTF8 { b in
          guard a.count == b.count, let first = a.baseAddress, let second = b.baseAddress else {
            return a.isEmpty && b.isEmpty
          }
          return unsafe memcmp(first, second, a.count) == 0
        }
      }
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    default: self == other
    }
  }
}

extension SQLValue: Codable {
  private enum Kind: String, CodingKey { case integer, real, text, blob, null }

  /// Decodes what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Kind.self)
    if let value = try container.decodeIfPresent(Int64.self, forKey: .integer) {
      self = .integer(value)
    } else if container.contains(.real) {
      // JSON has no infinity: it is written as a word.
      if let word = try? container.decode(String.self, forKey: .real) {
        guard let value = ["inf": Double.infinity, "-inf": -Double.infinity][word] else {
          throw DecodingError.dataCorruptedError(
            forKey: .real, in: container, debugDescription: "\"\(word)\" is not a number")
        }
        self = .real(value)
      } else {
        self = .real(try container.decode(Double.self, forKey: .real))
      }
    } else if let value = try container.decodeIfPresent(String.self, forKey: .text) {
      self = .text(value)
    } else if let value = try container.decodeIfPresent([UInt8].self, forKey: .blob) {
      self = .blob(.init(value))
    } else {
      self = .null
    }
  }

  /// Encodes the value under one key that names its storage class.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Kind.self)
    switch self {
    case .integer(let value): try container.encode(value, forKey: .integer)
    case .real(let value) where value.isInfinite:
      try container.encode(value < 0 ? "-inf" : "inf", forKey: .real)
    case .real(let value): try container.encode(value, forKey: .real)
    case .text(let value): try container.encode(value, forKey: .text)
    case .blob(let value): try container.encode([UInt8](value), forKey: .blob)
    case .null: try container.encodeNil(forKey: .null)
    }
  }
}

extension SQLValue {
  /// The value as an SQL literal, for messages; for a blob, its number of bytes.
  var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value): value.enclosed(in: "'")
    case .blob(let value): counted(value.count, "byte")
    }
  }
}
