// Replaces the data key in a key file, so that the key file opens the database at every moment. The caller
// passes closures that rekey the database, and that check whether the database still has its old key.

extension KeyFile {
  /// Gives the key file and the database a new data key. The former data key stays in the key file.
  /// - Parameters:
  ///   - secrets: The secret of each slot that is to stay, by its name.
  ///   - dropsOthers: Whether slots without a secret in `secrets` may be removed.
  ///   - isUnchanged: Whether the database opens with the key that it had before.
  ///   - rekey: Encrypts the database under a key.
  /// - Returns: The key file with its new data key.
  func rotate(
    keeping secrets: [String: Unlock], dropsOthers: Bool, isUnchanged: () -> Bool,
    rekey: (Key) throws -> Void
  ) throws -> KeyFile {
    try locked { lock in
      var format = try endingPendingRotation(authentic(), secrets.values)
      try requireSlots(format, keeping: secrets, dropsOthers: dropsOthers)
      guard format.formerKeys.count < FormerDataKey.maximumCount else {
        throw SQLError.tooManyGenerations(file: path, limit: FormerDataKey.maximumCount)
      }
      let fresh = try SecureBytes.random(count: 32)
      var renewed: [KeyFileFormat.Slot] = []
      for slot in format.slots {
        guard let secret = secrets[slot.name] else { continue }
        // A mistyped secret would lock its owner out.
        _ = try KeyFile.open(at: file.path, unlock: secret, slot: slot.name)
        renewed.append(
          try sealed(fresh, slot: slot.name, unlock: secret, work: slot.work, in: format, beside: renewed))
      }
      let before = format
      format.rotation = .pending(renewed)
      try write(format, dataKey: dataKey, previous: .former, under: lock)
      do { try rekey(.raw(fresh)) } catch let error as SQLError where error.leavesNewKeyInForce {
        // The error was thrown after the commit: the database certainly has the new key.
        _ = try finish(format, with: fresh, under: lock)
        throw error
      } catch {
        // The rekey may have failed after its commit. The new key is discarded only when the former one is
        // proved to fit; otherwise the next opening of the database finds out which one fits. If this
        // write fails, the key file keeps both keys, and still opens the database.
        if isUnchanged() { try? write(before, dataKey: dataKey, previous: .new, under: lock) }
        throw error
      }
      return try finish(format, with: fresh, under: lock)
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

  /// Makes the pending slots and key the present ones: the last part of a rotation, also of one that was
  /// interrupted.
  private func finish(
    _ format: KeyFileFormat, with fresh: SecureBytes, under lock: KeyFileLock
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

  // MARK: Interrupted rotations

  /// Ends an interrupted rotation, after a database was found to have the present key. The pending key
  /// stays in the file as a former key, because another database may have it. Does nothing while another
  /// process changes the file, because the rotation may still be running; nor if `unlock` is the secret of
  /// a slot that the rotation removes.
  /// - Parameters:
  ///   - unlock: A secret of a pending slot.
  ///   - fits: Whether the database opens with a key.
  func abandonRotation(_ unlock: Unlock, where fits: (Key) -> Bool) {
    guard let format = try? authentic(), format.rotation.isPending else { return }
    try? locked(waiting: 0) { lock in
      let format = try authentic()
      guard format.rotation.isPending, fits(key) else { return }
      try write(endingPendingRotation(format, [unlock]), dataKey: dataKey, previous: .new, under: lock)
    }
  }

  /// Returns the format without its pending rotation; the pending key becomes a former one.
  /// - Parameters:
  ///   - format: The content of the key file.
  ///   - secrets: One of them has to open a pending slot.
  private func endingPendingRotation(
    _ format: KeyFileFormat, _ secrets: some Sequence<Unlock>
  ) throws -> KeyFileFormat {
    guard format.rotation.isPending else { return format }
    guard format.formerKeys.count < FormerDataKey.maximumCount else {
      throw SQLError.tooManyGenerations(file: path, limit: FormerDataKey.maximumCount)
    }
    for unlock in secrets {
      guard let pending = try Self.pendingKey(format, unlock: unlock, path: path) else { continue }
      var format = format
      try format.keepPending(pending, dataKey: dataKey)
      return format
    }
    throw pendingRotation(format)
  }

  /// Returns the error for a file in which a rotation is not finished.
  func pendingRotation(_ format: KeyFileFormat) -> SQLError {
    let names = format.rotation.slots.map(\.name).joined(separator: ", ")
    return .keyFileDamaged(
      file: path,
      reason:
        "a rotation was interrupted. To finish it, open the database once with this key file and one of the "
        + "slots that stay: \(names)")
  }

  /// Finishes a rotation after the database was found to have the new key.
  func finishRotation(_ fresh: SecureBytes) throws {
    do {
      try locked(waiting: 0) { lock in
        // Another process may have finished it first; then there is nothing left to do.
        guard let format = try? authentic(), format.rotation.isPending else { return }
        _ = try finish(format, with: fresh, under: lock)
      }
    } catch let error as SQLError where error.isBusy {
      // The rotating process is still running, and finishes by itself; otherwise the next opening does.
    }
  }
}
