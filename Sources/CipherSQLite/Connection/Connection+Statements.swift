// Preparing and running SQL.
//
// The engine reads a text only during the call that prepares it, and keeps no pointer to it. The end of a
// statement within a text is therefore found while the text's buffer is accessible. A prepared statement
// is owned by a Statement, or finalized here.

private import CSQLCipher

extension Connection {
  /// Prepares one statement whose text is built at run time.
  /// - Parameter sql: The text of one statement.
  /// - Returns: The statement.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` with SQLite's message for invalid SQL;
  ///   ``SQLError/notOneStatement(sql:)`` if the text holds none, or more than one.
  public func prepare(sql: String) throws -> Statement {
    let handle = try unsafe opened()
    var raw: OpaquePointer?
    var text = sql
    let (code, isWhole) = try text.withUTF8 { bytes in
      // At a NUL the engine would end the text, and run only the part before it.
      guard unsafe !bytes.contains(0) else { throw SQLError.containsNUL(sql) }
      let start = unsafe UnsafeRawPointer(bytes.baseAddress ?? emptyAddress).assumingMemoryBound(
        to: CChar.self)
      var tail: UnsafePointer<CChar>?
      let code = unsafe sqlite3_prepare_v2(handle, start, Int32(clamping: bytes.count), &raw, &tail)
      return unsafe (code, code != SQLITE_OK || containsNoStatement(tail, end: start + bytes.count))
    }
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
    guard unsafe raw != nil, isWhole else {
      unsafe sqlite3_finalize(raw)
      throw SQLError.notOneStatement(sql: sql)
    }
    return unsafe Statement(raw: raw, sql: sql, connection: self)
  }

  /// Returns whether the text from `start` to `end` contains only spaces, semicolons and comments.
  private func containsNoStatement(_ start: UnsafePointer<CChar>?, end: UnsafePointer<CChar>) -> Bool {
    var next = unsafe start
    while let rest = unsafe next, unsafe rest < end {
      var raw: OpaquePointer?
      var tail: UnsafePointer<CChar>?
      let code = unsafe sqlite3_prepare_v2(handle, rest, Int32(clamping: end - rest), &raw, &tail)
      defer { unsafe sqlite3_finalize(raw) }
      // There is another statement, or invalid SQL.
      guard code == SQLITE_OK, unsafe raw == nil else { return false }
      guard unsafe tail != rest else { return true }
      unsafe next = unsafe tail
    }
    return true
  }

  /// Checks one statement without running it: its syntax, and that the tables, columns
  /// and functions it names exist.
  /// - Parameter sql: The text of one statement.
  /// - Throws: As ``prepare(sql:)``.
  public func validate(sql: String) throws { try prepare(sql: sql).finalizeNow() }

  /// Runs `body` with a statement from the cache, which is prepared on first use and reset afterwards.
  ///
  /// If the same SQL is already in use, the nested call gets a separate statement.
  /// - Parameters:
  ///   - sql: The text of one statement.
  ///   - body: Runs the statement, and must not keep it.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError``; what `body` throws.
  public func withStatement<Result>(sql: String, _ body: (Statement) throws -> Result) throws -> Result {
    try checkOpen()
    if let cached = unsafe cache.take(sql) {
      // The cache retains the statement while it is in use, and the connection retains the cache.
      return try unsafe cached._withUnsafeGuaranteedRef { statement in
        defer {
          statement.reset()
          unsafe statement.isInUse = false
        }
        return try body(statement)
      }
    }
    let statement = try keep(sql)
    defer {
      statement.reset()
      unsafe statement.isInUse = false
    }
    return try body(statement)
  }

  /// Runs `body` with the statement in `kept` if that is valid and not in use, otherwise with one from the
  /// cache. For loops in which the look-up in the cache is a considerable part of the work.
  /// - Parameter kept: The statement that the last look-up found; nil before the first call. Must be used
  ///   for one SQL text only.
  package func withStatement<Result>(
    sql: String, keeping kept: inout Statement?, _ body: (Statement) throws -> Result
  ) throws -> Result {
    try checkOpen()
    let statement: Statement
    if let known = kept, unsafe known.raw != nil, unsafe !known.isInUse {
      assert(known.sql == sql, "a statement that was kept for another text")
      unsafe cache.retake(known)
      statement = known
    } else {
      statement = try lend(sql)
      kept = statement
    }
    defer {
      statement.reset()
      unsafe statement.isInUse = false
    }
    return try body(statement)
  }

  private func lend(_ sql: String) throws -> Statement {
    if let cached = unsafe cache.take(sql) { return unsafe cached.takeUnretainedValue() }
    return try keep(sql)
  }

  private func keep(_ sql: String) throws -> Statement {
    let statement = try prepare(sql: sql)
    unsafe cache.insert(statement)
    return statement
  }

  /// Runs one statement to its end.
  /// - Parameters:
  ///   - sql: The text of one statement.
  ///   - values: The values of its parameters, in order.
  /// - Returns: The number of rows that an INSERT, UPDATE or DELETE changed; for any other statement,
  ///   that of the last such statement on this connection.
  /// - Throws: ``SQLError``.
  @discardableResult
  public func execute(sql: String, _ values: [SQLValue] = []) throws -> Int {
    try withStatement(sql: sql) { statement in
      try statement.bind(values)
      while try statement.step() {}
      return unsafe Int(sqlite3_changes(handle))
    }
  }

  /// Runs a text of any number of statements, without parameters. It stops at the first error.
  /// - Parameter sql: The text, built at run time.
  /// - Throws: ``SQLError``.
  public func executeScript(_ sql: String) throws {
    let handle = try unsafe opened()
    guard !sql.utf8.contains(0) else { throw SQLError.containsNUL(sql) }
    // The script may contain a rollback, after which this cached value is invalid (see ``TriggeredTables``).
    defer { triggered = nil }
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
  }

  /// Runs a text of any number of statements and calls `onRow` for each row that any of them returns.
  /// - Parameters:
  ///   - sql: The text, built at run time. It has no parameters.
  ///   - onRow: Receives each row.
  /// - Throws: ``SQLError`` at the first error; what `onRow` throws, which ends the script.
  public func executeScript(_ sql: String, onRow: (Row) throws -> Void) throws {
    try checkOpen()
    guard !sql.utf8.contains(0) else { throw SQLError.containsNUL(sql) }
    defer { triggered = nil }
    // A copy at a fixed address: the statements are prepared one after the other from it.
    let bytes = ContiguousArray(sql.utf8CString)
    try unsafe bytes.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      while let start = unsafe next, unsafe start.pointee != 0 {
        var raw: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        // The handle is checked for each statement, because `onRow` may have closed the connection.
        let code = unsafe sqlite3_prepare_v2(try opened(), start, -1, &raw, &tail)
        guard code == SQLITE_OK else { throw error(code, sql: sql) }
        unsafe next = unsafe tail
        // Spaces and comments are no statement.
        guard unsafe raw != nil else { continue }
        let statement = unsafe Statement(raw: raw, sql: sql, connection: self)
        var header: Row.Header?
        while try statement.step() {
          let known = header ?? statement.header(dates: configuration.dates)
          header = known
          try onRow(Row(header: known, values: statement.row()))
        }
      }
    }
  }

  /// Returns all rows of a query, each as an array of its column values.
  /// - Parameters:
  ///   - sql: The text of one statement.
  ///   - values: The values of its parameters, in order.
  /// - Returns: The rows.
  /// - Throws: ``SQLError``.
  public func rows(sql: String, _ values: [SQLValue] = []) throws -> [[SQLValue]] {
    try query(sql: sql, values) { $0.row() }
  }

  /// Calls `body` for every row of a query and collects its results.
  /// - Parameters:
  ///   - sql: The text of one statement.
  ///   - values: The values of its parameters, in order.
  ///   - body: Reads the statement's current row.
  /// - Returns: The results, in the order of the rows.
  /// - Throws: ``SQLError``; what `body` throws.
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

  /// Returns the first column of the first row.
  /// - Parameters:
  ///   - sql: The text of one statement.
  ///   - values: The values of its parameters, in order.
  /// - Returns: The value; nil if there is no row.
  /// - Throws: ``SQLError``.
  public func value(sql: String, _ values: [SQLValue] = []) throws -> SQLValue? {
    try withStatement(sql: sql) { statement in
      try statement.bind(values)
      return try statement.step() ? statement.value(0) : nil
    }
  }

  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  public var changes: Int { unsafe handle.map { unsafe Int(sqlite3_changes($0)) } ?? 0 }
  /// The number of rows that were changed since the connection was opened.
  package var totalChanges: Int { unsafe handle.map { unsafe Int(sqlite3_total_changes($0)) } ?? 0 }
  /// The rowid of the last INSERT.
  public var lastInsertedID: Int64 { unsafe handle.map { unsafe sqlite3_last_insert_rowid($0) } ?? 0 }
}
