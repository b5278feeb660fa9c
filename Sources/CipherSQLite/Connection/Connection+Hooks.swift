// What a connection tells while it works: commits, changes, statements with their times, waiting.

private import CSQLCipher

// The engine calls back with the connection's address: hooks end when the connection closes, before it is freed.
private func connection(_ context: UnsafeMutableRawPointer?) -> Connection? {
  unsafe context.map { unsafe Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}

extension Connection {
  private var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  /// Calls `body` before each commit; when it returns `false`, the transaction is rolled back and the commit fails
  /// with ``SQLError/constraint(message:extendedCode:sql:)``. It must not use the connection. nil ends it.
  public func onCommit(_ body: (() -> Bool)?) {
    guard let handle = unsafe handle else { return }
    hooks.commit = body
    unsafe sqlite3_commit_hook(
      handle, body == nil ? nil : { unsafe connection($0)?.hooks.commit?() ?? true ? 0 : 1 }, unsafe context)
  }

  /// Calls `body` after each rollback, whatever caused it. It must not use the connection. nil ends it.
  public func onRollback(_ body: (() -> Void)?) {
    guard let handle = unsafe handle else { return }
    hooks.rollback = body
    unsafe sqlite3_rollback_hook(
      handle, body == nil ? nil : { unsafe connection($0)?.hooks.rollback?() }, unsafe context)
  }

  /// Calls `body` for each row that is inserted, updated or deleted, before the commit. It must not use the
  /// connection. Tables WITHOUT ROWID, and rows deleted by a DELETE without WHERE, are not told (SQLite,
  /// `sqlite3_update_hook`). nil ends it.
  public func onChange(_ body: ((RowChange) -> Void)?) {
    guard let handle = unsafe handle else { return }
    hooks.update = body
    unsafe sqlite3_update_hook(
      handle,
      body == nil
        ? nil
        : { context, code, database, table, rowID in
          guard let database = unsafe database, let table = unsafe table else { return }
          let kind: RowChange.Kind =
            code == SQLITE_INSERT ? .insert : code == SQLITE_DELETE ? .delete : .update
          unsafe connection(context)?.hooks.update?(
            RowChange(
              kind: kind, database: String(cString: database), table: String(cString: table), rowID: rowID))
        }, unsafe context)
  }

  /// Calls `body` with each statement that ends and the time it took.
  /// - Parameters:
  ///   - showsValues: Whether bound values stand in the text. Default `false`: a log would hold in clear what the
  ///     file keeps encrypted.
  ///   - body: Called on the connection's own thread; nil ends it. It must not use the connection.
  public func onStatement(showsValues: Bool = false, _ body: ((TraceEvent) -> Void)?) {
    guard let handle = unsafe handle else { return }
    hooks.trace = body
    hooks.showsValues = showsValues
    unsafe sqlite3_trace_v2(
      handle, body == nil ? 0 : UInt32(SQLITE_TRACE_PROFILE),
      body == nil
        ? nil
        : { _, context, statement, nanoseconds in
          guard let connection = unsafe connection(context), let statement = unsafe statement,
            let nanoseconds = unsafe nanoseconds
          else { return 0 }
          let raw = OpaquePointer(statement)
          let seconds = unsafe Double(nanoseconds.assumingMemoryBound(to: Int64.self).pointee) / 1e9
          var text = unsafe sqlite3_sql(raw).map { unsafe String(cString: $0) } ?? ""
          if connection.hooks.showsValues, let expanded = unsafe sqlite3_expanded_sql(raw) {
            text = unsafe String(cString: expanded)
            unsafe sqlite3_free(expanded)
          }
          connection.hooks.trace?(TraceEvent(sql: text, seconds: seconds))
          return 0
        }, unsafe context)
  }

  /// Calls `body` every so many steps of SQLite's machine; `false` ends the statement with
  /// ``SQLError/interrupted``. nil ends the calls.
  /// - Parameters:
  ///   - steps: At least 1; a million are some milliseconds.
  ///   - body: Must not use the connection.
  public func onProgress(every steps: Int, _ body: (() -> Bool)?) {
    guard let handle = unsafe handle else { return }
    hooks.progress = body
    unsafe handleProgress(handle, every: body == nil ? Self.stepsBetweenLooks : steps)
  }

  /// How many instructions of the engine lie between two looks at whether the call was cancelled: some tens of microseconds.
  private static let stepsBetweenLooks = 4000

  /// Makes statements end that run for a call that was cancelled just before they began: the engine forgets an interrupt
  /// that comes while nothing runs.
  func watchForCancellation() {
    guard !hooks.isWatching, let handle = unsafe handle else { return }
    hooks.isWatching = true
    if hooks.progress == nil { unsafe handleProgress(handle, every: Self.stepsBetweenLooks) }
  }

  private func handleProgress(_ handle: OpaquePointer, every steps: Int) {
    unsafe sqlite3_progress_handler(
      handle, Int32(clamping: max(1, steps)),
      {
        guard let connection = unsafe connection($0) else { return 0 }
        if connection.run?.isCancelled == true { return 1 }
        return connection.hooks.progress?() ?? true ? 0 : 1
      }, unsafe context)
  }
}
