// What a layer above asks about the work that is under way on a connection.

private import CSQLCipher

extension Connection {
  /// The call that runs on this connection; once it is cancelled, its statements fail.
  package var run: CancellableRun? { waiting.run }

  /// Runs `body` on one state of the file, and `check` before it where that is another one than at the last such call.
  ///
  /// Costs a statement of one step: the engine tells what another connection has committed by a number in the state itself.
  /// - Throws: What `check` throws, and then asks again at the next call; what `body` throws.
  package func reading<Result>(checking check: () throws -> Void, _ body: () throws -> Result) throws
    -> Result
  {
    // As long as the statement has not ended, whatever else is read here is of its state.
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

  /// Whether the open transaction holds references to rows that are not there, for which a commit would fail.
  /// SQLite counts them as it goes, so asking costs nothing.
  package var hasUnresolvedReferences: Bool {
    guard let handle = unsafe handle else { return false }
    var (current, highest): (Int32, Int32) = (0, 0)
    return unsafe sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0) == SQLITE_OK
      && current != 0
  }
}
