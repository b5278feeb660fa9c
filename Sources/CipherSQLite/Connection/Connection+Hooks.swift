// Callbacks while a connection works: commits, rollbacks, changes, progress. Those for statements are in
// Connection+Trace.

private import CSQLCipher

// Unretained: the engine calls back with the connection's address, and makes no call after the connection
// has closed its handle.
private func connection(_ context: UnsafeMutableRawPointer?) -> Connection? {
  unsafe context.map { unsafe Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}

extension Connection {
  private var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  /// Sets a closure that is called before each commit. nil removes it.
  /// - Parameter body: If it returns `false`, the transaction is rolled back and the commit fails with
  ///   ``SQLError/constraint(message:extendedCode:sql:)``. It must not use the connection.
  public func onCommit(_ body: (() -> Bool)?) {
    guard let handle = unsafe handle else { return }
    hooks.commit = body
    unsafe sqlite3_commit_hook(
      handle, body == nil ? nil : { unsafe connection($0)?.hooks.commit?() ?? true ? 0 : 1 }, unsafe context)
  }

  /// Sets a closure that is called after each rollback, whatever caused it. nil removes it.
  /// - Parameter body: It must not use the connection.
  public func onRollback(_ body: (() -> Void)?) {
    guard let handle = unsafe handle else { return }
    hooks.rollback = body
    unsafe sqlite3_rollback_hook(
      handle, body == nil ? nil : { unsafe connection($0)?.hooks.rollback?() }, unsafe context)
  }

  /// Sets a closure that is called for each row that is inserted, updated or deleted, before
  /// the commit. nil removes it.
  ///
  /// Changes in tables WITHOUT ROWID are not reported. Neither are rows deleted by a DELETE without
  /// WHERE. Rows that `OR REPLACE` deletes may be missing too (SQLite, `sqlite3_update_hook`).
  /// - Parameter body: It must not use the connection.
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

  /// Runs `body`, and returns the rows that it inserted, updated or deleted, as ``onChange(_:)`` reports
  /// them.
  package func changedRows(during body: () throws -> Void) rethrows -> [RowChange] {
    let former = hooks.update
    var changes: [RowChange] = []
    onChange { change in
      changes.append(change)
      former?(change)
    }
    defer { onChange(former) }
    try body()
    return changes
  }

  /// Sets a closure that is called at regular intervals while statements run. nil removes it.
  /// - Parameters:
  ///   - steps: The number of instructions of SQLite's virtual machine between two calls, at least 1. A
  ///     million take some milliseconds.
  ///   - body: Returning `false` ends the statement with ``SQLError/interrupted``. It
  ///     must not use the connection.
  public func onProgress(every steps: Int, _ body: (() -> Bool)?) {
    guard let handle = unsafe handle else { return }
    hooks.progress = body
    unsafe handleProgress(handle, every: body == nil ? Self.instructionsBetweenChecks : steps)
  }

  /// The number of instructions of SQLite's virtual machine between two checks for cancellation:
  /// some tens of microseconds.
  private static let instructionsBetweenChecks = 4000

  /// Installs a periodic check for cancellation. It also ends a statement whose call was cancelled just
  /// before the statement began: the engine ignores an interrupt while no statement runs.
  func watchForCancellation() {
    guard !hooks.isWatching, let handle = unsafe handle else { return }
    hooks.isWatching = true
    if hooks.progress == nil { unsafe handleProgress(handle, every: Self.instructionsBetweenChecks) }
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
