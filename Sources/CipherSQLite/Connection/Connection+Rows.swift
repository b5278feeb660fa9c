// Running SQL that is written as a literal: values by interpolation, by position, by name.

private import CSQLCipher

extension Connection {
  // MARK: Changing

  /// Runs one statement to its end. What is interpolated is bound.
  /// - Returns: How many rows it changed (INSERT, UPDATE, DELETE).
  /// - Throws: ``SQLError``; ``SQLError/parameterCount(expected:found:sql:)`` or
  ///   ``SQLError/parameterNames(missing:unknown:sql:)`` when the values do not fit the parameters.
  @discardableResult
  public func execute(_ sql: SQL, _ values: [SQLValue]) throws -> Int {
    try withBound(sql, .init(values)) { try finish($0) }
  }

  /// Runs one statement to its end, with values by position or by name.
  @discardableResult @_disfavoredOverload
  public func execute(_ sql: SQL, _ arguments: SQLArguments = []) throws -> Int {
    try withBound(sql, arguments) { try finish($0) }
  }

  /// Runs one statement whose text is made at run time.
  @discardableResult @_disfavoredOverload
  public func execute(sql: String, _ arguments: SQLArguments) throws -> Int {
    try withBound(sql, [], arguments) { try finish($0) }
  }

  private func finish(_ statement: Statement) throws -> Int {
    while try statement.step() {}
    return unsafe Int(sqlite3_changes(handle))
  }

  // MARK: Asking

  /// All rows of a query, every row an array of its columns.
  public func rows(_ sql: SQL, _ values: [SQLValue]) throws -> [[SQLValue]] {
    try query(sql, values) { $0.row() }
  }

  /// All rows of a query, every row an array of its columns.
  @_disfavoredOverload
  public func rows(_ sql: SQL, _ arguments: SQLArguments = []) throws -> [[SQLValue]] {
    try query(sql, arguments) { $0.row() }
  }

  /// Calls `body` for every row of a query and collects what it returns.
  public func query<Element>(
    _ sql: SQL, _ values: [SQLValue], _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    try withBound(sql, .init(values)) { try collect($0, body) }
  }

  /// Calls `body` for every row of a query and collects what it returns.
  @_disfavoredOverload
  public func query<Element>(
    _ sql: SQL, _ arguments: SQLArguments = [], _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    try withBound(sql, arguments) { try collect($0, body) }
  }

  private func collect<Element>(_ statement: Statement, _ body: (Statement) throws -> Element) throws
    -> [Element]
  {
    var elements: [Element] = []
    while try statement.step() { elements.append(try body(statement)) }
    return elements
  }

  /// The first column of the first row, or nil when there is no row.
  public func value(_ sql: SQL, _ values: [SQLValue]) throws -> SQLValue? {
    try withBound(sql, .init(values)) { try $0.step() ? $0.value(0) : nil }
  }

  /// The first column of the first row, or nil when there is no row.
  @_disfavoredOverload
  public func value(_ sql: SQL, _ arguments: SQLArguments = []) throws -> SQLValue? {
    try withBound(sql, arguments) { try $0.step() ? $0.value(0) : nil }
  }

  /// The first column of the first row as a Swift value, or nil when there is no row.
  /// - Throws: ``SQLError/columnType(column:expected:found:)`` when it is no `Value`. A column that may be NULL
  ///   is asked for as `Int?.self`.
  public func value<Value: SQLConvertible>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> Value? {
    try withBound(sql, arguments) { statement in
      guard try statement.step() else { return nil }
      // Not as an optional: a NULL would then pass for no row.
      let value: Value = try typed(statement)
      return value
    }
  }

  /// The first column of every row as Swift values.
  public func column<Value: SQLConvertible>(
    _ sql: SQL, _ arguments: SQLArguments = [], as type: Value.Type
  ) throws -> [Value] {
    try withBound(sql, arguments) { try collect($0) { try typed($0) } }
  }

  private func typed<Value: SQLConvertible>(_ statement: Statement) throws -> Value {
    let found = statement.value(0)
    if let value = Value.from(found, dates: configuration.dates) { return value }
    throw SQLError.columnType(
      column: statement.columnName(0), expected: "\(Value.self)", found: found.storageClass)
  }

  /// All rows of a query as values with names.
  public func allRows(_ sql: SQL, _ arguments: SQLArguments = []) throws -> [Row] {
    try withBound(sql, arguments) { statement in
      let header = statement.header(dates: configuration.dates)
      return try collect(statement) { Row(header: header, values: $0.row()) }
    }
  }

  /// The first row of a query, or nil when there is none.
  public func firstRow(_ sql: SQL, _ arguments: SQLArguments = []) throws -> Row? {
    try withBound(sql, arguments) { statement in
      guard try statement.step() else { return nil }
      return Row(header: statement.header(dates: configuration.dates), values: statement.row())
    }
  }

  // MARK: Cursors

  /// The rows of a query one at a time, each made by `make` from the statement's present row.
  public func cursor<Element>(
    _ sql: SQL, _ arguments: SQLArguments = [], _ make: @escaping (Statement) throws -> Element
  ) throws -> Cursor<Element> {
    let statement = try prepare(sql: sql.text)
    try bind(statement, sql.values, arguments)
    return Cursor(statement, make)
  }

  /// The rows of a query one at a time.
  public func cursor(_ sql: SQL, _ arguments: SQLArguments = []) throws -> Cursor<Row> {
    let statement = try prepare(sql: sql.text)
    try bind(statement, sql.values, arguments)
    let header = statement.header(dates: configuration.dates)
    return Cursor(statement) { Row(header: header, values: $0.row()) }
  }

  // MARK: Statements

  /// Prepares one statement for repeated use; the caller binds its parameters.
  public func prepare(_ sql: SQL) throws -> Statement {
    let statement = try prepare(sql: sql.text)
    if !sql.values.isEmpty { try statement.bind(SQLArguments(sql.values)) }
    return statement
  }

  /// Lends a statement from the cache, bound, and resets it afterwards.
  public func withStatement<Result>(_ sql: SQL, _ body: (Statement) throws -> Result) throws -> Result {
    try withBound(sql, [], body)
  }

  func withBound<Result>(
    _ sql: SQL, _ arguments: SQLArguments, _ body: (Statement) throws -> Result
  ) throws -> Result {
    try withBound(sql.text, sql.values, arguments, body)
  }

  private func withBound<Result>(
    _ text: String, _ values: [any SQLConvertible], _ arguments: SQLArguments,
    _ body: (Statement) throws -> Result
  ) throws -> Result {
    try withStatement(sql: text) { statement in
      try bind(statement, values, arguments)
      return try body(statement)
    }
  }

  private func bind(_ statement: Statement, _ values: [any SQLConvertible], _ arguments: SQLArguments) throws
  {
    guard !values.isEmpty else { return try statement.bind(arguments) }
    // Two sources for one row of parameters: which value belongs to which could only be guessed.
    if case .positional(let more) = arguments.content, more.isEmpty {
      return try statement.bind(SQLArguments(values))
    }
    throw SQLError.mixedParameters(sql: statement.sql)
  }
}
