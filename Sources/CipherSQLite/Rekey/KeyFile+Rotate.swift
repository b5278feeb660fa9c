// A new data key for the file of a connection: the key file's part is in KeyFile+Rotation, the database's in
// Connection+Rekey.

extension KeyFile {
  /// Encrypts the database under a new data key, with one connection, in any journal mode. A pool has its own call, which
  /// says more: ``rotate(_:keeping:dropsOthers:progress:)-(ConnectionPool,_,_,_)``.
  /// - Parameters:
  ///   - connection: The open database. Goes on under the new key; closed when the engine failed.
  ///   - secrets: The secret of each slot that is to stay, by its name.
  ///   - dropsOthers: Whether slots without a secret here may go.
  ///   - progress: What it throws before the commit leaves the old key.
  /// - Returns: The file under its new key.
  /// - Throws: As the call of a pool, and as ``Connection/rekey(to:progress:)``.
  public func rotate(
    _ connection: Connection, keeping secrets: [String: Unlock], dropsOthers: Bool = false,
    progress: ((Int, Int) throws -> Void)? = nil
  ) throws -> KeyFile {
    try rotate(
      connection, keeping: secrets, dropsOthers: dropsOthers, gate: CommitGate(), progress: progress)
  }

  /// The same with a gate by which another thread can stop it.
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
