// The store in other files: encrypted copies, a plain one, and stores out of plain files.

public import CipherSQLite
public import Foundation

extension Store {
  /// Writes an encrypted copy of the store, as it is now, to a new file, while others go on writing.
  ///
  /// Every page of it is authenticated before it gets its name.
  /// - Parameters:
  ///   - url: The new file.
  ///   - key: The copy's key; by default the store's own.
  ///   - progress: Counts pages; cancelling it ends the copying, and there is no file then.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.emptyKey`, `SQLError.folderMissing`.
  public func backup(to url: URL, key: Key? = nil, progress: Progress? = nil) async throws {
    let key = try await key?.resolved()
    let pool = core.pool
    try await detached {
      try pool.withReader { connection in
        try connection.backup(to: url.path, key: key) { copied, total in
          progress?.totalUnitCount = Int64(total)
          progress?.completedUnitCount = Int64(copied)
          if progress?.isCancelled == true { throw CancellationError() }
        }
      }
    }
  }

  /// Writes the whole content in clear, readable for everybody who gets hold of the file, to a new plain SQLite
  /// file of mode 0600. Writers wait meanwhile.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.verificationFailed`; there is no file then.
  public func exportPlaintext(to url: URL) async throws {
    let pool = core.pool
    try await detached { try pool.withReader { try $0.exportPlaintext(to: url.path) } }
  }

  /// Encrypts a plain SQLite file into a new one: the way back from ``exportPlaintext(to:)``, and the first step
  /// to adopt the file of another library. The plain file stays; delete it when the new one is in use.
  /// - Throws: `SQLError.notADatabase` when it is no plain SQLite file, `SQLError.alreadyExists`,
  ///   `SQLError.emptyKey`, `SQLError.verificationFailed`; there is no new file then.
  public static func encrypt(plaintext: URL, to url: URL, key: Key) async throws {
    let key = try await key.resolved()
    try await detached {
      try Connection.encrypt(plaintext: plaintext.path, to: url.path, key: key) {
        try StoreFunctions.register(on: $0)
      }
    }
  }

  /// Moves a closed store of older cipher settings to those that the engine gives to new ones, in place.
  /// - Returns: The settings before and now; equal when nothing was to be done.
  /// - Throws: `SQLError.busy` while somebody uses the store; it is then as it was.
  public static func upgradeCipher(
    at url: URL, key: Key, busyTimeout: Double = 5
  ) async throws -> (from: CipherProfile, to: CipherProfile) {
    let key = try await key.resolved()
    return try await detached {
      var configuration = Connection.Configuration()
      configuration.busyTimeout = busyTimeout
      return try Connection.upgradeCipher(url.path, key: key, configuration: configuration) {
        try StoreFunctions.register(on: $0)
      }
    }
  }

  /// Puts a backup in the place of a closed store, after it was checked: see `Connection.restore`.
  /// - Throws: `SQLError.alreadyExists` without `replacesExisting`; `SQLError.busy`; what opening the backup
  ///   throws. A store that was there is then as it was.
  public static func restore(
    _ backup: URL, to url: URL, key: Key, replacesExisting: Bool = false
  ) async throws {
    let key = try await key.resolved()
    try await detached {
      try Connection.restore(backup.path, to: url.path, key: key, replacesExisting: replacesExisting) {
        try StoreFunctions.register(on: $0)
      }
    }
  }
}
