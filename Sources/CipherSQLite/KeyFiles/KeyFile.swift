// Key slots: a random data key encrypts the database; a small file beside it holds that key once for each secret
// that may open it. The secrets are in KeyFile+Unlock, the bytes in KeyFileFormat and FormerKey, the changes in KeyFile+Slots,
// KeyFile+Rotation and KeyFile+Generations.

private import Foundation

/// A key file that was opened with one of its secrets.
///
/// ```swift
/// let ann = KeyFile.Unlock.passphrase("correct horse")
/// let keys = try KeyFile.create(at: "notes.keys", slot: "Ann", unlock: ann)
/// let code = try keys.addRecoveryCode(slot: "paper")  // shown once
/// let key = Key.keyFile("notes.keys", unlock: ann)
/// let pool = try ConnectionPool(path: path, key: key)
/// ```
/// A passphrase is changed by writing some hundred bytes, whatever the database's size. Who loses the file loses
/// the database, unless the data key is kept elsewhere: keep it with the backups. The methods block; a
/// passphrase takes about half a second for each slot that is tried.
public struct KeyFile: Sendable {
  /// What a slot is opened with.
  public enum SlotKind: UInt8, Sendable, Hashable, CaseIterable {
    /// A passphrase, stretched by scrypt.
    case passphrase = 1
    /// At least 16 random bytes, from a file or a device.
    case rawKey = 2
    /// A ``RecoveryCode``.
    case recoveryCode = 3
  }

  /// One slot, as everybody may see it.
  public struct Slot: Sendable, Hashable {
    /// Its name, unique in the file.
    public let name: String
    /// What opens it.
    public let kind: SlotKind
    /// What a guess costs; nil for secrets that are random already.
    public let work: ScryptWork?
  }

  /// The file's path, as it was given.
  public var path: String { file.given }
  /// The file, whose links were followed when it was opened: it is the one that is changed.
  let file: DatabasePath
  /// The data key: 32 bytes, what the database is encrypted with.
  let dataKey: SecureBytes
  /// How long a change waits for another process that changes the file, in seconds. Default 5.
  public var lockTimeout: Double = 5

  init(file: DatabasePath, dataKey: SecureBytes) {
    self.file = file
    self.dataKey = dataKey
  }

  /// The data key as a key of a database.
  public var key: Key { .raw(dataKey) }

  /// Makes a key file with a new data key and one slot. Mode 0600.
  ///
  /// - Parameters:
  ///   - path: The new file.
  ///   - slot: The slot's name, 1 to 64 bytes of UTF-8: one line without an equals sign.
  ///   - unlock: Its secret.
  ///   - work: What a guess at a passphrase costs; by default what takes half a second here.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/emptyKey``, ``SQLError/slotName(file:reason:)``;
  ///   ``SQLError/slotTooCostly(file:seconds:memoryBytes:allowedSeconds:allowedMemoryBytes:)`` for work beyond what the secret allows.
  public static func create(
    at path: String, slot: String, unlock: Unlock, work: ScryptWork? = nil
  ) throws -> KeyFile {
    let target = try DatabasePath(path)
    try SlotName.require(slot, in: path, beside: [])
    try PathState.ensureAbsent(target)
    let file = KeyFile(file: target, dataKey: try .random(count: 32))
    var format = KeyFileFormat(identity: try Primitives.random(16))
    format.slots = [try file.sealed(file.dataKey, slot, unlock, work, format, beside: [])]
    try NewFile(at: target).sealed(holding: format.file(dataKey: file.dataKey)).publish()
    return file
  }

  /// Opens a key file.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - unlock: A secret of one of its slots.
  ///   - slot: The slot's name, to try no other; by default each slot of the secret's kind.
  /// - Throws: ``SQLError/noSlotOpens(file:)`` for a wrong secret; ``SQLError/keyFileDamaged(file:reason:)`` when
  ///   the file is cut, changed, or put together from others; ``SQLError/notFound(file:)``;
  ///   ``SQLError/keyFileTooCostly(file:seconds:memoryBytes:)`` when slots were left out that cost more than the
  ///   secret allows, and no other opened.
  public static func open(at path: String, unlock: Unlock, slot: String? = nil) throws -> KeyFile {
    // A change puts another file in the place of this one: that of a link's target, not of the link.
    let file = try DatabasePath(path)
    let bytes = try read(file)
    let format = try KeyFileFormat(bytes, path: path)
    guard let dataKey = try opened(format.slots, of: format, unlock, slot, path) else {
      throw SQLError.noSlotOpens(file: path)
    }
    guard try KeyFileFormat.isAuthentic(bytes, dataKey: dataKey, identity: format.identity) else {
      throw SQLError.keyFileDamaged(file: path, reason: "its slots do not belong together")
    }
    return KeyFile(file: file, dataKey: dataKey)
  }

  /// The slots of a key file, in their order; needs no secret, and proves nothing about the file but its checksum.
  public static func slots(at path: String) throws -> [Slot] {
    try KeyFileFormat(read(DatabasePath(path)), path: path).slots.map {
      Slot(name: $0.name, kind: $0.kind, work: $0.work)
    }
  }

  /// The key that a rotation was changing to when it was interrupted; nil when there is none for this secret.
  static func pendingKey(at path: String, unlock: Unlock) throws -> SecureBytes? {
    try pendingKey(KeyFileFormat(read(DatabasePath(path)), path: path), unlock: unlock, path: path)
  }

  static func pendingKey(_ format: KeyFileFormat, unlock: Unlock, path: String) throws -> SecureBytes? {
    try opened(format.rotation.slots, of: format, unlock, nil, path)
  }

  // MARK: Slots

  private static func opened(
    _ slots: [KeyFileFormat.Slot], of format: KeyFileFormat, _ unlock: Unlock, _ name: String?, _ path: String
  ) throws -> SecureBytes? {
    let kind = try unlock.kind()
    var derived: [ScryptGroup: SecureBytes] = [:]
    var spent = 0.0
    var tooCostly: [KeyFileFormat.Slot] = []
    for slot in slots where slot.kind == kind && (name == nil || slot.name == name) {
      let group = ScryptGroup(slot)
      let wrapping: SecureBytes
      if let group, let known = derived[group] {
        wrapping = known
      } else if let group, !unlock.budget.allows(group.work, after: spent) {
        tooCostly.append(slot)
        continue
      } else {
        wrapping = try unlock.wrappingKey(salt: slot.salt, work: slot.work)
        if let group {
          derived[group] = wrapping
          spent += group.work.seconds
        }
      }
      let found = try Primitives.open(
        slot.sealed, key: wrapping, nonce: slot.nonce, associated: format.associated(slot))
      if let found { return found }
    }
    guard tooCostly.isEmpty else { throw SQLError.tooCostly(path, ScryptGroup.all(of: tooCostly)) }
    return nil
  }

  /// A slot for a key.
  /// - Parameter others: The slots that it will stand beside. A passphrase takes costs and salt of theirs, so that
  ///   opening the file is one derivation, however many passphrases it has.
  func sealed(
    _ key: SecureBytes, _ name: String, _ unlock: Unlock, _ work: ScryptWork?, _ format: KeyFileFormat,
    beside others: [KeyFileFormat.Slot]
  ) throws -> KeyFileFormat.Slot {
    let kind = try unlock.kind()
    // scrypt begins with PBKDF2.
    if case .passphrase(let bytes) = unlock.secret { try bytes.requireNoZeroAtEnd() }
    var slot = KeyFileFormat.Slot(
      kind: kind, name: name, work: kind == .passphrase ? try work ?? Self.usual(others, unlock) : nil,
      salt: try Primitives.random(32), nonce: try Primitives.random(12), sealed: [])
    if let alike = others.first(where: { $0.work != nil && $0.work == slot.work }) { slot.salt = alike.salt }
    // Who opens the file later allows no more than its maker did here.
    let derivations = ScryptGroup.all(of: others + [slot])
    if let work = slot.work,
      derivations.seconds > unlock.budget.seconds || work.memoryBytes > unlock.budget.memoryBytes
    {
      throw SQLError.slotTooCostly(path, derivations, unlock.budget)
    }
    let wrapping = try unlock.wrappingKey(salt: slot.salt, work: slot.work)
    slot.sealed = [UInt8](repeating: 0, count: 48)
    slot.sealed = try Primitives.seal(
      key, key: wrapping, nonce: slot.nonce, associated: format.associated(slot))
    return slot
  }

  /// The costs of a passphrase for which none are given: as the others of the file, where these are worth it.
  private static func usual(_ others: [KeyFileFormat.Slot], _ unlock: Unlock) throws -> ScryptWork {
    let known = others.compactMap(\.work).filter {
      $0.seconds >= ScryptWork.least.seconds && unlock.budget.allows($0, after: 0)
    }
    return try known.max { $0.seconds < $1.seconds } ?? .calibrated()
  }

  // MARK: The file

  static func read(_ file: DatabasePath) throws -> [UInt8] {
    let count = try PathState.existing(file)
    let limit = KeyFileFormat.maximumBytes
    guard count <= limit else {
      throw SQLError.keyFileDamaged(
        file: file.given, reason: "it has \(count) bytes, and a key file has \(limit) at most")
    }
    guard let content = SideFile(file.path) else { throw SQLError.failed("open", on: file.given) }
    return content.readUp(to: limit + 1, at: 0)
  }
}

extension KeyFile: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The path, never the key.
  public var description: String { "key file \(path)" }
  /// The path, never the key.
  public var debugDescription: String { description }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
