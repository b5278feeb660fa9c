// Preparing and running SQL.
//
// The engine reads a text while it prepares it, and keeps no address of it; where a statement ends within a text is asked
// while the text is lent. What it makes is a Statement's from then on, or finalized here.

private import CSQLCipher

extension Connection {
  /// Prepares one statement whose text is made at run time.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` with SQLite's message for bad SQL;
  ///   ``SQLError/notOneStatement(sql:)`` when the text holds none, or more than one.
  public func prepare(sql: String) throws -> Statement {
    let handle = try unsafe opened()
    var raw: OpaquePointer?
    var text = sql
    let (code, isWhole) = try text.withUTF8 { bytes in
      // The engine would end the text there, and run what stands before.
      guard unsafe !bytes.contains(0) else { throw SQLError.holdsNUL(sql) }
      let start = unsafe UnsafeRawPointer(bytes.baseAddress ?? emptyAddress).assumingMemoryBound(
        to: CChar.self)
      var tail: UnsafePointer<CChar>?
      let code = unsafe sqlite3_prepare_v2(handle, start, Int32(clamping: bytes.count), &raw, &tail)
      return unsafe (code, code != SQLITE_OK || holdsNothing(tail, end: start + bytes.count))
    }
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
    guard unsafe raw != nil, isWhole else {
      unsafe sqlite3_finalize(raw)
      throw SQLError.notOneStatement(sql: sql)
    }
    return unsafe Statement(raw: raw, sql: sql, connection: self)
  }

  /// Whether nothing but spaces, semicolons and comments follows.
  private func holdsNothing(_ start: UnsafePointer<CChar>?, end: UnsafePointer<CChar>) -> Bool {
    var next = unsafe start
    while let rest = unsafe next, unsafe rest < end {
      var raw: OpaquePointer?
      var tail: UnsafePointer<CChar>?
      let code = unsafe sqlite3_prepare_v2(handle, rest, Int32(clamping: end - rest), &raw, &tail)
      defer { unsafe sqlite3_finalize(raw) }
      // A statement, or what was meant to be one.
      guard code == SQLITE_OK, unsafe raw == nil else { return false }
      guard unsafe tail != rest else { return true }
      unsafe next = unsafe tail
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
    try checkOpen()
    if let cached = unsafe cache.take(sql) {
      // The cache keeps it as long as it is in use, and the connection keeps the cache.
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

  /// The same with a statement that was found before, where it is still there and nobody is stepping it: for loops, to
  /// which looking it up is a part of the work.
  /// - Parameter kept: What was found, or will be.
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
  /// - Returns: How many rows it changed (INSERT, UPDATE, DELETE).
  @discardableResult
  public func execute(sql: String, _ values: [SQLValue] = []) throws -> Int {
    try withStatement(sql: sql) { statement in
      try statement.bind(values)
      while try statement.step() {}
      return unsafe Int(sqlite3_changes(handle))
    }
  }

  /// Runs a text of many statements, made at run time. Takes no parameters; stops at the first error.
  public func executeScript(_ sql: String) throws {
    let handle = try unsafe opened()
    guard !sql.utf8.contains(0) else { throw SQLError.holdsNUL(sql) }
    // It may undo a part of itself.
    defer { triggered = nil }
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, sql: sql) }
  }

  /// Runs a text of many statements and calls `onRow` for each row that any of them gives.
  /// - Throws: ``SQLError`` at the first error; what `onRow` throws, which ends the script.
  public func executeScript(_ sql: String, onRow: (Row) throws -> Void) throws {
    try checkOpen()
    guard !sql.utf8.contains(0) else { throw SQLError.holdsNUL(sql) }
    defer { triggered = nil }
    // A copy with an address of its own: the statements are prepared one behind the other.
    let bytes = ContiguousArray(sql.utf8CString)
    try unsafe bytes.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      while let start = unsafe next, unsafe start.pointee != 0 {
        var raw: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        // Asked for each statement: the one before may have given a row to somebody who closed the connection.
        let code = unsafe sqlite3_prepare_v2(try opened(), start, -1, &raw, &tail)
        guard code == SQLITE_OK else { throw error(code, sql: sql) }
        unsafe next = unsafe tail
        // Spaces and comments make no statement.
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
  public var changes: Int { unsafe handle.map { unsafe Int(sqlite3_changes($0)) } ?? 0 }
  /// How many rows were changed since the connection was opened.
  package var totalChanges: Int { unsafe handle.map { unsafe Int(sqlite3_total_changes($0)) } ?? 0 }
  /// The rowid of the last INSERT.
  public var lastInsertedID: Int64 { unsafe handle.map { unsafe sqlite3_last_insert_rowid($0) } ?? 0 }
}
