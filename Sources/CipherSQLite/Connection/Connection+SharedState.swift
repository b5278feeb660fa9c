// Which committed state of its file a connection reads. SharedState describes how states are compared.

private import CSQLCipher

extension Connection {
  /// Determines whether the file has a log. If not, ``sharedState`` is nil. While this connection is open,
  /// no other connection can remove the log. Reads the file. Does nothing inside a transaction or for an
  /// immutable file.
  package func findLog() throws {
    guard !isInTransaction, configuration.access != .immutable else { return }
    keepsLog = try value(sql: "PRAGMA journal_mode") == .text("wal")
  }

  /// The state that a read would see if it began now. Runs no statement and waits for no lock.
  ///
  /// Reads on several connections see one state if this value was not nil before the first of them began,
  /// and had not changed after the last of them began.
  /// - Returns: nil if it cannot be determined: the file has no log, or a commit is
  ///   being written at this moment.
  package var sharedState: SharedState? {
    guard keepsLog, let handle = unsafe handle else { return nil }
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    guard code == SQLITE_OK, let file = unsafe file, let methods = unsafe file.pointee.pMethods,
      unsafe methods.pointee.iVersion >= 2, let map = unsafe methods.pointee.xShmMap
    else { return nil }
    var memory: UnsafeMutableRawPointer?
    // The WAL index is mapped in regions of 32 KiB; this maps the first. The flag 0 means that a missing
    // region is not created.
    guard unsafe map(file, 0, 32 << 10, 0, &memory) == SQLITE_OK, let memory = unsafe memory else {
      return nil
    }
    return unsafe SharedState(memory)
  }
}
