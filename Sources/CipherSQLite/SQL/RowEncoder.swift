// Encodes an `Encodable` value as columns.

private import Foundation

/// Encodes a value as columns, one for each of its keys.
///
/// Values of ``SQLConvertible`` types (numbers, text, bytes, dates) and enums with such a raw value become
/// SQLite values. nil becomes NULL. All others (arrays, structs) become JSON text.
public struct RowEncoder: Sendable {
  private let dates: DateStrategy

  /// Creates an encoder.
  /// - Parameter dates: The strategy for dates; pass the one of the connection's configuration.
  public init(dates: DateStrategy = .secondsSince1970) { self.dates = dates }

  /// Returns the columns of a value, in the order in which the value encodes its keys.
  /// - Parameter value: The value.
  /// - Returns: Names and values of the columns.
  /// - Throws: `EncodingError` when the value has no keys, or encodes into a nested container; what its
  ///   `encode(to:)` throws.
  public func encode(_ value: some Encodable) throws -> [(name: String, value: SQLValue)] {
    let columns = Columns()
    try value.encode(to: KeyedRow(columns: columns, dates: dates))
    return columns.list
  }
}

extension SQLArguments {
  /// Creates named parameters from the properties of a value: `:name` gets the value of its key `name`.
  /// - Parameters:
  ///   - value: The value.
  ///   - dates: The strategy for dates; pass the one of the connection's configuration.
  /// - Throws: As ``RowEncoder/encode(_:)``.
  public init(encoding value: some Encodable, dates: DateStrategy = .secondsSince1970) throws {
    let columns = try RowEncoder(dates: dates).encode(value)
    self.init(Dictionary(columns.map { ($0.name, $0.value) }) { $1 })
  }
}

private final class Columns {
  var list: [(name: String, value: SQLValue)] = []
  func set(_ name: String, _ value: SQLValue) {
    if let index = list.firstIndex(where: { $0.name == name }) {
      list[index].value = value
    } else {
      list.append((name, value))
    }
  }
}

/// Thrown when a type encodes more than one value for a column: the column then becomes JSON.
private struct NeedsStructure: Error {}

private struct KeyedRow: Encoder {
  let columns: Columns
  let dates: DateStrategy
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Column: CodingKey>(keyedBy type: Column.Type) -> KeyedEncodingContainer<Column> {
    KeyedEncodingContainer(RowContainer(columns: columns, dates: dates))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { FailingContainer(path: []) }
  func singleValueContainer() -> any SingleValueEncodingContainer { FailingContainer(path: []) }
}

private struct RowContainer<Column: CodingKey>: KeyedEncodingContainerProtocol {
  let columns: Columns
  let dates: DateStrategy
  var codingPath: [any CodingKey] { [] }

  mutating func encodeNil(forKey key: Column) throws { columns.set(key.stringValue, .null) }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Column) throws {
    columns.set(key.stringValue, try ColumnEncoder.column(value, dates, path: [key]))
  }

  mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Column) throws {
    // A nil is a column too: otherwise the row's columns would depend on its values.
    if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
  }
  // Each of these types has its own default implementation, which omits nil.
  mutating func encodeIfPresent(_ value: Bool?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: String?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: Double?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: Float?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: Int?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: Int8?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: Int16?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: Int32?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: Int64?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: UInt?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: UInt8?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: UInt16?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: UInt32?, forKey key: Column) throws { try optional(value, key) }
  mutating func encodeIfPresent(_ value: UInt64?, forKey key: Column) throws { try optional(value, key) }

  private func optional(_ value: (some SQLConvertible)?, _ key: Column) throws {
    columns.set(key.stringValue, value.sqlValue(dates: dates))
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Column
  ) -> KeyedEncodingContainer<Nested> { FailingContainer(path: [key]).keyed() }
  mutating func nestedUnkeyedContainer(forKey key: Column) -> any UnkeyedEncodingContainer {
    FailingContainer(path: [key])
  }
  mutating func superEncoder() -> any Encoder { KeyedRow(columns: columns, dates: dates) }
  mutating func superEncoder(forKey key: Column) -> any Encoder { KeyedRow(columns: columns, dates: dates) }
}

/// Encodes one column: stores the single value that is encoded into this encoder.
private final class ColumnEncoder: Encoder, SingleValueEncodingContainer {
  let dates: DateStrategy
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  private var found: SQLValue?

  private init(_ dates: DateStrategy, _ path: [any CodingKey]) {
    self.dates = dates
    codingPath = path
  }

  static func column(_ value: some Encodable, _ dates: DateStrategy, path: [any CodingKey]) throws -> SQLValue
  {
    if let value = value as? any SQLConvertible { return value.sqlValue(dates: dates) }
    let encoder = ColumnEncoder(dates, path)
    do {
      try value.encode(to: encoder)
      if let found = encoder.found { return found }
    } catch is NeedsStructure {}
    let json = JSONEncoder()
    json.outputFormatting = .sortedKeys
    return .text(String(decoding: try json.encode(value), as: UTF8.self))
  }

  func container<Column: CodingKey>(keyedBy type: Column.Type) -> KeyedEncodingContainer<Column> {
    FailingContainer(path: codingPath, error: NeedsStructure()).keyed()
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    FailingContainer(path: codingPath, error: NeedsStructure())
  }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { found = .null }
  func encode<Value: Encodable>(_ value: Value) throws {
    found = try Self.column(value, dates, path: codingPath)
  }
}

/// A container that is not supported here. An `Encoder` cannot throw when a container is requested. So the
/// error is thrown when the first value is encoded.
private struct FailingContainer: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  let path: [any CodingKey]
  var error: (any Error)?
  var codingPath: [any CodingKey] { path }
  var count: Int { 0 }

  private func failure(_ value: Any?) -> any Error {
    error
      ?? EncodingError.invalidValue(
        value as Any,
        .init(
          codingPath: path,
          debugDescription: "A row needs a value with a key for each column, and has no nested containers."))
  }

  func encodeNil() throws { throw failure(nil) }
  func encode<Value: Encodable>(_ value: Value) throws { throw failure(value) }
  func nestedContainer<Column: CodingKey>(keyedBy keyType: Column.Type) -> KeyedEncodingContainer<Column> {
    keyed()
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func superEncoder() -> any Encoder { FailingEncoder(container: self) }
  func keyed<Column: CodingKey>() -> KeyedEncodingContainer<Column> {
    KeyedEncodingContainer(FailingKeyedContainer<Column>(container: self))
  }
  fileprivate func fail(_ value: Any?) throws -> Never { throw failure(value) }
}

private struct FailingEncoder: Encoder {
  let container: FailingContainer
  var codingPath: [any CodingKey] { container.path }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  func container<Column: CodingKey>(keyedBy type: Column.Type) -> KeyedEncodingContainer<Column> {
    container.keyed()
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { container }
  func singleValueContainer() -> any SingleValueEncodingContainer { container }
}

private struct FailingKeyedContainer<Column: CodingKey>: KeyedEncodingContainerProtocol {
  let container: FailingContainer
  var codingPath: [any CodingKey] { container.path }
  func encodeNil(forKey key: Column) throws { try container.fail(nil) }
  func encode<Value: Encodable>(_ value: Value, forKey key: Column) throws { try container.fail(value) }
  func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Column
  ) -> KeyedEncodingContainer<Nested> { container.keyed() }
  func nestedUnkeyedContainer(forKey key: Column) -> any UnkeyedEncodingContainer { container }
  func superEncoder() -> any Encoder { FailingEncoder(container: container) }
  func superEncoder(forKey key: Column) -> any Encoder { FailingEncoder(container: container) }
}
