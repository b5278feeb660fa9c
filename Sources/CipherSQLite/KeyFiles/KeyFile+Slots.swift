// Changing a key file: read, change, write beside, rename. Other processes that do the same wait.

private import Foundation

extension KeyFile {
  /// Adds a slot. The former file is kept as `PATH.previous`.
  ///
  /// - Parameters:
  ///   - name: The slot's name, 1 to 64 bytes of UTF-8: one line without an equals sign.
  ///   - unlock: Its secret.
  ///   - work: What a guess at a passphrase costs; by default what the file's other passphrases cost, or what takes
  ///     half a second here.
  /// - Throws: ``SQLError/slotName(file:reason:)`` when the name is taken, or cannot be one, or the file is full;
  ///   ``SQLError/keyFileDamaged(file:reason:)`` when the file has become another since it was opened;
  ///   ``SQLError/slotTooCostly(file:seconds:memoryBytes:allowedSeconds:allowedMemoryBytes:)`` for work beyond what the secret allows
  ///   (``Unlock/allowing(_:)``); ``SQLError/busy(file:waitedSeconds:holders:)`` while another process changes it.
  public func addSlot(_ name: String, unlock: Unlock, work: ScryptWork? = nil) throws {
    try change { format in
      try SlotName.require(name, in: path, beside: format.slots.map(\.name))
      guard format.slots.count < KeyFileFormat.maximumSlots else {
        throw SQLError.slotName(file: path, reason: "it has all of its \(KeyFileFormat.maximumSlots) slots")
      }
      format.slots.append(try sealed(dataKey, name, unlock, work, format, beside: format.slots))
    }
  }

  /// Adds a slot for a new recovery code.
  /// - Returns: The code, which is kept nowhere: show ``RecoveryCode/text()`` once.
  public func addRecoveryCode(slot name: String) throws -> RecoveryCode {
    let code = try RecoveryCode.random()
    try addSlot(name, unlock: .recoveryCode(code))
    return code
  }

  /// Gives a slot another secret, in a time that does not depend on the database. The old secret then opens
  /// neither the file nor its previous copy; a copy of the file that somebody made before, it still opens. Against
  /// that helps ``rotate(_:keeping:dropsOthers:progress:)-(ConnectionPool,_,_,_)``.
  public func changeSlot(_ name: String, unlock: Unlock, work: ScryptWork? = nil) throws {
    try change(isRevoking: true) { format in
      let index = try index(of: name, in: format)
      var others = format.slots
      others.remove(at: index)
      format.slots[index] = try sealed(dataKey, name, unlock, work, format, beside: others)
    }
  }

  /// Removes a slot. Its secret then opens neither the file nor its previous copy.
  /// - Throws: ``SQLError/lastSlot(file:)``: without a slot the database could not be opened ever again;
  ///   ``SQLError/noSuchSlot(file:name:available:)``.
  public func removeSlot(_ name: String) throws {
    try change(isRevoking: true) { format in
      let index = try index(of: name, in: format)
      guard format.slots.count > 1 else { throw SQLError.lastSlot(file: path) }
      format.slots.remove(at: index)
    }
  }

  /// Renames a slot; needs no secret of that slot.
  /// - Throws: ``SQLError/slotName(file:reason:)`` when the new name is taken, or cannot be one.
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

  /// Reads the file, lets `body` change it, and writes it, while nobody else does.
  /// - Parameter isRevoking: Whether a secret loses its right: then no previous copy is left for it.
  func change(isRevoking: Bool = false, _ body: (inout KeyFileFormat) throws -> Void) throws {
    try locked { lock in
      var format = try authentic()
      guard !format.rotation.isPending else { throw pendingRotation(format) }
      try body(&format)
      try write(format, dataKey: dataKey, previous: isRevoking ? .new : .former, under: lock)
    }
  }

  /// The file's content, when it is still the one that this value was opened from.
  func authentic() throws -> KeyFileFormat {
    let bytes = try Self.read(file)
    let format = try KeyFileFormat(bytes, path: path)
    guard try KeyFileFormat.isAuthentic(bytes, dataKey: dataKey, identity: format.identity) else {
      throw SQLError.keyFileDamaged(file: path, reason: "it is not the file that was opened: open it again")
    }
    return format
  }

  /// What becomes of the copy beside the file.
  enum PreviousCopy {
    /// It holds what the file held.
    case former
    /// It holds what the file holds now: the former state would open with a secret that lost its right.
    case new
    /// It stays as it is, for what is no change of slots.
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
    // A file of the user that is called alike.
    if let there = SideFile(copy.path), there.byteCount > 0, there.read(8, at: 0) != KeyFileFormat.magic {
      throw SQLError.alreadyExists(file: copy.given)
    }
    let previous = try NewFile(at: copy).sealed(holding: kind == .new ? bytes : Self.read(file))
    let new = try NewFile(at: file).sealed(holding: bytes)
    // The copy first, always. When a right is taken away it is the new state already: between the two names the
    // change has not happened, and once it has, no copy of ours opens with the removed secret.
    try previous.replace(FileStatus(copy.path))
    try lock.replace(file, with: new)
  }

  /// Runs `body` while no other call, here or in another process, changes the file.
  /// - Parameter seconds: How long to wait for another; nil for ``lockTimeout``.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``.
  func locked<Result>(waiting seconds: Double? = nil, _ body: (KeyFileLock) throws -> Result) throws -> Result
  {
    try KeyFileLock.hold(file, waiting: seconds ?? lockTimeout, body)
  }
}
