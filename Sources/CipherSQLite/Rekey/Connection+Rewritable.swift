// What keeps the engine from encrypting a file again, found out before it begins: its own call answers 0 whatever it has met,
// and undoes what it did, so that nothing tells afterwards what was in the way.

extension Connection {
  /// Goes on where every page can be read under the key that the file has, and the engine can write. Within the transaction
  /// that is going to change the key, so that nobody else writes meanwhile.
  /// - Parameter gate: Ends the reading when it is closed.
  /// - Throws: ``SQLError/corrupted(file:pages:)``; ``SQLError/folderNotWritable(folder:)``, ``SQLError/diskFull(file:)`` and
  ///   what else any first write of a transaction throws; `CancellationError`.
  func requireRewritable(_ gate: CommitGate) throws {
    guard let damaged = auditPages(while: { gate.current == .working }) else { throw CancellationError() }
    guard damaged.isEmpty else { throw SQLError.corrupted(file: path, pages: damaged) }
    // What is there already. A first write makes the engine open its journal; this call tells why it cannot.
    try setUserVersion(userVersion())
  }
}
