// Running SQL that is written as a literal. Values are interpolated, or passed by position or by name.

private import CSQLCipher

extension Connection {
  // MARK: Changing

  /// Runs one statement to its end.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - values: The values of its parameters, in order, if no value is interpolated.
  /// - Returns: The number of rows that an INSERT, UPDATE or DELETE changed; for any other statement,
  ///   that of the last such statement on this connection.
  /// - Throws: ``SQLError``; ``SQLError/parameterCount(expected:found:sql:)`` if the number of values
  ///   differs from that of the parameters; ``SQLError/mixedParameters(sql:)`` if values are interpolated
  ///   as well.
  @discardableResult
  public func execute(_ sql: SQL, _ values: [SQLValue]) throws -> Int {
    try withBound(sql, arguments: .init(values)) { try finish($0) }
  }

  /// Runs one statement to its end, with arguments by position or by name.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  /// - Returns: The number of rows that an INSERT, UPDATE or DELETE changed; for any other statement,
  ///   that of the last such statement on this connection.
  /// - Throws: ``SQLError``; ``SQLError/parameterCount(expected:found:sql:)`` or
  ///   ``SQLError/parameterNames(missing:unknown:sql:)`` if the arguments do not fit the parameters;
  ///   ``SQLError/mixedParameters(sql:)`` if values are interpolated as well.
  @discardableResult @_disfavoredOverload
  public func execute(_ sql: SQL, _ arguments: SQLArguments = []) throws -> Int {
    try withBound(sql, arguments: arguments) { try finish($0) }
  }

  /// Runs one statement whose text is built at run time.
  /// - Parameters:
  ///   - sql: The text of one statement.
  ///   - arguments: Its parameters by position or by name.
  /// - Returns: The number of rows that an INSERT, UPDATE or DELETE changed; for any other statement,
  ///   that of the last such statement on this connection.
  /// - Throws: ``SQLError``.
  @discardableResult @_disfavoredOverload
  public func execute(sql: String, _ arguments: SQLArguments) throws -> Int {
    try withBound(sql, values: [], arguments: arguments) { try finish($0) }
  }

  private func finish(_ statement: Statement) throws -> Int {
    while try statement.step() {}
    return unsafe Int(sqlite3_changes(handle))
  }

  // MARK: Queries

  /// Returns all rows of a query, each as an array of its column values.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - values: The values of its parameters, in order, if no value is interpolated.
  /// - Returns: The rows.
  /// - Throws: ``SQLError``.
  public func rows(_ sql: SQL, _ values: [SQLValue]) throws -> [[SQLValue]] {
    try query(sql, values) { $0.row() }
  }

  /// Returns all rows of a query, each as an array of its column values.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  /// - Returns: The rows.
  /// - Throws: ``SQLError``.
  @_disfavoredOverload
  public func rows(_ sql: SQL, _ arguments: SQLArguments = []) throws -> [[SQLValue]] {
    try query(sql, arguments) { $0.row() }
  }

  /// Calls `body` for every row of a query and collects its results.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - values: The values of its parameters, in order, if no value is interpolated.
  ///   - body: Reads the statement's current row.
  /// - Returns: The results, in the order of the rows.
  /// - Throws: ``SQLError``; what `body` throws.
  public func query<Element>(
    _ sql: SQL, _ values: [SQLValue], _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    try withBound(sql, arguments: .init(values)) { try collect($0, body) }
  }

  /// Calls `body` for every row of a query and collects its results.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  ///   - body: Reads the statement's current row.
  /// - Returns: The results, in the order of the rows.
  /// - Throws: ``SQLError``; what `body` throws.
  @_disfavoredOverload
  public func query<Element>(
    _ sql: SQL, _ arguments: SQLArguments = [], _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    try withBound(sql, arguments: arguments) { try collect($0, body) }
  }

  private func collect<Element>(_ statement: Statement, _ body: (Statement) throws -> Element) throws
    -> [Element]
  {
    var elements: [Element] = []
    while try statement.step() { elements.append(try body(statement)) }
    return elements
  }

  /// Returns the first column of the first row.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - values: The values of its parameters, in order, if no value is interpolated.
  /// - Returns: The value; nil if there is no row.
  /// - Throws: ``SQLError``.
  public func value(_ sql: SQL, _ values: [SQLValue]) throws -> SQLValue? {
    try withBound(sql, arguments: .init(values)) { try $0.step() ? $0.value(0) : nil }
  }

  /// Returns the first column of the first row.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  /// - Returns: The value; nil if there is no row.
  /// - Throws: ``SQLError``.
  @_disfavoredOverload
  public func value(_ sql: SQL, _ arguments: SQLArguments = []) throws -> SQLValue? {
    try withBound(sql, arguments: arguments) { try $0.step() ? $0.value(0) : nil }
  }

  /// Returns the first column of the first row as a Swift value.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  ///   - type: The type of the value. For a column that may be NULL, pass an
  ///     optional type such as `Int?.self`.
  /// - Returns: The value; nil if there is no row.
  /// - Throws: ``SQLError``; ``SQLError/columnType(column:expected:found:)`` if it is not a `Value`.
  public func value<Value: SQLConvertible>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> Value? {
    try withBound(sql, arguments: arguments) { statement in
      guard try statement.step() else { return nil }
      // Read as `Value`, not as `Value?`: otherwise NULL would be returned as nil, like a missing row.
      let value: Value = try typed(statement)
      return value
    }
  }

  /// Returns the first column of every row as Swift values.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  ///   - type: The type of the values.
  /// - Returns: The values, in the order of the rows.
  /// - Throws: ``SQLError``; ``SQLError/columnType(column:expected:found:)`` if one is not a `Value`.
  public func column<Value: SQLConvertible>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> [Value] {
    try withBound(sql, arguments: arguments) { try collect($0) { try typed($0) } }
  }

  private func typed<Value: SQLConvertible>(_ statement: Statement) throws -> Value {
    let found = statement.value(0)
    if let value = Value.from(found, dates: configuration.dates) { return value }
    throw SQLError.columnType(
      column: statement.columnName(0), expected: "\(Value.self)", found: found.storageClass)
  }

  /// Returns all rows of a query, with access to their columns by name.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  /// - Returns: The rows.
  /// - Throws: ``SQLError``.
  public func allRows(_ sql: SQL, _ arguments: SQLArguments = []) throws -> [Row] {
    try withBound(sql, arguments: arguments) { statement in
      let header = statement.header(dates: configuration.dates)
      return try collect(statement) { Row(header: header, values: $0.row()) }
    }
  }

  /// Returns the first row of a query, with access to its columns by name.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  /// - Returns: The row; nil if there is none.
  /// - Throws: ``SQLError``.
  public func firstRow(_ sql: SQL, _ arguments: SQLArguments = []) throws -> Row? {
    try withBound(sql, arguments: arguments) { statement in
      guard try statement.step() else { return nil }
      return Row(header: statement.header(dates: configuration.dates), values: statement.row())
    }
  }

  // MARK: Cursors

  /// Returns a cursor over the rows of a query. It converts one row at a time.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  ///   - make: Makes an element from the statement's current row.
  /// - Returns: The cursor, before the first row.
  /// - Throws: ``SQLError``.
  public func cursor<Element>(
    _ sql: SQL, _ arguments: SQLArguments = [], _ make: @escaping (Statement) throws -> Element
  ) throws -> Cursor<Element> {
    let statement = try prepare(sql: sql.text)
    try bind(statement, values: sql.values, arguments: arguments)
    return Cursor(statement, make)
  }

  /// Returns a cursor over the rows of a query. It reads one row at a time.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - arguments: Its parameters by position or by name, if no value is interpolated.
  /// - Returns: The cursor, before the first row.
  /// - Throws: ``SQLError``.
  public func cursor(_ sql: SQL, _ arguments: SQLArguments = []) throws -> Cursor<Row> {
    let statement = try prepare(sql: sql.text)
    try bind(statement, values: sql.values, arguments: arguments)
    let header = statement.header(dates: configuration.dates)
    return Cursor(statement) { Row(header: header, values: $0.row()) }
  }

  // MARK: Statements

  /// Prepares one statement for repeated use.
  /// - Parameter sql: The statement. Interpolated values are bound; if there are none, the caller binds the
  ///   parameters.
  /// - Returns: The statement.
  /// - Throws: ``SQLError``.
  public func prepare(_ sql: SQL) throws -> Statement {
    let statement = try prepare(sql: sql.text)
    if !sql.values.isEmpty { try statement.bind(SQLArguments(sql.values)) }
    return statement
  }

  /// Calls `body` with a statement from the cache, and resets the statement afterwards.
  /// - Parameters:
  ///   - sql: One statement; interpolated values are bound.
  ///   - body: Runs the statement, and must not keep it.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError``; what `body` throws.
  public func withStatement<Result>(_ sql: SQL, _ body: (Statement) throws -> Result) throws -> Result {
    try withBound(sql, arguments: [], body)
  }

  func withBound<Result>(
    _ sql: SQL, arguments: SQLArguments, _ body: (Statement) throws -> Result
  ) throws -> Result {
    try withBound(sql.text, values: sql.values, arguments: arguments, body)
  }

  private func withBound<Result>(
    _ text: String, values: [any SQLConvertible], arguments: SQLArguments,
    _ body: (Statement) throws -> Result
  ) throws -> Result {
    try withStatement(sql: text) { statement in
      try bind(statement, values: values, arguments: arguments)
      return try body(statement)
    }
  }

  private func bind(_ statement: Statement, values: [any SQLConvertible], arguments: SQLArguments) throws {
    guard !values.isEmpty else { return try statement.bind(arguments) }
    // With two sources of values it would be unclear which value belongs to which parameter.
    if case .positional(let more) = arguments.content, more.isEmpty {
      return try statement.bind(SQLArguments(values))
    }
    throw SQLError.mixedParameters(sql: statement.sql)
  }
}
