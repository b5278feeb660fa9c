// What a layer above asks about the work that is under way on a connection.

private import CSQLCipher

extension Connection {
  /// The call that runs on this connection; once it is cancelled, its statements fail.
  package var run: CancellableRun? { waiting.run }

  /// Whether the open transaction holds references to rows that are not there, for which a commit would fail.
  /// SQLite counts them as it goes, so asking costs nothing.
  package var hasUnresolvedReferences: Bool {
    guard let handle = unsafe handle else { return false }
    var (current, highest): (Int32, Int32) = (0, 0)
    return unsafe sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0) == SQLITE_OK
      && current != 0
  }
}
