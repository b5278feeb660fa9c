// The cipher settings of a file.

/// The cipher settings of an encrypted file: page size, key derivation and page authentication.
///
/// The two named profiles are the documented defaults of SQLCipher 3 and 4. Opening a file detects other
/// settings too, with two exceptions. An unusual number of rounds cannot be detected. For a file with a
/// clear header, 32 clear bytes and SQLCipher 4's defaults with any page size are assumed. For a file
/// with unusual rounds, or for which this assumption is wrong, set ``Connection/Configuration/profile``.
public struct CipherProfile: Sendable, Hashable {
  /// A hash function that SQLCipher uses.
  public enum Hash: String, Sendable, Hashable {
    /// SHA-1, the default of SQLCipher 3.
    case sha1 = "SHA1"
    /// SHA-256. SQLCipher 4 supports it; it is the default of neither version.
    case sha256 = "SHA256"
    /// SHA-512, the default of SQLCipher 4.
    case sha512 = "SHA512"
  }

  /// The page size in bytes: a power of two from 1024 to 65536. 512 is not possible: SQLite needs 480
  /// bytes of each page, which leaves no room for the IV and the HMAC.
  public var pageBytes: Int
  /// The hash function of the page HMAC.
  public var hash: Hash
  /// The hash function of the PBKDF2 key derivation.
  public var derivationHash: Hash
  /// The number of PBKDF2 rounds for a passphrase, at least 1. The library derives the key itself; the
  /// engine receives the derived key.
  public var rounds: Int
  /// The number of unencrypted bytes at the beginning of the file: 0, or a multiple of 16 from 32 to 96.
  /// From these bytes, a system that detects file types recognizes an SQLite database. Only SQLCipher 4
  /// supports clear bytes.
  ///
  /// A file without clear bytes begins with its salt. For a file with clear bytes, the salt must be given
  /// with the key (``Key/withSalt(_:)``).
  public var clearHeaderBytes: Int

  /// Creates custom settings.
  /// - Parameters:
  ///   - pageBytes: The page size in bytes.
  ///   - hash: The hash function of the page HMAC.
  ///   - derivationHash: The hash function of PBKDF2; by default `hash`.
  ///   - rounds: The number of PBKDF2 rounds for a passphrase.
  ///   - clearHeaderBytes: The number of unencrypted bytes at the beginning of the file.
  public init(
    pageBytes: Int, hash: Hash, derivationHash: Hash? = nil, rounds: Int, clearHeaderBytes: Int = 0
  ) {
    self.pageBytes = pageBytes
    self.hash = hash
    self.derivationHash = derivationHash ?? hash
    self.rounds = rounds
    self.clearHeaderBytes = clearHeaderBytes
  }

  /// The defaults of SQLCipher 3: 1024-byte pages, SHA-1, 64,000 rounds.
  public static let sqlcipher3 = CipherProfile(pageBytes: 1024, hash: .sha1, rounds: 64_000)
  /// The defaults of SQLCipher 4: 4096-byte pages, SHA-512, 256,000 rounds.
  public static let sqlcipher4 = CipherProfile(pageBytes: 4096, hash: .sha512, rounds: 256_000)

  /// The number of bytes at the end of each page that hold the IV and the HMAC, padded to
  /// the cipher's blocks of 16.
  var reservedBytes: Int { (16 + digestBytes + 15) / 16 * 16 }
  /// The length of the HMAC in bytes.
  var digestBytes: Int {
    switch hash {
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }

  /// Whether SQLCipher 3 can open a file with these settings.
  package var fitsSQLCipher3: Bool { hash == .sha1 && derivationHash == .sha1 && clearHeaderBytes == 0 }

  /// The page sizes that a file can have, the most likely first.
  static let pageSizes = [4096, 1024, 8192, 2048, 16384, 32768, 65536]

  /// Returns the pragmas that an SQLCipher shell needs after the key, where the file's settings differ from
  /// the shell's defaults. If the salt is not stored in the file, `PRAGMA cipher_salt` is needed as well.
  /// - Parameter major: The shell's major version, 3 or 4.
  /// - Returns: The statements, one per element; empty for a file with the shell's defaults.
  public func shellPragmas(major: Int) -> [String] {
    var lines: [String] = []
    var usual = major >= 4 ? CipherProfile.sqlcipher4 : .sqlcipher3
    if major >= 4, hash == .sha1, derivationHash == .sha1 {
      lines.append("PRAGMA cipher_compatibility = 3;")
      usual = .sqlcipher3
    }
    if hash != usual.hash { lines.append("PRAGMA cipher_hmac_algorithm = HMAC_\(hash.rawValue);") }
    if derivationHash != usual.derivationHash {
      lines.append("PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_\(derivationHash.rawValue);")
    }
    if rounds != usual.rounds { lines.append("PRAGMA kdf_iter = \(rounds);") }
    if pageBytes != usual.pageBytes { lines.append("PRAGMA cipher_page_size = \(pageBytes);") }
    if clearHeaderBytes > 0 { lines.append("PRAGMA cipher_plaintext_header_size = \(clearHeaderBytes);") }
    return lines
  }
}

extension CipherProfile: CustomStringConvertible {
  /// A short description, such as `page 4096, HMAC-SHA512, 256000 rounds`.
  public var description: String {
    "page \(pageBytes), HMAC-\(hash.rawValue), \(rounds) rounds"
      + (derivationHash == hash ? "" : " of \(derivationHash.rawValue)")
      + (clearHeaderBytes == 0 ? "" : ", \(clearHeaderBytes) bytes unencrypted")
  }
}
