// The secrets that open a slot of a key file, and what each becomes.

private import Foundation

extension KeyFile {
  /// A secret that opens a slot, in secure memory.
  public struct Unlock: Sendable {
    enum Secret: Sendable {
      case passphrase(SecureBytes)
      case rawKey(SecureBytes)
      case recoveryCode(RecoveryCode)
      case invalid(SQLError)
    }
    let secret: Secret
    /// What the slots may cost that it is tried on.
    private(set) var budget = ScryptBudget.standard

    private init(secret: Secret) { self.secret = secret }

    /// The same secret for a file whose passphrases cost more to try than ``ScryptBudget/standard``. A file that
    /// somebody else may write can ask for minutes and all memory: allow what is known to be needed.
    public func allowing(_ budget: ScryptBudget) -> Unlock {
      var allowing = self
      allowing.budget = budget
      return allowing
    }

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
        return Unlock(secret: .invalid(error))
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
        try unsafe bytes.withBytes { try unsafe Primitives.scrypt($0, salt: salt, work: work ?? .least) }
      case .rawKey(let bytes):
        try unsafe bytes.withBytes { try unsafe Primitives.hkdf($0, salt: salt, info: info) }
      case .recoveryCode(let code):
        try unsafe code.secret.withBytes { try unsafe Primitives.hkdf($0, salt: salt, info: info) }
      case .invalid(let error): throw error
      }
    }
  }
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
