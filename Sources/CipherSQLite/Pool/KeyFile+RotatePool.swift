// A new data key for the file of a pool.

extension KeyFile {
  /// Encrypts the database under a new data key: what somebody copied of the old key file is worth nothing for it.
  ///
  /// In three parts, between which a crash does no harm: the file gets the new key beside the old one, in slots of
  /// its own; the database is encrypted again, in one transaction; the old slots go. When the process dies in
  /// between, the next opening of the database with the file finds out which key fits, and finishes.
  ///
  /// The former data key stays in the file, sealed under the new one. Backups, copies and other databases that are under it
  /// still open with the slots that stay. A person who knows the former data key opens them, too: bring them to the present
  /// one with ``ConnectionPool/rekey(to:progress:)``, then remove the former one with ``KeyFile/forgetGeneration(_:)``.
  ///
  /// - Parameters:
  ///   - pool: The open database. Costs about as much as writing it once.
  ///   - secrets: The secret of each slot that is to stay, by its name. The others cannot be carried over, because
  ///     their secrets are not known.
  ///   - dropsOthers: Whether slots without a secret here may go.
  ///   - progress: As for ``ConnectionPool/rekey(to:progress:)``: what it throws before the commit leaves the old key.
  /// - Returns: The file under its new key.
  /// - Throws: ``SQLError/slotsWouldBeLost(file:names:)``; ``SQLError/noSlotOpens(file:)`` for a secret that is not
  ///   the slot's; as ``ConnectionPool/rekey(to:progress:)``, ``SQLError/notVerified(file:)`` and
  ///   ``SQLError/rekeyDamaged(file:pages:)`` among them. But for those two, the old key is then still the one that fits.
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
