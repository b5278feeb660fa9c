// Checks before a rekey that nothing will prevent it: sqlite3_rekey may return 0 although it has rolled
// back, and the cause cannot be found afterwards.

extension Connection {
  /// Checks that every page can be read under the file's present key, and that the engine can write. Runs
  /// within the transaction that will change the key, so that no other connection writes meanwhile.
  /// - Parameters:
  ///   - gate: Ends the check when the change is stopped.
  ///   - ask: Called every 256 pages; if it throws, the check ends.
  /// - Throws: ``SQLError/corrupted(file:pages:)``; ``SQLError/folderNotWritable(folder:)``,
  ///   ``SQLError/diskFull(file:)`` and other errors of a first write; what `ask` throws;
  ///   `CancellationError` when the gate ended the check.
  func requireRewritable(_ gate: CommitGate, ask: () throws -> Void) throws {
    var answer = Result<Void, any Error>.success(())
    let found = auditPages(while: {
      guard gate.current == .working else { return false }
      answer = Result(catching: ask)
      return (try? answer.get()) != nil
    })
    try answer.get()
    guard let damaged = found else { throw CancellationError() }
    guard damaged.isEmpty else { throw SQLError.corrupted(file: path, pages: damaged) }
    // Writes the existing value. The first write makes the engine open its journal; if it cannot, this call
    // throws the reason.
    try setUserVersion(userVersion())
  }
}
