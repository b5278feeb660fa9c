// The protocol of the Swift types that an attribute can have. The built-in types conform in
// AttributeValue+Types.

public import CipherSQLite
private import Foundation

/// A type that an ``Attribute`` can hold.
///
/// `Bool`, the integers up to `Int64` and `UInt32`, `Float`, `Double`, `Decimal`, `String`, `Data`,
/// `Date`, `UUID`, `URL` and optionals of all conform already. An enum that has raw values and is
/// `CaseIterable` conforms without code; your other `Codable` types need only a `placeholder`:
///
/// ```swift
/// enum Mood: String, CaseIterable, Codable, AttributeValue {
///   case calm, cheerful
/// }
/// struct Address: Codable, AttributeValue {
///   var street = ""
///   static var placeholder: Address { Address() }
/// }
/// ```
///
/// An enum with raw values is stored as its raw value, any other `Codable` type as JSON. `#Predicate`
/// takes values that are `Codable` and `Sendable`, but no enum cases: write `let calm = Mood.calm`, then
/// `#Predicate { $0.mood == calm }`.
public protocol AttributeValue: ColumnValue {
  /// The type of the attribute in the schema.
  static var attributeType: AttributeType { get }
  /// Whether nil is a valid value.
  static var isOptionalAttribute: Bool { get }
  /// The value of a property that has none: in a new object without a default before the property is set,
  /// and in an object whose row was deleted.
  static var placeholder: Self { get }
  /// Returns the value in its stored form.
  /// - Throws: An error when the value has no stored form, such as NaN, which SQLite stores as NULL.
  func stored() throws -> SQLValue
  /// Creates a value from its stored form; nil when that is not a value of this type.
  init?(stored value: SQLValue)
  /// Reads the value from a cell of a packed row. The result is that of `init(stored: cell.value)`; an
  /// implementation for the type can be faster.
  static func read(_ cell: RowCell) -> Self?
}

extension AttributeValue {
  /// False: only optionals accept nil.
  public static var isOptionalAttribute: Bool { false }
  /// Reads the value by way of its stored form.
  public static func read(_ cell: RowCell) -> Self? { Self(stored: cell.value) }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
  /// The attribute type of the raw value.
  public static var attributeType: AttributeType { RawValue.attributeType }
  /// Returns the stored form of the raw value.
  public func stored() throws -> SQLValue { try rawValue.stored() }
  /// Creates the value from a stored raw value; nil when there is no such value.
  public init?(stored value: SQLValue) {
    guard let raw = RawValue(stored: value) else { return nil }
    self.init(rawValue: raw)
  }
}

extension AttributeValue where Self: CaseIterable, Self: RawRepresentable {
  /// The first case as placeholder.
  public static var placeholder: Self { allCases[allCases.startIndex] }
}

extension AttributeValue where Self: Codable {
  /// The attribute type `json`.
  public static var attributeType: AttributeType { .json }
  /// Returns the value as JSON text with sorted keys.
  public func stored() throws -> SQLValue {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return .text(String(decoding: try encoder.encode(self), as: UTF8.self))
  }
  /// Creates the value from JSON text; nil when the text cannot be decoded.
  public init?(stored value: SQLValue) {
    guard case .text(let text) = value,
      let decoded = try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
    else { return nil }
    self = decoded
  }
}

// An enum that is also Codable is stored as its raw value.
extension AttributeValue where Self: RawRepresentable & Codable, RawValue: AttributeValue {
  /// The attribute type of the raw value.
  public static var attributeType: AttributeType { RawValue.attributeType }
  /// Returns the stored form of the raw value.
  public func stored() throws -> SQLValue { try rawValue.stored() }
  /// Creates the value from a stored raw value; nil when there is no such value.
  public init?(stored value: SQLValue) {
    guard let raw = RawValue(stored: value) else { return nil }
    self.init(rawValue: raw)
  }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
  /// The attribute type of the wrapped type.
  public static var attributeType: AttributeType { Wrapped.attributeType }
  /// True: nil is a valid value.
  public static var isOptionalAttribute: Bool { true }
  /// The placeholder nil.
  public static var placeholder: Wrapped? { nil }
  /// Returns NULL for nil, and otherwise the stored form of the wrapped value.
  @inlinable public func stored() throws -> SQLValue {
    guard let value = self else { return .null }
    return try value.stored()
  }
  /// Creates nil from NULL, and otherwise the wrapped value; fails when the wrapped type has no such
  /// value.
  public init?(stored value: SQLValue) {
    if value.isNull {
      self = .none
    } else {
      guard let wrapped = Wrapped(stored: value) else { return nil }
      self = .some(wrapped)
    }
  }
  /// Reads a cell: `.some(nil)` for NULL, and nil when the wrapped type has no such value.
  @inlinable public static func read(_ cell: RowCell) -> Wrapped?? {
    if cell.isNull { return .some(.none) }
    guard let wrapped = Wrapped.read(cell) else { return .none }
    return .some(.some(wrapped))
  }
}
