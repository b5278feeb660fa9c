// The key file's part in a change of the data key: at every moment it opens the database. What encrypts the database again,
// and tries whether it still has its former key, is handed in.

extension KeyFile {
  /// Gives the file a new data key, and the database with it. The former data key stays in the file.
  /// - Parameters:
  ///   - secrets: The secret of each slot that is to stay, by its name.
  ///   - dropsOthers: Whether slots without a secret here may go.
  ///   - isUnchanged: Whether the database opens with the key that it had before.
  ///   - rekey: Encrypts the database under a key.
  /// - Returns: The file under its new key.
  func rotate(
    keeping secrets: [String: Unlock], dropsOthers: Bool, isUnchanged: () -> Bool,
    rekey: (Key) throws -> Void
  ) throws -> KeyFile {
    try locked { lock in
      var format = try keepingPending(authentic(), secrets.values)
      try requireSlots(format, keeping: secrets, dropsOthers: dropsOthers)
      guard format.formerKeys.count < FormerKey.maximumCount else {
        throw SQLError.tooManyGenerations(file: path, limit: FormerKey.maximumCount)
      }
      let fresh = try SecureBytes.random(count: 32)
      var renewed: [KeyFileFormat.Slot] = []
      for slot in format.slots {
        guard let secret = secrets[slot.name] else { continue }
        // A mistyped secret would lock its owner out.
        _ = try KeyFile.open(at: file.path, unlock: secret, slot: slot.name)
        renewed.append(try sealed(fresh, slot.name, secret, slot.work, format, beside: renewed))
      }
      let before = format
      format.rotation = .pending(renewed)
      try write(format, dataKey: dataKey, previous: .former, under: lock)
      do { try rekey(.raw(fresh)) } catch let error as SQLError where error.isOfNewKey {
        // After the commit: the new key is certain to be the database's.
        _ = try finish(format, fresh, lock)
        throw error
      } catch {
        // It may have failed after the commit. The new key goes only when the former one is seen to fit; else the
        // next opening of the database finds out. A failure leaves the file as it was, which opens the database too.
        if isUnchanged() { try? write(before, dataKey: dataKey, previous: .new, under: lock) }
        throw error
      }
      return try finish(format, fresh, lock)
    }
  }

  private func requireSlots(
    _ format: KeyFileFormat, keeping secrets: [String: Unlock], dropsOthers: Bool
  ) throws {
    let lost = format.slots.map(\.name).filter { secrets[$0] == nil }
    guard lost.isEmpty || dropsOthers else { throw SQLError.slotsWouldBeLost(file: path, names: lost) }
    guard lost.count < format.slots.count else { throw SQLError.lastSlot(file: path) }
    for name in secrets.keys where !format.slots.contains(where: { $0.name == name }) {
      throw SQLError.noSuchSlot(file: path, name: name, available: format.slots.map(\.name))
    }
  }

  /// The last part, also of a rotation that was interrupted.
  private func finish(
    _ format: KeyFileFormat, _ fresh: SecureBytes, _ lock: KeyFileLock
  ) throws -> KeyFile {
    var format = format
    format.slots = format.rotation.slots
    format.rotation = .none
    try format.retire(dataKey, for: fresh, path: path)
    try write(format, dataKey: fresh, previous: .new, under: lock)
    var renewed = KeyFile(file: file, dataKey: fresh)
    renewed.lockTimeout = lockTimeout
    return renewed
  }

  // MARK: Rotations that were interrupted

  /// Ends a rotation that was interrupted, after a database was found to have the present key. The key that it was changing to
  /// stays in the file as one of the former ones, because another database may have it. Does nothing while another process
  /// changes the file, which may be rotating, and for a secret whose slot was not to stay.
  /// - Parameter fits: Whether the database opens with a key.
  func abandonRotation(_ unlock: Unlock, where fits: (Key) -> Bool) {
    guard let format = try? authentic(), format.rotation.isPending else { return }
    try? locked(waiting: 0) { lock in
      let format = try authentic()
      guard format.rotation.isPending, fits(key) else { return }
      try write(keepingPending(format, [unlock]), dataKey: dataKey, previous: .new, under: lock)
    }
  }

  /// The format without a pending rotation, whose key is a former one then.
  /// - Parameter secrets: One of them has to open a pending slot.
  private func keepingPending(
    _ format: KeyFileFormat, _ secrets: some Sequence<Unlock>
  ) throws -> KeyFileFormat {
    guard format.rotation.isPending else { return format }
    guard format.formerKeys.count < FormerKey.maximumCount else {
      throw SQLError.tooManyGenerations(file: path, limit: FormerKey.maximumCount)
    }
    for unlock in secrets {
      guard let pending = try Self.pendingKey(format, unlock: unlock, path: path) else { continue }
      var format = format
      try format.keepPending(pending, dataKey: dataKey)
      return format
    }
    throw pendingRotation(format)
  }

  /// The error for a file in which a rotation is not finished.
  func pendingRotation(_ format: KeyFileFormat) -> SQLError {
    let names = format.rotation.slots.map(\.name).joined(separator: ", ")
    return .keyFileDamaged(
      file: path,
      reason:
        "a rotation was interrupted. Open the database once with the file and one of the slots that stay, which "
        + "finishes it: \(names)")
  }

  /// Finishes a rotation after the database was found to have the new key.
  func finishRotation(_ fresh: SecureBytes) throws {
    do {
      try locked(waiting: 0) { lock in
        // Another process may have been faster; then there is nothing left to do.
        guard let format = try? authentic(), format.rotation.isPending else { return }
        _ = try finish(format, fresh, lock)
      }
    } catch let error as SQLError where error.isBusy {
      // The process that rotates is still at work, and finishes by itself; else the next opening does.
    }
  }
}
