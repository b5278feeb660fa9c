// The secrets that open a slot of a key file, and the keys that are derived from them.

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
    /// The bound on the cost of the slots that the secret is tried on.
    private(set) var budget = ScryptBudget.standard

    private init(secret: Secret) { self.secret = secret }

    /// Returns this secret with a budget, for a file whose passphrases cost more to try than
    /// ``ScryptBudget/standard``.
    ///
    /// A file that others can write may demand minutes and all memory: allow only what is known to be
    /// needed.
    /// - Parameter budget: The bound on the cost of opening the file.
    public func allowing(_ budget: ScryptBudget) -> Unlock {
      var allowing = self
      allowing.budget = budget
      return allowing
    }

    /// A passphrase, normalized to Unicode's form C: `é` is one code point however a keyboard composes
    /// it.
    public static func passphrase(_ text: String) -> Unlock {
      passphrase(bytes: Array(text.precomposedStringWithCanonicalMapping.utf8))
    }
    /// A passphrase of at least one byte, used unchanged. An empty one is refused with
    /// ``SQLError/emptyKey`` when it is used.
    public static func passphrase(bytes: [UInt8]) -> Unlock {
      bytes.isEmpty ? Unlock(secret: .invalid(.emptyKey)) : secured(bytes) { .passphrase($0) }
    }
    /// Random bytes, at least 16. Fewer are refused when the secret is used, with
    /// ``SQLError/keyLength(expected:found:)``, or ``SQLError/emptyKey`` for no bytes.
    public static func rawKey(_ bytes: [UInt8]) -> Unlock {
      bytes.count < 16
        ? Unlock(secret: .invalid(bytes.isEmpty ? .emptyKey : .keyLength(expected: 16, found: bytes.count)))
        : secured(bytes) { .rawKey($0) }
    }
    /// A recovery code, typed or newly generated.
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

    /// Derives the key that a slot's copy of the data key is encrypted with.
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
  /// A mirror without children, so that a dump shows no secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
