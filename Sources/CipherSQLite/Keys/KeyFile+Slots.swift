// Changing a key file: read, change, write beside, rename. Other processes that do the same wait.

private import Foundation

extension KeyFile {
  /// Adds a slot. The former file is kept as `PATH.previous`.
  ///
  /// - Throws: ``SQLError/slotName(file:reason:)`` when the name is taken, or the file full;
  ///   ``SQLError/keyFileDamaged(file:reason:)`` when the file has become another since it was opened.
  public func addSlot(_ name: String, unlock: Unlock, work: ScryptWork? = nil) throws {
    try change { format in
      guard !format.slots.contains(where: { $0.name == name }) else {
        throw SQLError.slotName(file: path, reason: "there is a slot \(name) already")
      }
      guard format.slots.count < KeyFileFormat.maximumSlots else {
        throw SQLError.slotName(file: path, reason: "it has all of its \(KeyFileFormat.maximumSlots) slots")
      }
      format.slots.append(try sealed(dataKey, name, unlock, work, format))
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
  /// that helps ``rotate(_:keeping:dropsOthers:progress:)``.
  public func changeSlot(_ name: String, unlock: Unlock, work: ScryptWork? = nil) throws {
    try change(isRevoking: true) { format in
      let index = try index(of: name, in: format)
      format.slots[index] = try sealed(dataKey, name, unlock, work, format)
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
  public func renameSlot(_ name: String, to newName: String) throws {
    try change { format in
      let index = try index(of: name, in: format)
      guard (1...64).contains(newName.utf8.count), !format.slots.contains(where: { $0.name == newName })
      else {
        throw SQLError.slotName(file: path, reason: "\(newName) is taken, or has not 1 to 64 bytes")
      }
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
    try Self.locked(path) {
      var format = try authentic()
      guard format.pending.isEmpty else {
        throw SQLError.keyFileDamaged(
          file: path,
          reason: "a rotation was interrupted; open the database with the file once, which finishes it")
      }
      try body(&format)
      try write(format, dataKey: dataKey, isRevoking: isRevoking)
    }
  }

  /// The file's content, when it is still the one that this value was opened from.
  func authentic() throws -> KeyFileFormat {
    let bytes = try Self.read(path)
    let format = try KeyFileFormat(bytes, path: path)
    guard try KeyFileFormat.isAuthentic(bytes, dataKey: dataKey, identity: format.identity) else {
      throw SQLError.keyFileDamaged(file: path, reason: "it is not the file that was opened: open it again")
    }
    return format
  }

  func write(_ format: KeyFileFormat, dataKey: SecureBytes, isRevoking: Bool) throws {
    var format = format
    format.generation += 1
    let bytes = try format.file(dataKey: dataKey)
    let file = try DatabasePath(path)
    let copy = file.appending(".previous")
    let previous = try NewFile(at: copy).sealed(holding: isRevoking ? bytes : Self.read(path))
    let new = try NewFile(at: file).sealed(holding: bytes)
    // The copy goes first: when a right is taken away, a crash between the two leaves a change that was not made, and
    // not a copy that the removed secret still opens.
    try previous.replace(FileStatus(copy.path))
    try new.replace(FileStatus(file.path))
  }

  /// Runs `body` while no other call, here or in another process, changes a key file of the same folder.
  /// - Parameter waits: Without it, an error when somebody else is at work.
  static func locked<Result>(_ path: String, waits: Bool = true, _ body: () throws -> Result) throws -> Result
  {
    // The folder, because the file itself is replaced.
    let descriptor = Foundation.open(try DatabasePath(path).folder, O_RDONLY)
    guard descriptor >= 0 else { throw SQLError.system(file: path, operation: "open", code: Int(errno)) }
    defer { Foundation.close(descriptor) }
    guard flock(descriptor, LOCK_EX | (waits ? 0 : LOCK_NB)) == 0 else {
      throw SQLError.system(file: path, operation: "flock", code: Int(errno))
    }
    return try body()
  }
}
