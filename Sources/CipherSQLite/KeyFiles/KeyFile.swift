// Key slots: a random data key encrypts the database. A small key file next to it stores that key once
// for each secret, encrypted with that secret. The secrets are in `KeyFile+Unlock`, the file format in
// `KeyFileFormat` and `FormerDataKey`, the changes in `KeyFile+Slots`, `KeyFile+Rotation` and
// `KeyFile+Generations`.

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
/// Changing a passphrase writes a few hundred bytes, whatever the database's size. If the key file is
/// lost, the database is lost, unless the data key is stored elsewhere: keep a copy of the file with the
/// backups. The methods block: trying a passphrase takes about half a second for each different cost that
/// the slots have.
public struct KeyFile: Sendable {
  /// The kind of secret that opens a slot.
  public enum SlotKind: UInt8, Sendable, Hashable, CaseIterable {
    /// A passphrase, stretched by scrypt.
    case passphrase = 1
    /// At least 16 random bytes, from a file or a device.
    case rawKey = 2
    /// A ``RecoveryCode``.
    case recoveryCode = 3
  }

  /// The public properties of a slot, which can be read without a secret.
  public struct Slot: Sendable, Hashable {
    /// Its name, unique in the file.
    public let name: String
    /// The kind of secret that opens it.
    public let kind: SlotKind
    /// The cost of one guess; nil for secrets that are random already.
    public let work: ScryptWork?
  }

  /// The file's path, as it was given.
  public var path: String { file.given }
  /// The file, whose links were resolved when it was opened: changes apply to the link's target.
  let file: DatabasePath
  /// The data key: 32 bytes, with which the database is encrypted.
  let dataKey: SecureBytes
  /// How long a change waits for another process that changes the file, in seconds. Default 5.
  public var lockTimeout: Double = 5

  init(file: DatabasePath, dataKey: SecureBytes) {
    self.file = file
    self.dataKey = dataKey
  }

  /// The data key as a key of a database.
  public var key: Key { .raw(dataKey) }

  /// Creates a key file of mode 0600, with a new data key and one slot.
  ///
  /// - Parameters:
  ///   - path: The new file.
  ///   - slot: The slot's name, 1 to 64 bytes of UTF-8: one line without an equals sign.
  ///   - unlock: Its secret.
  ///   - work: The cost of one guess at a passphrase; by default the cost that takes half a second on
  ///     this machine.
  /// - Returns: The opened key file.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/slotName(file:reason:)``;
  ///   ``SQLError/emptyKey``, ``SQLError/keyLength(expected:found:)``, ``SQLError/keyEndsInZero`` for a
  ///   secret that is not allowed;
  ///   ``SQLError/slotTooCostly(file:seconds:memoryBytes:allowedSeconds:allowedMemoryBytes:)`` for work
  ///   beyond what the secret allows.
  public static func create(
    at path: String, slot: String, unlock: Unlock, work: ScryptWork? = nil
  ) throws -> KeyFile {
    let target = try DatabasePath(path)
    try SlotName.require(slot, in: path, beside: [])
    try PathState.ensureAbsent(target)
    let file = KeyFile(file: target, dataKey: try .random(count: 32))
    var format = KeyFileFormat(identity: try Primitives.random(16))
    format.slots = [
      try file.sealed(file.dataKey, slot: slot, unlock: unlock, work: work, in: format, beside: [])
    ]
    try NewFile(at: target).sealed(holding: format.file(dataKey: file.dataKey)).publish()
    return file
  }

  /// Opens a key file.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - unlock: A secret of one of its slots.
  ///   - slot: The name of the only slot to try; by default each slot of the secret's kind is tried.
  /// - Returns: The opened key file.
  /// - Throws: ``SQLError/noSlotOpens(file:)`` for a wrong secret;
  ///   ``SQLError/keyFileDamaged(file:reason:)`` when the file is truncated, changed, or combined from
  ///   several files; ``SQLError/notFound(file:)``;
  ///   ``SQLError/keyFileTooCostly(file:seconds:memoryBytes:)`` when slots were skipped that cost more
  ///   than the secret allows, and no other slot opened.
  public static func open(at path: String, unlock: Unlock, slot: String? = nil) throws -> KeyFile {
    // Links are resolved now: a change replaces the link's target, not the link.
    let file = try DatabasePath(path)
    let bytes = try read(file)
    let format = try KeyFileFormat(bytes, path: path)
    guard let dataKey = try opened(format.slots, of: format, with: unlock, named: slot, in: path) else {
      throw SQLError.noSlotOpens(file: path)
    }
    guard try KeyFileFormat.isAuthentic(bytes, dataKey: dataKey, identity: format.identity) else {
      throw SQLError.keyFileDamaged(file: path, reason: "it was modified, or combined from several key files")
    }
    return KeyFile(file: file, dataKey: dataKey)
  }

  /// Returns the slots of a key file, in their order. Needs no secret, and verifies only the file's
  /// checksum.
  /// - Parameter path: The file.
  /// - Throws: ``SQLError/notFound(file:)``, ``SQLError/keyFileDamaged(file:reason:)``.
  public static func slots(at path: String) throws -> [Slot] {
    try KeyFileFormat(read(DatabasePath(path)), path: path).slots.map {
      Slot(name: $0.name, kind: $0.kind, work: $0.work)
    }
  }

  /// Returns the new key of an interrupted rotation; nil when there is none that this secret opens.
  static func pendingKey(at path: String, unlock: Unlock) throws -> SecureBytes? {
    try pendingKey(KeyFileFormat(read(DatabasePath(path)), path: path), unlock: unlock, path: path)
  }

  static func pendingKey(_ format: KeyFileFormat, unlock: Unlock, path: String) throws -> SecureBytes? {
    try opened(format.rotation.slots, of: format, with: unlock, named: nil, in: path)
  }

  // MARK: Slots

  private static func opened(
    _ slots: [KeyFileFormat.Slot], of format: KeyFileFormat, with unlock: Unlock, named name: String?,
    in path: String
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

  /// Encrypts a key for a new slot.
  /// - Parameters:
  ///   - key: The key that the slot will contain.
  ///   - name: The slot's name.
  ///   - unlock: The slot's secret.
  ///   - work: The cost of one guess at a passphrase; nil for the usual one.
  ///   - format: The content of the key file.
  ///   - others: The other slots of the file. A passphrase for which no cost is given gets their cost. If
  ///     another slot has the cost of the new one, the new slot gets that slot's salt: one derivation
  ///     then serves for both.
  func sealed(
    _ key: SecureBytes, slot name: String, unlock: Unlock, work: ScryptWork?, in format: KeyFileFormat,
    beside others: [KeyFileFormat.Slot]
  ) throws -> KeyFileFormat.Slot {
    let kind = try unlock.kind()
    // scrypt begins with PBKDF2, which does not distinguish zeros at the end.
    if case .passphrase(let bytes) = unlock.secret { try bytes.requireNoZeroAtEnd() }
    var slot = KeyFileFormat.Slot(
      kind: kind, name: name, work: kind == .passphrase ? try work ?? Self.usual(others, unlock) : nil,
      salt: try Primitives.random(32), nonce: try Primitives.random(12), sealed: [])
    if let alike = others.first(where: { $0.work != nil && $0.work == slot.work }) { slot.salt = alike.salt }
    // With the secret's budget, the file must also open later: the slots together stay within it.
    let derivations = ScryptGroup.all(of: others + [slot])
    if let work = slot.work,
      derivations.seconds > unlock.budget.seconds || work.memoryBytes > unlock.budget.memoryBytes
    {
      throw SQLError.slotTooCostly(path, derivations, allowed: unlock.budget)
    }
    let wrapping = try unlock.wrappingKey(salt: slot.salt, work: slot.work)
    slot.sealed = [UInt8](repeating: 0, count: 48)
    slot.sealed = try Primitives.seal(
      key, key: wrapping, nonce: slot.nonce, associated: format.associated(slot))
    return slot
  }

  /// Returns the cost of a passphrase for which none is given: that of the file's other passphrases,
  /// where it is high enough and within the budget; otherwise a calibrated one.
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
        file: file.given, reason: "it has \(count) bytes, but a key file has at most \(limit)")
    }
    guard let content = CompanionFile(file.path) else { throw SQLError.failed("open", on: file.given) }
    return content.readUp(to: limit + 1, at: 0)
  }
}

extension KeyFile: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The path, never the key.
  public var description: String { "key file \(path)" }
  /// The path, never the key.
  public var debugDescription: String { description }
  /// A mirror without children, so that a dump shows no key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
