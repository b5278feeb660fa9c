// Rows as `Codable` values: RowDecoder and RowEncoder on a connection.

extension Connection {
  /// Inserts a value as a row, with a column for each of its keys: see ``RowEncoder``.
  /// - Parameters:
  ///   - value: The value.
  ///   - table: The table.
  /// - Returns: The new row's id.
  /// - Throws: ``SQLError``; `EncodingError`.
  @discardableResult
  public func insert(_ value: some Encodable, into table: String) throws -> Int64 {
    let columns = try RowEncoder(dates: configuration.dates).encode(value)
    let names = columns.map { quoted($0.name) }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    try execute(sql: "INSERT INTO \(quoted(table)) (\(names)) VALUES (\(marks))", columns.map(\.value))
    return lastInsertedID
  }

  /// Returns all rows of a query as decoded values: see ``Row/decode(_:)``.
  ///
  /// ```swift
  /// struct Person: Codable { var name: String; var age: Int? }
  /// let adults = try connection.rows(
  ///   "SELECT * FROM person WHERE age >= \(18)", as: Person.self)
  /// ```
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  ///   - type: The type of the values.
  /// - Returns: The values, in the order of the query.
  /// - Throws: ``SQLError``; `DecodingError`, with the column in its path.
  public func rows<Value: Decodable>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> [Value] {
    try allRows(sql, arguments).map { try $0.decode(type) }
  }

  /// Returns the first row of a query as a decoded value.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  ///   - type: The type of the value.
  /// - Returns: The value; nil if there is no row.
  /// - Throws: ``SQLError``; `DecodingError`, with the column in its path.
  public func firstRow<Value: Decodable>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> Value? {
    try firstRow(sql, arguments)?.decode(type)
  }
}
