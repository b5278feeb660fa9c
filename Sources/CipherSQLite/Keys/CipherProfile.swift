// The settings under which a file is encrypted.

/// Page size, key stretching and page authentication of an encrypted file.
///
/// Source of the two named profiles: SQLCipher's documented defaults of its third and fourth major version.
public struct CipherProfile: Sendable, Hashable {
  /// A hash function that SQLCipher uses.
  public enum Hash: String, Sendable, Hashable {
    /// SHA-1, SQLCipher 3.
    case sha1 = "SHA1"
    /// SHA-512, SQLCipher 4.
    case sha512 = "SHA512"
  }

  /// Bytes of a page: a power of two from 512 to 65536.
  public var pageBytes: Int
  /// The hash of PBKDF2 and of the pages' HMAC.
  public var hash: Hash
  /// PBKDF2 rounds for a passphrase.
  public var rounds: Int

  /// SQLCipher 3: 1024-byte pages, SHA-1, 64,000 rounds.
  public static let sqlcipher3 = CipherProfile(pageBytes: 1024, hash: .sha1, rounds: 64_000)
  /// SQLCipher 4: 4096-byte pages, SHA-512, 256,000 rounds.
  public static let sqlcipher4 = CipherProfile(pageBytes: 4096, hash: .sha512, rounds: 256_000)

  /// Bytes at the end of each page that hold the IV and the HMAC, padded to the cipher's blocks of 16.
  var reservedBytes: Int { hash == .sha1 ? 48 : 80 }
  /// Bytes of the HMAC.
  var digestBytes: Int { hash == .sha1 ? 20 : 64 }

  /// The page sizes that a file may have, the likeliest first.
  static let pageSizes = [4096, 1024, 8192, 2048, 16384, 32768, 65536, 512]

  /// Whether the engine of this process can open files with these settings.
  public var isUsable: Bool { Engine.current.cipherMajor >= 4 || hash == .sha1 }

  /// The statements that a shell needs after the key, for a file that has not the engine's own defaults.
  /// - Parameter major: The shell's major version, 3 or 4.
  public func shellPragmas(major: Int) -> [String] {
    var lines: [String] = []
    if major >= 4, hash == .sha1 { lines.append("PRAGMA cipher_compatibility = 3;") }
    let usual = hash == .sha1 ? CipherProfile.sqlcipher3.pageBytes : CipherProfile.sqlcipher4.pageBytes
    if pageBytes != usual { lines.append("PRAGMA cipher_page_size = \(pageBytes);") }
    return lines
  }
}

extension CipherProfile: CustomStringConvertible {
  /// Such as `page 4096, HMAC-SHA512, 256000 rounds`.
  public var description: String { "page \(pageBytes), HMAC-\(hash.rawValue), \(rounds) rounds" }
}
