// The key that a caller opens a file with. Key bytes are moved into `SecureBytes` as soon as this code
// receives them.

public import Foundation

/// The key of an encrypted file.
///
/// A passphrase is stretched with PBKDF2 exactly as SQLCipher does: when a file is opened, and not again
/// for the further connections of a pool; a raw key is used unchanged. The key's bytes are never printed,
/// encoded or logged.
public struct Key: Sendable {
  enum Material: Sendable {
    case passphrase(SecureBytes)
    case raw(SecureBytes)
    case provider(@Sendable () async throws -> Key)
    case kept(any StoredKey)
    // An error found while the key was created; thrown when the key is used.
    case invalid(SQLError)
  }

  let material: Material
  /// The salt of the file, where it is not read from the file.
  private(set) var salt: [UInt8]?

  init(material: Material, salt: [UInt8]? = nil) {
    self.material = material
    self.salt = salt
  }

  /// A passphrase. Its UTF-8 bytes are used unchanged, without normalization, as the `sqlcipher` shell
  /// does; an empty one is refused with ``SQLError/emptyKey`` when it is used.
  ///
  /// A text may have several encodings in Unicode, and each is a different key: an é typed as one code
  /// point (form C) does not open a file that was made with an e and a combining accent (form D), though
  /// Swift treats both texts as equal. Where users may type characters beyond ASCII, normalize the text
  /// first, and always to the same form: `precomposedStringWithCanonicalMapping` of Foundation. A
  /// ``KeyFile`` does so by itself.
  ///
  /// A Swift `String` cannot be wiped: prefer ``passphrase(bytes:)`` where no `String` is needed.
  public static func passphrase(_ text: String) -> Key { passphrase(bytes: Array(text.utf8)) }

  /// A passphrase of at least one byte. The caller is responsible for wiping its own copy.
  public static func passphrase(bytes: [UInt8]) -> Key {
    guard !bytes.isEmpty else { return Key(material: .invalid(.emptyKey)) }
    return Key(material: secured(bytes) { .passphrase($0) })
  }

  /// A raw key of exactly 32 bytes; no stretching. Another length is refused when the key is used, with
  /// ``SQLError/keyLength(expected:found:)``, or ``SQLError/emptyKey`` for no bytes.
  public static func raw(_ bytes: [UInt8]) -> Key {
    guard bytes.count == 32 else {
      return Key(material: .invalid(bytes.isEmpty ? .emptyKey : .keyLength(expected: 32, found: bytes.count)))
    }
    return Key(material: secured(bytes) { .raw($0) })
  }

  /// A raw key of exactly 32 bytes, and its salt of exactly 16 bytes: see ``withSalt(_:)``.
  public static func raw(_ bytes: [UInt8], salt: [UInt8]) -> Key { raw(bytes).withSalt(salt) }

  /// Returns this key with the given salt of exactly 16 bytes. A salt is not secret.
  ///
  /// A new file gets this salt instead of a random one: never use one salt for two files with the same
  /// passphrase. A file whose header is in clear text (``CipherProfile/clearHeaderBytes``) does not store
  /// its salt, and does not open without it. For any other existing file, the given salt must equal the
  /// first 16 bytes of the file. A salt of another length is refused when the key is used, with
  /// ``SQLError/saltLength(expected:found:)``.
  public func withSalt(_ salt: [UInt8]) -> Key {
    if case .invalid = material { return self }
    guard salt.count == 16 else {
      return Key(material: .invalid(.saltLength(expected: 16, found: salt.count)))
    }
    return Key(material: material, salt: salt)
  }

  /// Returns this key with the salt of another key; unchanged if the other key has none.
  func salted(as other: Key) -> Key { other.salt.map { withSalt($0) } ?? self }

  /// A raw key of exactly 32 bytes.
  public static func raw(_ data: Data) -> Key { raw(Array(data)) }

  /// A raw key that was created in secure memory, such as ``SecureBytes/random(count:)``.
  public static func raw(_ bytes: SecureBytes) -> Key {
    guard bytes.count == 32 else {
      return Key(material: .invalid(.keyLength(expected: 32, found: bytes.count)))
    }
    return Key(material: .raw(bytes))
  }

  /// A key that a closure provides when a file is opened, for example from a keyring or from user input.
  public static func provider(_ body: @escaping @Sendable () async throws -> Key) -> Key {
    Key(material: .provider(body))
  }

  /// Returns the key that the provider supplies, with the salt of this key if it has one; this key if it
  /// has no provider.
  /// - Throws: What the provider throws.
  public func resolved() async throws -> Key {
    guard case .provider(let body) = material else { return self }
    let key = try await body().resolved()
    return key.salted(as: self)
  }

  /// Checks that a passphrase does not end in a zero byte. PBKDF2 pads a passphrase with zeros to the
  /// length of a block, so the passphrase without its last zeros would open the file as well.
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
  /// A mirror without children, so that a dump shows no key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
