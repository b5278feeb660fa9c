// The state of a connection's current work, for the layers above.

private import CSQLCipher

extension Connection {
  /// The cancellable call that is running on this connection. Once it is cancelled, its statements fail.
  package var run: CancellableRun? { waiting.run }

  /// Runs `body` on one state of the file. Runs `check` first, unless no other connection has committed
  /// since the last check by this method.
  ///
  /// Costs one step of one statement: `PRAGMA data_version`, a number that changes when
  /// another connection has committed.
  /// - Throws: What `check` throws; then the next call runs it again. What `body` throws.
  package func reading<Result>(checking check: () throws -> Void, _ body: () throws -> Result) throws
    -> Result
  {
    // While this statement is active, all reads on this connection see the state that this statement sees.
    try withStatement(sql: "PRAGMA data_version") { statement in
      guard try statement.step() else { return try body() }
      let found = statement.int64(0)
      if found != checkedState {
        try check()
        checkedState = found
      }
      return try body()
    }
  }

  /// Whether the open transaction contains references to rows that do not exist. A commit would then fail.
  /// SQLite maintains this count anyway, so reading it costs nothing.
  package var hasUnresolvedReferences: Bool {
    guard let handle = unsafe handle else { return false }
    var (current, highest): (Int32, Int32) = (0, 0)
    return unsafe sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0) == SQLITE_OK
      && current != 0
  }
}
