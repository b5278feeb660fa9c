// The settings under which a file is encrypted.

/// Page size, key stretching and page authentication of an encrypted file.
///
/// Source of the two named profiles: SQLCipher's documented defaults of its third and fourth major version. Other
/// settings are found by themselves when a file is opened, but for the rounds and a header in clear, which no file
/// tells: those go into ``Connection/Configuration/profile``.
public struct CipherProfile: Sendable, Hashable {
  /// A hash function that SQLCipher uses.
  public enum Hash: String, Sendable, Hashable {
    /// SHA-1, SQLCipher 3.
    case sha1 = "SHA1"
    /// SHA-256; SQLCipher 4 has it, and neither version takes it by itself.
    case sha256 = "SHA256"
    /// SHA-512, SQLCipher 4.
    case sha512 = "SHA512"
  }

  /// Bytes of a page: a power of two from 1024 to 65536. SQLite needs 480 bytes of a page, so that 512 leave no room for
  /// IV and HMAC.
  public var pageBytes: Int
  /// The hash of the pages' HMAC.
  public var hash: Hash
  /// The hash of PBKDF2.
  public var derivationHash: Hash
  /// PBKDF2 rounds for a passphrase, at least 1. Ours alone: the engine gets the derived key.
  public var rounds: Int
  /// How many bytes at the begin of the file are left in clear, so that a system that looks at file types sees an
  /// SQLite database: 0, or a multiple of 16 from 32 to 96. The salt, which is kept there otherwise, has then to come with
  /// the key (``Key/withSalt(_:)``). SQLCipher 4 only.
  public var clearHeaderBytes: Int

  /// Settings of your own.
  /// - Parameters:
  ///   - pageBytes: Bytes of a page.
  ///   - hash: The hash of the pages' HMAC.
  ///   - derivationHash: The hash of PBKDF2; by default the same.
  ///   - rounds: PBKDF2 rounds for a passphrase.
  ///   - clearHeaderBytes: Bytes at the begin of the file that are left in clear.
  public init(
    pageBytes: Int, hash: Hash, derivationHash: Hash? = nil, rounds: Int, clearHeaderBytes: Int = 0
  ) {
    self.pageBytes = pageBytes
    self.hash = hash
    self.derivationHash = derivationHash ?? hash
    self.rounds = rounds
    self.clearHeaderBytes = clearHeaderBytes
  }

  /// SQLCipher 3: 1024-byte pages, SHA-1, 64,000 rounds.
  public static let sqlcipher3 = CipherProfile(pageBytes: 1024, hash: .sha1, rounds: 64_000)
  /// SQLCipher 4: 4096-byte pages, SHA-512, 256,000 rounds.
  public static let sqlcipher4 = CipherProfile(pageBytes: 4096, hash: .sha512, rounds: 256_000)

  /// Bytes at the end of each page that hold the IV and the HMAC, padded to the cipher's blocks of 16.
  var reservedBytes: Int { (16 + digestBytes + 15) / 16 * 16 }
  /// Bytes of the HMAC.
  var digestBytes: Int {
    switch hash {
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }

  /// The page sizes that a file may have, the likeliest first.
  static let pageSizes = [4096, 1024, 8192, 2048, 16384, 32768, 65536]

  /// The statements that a shell needs after the key, for a file that has not the engine's own defaults. A salt that
  /// is kept outside of the file has to be given besides (`PRAGMA cipher_salt`).
  /// - Parameter major: The shell's major version, 3 or 4.
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
  /// Such as `page 4096, HMAC-SHA512, 256000 rounds`.
  public var description: String {
    "page \(pageBytes), HMAC-\(hash.rawValue), \(rounds) rounds"
      + (derivationHash == hash ? "" : " of \(derivationHash.rawValue)")
      + (clearHeaderBytes == 0 ? "" : ", \(clearHeaderBytes) bytes in clear")
  }
}
