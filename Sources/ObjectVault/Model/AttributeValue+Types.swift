// The built-in attribute types.

public import CipherSQLite
public import Foundation

/// A value that no attribute can store.
struct UnstorableValue: Error, Equatable, CustomStringConvertible {
  let description: String

  static let notANumber = UnstorableValue(description: "NaN cannot be stored; use an optional and nil")
  static let tooLarge = UnstorableValue(description: "an object holds no more than a billion bytes in all")

  /// For patterns, in `catch`.
  static func ~= (pattern: UnstorableValue, error: any Error) -> Bool { error as? UnstorableValue == pattern }
}

// Apart, so that what is inlined into other modules is short and names no type of ours.
@usableFromInline func beyondRange(_ value: String) -> any Error {
  UnstorableValue(description: "\(value) is beyond 64 bits")
}

@usableFromInline func notANumber() -> any Error { UnstorableValue.notANumber }

// Integers are Codable too; this says that they are stored as integers and not as JSON.
extension AttributeValue where Self: FixedWidthInteger & Codable {
  /// 0.
  public static var placeholder: Self { 0 }
  /// An integer.
  @inlinable public func stored() throws -> SQLValue {
    guard let value = Int64(exactly: self) else { throw beyondRange("\(self)") }
    return .integer(value)
  }
  /// From an integer in range.
  public init?(stored value: SQLValue) {
    guard case .integer(let value) = value else { return nil }
    self.init(exactly: value)
  }
  /// From an integer in range.
  @inlinable public static func read(_ cell: RowCell) -> Self? {
    guard let value = cell.int64 else { return nil }
    return Self(exactly: value)
  }
}

extension Int: AttributeValue {
  /// `int`.
  public static var attributeType: AttributeType { .int }
}
extension Int8: AttributeValue {
  /// `int8`.
  public static var attributeType: AttributeType { .int8 }
}
extension Int16: AttributeValue {
  /// `int16`.
  public static var attributeType: AttributeType { .int16 }
}
extension Int32: AttributeValue {
  /// `int32`.
  public static var attributeType: AttributeType { .int32 }
}
extension Int64: AttributeValue {
  /// `int`.
  public static var attributeType: AttributeType { .int }
}
extension UInt8: AttributeValue {
  /// `uint8`.
  public static var attributeType: AttributeType { .uint8 }
}
extension UInt16: AttributeValue {
  /// `uint16`.
  public static var attributeType: AttributeType { .uint16 }
}
extension UInt32: AttributeValue {
  /// `uint32`.
  public static var attributeType: AttributeType { .uint32 }
}

extension Bool: AttributeValue {
  /// `bool`.
  public static var attributeType: AttributeType { .bool }
  /// `false`.
  public static var placeholder: Bool { false }
  /// 0 or 1.
  @inlinable public func stored() throws -> SQLValue { .integer(self ? 1 : 0) }
  /// From 0 or 1.
  public init?(stored value: SQLValue) {
    guard case .integer(let value) = value, value == 0 || value == 1 else { return nil }
    self = value == 1
  }
  /// From 0 or 1: any other number is found neither as true nor as false.
  @inlinable public static func read(_ cell: RowCell) -> Bool? {
    guard let value = cell.int64, value & ~1 == 0 else { return nil }
    return value == 1
  }
}

extension Double: AttributeValue {
  /// `double`.
  public static var attributeType: AttributeType { .double }
  /// 0.
  public static var placeholder: Double { 0 }
  /// A real. NaN has no stored form. -0.0 becomes 0.0, which is equal: SQLite keeps no sign of zero.
  @inlinable public func stored() throws -> SQLValue {
    guard !isNaN else { throw notANumber() }
    return .real(self == 0 ? 0 : self)
  }
  /// From a number.
  public init?(stored value: SQLValue) {
    guard let value = value.double else { return nil }
    self = value
  }
  /// From a number.
  @inlinable public static func read(_ cell: RowCell) -> Double? { cell.double }
}

extension Float: AttributeValue {
  /// `float`.
  public static var attributeType: AttributeType { .float }
  /// 0.
  public static var placeholder: Float { 0 }
  /// A real. NaN has no stored form.
  @inlinable public func stored() throws -> SQLValue { try Double(self).stored() }
  /// From a number that does not become infinity by it.
  public init?(stored value: SQLValue) {
    guard let value = value.double else { return nil }
    self = Float(value)
    guard isInfinite == value.isInfinite else { return nil }
  }
  /// From a number that does not become infinity by it.
  @inlinable public static func read(_ cell: RowCell) -> Float? {
    guard let value = cell.double else { return nil }
    let float = Float(value)
    return float.isInfinite == value.isInfinite ? float : nil
  }
}

extension String: AttributeValue {
  /// `string`.
  public static var attributeType: AttributeType { .string }
  /// The empty string.
  public static var placeholder: String { "" }
  /// Text.
  @inlinable public func stored() throws -> SQLValue { .text(self) }
  /// From text.
  public init?(stored value: SQLValue) {
    guard case .text(let value) = value else { return nil }
    self = value
  }
  /// From text.
  @inlinable public static func read(_ cell: RowCell) -> String? { cell.string }
}

extension Data: AttributeValue {
  /// `data`.
  public static var attributeType: AttributeType { .data }
  /// No bytes.
  public static var placeholder: Data { Data() }
  /// Bytes.
  @inlinable public func stored() throws -> SQLValue { .blob(self) }
  /// From bytes.
  public init?(stored value: SQLValue) {
    guard case .blob(let value) = value else { return nil }
    self = value
  }
}

extension Date: AttributeValue {
  /// `date`.
  public static var attributeType: AttributeType { .date }
  /// 2001-01-01 00:00 UTC.
  public static var placeholder: Date { Date(timeIntervalSinceReferenceDate: 0) }
  /// Seconds from 2001-01-01.
  @inlinable public func stored() throws -> SQLValue { try timeIntervalSinceReferenceDate.stored() }
  /// From seconds.
  public init?(stored value: SQLValue) {
    guard let seconds = value.double else { return nil }
    self.init(timeIntervalSinceReferenceDate: seconds)
  }
  /// From seconds.
  @inlinable public static func read(_ cell: RowCell) -> Date? {
    cell.double.map { Date(timeIntervalSinceReferenceDate: $0) }
  }
}

extension UUID: AttributeValue {
  /// `uuid`.
  public static var attributeType: AttributeType { .uuid }
  /// All zeros.
  public static var placeholder: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  /// Upper-case text.
  public func stored() throws -> SQLValue { .text(text) }

  // uuidString prints each byte with a format, which takes twenty times as long.
  /// The digits of ``uuidString``.
  private var text: String {
    let (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) = uuid
    let bytes = SIMD16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    // The dashes are there already.
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
  /// From upper-case text.
  public init?(stored value: SQLValue) {
    guard case .text(let value) = value, !value.utf8.contains(where: { (0x61...0x66).contains($0) }) else {
      return nil
    }
    self.init(uuidString: value)
  }
}

extension URL: AttributeValue {
  /// `url`.
  public static var attributeType: AttributeType { .url }
  /// The root of the file system.
  public static var placeholder: URL { URL(fileURLWithPath: "/") }
  /// The whole text. A URL that is relative to a base has no stored form: one text cannot hold both.
  public func stored() throws -> SQLValue {
    guard baseURL == nil else {
      throw UnstorableValue(description: "a URL with a base cannot be stored; use its absoluteURL")
    }
    return .text(absoluteString)
  }
  /// From text that is a URL as it stands: in other text some signs would be replaced.
  public init?(stored value: SQLValue) {
    guard case .text(let value) = value else { return nil }
    self.init(string: value)
    guard absoluteString == value else { return nil }
  }
}

// Made once: a locale is looked up by its name.
private let posix = Locale(identifier: "en_US_POSIX")

extension Decimal: AttributeValue {
  /// `decimal`.
  public static var attributeType: AttributeType { .decimal }
  /// 0.
  public static var placeholder: Decimal { 0 }
  /// Its digits as text, never in powers of ten. NaN has no stored form.
  public func stored() throws -> SQLValue {
    guard !isNaN else { throw UnstorableValue.notANumber }
    return .text(description)
  }
  /// From digits, all of which it can hold.
  public init?(stored value: SQLValue) {
    switch value {
    case .text(let text):
      guard DecimalText.isStored(text) else { return nil }
      self.init(string: text, locale: posix)
      // As many digits it holds in any case.
      if text.utf8.count <= DecimalText.maximumDigits { return }
      guard DecimalText(text.utf8) == DecimalText(description.utf8) else { return nil }
    case .integer(let value): self.init(value)
    default: return nil
    }
  }
}
