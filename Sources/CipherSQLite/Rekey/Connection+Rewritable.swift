// What keeps the engine from encrypting a file again, found out before it begins: its own call answers 0 whatever it has met,
// and undoes what it did, so that nothing tells afterwards what was in the way.

extension Connection {
  /// Goes on where every page can be read under the key that the file has, and the engine can write. Within the transaction
  /// that is going to change the key, so that nobody else writes meanwhile.
  /// - Parameters:
  ///   - gate: Ends the reading when it is closed.
  ///   - ask: Ends it, too, by what it throws. Called every 256 pages.
  /// - Throws: ``SQLError/corrupted(file:pages:)``; ``SQLError/folderNotWritable(folder:)``, ``SQLError/diskFull(file:)`` and
  ///   what else any first write of a transaction throws; what `ask` throws; `CancellationError`.
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
    // What is there already. A first write makes the engine open its journal; this call tells why it cannot.
    try setUserVersion(userVersion())
  }
}
