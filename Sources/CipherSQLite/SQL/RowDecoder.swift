// Decodes a row as a `Decodable` value, with one column for each key.

private import Foundation

extension Row {
  /// Decodes the row as a value, with one column for each key.
  ///
  /// Columns are found by name, ignoring case; an optional is nil if its column is missing or NULL. A value
  /// that is not ``SQLConvertible`` (a number, text, bytes, a date) or a wrapper of such a value (an enum
  /// with a raw value) is decoded from JSON, which is how ``RowEncoder`` writes it. If `type` itself is
  /// ``SQLConvertible``, the value is that of the first column.
  /// - Parameter type: The type of the value.
  /// - Returns: The value.
  /// - Throws: `DecodingError`, with the column in its path, or for a missing column as its key;
  ///   ``SQLError`` for a type that is read from the first column.
  public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let type = type as? any SQLConvertible.Type, let value = try convert(type) as? Value { return value }
    return try Value(from: RowDecoder(row: self))
  }

  private func convert<Value: SQLConvertible>(_ type: Value.Type) throws -> Value { try self[0] }
}

/// Thrown when a type requests more than one value from a column: the column is then decoded as JSON.
private struct NeedsStructure: Error {}

private struct RowDecoder: Decoder {
  let row: Row
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Column: CodingKey>(keyedBy type: Column.Type) throws -> KeyedDecodingContainer<Column> {
    KeyedDecodingContainer(RowContainer(row: row))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw DecodingError.dataCorrupted(
      .init(codingPath: [], debugDescription: "A row is decoded by the names of its columns, not as a list."))
  }
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    ColumnDecoder(value: row.values.first ?? .null, header: row.header, codingPath: [])
  }
}

private struct RowContainer<Column: CodingKey>: KeyedDecodingContainerProtocol {
  let row: Row
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Column] { row.columnNames.compactMap { Column(stringValue: $0) } }

  func contains(_ key: Column) -> Bool { row.hasColumn(key.stringValue) }
  func decodeNil(forKey key: Column) throws -> Bool { try value(key).isNull }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Column) throws -> Value {
    try ColumnDecoder(value: value(key), header: row.header, codingPath: [key]).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Column
  ) throws -> KeyedDecodingContainer<Nested> { throw unsupported(key) }
  func nestedUnkeyedContainer(forKey key: Column) throws -> any UnkeyedDecodingContainer {
    throw unsupported(key)
  }
  func superDecoder() throws -> any Decoder { RowDecoder(row: row) }
  func superDecoder(forKey key: Column) throws -> any Decoder { throw unsupported(key) }

  private func value(_ key: Column) throws -> SQLValue {
    guard let index = try? row.header.index(of: key.stringValue) else {
      throw DecodingError.keyNotFound(
        key,
        .init(
          codingPath: [],
          debugDescription:
            "There is no column \(key.stringValue); the columns are "
            + "\(row.columnNames.joined(separator: ", "))."))
    }
    return row.values[index]
  }

  private func unsupported(_ key: Column) -> DecodingError {
    .dataCorruptedError(
      forKey: key, in: self,
      debugDescription:
        "A row has no nested containers. Decode the column as a type of its own, which is read from JSON.")
  }
}

/// Decodes one column.
private struct ColumnDecoder: Decoder, SingleValueDecodingContainer {
  let value: SQLValue
  let header: Row.Header
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Column: CodingKey>(keyedBy type: Column.Type) throws -> KeyedDecodingContainer<Column> {
    throw NeedsStructure()
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NeedsStructure() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
  func decodeNil() -> Bool { value.isNull }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let known = header.read?(type, value) {
      if let value = known as? Value { return value }
      throw mismatch(type)
    }
    if let convertible = type as? any SQLConvertible.Type {
      return try convert(convertible, to: type)
    }
    do { return try Value(from: self) } catch is NeedsStructure { return try json(type) }
  }

  private func convert<Value: SQLConvertible, Wanted>(_ type: Value.Type, to wanted: Wanted.Type) throws
    -> Wanted
  {
    if let converted = Value.from(value, dates: header.dates) as? Wanted { return converted }
    throw mismatch(type)
  }

  private func mismatch(_ type: any Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "The column holds \(value.storageClass), not \(type).")
    return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  private func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let data: Data
    switch value {
    case .text(let text): data = Data(text.utf8)
    case .blob(let bytes): data = bytes
    default:
      throw DecodingError.typeMismatch(
        type,
        .init(codingPath: codingPath, debugDescription: "The column holds \(value.storageClass), not JSON."))
    }
    do { return try JSONDecoder().decode(type, from: data) } catch {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: codingPath, debugDescription: "The column's JSON cannot be decoded as \(type).",
          underlyingError: error))
    }
  }
}
