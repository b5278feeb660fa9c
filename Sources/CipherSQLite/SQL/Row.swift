// A row that outlives its statement.

/// One row of a result: values that stay valid when the statement advances to the next row.
///
/// ```swift
/// for row in try connection.allRows("SELECT name, age FROM person") {
///   let name: String = try row["name"]
///   let age: Int? = try row["age"]
/// }
/// ```
/// Names are compared as in SQLite: the case of ASCII letters is ignored. If two columns have the same name,
/// the name refers to the first.
public struct Row: Sendable {
  /// The data that all rows of a result share.
  final class Header: Sendable {
    let names: [String]
    let dates: DateStrategy
    /// Reads a value as a type of the caller's: nil inside if the value is not of the type, nil if it does
    /// not know the type.
    let read: (@Sendable (_ type: any Any.Type, _ value: SQLValue) -> Any??)?
    private let indexes: [String: Int]

    init(
      names: [String], dates: DateStrategy,
      read: (@Sendable (_ type: any Any.Type, _ value: SQLValue) -> Any??)? = nil
    ) {
      (self.names, self.dates, self.read) = (names, dates, read)
      indexes = Dictionary(names.enumerated().map { ($1.asciiLowercased, $0) }) { first, _ in first }
    }

    func index(of name: String) throws -> Int {
      if let index = indexes[name.asciiLowercased] { return index }
      throw SQLError.noSuchColumn(name: name, available: names)
    }
  }

  let header: Header
  /// The values, in the order of the columns.
  public let values: [SQLValue]

  /// Returns rows of values, to be decoded.
  /// - Parameter read: Reads a value as a type of the caller's: nil inside if the value is not of the type,
  ///   nil if it does not know the type.
  package static func rows(
    _ values: [[SQLValue]], names: [String], dates: DateStrategy,
    read: @escaping @Sendable (_ type: any Any.Type, _ value: SQLValue) -> Any??
  ) -> [Row] {
    let header = Header(names: names, dates: dates, read: read)
    return values.map { Row(header: header, values: $0) }
  }

  /// The names of the columns, in order.
  public var columnNames: [String] { header.names }

  /// Whether there is a column of this name.
  public func hasColumn(_ name: String) -> Bool { (try? header.index(of: name)) != nil }

  /// Returns a column's value by its index, counted from 0.
  /// - Parameter index: The index of the column.
  /// - Throws: ``SQLError/noSuchColumn(name:available:)``; ``SQLError/columnType(column:expected:found:)``
  ///   when the value cannot be converted to `Value`, such as NULL for a type that is not optional.
  public subscript<Value: SQLConvertible>(_ index: Int) -> Value {
    get throws {
      guard values.indices.contains(index) else {
        throw SQLError.noSuchColumn(name: "\(index)", available: header.names)
      }
      guard let value = Value.from(values[index], dates: header.dates) else {
        throw SQLError.columnType(
          column: header.names[index], expected: "\(Value.self)", found: values[index].storageClass)
      }
      return value
    }
  }

  /// Returns a column's value by its name.
  /// - Parameter name: The name of the column; the case of ASCII letters is ignored.
  /// - Throws: As the subscript by index.
  public subscript<Value: SQLConvertible>(_ name: String) -> Value {
    get throws { try self[header.index(of: name)] }
  }

  /// The values by column name. If two columns have the same name, the first one counts.
  public var dictionary: [String: SQLValue] {
    Dictionary(zip(header.names, values)) { first, _ in first }
  }
}

extension Row: CustomStringConvertible {
  /// The columns' names and storage classes, without the values.
  public var description: String {
    "[" + zip(header.names, values).map { "\($0): \($1.storageClass)" }.joined(separator: ", ") + "]"
  }
}

extension SQLValue {
  /// The name of the storage class, as SQL's `typeof` returns it.
  public var storageClass: String {
    switch self {
    case .null: "null"
    case .integer: "integer"
    case .real: "real"
    case .text: "text"
    case .blob: "blob"
    }
  }
}
