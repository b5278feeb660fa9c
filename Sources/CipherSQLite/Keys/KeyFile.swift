// Key slots: a random data key encrypts the database; a small file beside it holds that key once for each secret
// that may open it. The bytes are in KeyFileFormat, the changes in KeyFile+Slots and KeyFile+Rotate.

private import Foundation

/// A key file that was opened with one of its secrets.
///
/// ```swift
/// let keys = try KeyFile.create(at: "notes.keys", slot: "Ann", unlock: .passphrase("correct horse"))
/// let code = try keys.addRecoveryCode(slot: "paper")       // shown once
/// let pool = try ConnectionPool(path: path, key: .keyFile("notes.keys", unlock: .passphrase("correct horse")))
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

  /// A secret that opens a slot, in secure memory.
  public struct Unlock: Sendable {
    enum Secret: Sendable {
      case passphrase(SecureBytes)
      case rawKey(SecureBytes)
      case recoveryCode(RecoveryCode)
      case invalid(SQLError)
    }
    let secret: Secret

    /// A passphrase, in the normal form C of Unicode: `é` is the same however a keyboard composes it.
    public static func passphrase(_ text: String) -> Unlock {
      passphrase(bytes: Array(text.precomposedStringWithCanonicalMapping.utf8))
    }
    /// A passphrase as bytes, taken as they are; at least one.
    public static func passphrase(bytes: [UInt8]) -> Unlock {
      bytes.isEmpty ? Unlock(secret: .invalid(.emptyKey)) : secured(bytes) { .passphrase($0) }
    }
    /// Random bytes, at least 16.
    public static func rawKey(_ bytes: [UInt8]) -> Unlock {
      bytes.count < 16
        ? Unlock(secret: .invalid(bytes.isEmpty ? .emptyKey : .keyLength(expected: 16, found: bytes.count)))
        : secured(bytes) { .rawKey($0) }
    }
    /// A code that was typed or made.
    public static func recoveryCode(_ code: RecoveryCode) -> Unlock { Unlock(secret: .recoveryCode(code)) }

    private static func secured(_ bytes: [UInt8], _ wrap: (SecureBytes) -> Secret) -> Unlock {
      do { return Unlock(secret: wrap(try SecureBytes(copying: bytes))) } catch {
        return Unlock(secret: .invalid((error as? SQLError) ?? .emptyKey))
      }
    }

    func kind() throws -> SlotKind {
      switch secret {
      case .passphrase: .passphrase
      case .rawKey: .rawKey
      case .recoveryCode: .recoveryCode
      case .invalid(let error): throw error
      }
    }

    /// The key that a slot's copy of the data key is encrypted with.
    func wrappingKey(salt: [UInt8], work: ScryptWork?) throws -> SecureBytes {
      let info = Array("ObjectVault key file slot 1".utf8)
      return switch secret {
      case .passphrase(let bytes):
        try bytes.withBytes { try Primitives.scrypt($0, salt: salt, work: work ?? .least) }
      case .rawKey(let bytes): try bytes.withBytes { try Primitives.hkdf($0, salt: salt, info: info) }
      case .recoveryCode(let code):
        try code.secret.withBytes { try Primitives.hkdf($0, salt: salt, info: info) }
      case .invalid(let error): throw error
      }
    }
  }

  /// The file.
  public let path: String
  /// The data key: 32 bytes, what the database is encrypted with.
  let dataKey: SecureBytes

  /// The data key as a key of a database.
  public var key: Key { .raw(dataKey) }

  /// Makes a key file with a new data key and one slot. Mode 0600.
  ///
  /// - Parameters:
  ///   - path: The new file.
  ///   - slot: The slot's name, 1 to 64 bytes of UTF-8.
  ///   - unlock: Its secret.
  ///   - work: What a guess at a passphrase costs; by default what takes half a second here.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/emptyKey``, ``SQLError/slotName(file:reason:)``.
  public static func create(
    at path: String, slot: String, unlock: Unlock, work: ScryptWork? = nil
  ) throws -> KeyFile {
    let target = try DatabasePath(path)
    try PathState.ensureAbsent(target)
    let file = KeyFile(path: path, dataKey: try .random(count: 32))
    var format = KeyFileFormat(identity: try Primitives.random(16))
    format.slots = [try file.sealed(file.dataKey, slot, unlock, work, format)]
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
  ///   the file is cut, changed, or put together from others; ``SQLError/notFound(file:)``.
  public static func open(at path: String, unlock: Unlock, slot: String? = nil) throws -> KeyFile {
    let bytes = try read(path)
    let format = try KeyFileFormat(bytes, path: path)
    guard let dataKey = try opened(format.slots, of: format, unlock, slot) else {
      throw SQLError.noSlotOpens(file: path)
    }
    guard try KeyFileFormat.isAuthentic(bytes, dataKey: dataKey, identity: format.identity) else {
      throw SQLError.keyFileDamaged(file: path, reason: "its slots do not belong together")
    }
    return KeyFile(path: path, dataKey: dataKey)
  }

  /// The slots of a key file, in their order; needs no secret, and proves nothing about the file but its checksum.
  public static func slots(at path: String) throws -> [Slot] {
    try KeyFileFormat(read(path), path: path).slots.map { Slot(name: $0.name, kind: $0.kind, work: $0.work) }
  }

  /// The key that a rotation was changing to when it was interrupted; nil when there is none for this secret.
  static func pendingKey(at path: String, unlock: Unlock) throws -> SecureBytes? {
    let format = try KeyFileFormat(read(path), path: path)
    return try opened(format.pending, of: format, unlock, nil)
  }

  // MARK: Slots

  private static func opened(
    _ slots: [KeyFileFormat.Slot], of format: KeyFileFormat, _ unlock: Unlock, _ name: String?
  ) throws -> SecureBytes? {
    let kind = try unlock.kind()
    for slot in slots where slot.kind == kind && (name == nil || slot.name == name) {
      let wrapping = try unlock.wrappingKey(salt: slot.salt, work: slot.work)
      let found = try Primitives.open(
        slot.sealed, key: wrapping, nonce: slot.nonce, associated: format.associated(slot))
      if let found { return found }
    }
    return nil
  }

  func sealed(
    _ key: SecureBytes, _ name: String, _ unlock: Unlock, _ work: ScryptWork?, _ format: KeyFileFormat
  ) throws -> KeyFileFormat.Slot {
    guard (1...64).contains(name.utf8.count) else {
      throw SQLError.slotName(
        file: path, reason: "a name has 1 to 64 bytes, and this one has \(name.utf8.count)")
    }
    let kind = try unlock.kind()
    var slot = KeyFileFormat.Slot(
      kind: kind, name: name, work: kind == .passphrase ? try work ?? .calibrated() : nil,
      salt: try Primitives.random(32), nonce: try Primitives.random(12), sealed: [])
    let wrapping = try unlock.wrappingKey(salt: slot.salt, work: slot.work)
    slot.sealed = [UInt8](repeating: 0, count: 48)
    slot.sealed = try Primitives.seal(
      key, key: wrapping, nonce: slot.nonce, associated: format.associated(slot))
    return slot
  }

  // MARK: The file

  static func read(_ path: String) throws -> [UInt8] {
    let count = try PathState.existing(DatabasePath(path))
    let limit = KeyFileFormat.headerBytes + 2 * KeyFileFormat.maximumSlots * KeyFileFormat.slotBytes + 64
    guard count <= limit else {
      throw SQLError.keyFileDamaged(
        file: path, reason: "it has \(count) bytes, and a key file has \(limit) at most")
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SQLError.permissionDenied(file: path)
    }
    return Array(data)
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

extension KeyFile.Unlock: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind of secret, never the secret.
  public var description: String {
    switch secret {
    case .passphrase: "passphrase"
    case .rawKey: "raw key"
    case .recoveryCode: "recovery code"
    case .invalid: "invalid secret"
    }
  }
  /// The kind of secret, never the secret.
  public var debugDescription: String { description }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
