// Replaces the data key of a pool's file.

extension KeyFile {
  /// Encrypts the database under a new data key, which copies of the old key file do not contain.
  ///
  /// The rotation has three steps, and a crash between them does no harm: the key file gets the new key
  /// next to the old one, in pending slots; the database is encrypted again, in one transaction; the old
  /// slots are removed. If the process dies in between, the next opening of the database with the file
  /// finds out which key fits, and finishes.
  ///
  /// The former data key stays in the file, encrypted under the new one. Backups, copies and other
  /// databases that are under it still open with the remaining slots. A person who knows the former data
  /// key can open them as well: bring them to the present key with
  /// ``ConnectionPool/rekey(to:progress:)``, then remove the former key with
  /// ``KeyFile/forgetGeneration(_:)``.
  ///
  /// - Parameters:
  ///   - pool: The open database. Costs about as much as writing it once.
  ///   - secrets: The secret of each slot that is to stay, by its name. Other slots cannot be carried
  ///     over, because their secrets are not known.
  ///   - dropsOthers: Whether slots without a secret in `secrets` may be removed.
  ///   - progress: As for ``ConnectionPool/rekey(to:progress:)``; if it throws before the commit, the old
  ///     key stays.
  /// - Returns: The file under its new key.
  /// - Throws: ``SQLError/slotsWouldBeLost(file:names:)``; ``SQLError/noSlotOpens(file:)`` for a secret
  ///   that does not open its slot; as ``ConnectionPool/rekey(to:progress:)``. After
  ///   ``SQLError/notVerified(file:)`` and ``SQLError/rekeyDamaged(file:pages:)`` the new key is in
  ///   effect, after all others the old one.
  public func rotate(
    _ pool: ConnectionPool, keeping secrets: [String: Unlock], dropsOthers: Bool = false,
    progress: ((Int, Int) throws -> Void)? = nil
  ) throws -> KeyFile {
    let database = OpenedDatabase(pool)
    let former = pool.key.unlocked
    return try rotate(
      keeping: secrets, dropsOthers: dropsOthers, isUnchanged: { database.opens(with: former) }
    ) {
      try pool.rekey(to: $0, progress: progress)
    }
  }
}

extension OpenedDatabase {
  fileprivate init(_ pool: ConnectionPool) {
    var configuration = pool.configuration.connection
    configuration.profile = pool.profile
    self.init(pool.file, configuration, salt: pool.key.unlocked.salt)
  }
}
