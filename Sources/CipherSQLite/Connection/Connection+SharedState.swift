// What state of its file a connection would read, or has begun to read. How states are told apart: SharedState.

private import CSQLCipher

extension Connection {
  /// Finds out whether the file has a log, without which ``sharedState`` says nothing. Nobody can take it away while this
  /// connection is open. Reads the file: not to be called inside a transaction.
  package func findLog() throws {
    guard !isInTransaction, configuration.access != .immutable else { return }
    keepsLog = try value(sql: "PRAGMA journal_mode") == .text("wal")
  }

  /// What state a read that began now would see: no statement runs for it, and no lock is waited for.
  ///
  /// Reads of different connections see the same, if this was the same before the first of them began and after the last of
  /// them did.
  /// - Returns: nil where that cannot be said: the file has no log, or somebody commits at this moment.
  package var sharedState: SharedState? {
    guard keepsLog, let handle = unsafe handle else { return nil }
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    guard code == SQLITE_OK, let file = unsafe file, let methods = unsafe file.pointee.pMethods,
      unsafe methods.pointee.iVersion >= 2, let map = unsafe methods.pointee.xShmMap
    else { return nil }
    var memory: UnsafeMutableRawPointer?
    // The index comes in regions of 32 KiB, of which this is the first; 0: it is not made where there is none.
    guard unsafe map(file, 0, 32 << 10, 0, &memory) == SQLITE_OK, let memory = unsafe memory else {
      return nil
    }
    return unsafe SharedState(memory)
  }
}
