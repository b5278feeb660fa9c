// Copies of the store in other files: encrypted copies, a plain one, and stores created from plain files.
// Also restores backups, and converts a store to other cipher settings.

public import CipherSQLite
public import Foundation

extension Store {
  /// Writes an encrypted copy of the store's present state to a new file. Other connections can go on
  /// writing.
  ///
  /// Every page of the copy is authenticated before the file gets its name.
  /// - Parameters:
  ///   - url: The new file.
  ///   - key: The copy's key; by default the store's own.
  ///   - progress: Counts pages. Cancelling it or the task ends the copying, and no file is left.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.emptyKey`, `SQLError.folderMissing`.
  public func backup(to url: URL, key: Key? = nil, progress: Progress? = nil) async throws {
    let key = try await key?.resolved()
    let pool = pool
    try await cancellable(by: progress) { run in
      try pool.withReader { connection in
        try run.run(connection) {
          try connection.backup(to: url.filePath, key: key) { try run.show(progress, $0, of: $1) }
        }
      }
    }
  }

  /// Writes the whole content unencrypted to a new plain SQLite file with mode 0600. Anyone who gets the
  /// file can read it.
  ///
  /// The content is that of one moment, and writers need not wait.
  /// - Parameters:
  ///   - url: The new file.
  ///   - progress: Counts each page twice: written, and compared. Cancelling it or the task ends the
  ///     writing.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.verificationFailed`; no file is left then.
  public func exportPlaintext(to url: URL, progress: Progress? = nil) async throws {
    let pool = pool
    try await cancellable(by: progress) { run in
      try pool.withReader { connection in
        try run.run(connection) {
          try connection.exportPlaintext(to: url.filePath) { try run.show(progress, $0, of: $1) }
        }
      }
    }
  }

  /// Encrypts a plain SQLite file into a new file.
  ///
  /// This reverses ``exportPlaintext(to:progress:)``, and is the first step to import the file of another
  /// library. The plain file stays; delete it once the new one has replaced it.
  /// - Parameters:
  ///   - plaintext: The plain file.
  ///   - url: The new file.
  ///   - key: The key of the new file.
  ///   - profile: The cipher settings of the new file; by default the engine's for new files.
  ///   - progress: Counts each page twice: written, and compared. Cancelling it or the task ends the
  ///     work.
  /// - Throws: `SQLError.notADatabase` if `plaintext` is not a plain SQLite file,
  ///   `SQLError.alreadyExists`, `SQLError.emptyKey`, `SQLError.verificationFailed`; no new file is left
  ///   then.
  public static func encrypt(
    plaintext: URL, to url: URL, key: Key, profile: CipherProfile? = nil, progress: Progress? = nil
  ) async throws {
    let key = try await key.resolved()
    try await cancellable(by: progress) { run in
      try Connection.encrypt(
        plaintext: plaintext.filePath, to: url.filePath, key: key, profile: profile,
        prepare: { try StoreFunctions.register(on: $0) }, progress: { try run.show(progress, $0, of: $1) })
    }
  }

  /// Converts a closed store in place from older cipher settings to the engine's settings for new files,
  /// or to other settings.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key, which does not change.
  ///   - profile: The new settings. By default the engine's for new files, but never fewer rounds than
  ///     before.
  ///   - present: The present settings, if they are not found automatically:
  ///     ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for the lock of another connection, in seconds.
  ///   - progress: Counts each page twice: written, and compared. Cancelling it or the task ends the
  ///     work.
  /// - Returns: The settings before and after; equal if there was nothing to do.
  /// - Throws: `SQLError.busy` while the store is in use. The store is then unchanged.
  public static func upgradeCipher(
    at url: URL, key: Key, to profile: CipherProfile? = nil, from present: CipherProfile? = nil,
    busyTimeout: Double = 5, progress: Progress? = nil
  ) async throws -> (from: CipherProfile, to: CipherProfile) {
    let key = try await key.resolved()
    return try await cancellable(by: progress) { run in
      var configuration = Connection.Configuration()
      configuration.busyTimeout = busyTimeout
      configuration.profile = present
      return try Connection.upgradeCipher(
        url.filePath, key: key, to: profile, configuration: configuration,
        prepare: { try StoreFunctions.register(on: $0) }, progress: { try run.show(progress, $0, of: $1) })
    }
  }

  /// Checks a backup and puts it in the place of a closed store: see `Connection.restore`.
  /// - Parameters:
  ///   - backup: An encrypted copy.
  ///   - url: The file to create or replace.
  ///   - key: The backup's key, which is the store's key afterwards.
  ///   - profile: The backup's cipher settings, if they are not found automatically.
  ///   - replacesExisting: Whether an existing store may be replaced.
  ///   - busyTimeout: How long to wait for other users of the store, in seconds.
  ///   - progress: Counts pages. Cancelling it or the task ends the copying.
  /// - Throws: `SQLError.alreadyExists` without `replacesExisting`; `SQLError.busy`; the errors of
  ///   opening the backup. An existing store is then unchanged.
  public static func restore(
    _ backup: URL, to url: URL, key: Key, profile: CipherProfile? = nil, replacesExisting: Bool = false,
    busyTimeout: Double = 5, progress: Progress? = nil
  ) async throws {
    let key = try await key.resolved()
    try await cancellable(by: progress) { run in
      try Connection.restore(
        backup.filePath, to: url.filePath, key: key, profile: profile, replacesExisting: replacesExisting,
        busyTimeout: busyTimeout, prepare: { try StoreFunctions.register(on: $0) },
        progress: { try run.show(progress, $0, of: $1) })
    }
  }
}

extension CancellableRun {
  /// Reports how many pages are done.
  /// - Throws: `CancellationError` if the run or the progress was cancelled.
  func show(_ progress: Progress?, _ done: Int, of total: Int) throws {
    progress?.totalUnitCount = Int64(total)
    progress?.completedUnitCount = Int64(done)
    try check()
    if progress?.isCancelled == true { throw CancellationError() }
  }
}
