// Replaces the data key of a connection's file. `KeyFile+Rotation` changes the key file, `Connection+Rekey`
// the database.

extension KeyFile {
  /// Encrypts the database under a new data key, with one connection, in any journal mode. A pool has its
  /// own method, which is documented in more detail:
  /// ``rotate(_:keeping:dropsOthers:progress:)-(ConnectionPool,_,_,_)``.
  /// - Parameters:
  ///   - connection: The open database. It continues under the new key. If the change fails after the
  ///     engine has begun to write, the connection is closed.
  ///   - secrets: The secrets of the slots to keep, by slot name.
  ///   - dropsOthers: Whether slots without a secret in `secrets` may be removed.
  ///   - progress: As for ``Connection/rekey(to:progress:)``; if it throws before the commit, the old key
  ///     stays.
  /// - Returns: The key file with its new data key.
  /// - Throws: As the method for a pool, and as ``Connection/rekey(to:progress:)``.
  public func rotate(
    _ connection: Connection, keeping secrets: [String: Unlock], dropsOthers: Bool = false,
    progress: ((Int, Int) throws -> Void)? = nil
  ) throws -> KeyFile {
    try rotate(
      connection, keeping: secrets, dropsOthers: dropsOthers, gate: CommitGate(), progress: progress)
  }

  /// Encrypts the database under a new data key, with a gate by which another thread can stop the change.
  package func rotate(
    _ connection: Connection, keeping secrets: [String: Unlock], dropsOthers: Bool, gate: CommitGate,
    progress: ((Int, Int) throws -> Void)?
  ) throws -> KeyFile {
    let database = OpenedDatabase(connection)
    let former = connection.unlocked
    return try rotate(
      keeping: secrets, dropsOthers: dropsOthers, isUnchanged: { database.opens(with: former) }
    ) {
      try connection.rekey(to: $0, gate: gate, progress: progress)
    }
  }
}
