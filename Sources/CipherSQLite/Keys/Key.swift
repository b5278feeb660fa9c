// What a caller unlocks a file with. Bytes live in SecureBytes from the first moment we hold them.

public import Foundation

/// The key of an encrypted file.
///
/// A passphrase is stretched with PBKDF2 exactly as SQLCipher does, once per opened file; a raw key is used
/// as it is. Nothing here ever prints, encodes or logs the key's bytes.
public struct Key: Sendable {
  enum Material: Sendable {
    case passphrase(SecureBytes)
    case raw(SecureBytes)
    case provider(@Sendable () async throws -> Key)
    case kept(any KeyKeeper)
    // A mistake found while the key was made; thrown when the key is used.
    case invalid(SQLError)
  }

  let material: Material
  /// The salt that goes with it, where it is not read from the file.
  private(set) var salt: [UInt8]?

  init(material: Material, salt: [UInt8]? = nil) {
    self.material = material
    self.salt = salt
  }

  /// A passphrase. Its UTF-8 bytes are taken as they are, without normalisation, as the `sqlcipher` shell
  /// does; an empty one is refused with ``SQLError/emptyKey`` when it is used.
  ///
  /// One text may have several spellings in Unicode, and each is a key of its own: an é typed as one character (form C) does not
  /// open what was made with an e and a combining accent (form D), though Swift calls both equal. Where people type what is
  /// not ASCII, bring it to one form before, and always to the same: `precomposedStringWithCanonicalMapping` of Foundation. A
  /// ``KeyFile`` does so by itself.
  ///
  /// A Swift `String` cannot be wiped: prefer ``passphrase(bytes:)`` where the text does not have to exist.
  public static func passphrase(_ text: String) -> Key { passphrase(bytes: Array(text.utf8)) }

  /// A passphrase as bytes, at least one. The caller's copy is the caller's to wipe.
  public static func passphrase(bytes: [UInt8]) -> Key {
    guard !bytes.isEmpty else { return Key(material: .invalid(.emptyKey)) }
    return Key(material: secured(bytes) { .passphrase($0) })
  }

  /// A raw key of exactly 32 bytes; no stretching. Anything else is refused with
  /// ``SQLError/keyLength(expected:found:)`` when it is used.
  public static func raw(_ bytes: [UInt8]) -> Key {
    guard bytes.count == 32 else {
      return Key(material: .invalid(bytes.isEmpty ? .emptyKey : .keyLength(expected: 32, found: bytes.count)))
    }
    return Key(material: secured(bytes) { .raw($0) })
  }

  /// A raw key of exactly 32 bytes, and the salt of exactly 16 that goes with it: see ``withSalt(_:)``.
  public static func raw(_ bytes: [UInt8], salt: [UInt8]) -> Key { raw(bytes).withSalt(salt) }

  /// The same key with a salt of its own, exactly 16 bytes. A salt is not secret.
  ///
  /// A new file takes it in the place of a random one: never use one twice with a passphrase that is used twice. A file
  /// whose header is left in clear (``CipherProfile/clearHeaderBytes``) has no other: without it nobody opens the
  /// file. For any other file that exists it has to be the one that the file begins with. A salt of another length is
  /// refused with ``SQLError/saltLength(expected:found:)`` when the key is used.
  public func withSalt(_ salt: [UInt8]) -> Key {
    if case .invalid = material { return self }
    guard salt.count == 16 else {
      return Key(material: .invalid(.saltLength(expected: 16, found: salt.count)))
    }
    return Key(material: material, salt: salt)
  }

  /// With the salt of another key, where that has one.
  func salted(as other: Key) -> Key { other.salt.map { withSalt($0) } ?? self }

  /// A raw key of exactly 32 bytes.
  public static func raw(_ data: Data) -> Key { raw(Array(data)) }

  /// A raw key that was made in secure memory, such as ``SecureBytes/random(count:)``.
  public static func raw(_ bytes: SecureBytes) -> Key {
    guard bytes.count == 32 else {
      return Key(material: .invalid(.keyLength(expected: 32, found: bytes.count)))
    }
    return Key(material: .raw(bytes))
  }

  /// A key that is asked for when a file is opened, from a keyring or a person.
  public static func provider(_ body: @escaping @Sendable () async throws -> Key) -> Key {
    Key(material: .provider(body))
  }

  /// Asks the provider, if this key has one.
  public func resolved() async throws -> Key {
    guard case .provider(let body) = material else { return self }
    let key = try await body().resolved()
    return key.salted(as: self)
  }

  /// Goes on with a key that no other text stands for: PBKDF2 fills a passphrase up with zeros to the length of a block.
  /// - Throws: ``SQLError/keyEndsInZero``.
  func requireUnambiguous() throws {
    guard case .passphrase(let bytes) = material else { return }
    try bytes.requireNoZeroAtEnd()
  }

  private static func secured(_ bytes: [UInt8], _ wrap: (SecureBytes) -> Material) -> Material {
    do { return wrap(try SecureBytes(copying: bytes)) } catch { return .invalid(error) }
  }
}

extension Key: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind of key, never its content.
  public var description: String {
    switch material {
    case .passphrase: "passphrase"
    case .raw: "raw key"
    case .provider: "key provider"
    case .kept(let keeper): keeper.description
    case .invalid: "invalid key"
    }
  }
  /// The kind of key, never its content.
  public var debugDescription: String { description }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
