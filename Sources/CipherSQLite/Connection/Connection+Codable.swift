// Rows as values of the caller's own types: RowDecoder and RowEncoder on a connection.

extension Connection {
  /// Inserts a value as a row, a column for each of its keys: see ``RowEncoder``.
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

  /// All rows of a query as values: see ``Row/decode(_:)``.
  ///
  /// ```swift
  /// struct Person: Codable { var name: String; var age: Int? }
  /// let adults = try connection.rows(
  ///   "SELECT * FROM person WHERE age >= \(18)", as: Person.self)
  /// ```
  /// - Throws: ``SQLError``; `DecodingError`, with the column in its path.
  public func rows<Value: Decodable>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> [Value] {
    try allRows(sql, arguments).map { try $0.decode(type) }
  }

  /// The first row of a query as a value, or nil when there is none.
  public func firstRow<Value: Decodable>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> Value? {
    try firstRow(sql, arguments)?.decode(type)
  }
}
