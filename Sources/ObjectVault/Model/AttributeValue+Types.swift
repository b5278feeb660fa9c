// The conformances of the built-in attribute types.

public import CipherSQLite
public import Foundation

/// The error for a value that no attribute can store.
struct UnstorableValue: Error, Equatable, CustomStringConvertible {
  let description: String

  static let notANumber = UnstorableValue(description: "NaN cannot be stored; use an optional and nil")
  static let tooLarge = UnstorableValue(description: "an object can have at most a billion bytes in all")

  /// Matches an error in a `catch` pattern.
  static func ~= (pattern: UnstorableValue, error: any Error) -> Bool { error as? UnstorableValue == pattern }
}

// Separate functions, so that the code that is inlined into other modules is short and names no internal
// type.
@usableFromInline func beyondRange(_ value: String) -> any Error {
  UnstorableValue(description: "\(value) does not fit in 64 bits")
}

@usableFromInline func notANumber() -> any Error { UnstorableValue.notANumber }

// Integers are Codable too; this extension makes them stored as integers and not as JSON.
extension AttributeValue where Self: FixedWidthInteger & Codable {
  /// The placeholder 0.
  public static var placeholder: Self { 0 }
  /// Returns the value as an integer; throws when it is beyond 64 bits.
  @inlinable public func stored() throws -> SQLValue {
    guard let value = Int64(exactly: self) else { throw beyondRange("\(self)") }
    return .integer(value)
  }
  /// Creates the value from an integer in range; nil for any other value.
  public init?(stored value: SQLValue) {
    guard case .integer(let value) = value else { return nil }
    self.init(exactly: value)
  }
  /// Reads the value from a cell; nil unless the cell has an integer in range.
  @inlinable public static func read(_ cell: RowCell) -> Self? {
    guard let value = cell.int64 else { return nil }
    return Self(exactly: value)
  }
}

extension Int: AttributeValue {
  /// The attribute type `int`.
  public static var attributeType: AttributeType { .int }
}
extension Int8: AttributeValue {
  /// The attribute type `int8`.
  public static var attributeType: AttributeType { .int8 }
}
extension Int16: AttributeValue {
  /// The attribute type `int16`.
  public static var attributeType: AttributeType { .int16 }
}
extension Int32: AttributeValue {
  /// The attribute type `int32`.
  public static var attributeType: AttributeType { .int32 }
}
extension Int64: AttributeValue {
  /// The attribute type `int`.
  public static var attributeType: AttributeType { .int }
}
extension UInt8: AttributeValue {
  /// The attribute type `uint8`.
  public static var attributeType: AttributeType { .uint8 }
}
extension UInt16: AttributeValue {
  /// The attribute type `uint16`.
  public static var attributeType: AttributeType { .uint16 }
}
extension UInt32: AttributeValue {
  /// The attribute type `uint32`.
  public static var attributeType: AttributeType { .uint32 }
}

extension Bool: AttributeValue {
  /// The attribute type `bool`.
  public static var attributeType: AttributeType { .bool }
  /// The placeholder `false`.
  public static var placeholder: Bool { false }
  /// Returns the value as 0 or 1.
  @inlinable public func stored() throws -> SQLValue { .integer(self ? 1 : 0) }
  /// Creates the value from 0 or 1; nil for any other value.
  public init?(stored value: SQLValue) {
    guard case .integer(let value) = value, value == 0 || value == 1 else { return nil }
    self = value == 1
  }
  /// Reads the value from a cell; nil unless the cell has 0 or 1. Predicates find any other number
  /// neither as true nor as false.
  @inlinable public static func read(_ cell: RowCell) -> Bool? {
    guard let value = cell.int64, value & ~1 == 0 else { return nil }
    return value == 1
  }
}

extension Double: AttributeValue {
  /// The attribute type `double`.
  public static var attributeType: AttributeType { .double }
  /// The placeholder 0.
  public static var placeholder: Double { 0 }
  /// Returns the value as a real; throws for NaN, which has no stored form. -0.0 becomes 0.0, which is
  /// equal: SQLite does not store the sign of zero.
  @inlinable public func stored() throws -> SQLValue {
    guard !isNaN else { throw notANumber() }
    return .real(self == 0 ? 0 : self)
  }
  /// Creates the value from a number; nil for any other value.
  public init?(stored value: SQLValue) {
    guard let value = value.double else { return nil }
    self = value
  }
  /// Reads the value from a cell; nil unless the cell has a number.
  @inlinable public static func read(_ cell: RowCell) -> Double? { cell.double }
}

extension Float: AttributeValue {
  /// The attribute type `float`.
  public static var attributeType: AttributeType { .float }
  /// The placeholder 0.
  public static var placeholder: Float { 0 }
  /// Returns the value as a real; throws for NaN, which has no stored form.
  @inlinable public func stored() throws -> SQLValue { try Double(self).stored() }
  /// Creates the value from a number; nil for any other value, and for a finite number that is too large
  /// for a float.
  public init?(stored value: SQLValue) {
    guard let value = value.double else { return nil }
    self = Float(value)
    guard isInfinite == value.isInfinite else { return nil }
  }
  /// Reads the value from a cell; nil unless the cell has a number that is not too large for a float.
  @inlinable public static func read(_ cell: RowCell) -> Float? {
    guard let value = cell.double else { return nil }
    let float = Float(value)
    return float.isInfinite == value.isInfinite ? float : nil
  }
}

extension String: AttributeValue {
  /// The attribute type `string`.
  public static var attributeType: AttributeType { .string }
  /// The empty string as placeholder.
  public static var placeholder: String { "" }
  /// Returns the value as text.
  @inlinable public func stored() throws -> SQLValue { .text(self) }
  /// Creates the value from text; nil for any other value.
  public init?(stored value: SQLValue) {
    guard case .text(let value) = value else { return nil }
    self = value
  }
  /// Reads the value from a cell; nil unless the cell has text.
  @inlinable public static func read(_ cell: RowCell) -> String? { cell.string }
}

extension Data: AttributeValue {
  /// The attribute type `data`.
  public static var attributeType: AttributeType { .data }
  /// Empty data as placeholder.
  public static var placeholder: Data { Data() }
  /// Returns the value as a blob.
  @inlinable public func stored() throws -> SQLValue { .blob(self) }
  /// Creates the value from a blob; nil for any other value.
  public init?(stored value: SQLValue) {
    guard case .blob(let value) = value else { return nil }
    self = value
  }
}

extension Date: AttributeValue {
  /// The attribute type `date`.
  public static var attributeType: AttributeType { .date }
  /// The placeholder 2001-01-01 00:00 UTC.
  public static var placeholder: Date { Date(timeIntervalSinceReferenceDate: 0) }
  /// Returns the value as seconds from 2001-01-01.
  @inlinable public func stored() throws -> SQLValue { try timeIntervalSinceReferenceDate.stored() }
  /// Creates the value from seconds from 2001-01-01; nil for what is not a number.
  public init?(stored value: SQLValue) {
    guard let seconds = value.double else { return nil }
    self.init(timeIntervalSinceReferenceDate: seconds)
  }
  /// Reads the value from a cell; nil unless the cell has a number.
  @inlinable public static func read(_ cell: RowCell) -> Date? {
    cell.double.map { Date(timeIntervalSinceReferenceDate: $0) }
  }
}

extension UUID: AttributeValue {
  /// The attribute type `uuid`.
  public static var attributeType: AttributeType { .uuid }
  /// The placeholder with all bits 0.
  public static var placeholder: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  /// Returns the value as upper-case text.
  public func stored() throws -> SQLValue { .text(text) }

  // Not uuidString itself, which formats each byte and takes twenty times as long.
  /// The text of ``uuidString``.
  private var text: String {
    let (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) = uuid
    let bytes = SIMD16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    // The dashes are in the text from the beginning.
    var (text, place) = ([UInt8](repeating: UInt8(ascii: "-"), count: 36), 0)
    for number in 0..<16 {
      if number == 4 || number == 6 || number == 8 || number == 10 { place += 1 }
      let (high, low) = (bytes[number] >> 4, bytes[number] & 15)
      text[place] = high < 10 ? 0x30 + high : 0x37 + high
      text[place + 1] = low < 10 ? 0x30 + low : 0x37 + low
      place += 2
    }
    return String(decoding: text, as: UTF8.self)
  }
  /// Creates the value from upper-case text; nil for any other value.
  public init?(stored value: SQLValue) {
    guard case .text(let value) = value, !value.utf8.contains(where: { (0x61...0x66).contains($0) }) else {
      return nil
    }
    self.init(uuidString: value)
  }
}

extension URL: AttributeValue {
  /// The attribute type `url`.
  public static var attributeType: AttributeType { .url }
  /// The root of the file system as placeholder.
  public static var placeholder: URL { URL(fileURLWithPath: "/") }
  /// Returns the absolute text.
  ///
  /// Throws for a URL that is relative to a base: one text cannot contain both.
  public func stored() throws -> SQLValue {
    guard baseURL == nil else {
      throw UnstorableValue(description: "a URL with a base cannot be stored; use its absoluteURL")
    }
    return .text(absoluteString)
  }
  /// Creates the value from text that is a valid URL without change; nil for any other value, such as
  /// text in which characters would be percent-encoded.
  public init?(stored value: SQLValue) {
    guard case .text(let value) = value else { return nil }
    self.init(string: value)
    guard absoluteString == value else { return nil }
  }
}

// Created once, because a locale is looked up by its name.
private let posix = Locale(identifier: "en_US_POSIX")

extension Decimal: AttributeValue {
  /// The attribute type `decimal`.
  public static var attributeType: AttributeType { .decimal }
  /// The placeholder 0.
  public static var placeholder: Decimal { 0 }
  /// Returns the digits as text, without an exponent; throws for NaN, which has no stored form.
  public func stored() throws -> SQLValue {
    guard !isNaN else { throw UnstorableValue.notANumber }
    return .text(description)
  }
  /// Creates the value from an integer, or from digits as text; nil for any other value, and for text
  /// with more digits than a `Decimal` holds.
  public init?(stored value: SQLValue) {
    switch value {
    case .text(let text):
      guard DecimalText.isStored(text) else { return nil }
      self.init(string: text, locale: posix)
      // A text of at most this length never has too many digits.
      if text.utf8.count <= DecimalText.maximumDigits { return }
      guard DecimalText(text.utf8) == DecimalText(description.utf8) else { return nil }
    case .integer(let value): self.init(value)
    default: return nil
    }
  }
}
