// What a file is to a key, as a value: the engine answers everything but a fit with code 26.

/// What a file turned out to be when a key was tried on it. Found out by `FileLook`.
package enum FileState {
  /// Encrypted, and this is what the key becomes under the file's own settings.
  case open(UnlockedKey)
  /// Nothing in it carries the mark of the key: it is under another key, or no database at all. Nobody can tell
  /// these apart.
  case locked
  /// Encrypted under the key, with these pages damaged.
  case damaged(pages: [Int])
  /// Under the key, with settings that this engine does not have.
  case unusable(CipherProfile)
  /// Under the key, without the HMACs by which pages are known.
  case unauthenticated
  /// Encrypted behind a header in clear, which has no room for the salt; the key came without one.
  case saltMissing
  /// A database in clear.
  case plain
  /// No database.
  case foreign(reason: String)

  /// The key under which the file opens.
  /// - Throws: The error that says why there is none: ``SQLError/wrongKey(file:)``,
  ///   ``SQLError/corrupted(file:pages:)``, ``SQLError/cipherSettingsMismatch(file:profile:)``,
  ///   ``SQLError/unauthenticated(file:)``, ``SQLError/saltMissing(file:)``, ``SQLError/notEncrypted(file:)``,
  ///   ``SQLError/notADatabase(file:reason:)``.
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
