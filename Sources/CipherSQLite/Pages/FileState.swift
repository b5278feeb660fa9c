// The state of a file under a key, as a value. The engine alone does not distinguish these states: it
// reports code 26 for all but `open`.

/// The result of trying a key on a file. `FileProbe` determines it.
package enum FileState {
  /// Encrypted under the key, here as derived with the file's own settings.
  case open(UnlockedKey)
  /// Nothing in it verifies under the key: it is under another key, or no database at all. These two
  /// cannot be distinguished.
  case locked
  /// Encrypted under the key, with these pages damaged.
  case damaged(pages: [Int])
  /// Encrypted under the key, with settings that this engine does not support.
  case unusable(CipherProfile)
  /// Encrypted under the key, without the HMACs that authenticate pages.
  case unauthenticated
  /// Encrypted after a clear header, which leaves no room for the salt, and the key has no salt.
  case saltMissing
  /// A clear-text database.
  case plain
  /// No database.
  case foreign(reason: String)

  /// Returns the key under which the file opens.
  /// - Throws: The error for a state in which it does not open: ``SQLError/wrongKey(file:)``,
  ///   ``SQLError/corrupted(file:pages:)``, ``SQLError/cipherSettingsMismatch(file:profile:)``,
  ///   ``SQLError/unauthenticated(file:)``, ``SQLError/saltMissing(file:)``,
  ///   ``SQLError/notEncrypted(file:)``, ``SQLError/notADatabase(file:reason:)``.
  package func key(of file: DatabasePath) throws(SQLError) -> UnlockedKey {
    switch self {
    case .open(let key): return key
    case .locked: throw .wrongKey(file: file.given)
    case .damaged(let pages): throw .corrupted(file: file.given, pages: pages)
    case .unusable(let profile): throw .cipherSettingsMismatch(file: file.given, profile: profile)
    case .unauthenticated: throw .unauthenticated(file: file.given)
    case .saltMissing: throw .saltMissing(file: file.given)
    case .plain: throw .notEncrypted(file: file.given)
    case .foreign(let reason): throw .notADatabase(file: file.given, reason: reason)
    }
  }
}
