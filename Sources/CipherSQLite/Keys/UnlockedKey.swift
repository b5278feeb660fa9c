// A derived key with the file's salt and settings, with which every further connection is opened.

private import CLibCrypto
private import Foundation

// Memory safety: SecureBytes passes the bytes of a key to a closure, as a buffer that is valid during
// that closure. The unsafe calls below use the buffer, and its count, only there.
/// The result of deriving a key once: 32 key bytes, the file's salt, and the matching profile.
///
/// Opening a connection with it takes a fraction of a millisecond; the passphrase is no longer needed.
public struct UnlockedKey: Sendable {
  /// The file's settings.
  public let profile: CipherProfile
  /// The file's salt, 16 bytes. A salt is not secret.
  let salt: [UInt8]
  // 32 bytes of the key; then, for the page audit, 32 bytes of the derived HMAC key.
  let bytes: SecureBytes

  /// Derives the key of a file. Blocks.
  ///
  /// - Parameters:
  ///   - key: A passphrase, a raw key, or a key in a key file. A provider must be resolved before.
  ///   - salt: The file's salt: bytes 0..<16 of the file, or the key's own salt.
  ///   - profile: Determines hash and rounds; the time grows with the rounds.
  /// - Throws: ``SQLError/emptyKey``, ``SQLError/keyLength(expected:found:)``,
  ///   ``SQLError/saltLength(expected:found:)``; ``SQLError/verificationFailed(file:reason:)`` for a
  ///   provider; ``SQLError/system(file:operation:code:)`` if memory or libcrypto fails; what opening the
  ///   key file throws.
  init(deriving key: Key, salt: [UInt8], profile: CipherProfile) throws {
    self.salt = salt
    self.profile = profile
    let digest = unsafe profile.derivationHash.digest
    bytes = try unsafe SecureBytes(count: 64) { output in
      guard let base = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
      switch key.material {
      case .invalid(let error): throw error
      case .provider:
        throw SQLError.verificationFailed(file: "key", reason: "a provider's key must be resolved first")
      case .kept(let keeper):
        try unsafe keeper.dataKey().withBytes { unsafe output.copyMemory(from: $0) }
      case .raw(let raw):
        unsafe raw.withBytes { unsafe output.copyMemory(from: $0) }
      case .passphrase(let passphrase):
        try unsafe passphrase.withBytes { text in
          let done = unsafe PKCS5_PBKDF2_HMAC(
            text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count), salt, Int32(salt.count),
            Int32(profile.rounds), digest, 32, base)
          guard done == 1 else {
            throw SQLError.system(file: "key", operation: "PKCS5_PBKDF2_HMAC", code: Int(done))
          }
        }
      }
      // The HMAC key: PBKDF2 with the hash of the derivation, the 32 key bytes as the password, each byte
      // of the salt XOR 0x3a, 2 rounds (SQLCipher's design page, "per-page HMAC").
      let masked = salt.map { $0 ^ 0x3a }
      unsafe PKCS5_PBKDF2_HMAC(
        UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self), 32, masked, Int32(masked.count), 2,
        digest,
        32, base + 32)
    }
  }

  /// Derives the key of a file that is to be created.
  /// - Throws: ``SQLError/cipherSettingsMismatch(file:profile:)``, ``SQLError/saltMissing(file:)``,
  ///   ``SQLError/keyEndsInZero``; as `init(deriving:salt:profile:)`.
  init(forNewFile path: String, key: Key, profile: CipherProfile) throws {
    guard profile.isUsable else { throw SQLError.cipherSettingsMismatch(file: path, profile: profile) }
    if case .invalid(let error) = key.material { throw error }
    try key.requireUnambiguous()
    // A file with a clear header does not store its salt: a random one would be lost.
    guard profile.clearHeaderBytes == 0 || key.salt != nil else { throw SQLError.saltMissing(file: path) }
    try self.init(deriving: key, salt: key.salt ?? randomSalt(), profile: profile)
  }

  /// Derives the key that replaces `old`, with the salt and the settings of `old`.
  /// - Throws: ``SQLError/sameKey(file:)`` for the key that the file already has;
  ///   ``SQLError/keyEndsInZero``; as `init(deriving:salt:profile:)`.
  init(replacing old: UnlockedKey, by key: Key, of file: String) throws {
    try key.requireUnambiguous()
    try self.init(deriving: key, salt: old.salt, profile: old.profile)
    guard !bytes.isEqual(to: old.bytes) else { throw SQLError.sameKey(file: file) }
  }

  private init(_ other: UnlockedKey, pageBytes: Int, hash: CipherProfile.Hash) {
    salt = other.salt
    bytes = other.bytes
    var profile = other.profile
    profile.pageBytes = pageBytes
    profile.hash = hash
    self.profile = profile
  }

  /// Returns this key for a file with another page size or another hash of the page HMAC. Neither is an
  /// input to the derivation of the key or of the HMAC key.
  func with(pageBytes: Int, hash: CipherProfile.Hash? = nil) -> UnlockedKey {
    UnlockedKey(self, pageBytes: pageBytes, hash: hash ?? profile.hash)
  }

  /// Passes SQLCipher's raw key text, `x'…'` with 64 + 32 hexadecimal digits, in memory that is wiped.
  func withKeySpecification<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    let digits = Array("0123456789abcdef".utf8)
    let text = try unsafe SecureBytes(count: 99) { output in
      unsafe output[0] = UInt8(ascii: "x")
      unsafe output[1] = UInt8(ascii: "'")
      var next = 2
      func put(_ byte: UInt8) {
        unsafe output[next] = digits[Int(byte >> 4)]
        unsafe output[next + 1] = digits[Int(byte & 15)]
        next += 2
      }
      // Byte by byte: no copy of the key is made outside of secure memory.
      unsafe bytes.withBytes { key in for index in 0..<32 { unsafe put(key[index]) } }
      for byte in salt { put(byte) }
      unsafe output[98] = UInt8(ascii: "'")
    }
    return try unsafe text.withBytes(body)
  }

  /// Whether a page has the correct HMAC under this key.
  ///
  /// - Parameters:
  ///   - page: The whole page as it is in the file.
  ///   - number: The number of the page, counted from 1.
  func verifies(page: [UInt8], number: Int) -> Bool {
    var page = page
    return unsafe page.withUnsafeMutableBytes { unsafe PageVerifier(self).verifies($0, number: number) }
  }
}

extension CipherProfile.Hash {
  fileprivate var digest: OpaquePointer? {
    switch self {
    case .sha1: unsafe EVP_sha1()
    case .sha256: unsafe EVP_sha256()
    case .sha512: unsafe EVP_sha512()
    }
  }
}

/// Returns 16 random bytes as the salt of a new file. A salt is not secret.
func randomSalt() throws -> [UInt8] {
  guard let salt = randomBytes(16) else {
    throw SQLError.system(file: "salt", operation: "RAND_bytes", code: 0)
  }
  return salt
}
