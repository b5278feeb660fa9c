// The key file's part in a change of the data key: at every moment it opens the database. What encrypts the database again,
// and tries whether a key fits it, is handed in.

extension KeyFile {
  /// Gives the file a new data key, and the database with it.
  /// - Parameters:
  ///   - secrets: The secret of each slot that is to stay, by its name.
  ///   - dropsOthers: Whether slots without a secret here may go.
  ///   - fits: Whether the database opens with a key.
  ///   - rekey: Encrypts the database under a key.
  /// - Returns: The file under its new key.
  func rotate(
    keeping secrets: [String: Unlock], dropsOthers: Bool, fits: (Key) -> Bool,
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
      var renewed: [KeyFileFormat.Slot] = []
      for slot in format.slots {
        guard let secret = secrets[slot.name] else { continue }
        // A mistyped secret would lock its owner out.
        _ = try KeyFile.open(at: file.path, unlock: secret, slot: slot.name)
        renewed.append(try sealed(fresh, slot.name, secret, slot.work, format, beside: renewed))
      }
      format.rotation = .pending(renewed)
      try write(format, dataKey: dataKey, isRevoking: false, under: lock)
      do { try rekey(.raw(fresh)) } catch let error as SQLError where error.isOfNewKey {
        // Behind the commit: that the new key is the one is certain.
        _ = try finish(format, fresh, lock)
        throw error
      } catch {
        // It may have failed after the commit. The new key goes only when the old one is seen to fit; else the
        // next opening of the database finds out.
        dropPending(lock, where: fits)
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
    format.slots = format.rotation.slots
    format.rotation = .none
    try write(format, dataKey: fresh, isRevoking: true, under: lock)
    var renewed = KeyFile(file: file, dataKey: fresh)
    renewed.lockTimeout = lockTimeout
    return renewed
  }

  /// Gives up a rotation that died before the database got its new key, when that is so: else the file could not
  /// be changed any more. Does nothing while somebody else changes the file, who may be rotating.
  /// - Parameter fits: Whether the database opens with a key.
  func abandonRotation(where fits: (Key) -> Bool) {
    guard let format = try? authentic(), format.rotation.isPending else { return }
    try? locked(waiting: 0) { dropPending($0, where: fits) }
  }

  /// Called under the lock. The engine, which reads the log too, has to open the database with this file's key.
  private func dropPending(_ lock: KeyFileLock, where fits: (Key) -> Bool) {
    guard var format = try? authentic(), format.rotation.isPending, fits(key) else { return }
    format.rotation = .none
    // A failure leaves the file as it was, which opens the database too.
    try? write(format, dataKey: dataKey, isRevoking: true, under: lock)
  }

  /// Finishes a rotation after the database was found to have the new key.
  func finishRotation(_ fresh: SecureBytes) throws {
    do {
      try locked(waiting: 0) { lock in
        // Somebody else may have been faster; then there is nothing left to do.
        guard let format = try? authentic(), format.rotation.isPending else { return }
        _ = try finish(format, fresh, lock)
      }
    } catch let error as SQLError where error.isBusy {
      // The one who rotates is at work still, and finishes by itself; else the next opening does.
    }
  }
}
