// A new data key: the database is encrypted again, and at every moment the key file opens it.

extension KeyFile {
  /// Encrypts the database under a new data key: what somebody copied of the old key file is worth nothing for it.
  ///
  /// In three parts, between which a crash does no harm: the file gets the new key beside the old one, in slots of
  /// its own; the database is encrypted again, in one transaction; the old slots go. When the process dies in
  /// between, the next opening of the database with the file finds out which key fits, and finishes.
  ///
  /// - Parameters:
  ///   - pool: The open database. Costs about as much as writing it once.
  ///   - secrets: The secret of each slot that is to stay, by its name. The others cannot be carried over, because
  ///     their secrets are not known.
  ///   - dropsOthers: Whether slots without a secret here may go.
  ///   - progress: As for ``ConnectionPool/rekey(to:progress:)``: what it throws before the commit leaves the old key.
  /// - Returns: The file under its new key.
  /// - Throws: ``SQLError/slotsWouldBeLost(file:names:)``; ``SQLError/noSlotOpens(file:)`` for a secret that is not
  ///   the slot's; as ``ConnectionPool/rekey(to:progress:)``, ``SQLError/notVerified(file:)`` among them. But for that
  ///   one, the old key is then still the one that fits.
  public func rotate(
    _ pool: ConnectionPool, keeping secrets: [String: Unlock], dropsOthers: Bool = false,
    progress: ((Int, Int) throws -> Void)? = nil
  ) throws -> KeyFile {
    try rotate(OpenedDatabase(pool), keeping: secrets, dropsOthers: dropsOthers) {
      try pool.rekey(to: $0, progress: progress)
    }
  }

  /// The same with one connection, in any journal mode.
  /// - Parameters:
  ///   - connection: The open database. Goes on under the new key; closed when the engine failed.
  ///   - secrets: As above.
  ///   - dropsOthers: As above.
  ///   - progress: As above.
  /// - Returns: The file under its new key.
  /// - Throws: As above, and as ``Connection/rekey(to:progress:)``.
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
    try rotate(OpenedDatabase(connection), keeping: secrets, dropsOthers: dropsOthers) {
      try connection.rekey(to: $0, gate: gate, progress: progress)
    }
  }

  private func rotate(
    _ database: OpenedDatabase, keeping secrets: [String: Unlock], dropsOthers: Bool,
    rekey: (Key) throws -> Void
  ) throws -> KeyFile {
    try locked { lock in
      var format = try authentic()
      let lost = format.slots.map(\.name).filter { secrets[$0] == nil }
      guard lost.isEmpty || dropsOthers else { throw SQLError.slotsWouldBeLost(file: path, names: lost) }
      guard lost.count < format.slots.count else { throw SQLError.lastSlot(file: path) }
      for name in secrets.keys where !format.slots.contains(where: { $0.name == name }) {
        throw SQLError.noSuchSlot(file: path, name: name, available: format.slots.map(\.name))
      }
      let fresh = try SecureBytes.random(count: 32)
      format.pending = []
      for slot in format.slots {
        guard let secret = secrets[slot.name] else { continue }
        // A mistyped secret would lock its owner out.
        _ = try KeyFile.open(at: file.path, unlock: secret, slot: slot.name)
        format.pending.append(
          try sealed(fresh, slot.name, secret, slot.work, format, beside: format.pending))
      }
      try write(format, dataKey: dataKey, isRevoking: false, under: lock)
      do { try rekey(.raw(fresh)) } catch SQLError.notVerified(let file) {
        // Stopped after the commit: that the new key is the one is certain.
        _ = try finish(format, fresh, lock)
        throw SQLError.notVerified(file: file)
      } catch {
        // It may have failed after the commit. The new key goes only when the old one is seen to fit; else the
        // next opening of the database finds out.
        dropPending(of: database, lock)
        throw error
      }
      return try finish(format, fresh, lock)
    }
  }

  /// The last part, also of a rotation that was interrupted.
  private func finish(
    _ format: KeyFileFormat, _ fresh: SecureBytes, _ lock: KeyFileLock
  ) throws -> KeyFile {
    var format = format
    format.slots = format.pending
    format.pending = []
    try write(format, dataKey: fresh, isRevoking: true, under: lock)
    var renewed = KeyFile(file: file, dataKey: fresh)
    renewed.lockTimeout = lockTimeout
    return renewed
  }

  /// Gives up a rotation that died before the database got its new key, when that is so: else the file could not
  /// be changed any more. Does nothing while somebody else changes the file, who may be rotating.
  func abandonRotation(of database: OpenedDatabase) {
    guard let format = try? authentic(), !format.pending.isEmpty else { return }
    try? locked(waiting: 0) { dropPending(of: database, $0) }
  }

  /// Called under the lock. The engine, which reads the log too, has to open the database with this file's key.
  private func dropPending(of database: OpenedDatabase, _ lock: KeyFileLock) {
    guard var format = try? authentic(), !format.pending.isEmpty,
      (try? Connection.open(
        database.file, key: database.salt.map { key.withSalt($0) } ?? key,
        configuration: database.configuration))
        != nil
    else { return }
    format.pending = []
    // A failure leaves the file as it was, which opens the database too.
    try? write(format, dataKey: dataKey, isRevoking: true, under: lock)
  }

  /// Finishes a rotation after the database was found to have the new key.
  func finishRotation(_ fresh: SecureBytes) throws {
    do {
      try locked(waiting: 0) { lock in
        // Somebody else may have been faster; then there is nothing left to do.
        guard let format = try? authentic(), !format.pending.isEmpty else { return }
        _ = try finish(format, fresh, lock)
      }
    } catch let error as SQLError where error.isBusy {
      // The one who rotates is at work still, and finishes by itself; else the next opening does.
    }
  }
}

/// What it takes to open a database once more: its own settings, and a salt that is not in the file.
struct OpenedDatabase {
  let file: DatabasePath
  let configuration: Connection.Configuration
  let salt: [UInt8]?

  init(_ file: DatabasePath, _ configuration: Connection.Configuration, salt: [UInt8]?) {
    self.file = file
    self.configuration = configuration
    self.salt = salt
  }

  init(_ connection: Connection) {
    var configuration = connection.configuration
    configuration.profile = connection.unlocked.profile
    self.init(connection.file, configuration, salt: connection.unlocked.salt)
  }

  init(_ pool: ConnectionPool) {
    var configuration = pool.configuration.connection
    configuration.profile = pool.profile
    self.init(pool.file, configuration, salt: pool.key.unlocked.salt)
  }
}
