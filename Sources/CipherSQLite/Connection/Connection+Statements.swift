// Preparing and running SQL.

private import CSQLCipher

extension Connection {
  /// Prepares one statement whose text is made at run time.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` with SQLite's message for bad SQL;
  ///   ``SQLError/notOneStatement(sql:)`` when the text holds none, or more than one.
  public func prepare(sql: String) throws -> Statement {
    let handle = try opened()
    var raw: OpaquePointer?
    var text = sql
    let (code, isWhole) = text.withUTF8 { bytes in
      let start = UnsafeRawPointer(bytes.baseAddress ?? emptyAddress).assumingMemoryBound(to: CChar.self)
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v2(handle, start, Int32(clamping: bytes.count), &raw, &tail)
      return (code, code != SQLITE_OK || holdsNothing(tail, end: start + bytes.count))
    }
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
    guard raw != nil, isWhole else {
      sqlite3_finalize(raw)
      throw SQLError.notOneStatement(sql: sql)
    }
    return Statement(raw: raw, sql: sql, connection: self)
  }

  /// Whether nothing but spaces, semicolons and comments follows.
  private func holdsNothing(_ start: UnsafePointer<CChar>?, end: UnsafePointer<CChar>) -> Bool {
    var next = start
    while let rest = next, rest < end {
      var raw: OpaquePointer?
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v2(handle, rest, Int32(clamping: end - rest), &raw, &tail)
      defer { sqlite3_finalize(raw) }
      // A statement, or what was meant to be one.
      guard code == SQLITE_OK, raw == nil else { return false }
      guard tail != rest else { return true }
      next = tail
    }
    return true
  }

  /// Checks one statement without running it: its syntax, and that what it names is there.
  /// - Throws: As ``prepare(sql:)``.
  public func validate(sql: String) throws { try prepare(sql: sql).finalizeNow() }

  /// Runs `body` with a statement from the cache, prepared on first use and reset afterwards.
  ///
  /// Nested use of the same SQL gets a statement of its own.
  public func withStatement<Result>(sql: String, _ body: (Statement) throws -> Result) throws -> Result {
    let statement = try lend(sql)
    defer {
      statement.reset()
      statement.isInUse = false
    }
    return try body(statement)
  }

  private func lend(_ sql: String) throws -> Statement {
    _ = try opened()
    if let cached = cache.take(sql) { return cached }
    let statement = try prepare(sql: sql)
    cache.insert(statement)
    return statement
  }

  /// Runs one statement to its end.
  /// - Returns: How many rows it changed (INSERT, UPDATE, DELETE).
  @discardableResult
  public func execute(sql: String, _ values: [SQLValue] = []) throws -> Int {
    try withStatement(sql: sql) { statement in
      try statement.bind(values)
      while try statement.step() {}
      return Int(sqlite3_changes(handle))
    }
  }

  /// Runs a text of many statements, made at run time. Takes no parameters; stops at the first error.
  public func executeScript(_ sql: String) throws {
    let handle = try opened()
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
  }

  /// Runs a text of many statements and calls `onRow` for each row that any of them gives.
  /// - Throws: ``SQLError`` at the first error; what `onRow` throws, which ends the script.
  public func executeScript(_ sql: String, onRow: (Row) throws -> Void) throws {
    _ = try opened()
    // A copy with an address of its own: the statements are prepared one behind the other.
    let bytes = ContiguousArray(sql.utf8CString)
    try bytes.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      while let start = next, start.pointee != 0 {
        var raw: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        // Asked for each statement: the one before may have given a row to somebody who closed the connection.
        let code = sqlite3_prepare_v2(try opened(), start, -1, &raw, &tail)
        guard code == SQLITE_OK else { throw error(code, sql: sql) }
        next = tail
        // Spaces and comments make no statement.
        guard raw != nil else { continue }
        let statement = Statement(raw: raw, sql: sql, connection: self)
        var header: Row.Header?
        while try statement.step() {
          let known = header ?? statement.header(dates: configuration.dates)
          header = known
          try onRow(Row(header: known, values: statement.row()))
        }
      }
    }
  }

  /// All rows of a query, every row an array of its columns.
  public func rows(sql: String, _ values: [SQLValue] = []) throws -> [[SQLValue]] {
    try query(sql: sql, values) { $0.row() }
  }

  /// Calls `body` for every row of a query and collects what it returns.
  public func query<Element>(
    sql: String, _ values: [SQLValue] = [], _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    try withStatement(sql: sql) { statement in
      try statement.bind(values)
      var elements: [Element] = []
      while try statement.step() { elements.append(try body(statement)) }
      return elements
    }
  }

  /// The first column of the first row, or nil when there is no row.
  public func value(sql: String, _ values: [SQLValue] = []) throws -> SQLValue? {
    try withStatement(sql: sql) { statement in
      try statement.bind(values)
      return try statement.step() ? statement.value(0) : nil
    }
  }

  /// How many rows the last INSERT, UPDATE or DELETE changed.
  public var changes: Int { handle.map { Int(sqlite3_changes($0)) } ?? 0 }
  /// The rowid of the last INSERT.
  public var lastInsertedID: Int64 { handle.map { sqlite3_last_insert_rowid($0) } ?? 0 }
}
