// Swift types that an attribute can have. The built-in ones are in AttributeValue+Types.

public import CipherSQLite
private import Foundation

/// A type that an ``Attribute`` can hold.
///
/// `Bool`, the integers up to `Int64` and `UInt32`, `Float`, `Double`, `Decimal`, `String`, `Data`, `Date`,
/// `UUID`, `URL` and optionals of all conform already. Your own types conform without code:
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
/// An enum is stored as its raw value, any other `Codable` type as JSON. `#Predicate` takes values that are
/// `Codable` and `Sendable`, and knows no cases: `let calm = Mood.calm`, then `#Predicate { $0.mood == calm }`.
public protocol AttributeValue {
  /// The type in the schema.
  static var attributeType: AttributeType { get }
  /// Whether nil is a value.
  static var isOptionalAttribute: Bool { get }
  /// The value that a property shows where there is none: in a new object before it is set, when it has no
  /// default, and in an object whose row is gone.
  static var placeholder: Self { get }
  /// The value as it is stored.
  /// - Throws: When it has no stored form, such as NaN, which SQLite cannot keep apart from NULL.
  func stored() throws -> SQLValue
  /// The value of a stored one, or nil when it has another type.
  init?(stored value: SQLValue)
  /// The value of a cell of a packed row; a fast way to say `init(stored: cell.value)`.
  static func read(_ cell: RowCell) -> Self?
}

extension AttributeValue {
  /// False: only optionals take nil.
  public static var isOptionalAttribute: Bool { false }
  /// By way of the stored value.
  public static func read(_ cell: RowCell) -> Self? { Self(stored: cell.value) }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
  /// The raw value's type.
  public static var attributeType: AttributeType { RawValue.attributeType }
  /// The raw value.
  public func stored() throws -> SQLValue { try rawValue.stored() }
  /// From a stored raw value.
  public init?(stored value: SQLValue) {
    guard let raw = RawValue(stored: value) else { return nil }
    self.init(rawValue: raw)
  }
}

extension AttributeValue where Self: CaseIterable, Self: RawRepresentable {
  /// The first case.
  public static var placeholder: Self { allCases[allCases.startIndex] }
}

extension AttributeValue where Self: Codable {
  /// JSON.
  public static var attributeType: AttributeType { .json }
  /// JSON text with sorted keys.
  public func stored() throws -> SQLValue {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return .text(String(decoding: try encoder.encode(self), as: UTF8.self))
  }
  /// From JSON text.
  public init?(stored value: SQLValue) {
    guard case .text(let text) = value,
      let decoded = try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
    else { return nil }
    self = decoded
  }
}

// An enum that is Codable as well is stored as its raw value.
extension AttributeValue where Self: RawRepresentable & Codable, RawValue: AttributeValue {
  /// The raw value's type.
  public static var attributeType: AttributeType { RawValue.attributeType }
  /// The raw value.
  public func stored() throws -> SQLValue { try rawValue.stored() }
  /// From a stored raw value.
  public init?(stored value: SQLValue) {
    guard let raw = RawValue(stored: value) else { return nil }
    self.init(rawValue: raw)
  }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
  /// The wrapped type.
  public static var attributeType: AttributeType { Wrapped.attributeType }
  /// True.
  public static var isOptionalAttribute: Bool { true }
  /// nil.
  public static var placeholder: Wrapped? { nil }
  /// NULL for nil.
  @inlinable public func stored() throws -> SQLValue {
    guard let value = self else { return .null }
    return try value.stored()
  }
  /// nil for NULL.
  public init?(stored value: SQLValue) {
    if value.isNull {
      self = .none
    } else {
      guard let wrapped = Wrapped(stored: value) else { return nil }
      self = .some(wrapped)
    }
  }
  /// nil for NULL.
  @inlinable public static func read(_ cell: RowCell) -> Wrapped?? {
    if cell.isNull { return .some(.none) }
    guard let wrapped = Wrapped.read(cell) else { return .none }
    return .some(.some(wrapped))
  }
}
