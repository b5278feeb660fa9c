// Replaces the data key of a pool's file.

extension KeyFile {
  /// Encrypts the database under a new data key, which copies of the old key file do not contain.
  ///
  /// The rotation has three steps, and a crash between them does no harm: the key file gets the new key
  /// next to the old one, in pending slots; the database is encrypted again, in one transaction; the old
  /// slots are removed. If the process dies in between, the next opening of the database with the key
  /// file determines which key fits, and finishes or abandons the rotation.
  ///
  /// The former data key stays in the file, encrypted under the new one. Backups, copies and other
  /// databases that are under it still open with the remaining slots. A person who knows the former data
  /// key can open them as well: bring them to the present key with
  /// ``ConnectionPool/rekey(to:progress:)``, then remove the former key with
  /// ``KeyFile/forgetGeneration(_:)``.
  ///
  /// - Parameters:
  ///   - pool: The open database. The rotation costs about as much as writing it once and reading it
  ///     twice.
  ///   - secrets: The secret of each slot that is to stay, by its name. Other slots cannot be carried
  ///     over, because their secrets are not known.
  ///   - dropsOthers: Whether slots without a secret in `secrets` may be removed.
  ///   - progress: As for ``ConnectionPool/rekey(to:progress:)``; if it throws before the commit, the old
  ///     key stays.
  /// - Returns: The key file with its new data key.
  /// - Throws: ``SQLError/slotsWouldBeLost(file:names:)``, ``SQLError/lastSlot(file:)``,
  ///   ``SQLError/noSuchSlot(file:name:available:)``; ``SQLError/noSlotOpens(file:)`` for a secret that
  ///   does not open its slot; ``SQLError/tooManyGenerations(file:limit:)``;
  ///   ``SQLError/keyFileDamaged(file:reason:)`` and ``SQLError/busy(file:waitedSeconds:holders:)``, as
  ///   ``addSlot(_:unlock:work:)``; as ``ConnectionPool/rekey(to:progress:)``. After
  ///   ``SQLError/notVerified(file:)`` and ``SQLError/rekeyDamaged(file:pages:)`` the new key is in
  ///   effect. After any other error it is the old key, unless the file could not be opened after the
  ///   commit. The key file opens the database in each case.
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
