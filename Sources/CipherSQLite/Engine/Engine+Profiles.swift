// Cipher settings and the engine of this process: the settings that it gives to new files, the settings
// that it can open, and the pragmas that apply settings.

extension Engine {
  /// The cipher settings of new files: the engine's defaults, with pages of 4096 bytes.
  public var newFileProfile: CipherProfile {
    var profile = cipherMajor >= 4 ? CipherProfile.sqlcipher4 : CipherProfile.sqlcipher3
    profile.pageBytes = 4096
    return profile
  }
}

extension CipherProfile {
  /// The cipher settings that the engine of this process gives to new files: its
  /// defaults, with pages of 4096 bytes.
  public static var engineDefault: CipherProfile { Engine.current.newFileProfile }

  /// Whether the engine of this process can open files with these settings.
  public var isUsable: Bool {
    let isSound =
      Self.pageSizes.contains(pageBytes) && (1...Int(Int32.max)).contains(rounds)
      && (clearHeaderBytes == 0 || clearHeaderBytes % 16 == 0 && (32...96).contains(clearHeaderBytes))
    let isOld = hash == .sha1 && derivationHash == .sha1 && clearHeaderBytes == 0
    return isSound && (isOld || Engine.current.cipherMajor >= 4)
  }

  /// Returns the pragmas that apply these settings. The rounds need no pragma: the engine receives the
  /// derived key.
  /// - Parameter prefix: `cipher_` for a connection that has its key already, `cipher_default_` for
  ///   databases that are opened or attached later.
  func pragmas(_ prefix: String) -> String {
    var text = ""
    if Engine.current.cipherMajor >= 4 {
      let isOld = hash == .sha1 && derivationHash == .sha1
      text += "PRAGMA \(prefix)compatibility = \(isOld ? 3 : 4);"
      if !isOld, hash != .sha512 || derivationHash != .sha512 {
        text += "PRAGMA \(prefix)hmac_algorithm = HMAC_\(hash.rawValue);"
        text += "PRAGMA \(prefix)kdf_algorithm = PBKDF2_HMAC_\(derivationHash.rawValue);"
      }
      text += "PRAGMA \(prefix)plaintext_header_size = \(clearHeaderBytes);"
    }
    return text + "PRAGMA \(prefix)page_size = \(pageBytes);"
  }
}
