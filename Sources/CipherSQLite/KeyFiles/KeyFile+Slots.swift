// Changes the slots of a key file. A change reads the file, writes a new file next to it, and renames the
// new file to the path. Other processes that change the file wait meanwhile.

private import Foundation

extension KeyFile {
  /// Adds a slot. The file as it was before is kept as `PATH.previous`.
  ///
  /// - Parameters:
  ///   - name: The slot's name, 1 to 64 bytes of UTF-8: one line without an equals sign.
  ///   - unlock: Its secret.
  ///   - work: The cost of one guess at a passphrase; by default the cost of the file's other
  ///     passphrases, or the cost that takes half a second on this machine.
  /// - Throws: ``SQLError/slotName(file:reason:)`` when the name is taken or invalid, or the file is
  ///   full; ``SQLError/keyFileDamaged(file:reason:)`` when the file is damaged, was replaced by a
  ///   different key file or got another data key since it was opened, or a rotation is not finished;
  ///   ``SQLError/slotTooCostly(file:seconds:memoryBytes:allowedSeconds:allowedMemoryBytes:)`` for work
  ///   beyond what the secret allows (``Unlock/allowing(_:)``); ``SQLError/emptyKey``,
  ///   ``SQLError/keyLength(expected:found:)``, ``SQLError/keyEndsInZero`` for a secret that is not
  ///   allowed; ``SQLError/busy(file:waitedSeconds:holders:)`` while another process changes the file;
  ///   ``SQLError/alreadyExists(file:)`` when `PATH.previous` is not a key file.
  public func addSlot(_ name: String, unlock: Unlock, work: ScryptWork? = nil) throws {
    try change { format in
      try SlotName.require(name, in: path, beside: format.slots.map(\.name))
      guard format.slots.count < KeyFileFormat.maximumSlots else {
        throw SQLError.slotName(
          file: path,
          reason: "the key file already has \(KeyFileFormat.maximumSlots) slots, which is the maximum")
      }
      format.slots.append(
        try sealed(dataKey, slot: name, unlock: unlock, work: work, in: format, beside: format.slots))
    }
  }

  /// Adds a slot for a new recovery code.
  /// - Parameter name: The slot's name, as for ``addSlot(_:unlock:work:)``.
  /// - Returns: The code, which is stored nowhere: show ``RecoveryCode/text()`` once.
  /// - Throws: As ``addSlot(_:unlock:work:)``.
  public func addRecoveryCode(slot name: String) throws -> RecoveryCode {
    let code = try RecoveryCode.random()
    try addSlot(name, unlock: .recoveryCode(code))
    return code
  }

  /// Gives a slot another secret. The duration does not depend on the size of the database.
  ///
  /// The old secret then opens neither the file nor its previous copy. It still opens copies of the file
  /// that were made elsewhere before; ``rotate(_:keeping:dropsOthers:progress:)-(ConnectionPool,_,_,_)``
  /// protects against these.
  ///
  /// - Parameters:
  ///   - name: The name of an existing slot.
  ///   - unlock: Its new secret.
  ///   - work: The cost of one guess at a passphrase, as for ``addSlot(_:unlock:work:)``.
  /// - Throws: ``SQLError/noSuchSlot(file:name:available:)``; as ``addSlot(_:unlock:work:)``.
  public func changeSlot(_ name: String, unlock: Unlock, work: ScryptWork? = nil) throws {
    try change(isRevoking: true) { format in
      let index = try index(of: name, in: format)
      var others = format.slots
      others.remove(at: index)
      format.slots[index] = try sealed(
        dataKey, slot: name, unlock: unlock, work: work, in: format, beside: others)
    }
  }

  /// Removes a slot. Its secret then opens neither the file nor its previous copy.
  /// - Parameter name: The slot's name.
  /// - Throws: ``SQLError/lastSlot(file:)``: without a slot the database could never be opened again;
  ///   ``SQLError/noSuchSlot(file:name:available:)``; ``SQLError/keyFileDamaged(file:reason:)`` and
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``, as ``addSlot(_:unlock:work:)``.
  public func removeSlot(_ name: String) throws {
    try change(isRevoking: true) { format in
      let index = try index(of: name, in: format)
      guard format.slots.count > 1 else { throw SQLError.lastSlot(file: path) }
      format.slots.remove(at: index)
    }
  }

  /// Renames a slot; needs no secret of that slot.
  /// - Parameters:
  ///   - name: The slot's present name.
  ///   - newName: Its new name.
  /// - Throws: ``SQLError/slotName(file:reason:)`` when the new name is taken or invalid;
  ///   ``SQLError/noSuchSlot(file:name:available:)``; ``SQLError/keyFileDamaged(file:reason:)`` and
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``, as ``addSlot(_:unlock:work:)``.
  public func renameSlot(_ name: String, to newName: String) throws {
    try change { format in
      let index = try index(of: name, in: format)
      try SlotName.require(newName, in: path, beside: format.slots.map(\.name))
      format.slots[index].name = newName
    }
  }

  private func index(of name: String, in format: KeyFileFormat) throws -> Int {
    if let index = format.slots.firstIndex(where: { $0.name == name }) { return index }
    throw SQLError.noSuchSlot(file: path, name: name, available: format.slots.map(\.name))
  }

  // MARK: Reading and writing

  /// Reads the file, lets `body` change its content, and writes it, under the lock.
  /// - Parameters:
  ///   - isRevoking: Whether a secret loses its access. Then the previous copy gets the new content too,
  ///     so that the secret does not open it.
  ///   - body: Changes the content.
  func change(isRevoking: Bool = false, _ body: (inout KeyFileFormat) throws -> Void) throws {
    try locked { lock in
      var format = try authentic()
      guard !format.rotation.isPending else { throw pendingRotation(format) }
      try body(&format)
      try write(format, dataKey: dataKey, previous: isRevoking ? .new : .former, under: lock)
    }
  }

  /// Reads the file's content, and checks that the file is still the one that this value was opened from.
  func authentic() throws -> KeyFileFormat {
    let bytes = try Self.read(file)
    let format = try KeyFileFormat(bytes, path: path)
    guard try KeyFileFormat.isAuthentic(bytes, dataKey: dataKey, identity: format.identity) else {
      throw SQLError.keyFileDamaged(
        file: path, reason: "it was replaced by another key file since it was opened; open it again")
    }
    return format
  }

  /// What a change does to the copy `PATH.previous`.
  enum PreviousCopy {
    /// The copy gets the content that the file had before.
    case former
    /// The copy gets the new content: the former content would open with a revoked secret.
    case new
    /// The copy stays as it is, for writes that change no slots.
    case asItIs
  }

  func write(
    _ format: KeyFileFormat, dataKey: SecureBytes, previous kind: PreviousCopy, under lock: KeyFileLock
  ) throws {
    var format = format
    format.revision += 1
    let bytes = try format.file(dataKey: dataKey)
    guard kind != .asItIs else {
      return try lock.replace(file, with: NewFile(at: file).sealed(holding: bytes))
    }
    let copy = file.appending(".previous")
    // A file of that name that is no key file belongs to the user, and is not replaced.
    if let there = CompanionFile(copy.path), there.byteCount > 0, there.read(8, at: 0) != KeyFileFormat.magic
    {
      throw SQLError.alreadyExists(file: copy.given)
    }
    let previous = try NewFile(at: copy).sealed(holding: kind == .new ? bytes : Self.read(file))
    let new = try NewFile(at: file).sealed(holding: bytes)
    // The copy is always replaced first. For a revocation it already has the new content: if the process
    // dies between the two renames, the change has not happened; once it has happened, neither file opens
    // with the removed secret.
    try previous.replace(FileStatus(copy.path))
    try lock.replace(file, with: new)
  }

  /// Runs `body` while no other call, in this or another process, changes the file.
  /// - Parameters:
  ///   - seconds: How long to wait for another change; nil for ``lockTimeout``.
  ///   - body: Receives the lock.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``.
  func locked<Result>(waiting seconds: Double? = nil, _ body: (KeyFileLock) throws -> Result) throws -> Result
  {
    try KeyFileLock.hold(file, waiting: seconds ?? lockTimeout, body)
  }
}
