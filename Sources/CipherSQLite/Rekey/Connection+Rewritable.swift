// Checks before a rekey that nothing will prevent it: sqlite3_rekey returns 0 whatever happened, and
// rolls back, so that the cause cannot be found afterwards.

extension Connection {
  /// Checks that every page can be read under the file's present key, and that the engine can write. Runs
  /// within the transaction that will change the key, so that no other connection writes meanwhile.
  /// - Parameters:
  ///   - gate: Ends the check when it is closed.
  ///   - ask: Called every 256 pages; ends the check by throwing.
  /// - Throws: ``SQLError/corrupted(file:pages:)``; ``SQLError/folderNotWritable(folder:)``,
  ///   ``SQLError/diskFull(file:)`` and what else the first write of a transaction throws; what `ask`
  ///   throws; `CancellationError`.
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
    // Writes the value that is there already. A first write makes the engine open its journal, and this
    // call reports why it cannot.
    try setUserVersion(userVersion())
  }
}
