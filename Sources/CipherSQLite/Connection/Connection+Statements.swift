// Preparing and running SQL.

private import CSQLCipher

extension Connection {
  /// Prepares one statement.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` with SQLite's message for bad SQL.
  public func prepare(_ sql: String) throws -> Statement {
    guard handle != nil else { throw SQLError.closed(file: path) }
    var raw: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &raw, nil)
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
    return Statement(raw: raw, sql: sql, connection: self)
  }

  /// Runs `body` with a statement from the cache, prepared on first use and reset afterwards.
  ///
  /// Nested use of the same SQL gets a statement of its own.
  public func withStatement<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
    guard handle != nil else { throw SQLError.closed(file: path) }
    let statement: Statement
    if let cached = cache.take(sql) {
      statement = cached
    } else {
      statement = try prepare(sql)
      cache.insert(statement)
    }
    defer {
      statement.reset()
      statement.isInUse = false
    }
    return try body(statement)
  }

  /// Runs one statement to its end.
  /// - Returns: How many rows it changed (INSERT, UPDATE, DELETE).
  @discardableResult
  public func execute(_ sql: String, _ values: [SQLValue] = []) throws -> Int {
    try withStatement(sql) { statement in
      try statement.bind(values)
      while try statement.step() {}
      return Int(sqlite3_changes(handle))
    }
  }

  /// Runs a text of many statements. Takes no parameters; stops at the first error.
  public func executeScript(_ sql: String) throws {
    guard handle != nil else { throw SQLError.closed(file: path) }
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
  }

  /// All rows of a query, every row an array of its columns.
  public func rows(_ sql: String, _ values: [SQLValue] = []) throws -> [[SQLValue]] {
    try query(sql, values) { $0.row() }
  }

  /// Calls `body` for every row of a query and collects what it returns.
  public func query<Element>(
    _ sql: String, _ values: [SQLValue] = [], _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    try withStatement(sql) { statement in
      try statement.bind(values)
      var elements: [Element] = []
      while try statement.step() { elements.append(try body(statement)) }
      return elements
    }
  }

  /// The first column of the first row, or nil when there is no row.
  public func value(_ sql: String, _ values: [SQLValue] = []) throws -> SQLValue? {
    try withStatement(sql) { statement in
      try statement.bind(values)
      return try statement.step() ? statement.value(0) : nil
    }
  }

  /// How many rows the last INSERT, UPDATE or DELETE changed.
  public var changes: Int { Int(sqlite3_changes(handle)) }
  /// The rowid of the last INSERT.
  public var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle) }
}
