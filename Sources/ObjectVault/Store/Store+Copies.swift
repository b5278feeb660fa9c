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
  ///   - progress: Counts pages; cancelling it, or the task, ends the copying, and there is no file then.
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

  /// Writes the whole content in clear, readable for everybody who gets hold of the file, to a new plain SQLite
  /// file of mode 0600. It is of one moment; writers need not wait.
  /// - Parameters:
  ///   - url: The new file.
  ///   - progress: Counts pages, each twice: written, and compared. Cancelling it, or the task, ends the
  ///     writing.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.verificationFailed`; there is no file then.
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

  /// Encrypts a plain SQLite file into a new one: the way back from ``exportPlaintext(to:progress:)``, and the first step
  /// to adopt the file of another library. The plain file stays; delete it when the new one is in use.
  /// - Parameters:
  ///   - plaintext: The plain file.
  ///   - url: The new file.
  ///   - key: Its key.
  ///   - profile: Its settings; by default the engine's for new files.
  ///   - progress: Counts pages, each twice: written, and compared. Cancelling it, or the task, ends
  ///     the work.
  /// - Throws: `SQLError.notADatabase` when it is no plain SQLite file, `SQLError.alreadyExists`,
  ///   `SQLError.emptyKey`, `SQLError.verificationFailed`; there is no new file then.
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

  /// Moves a closed store of older cipher settings to those that the engine gives to new ones, or to others, in place.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key, which stays.
  ///   - profile: The settings from now on. By default the engine's for new files, and never fewer rounds than before.
  ///   - present: The settings that it has, where they are not found by themselves: ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for somebody else's lock, in seconds.
  ///   - progress: Counts pages, each twice: written, and compared. Cancelling it, or the task, ends
  ///     the work.
  /// - Returns: The settings before and now; equal when nothing was to be done.
  /// - Throws: `SQLError.busy` while somebody uses the store; it is then as it was.
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

  /// Puts a backup in the place of a closed store, after it was checked: see `Connection.restore`.
  /// - Parameters:
  ///   - backup: An encrypted copy.
  ///   - url: Where it goes.
  ///   - key: The backup's key; the store has it afterwards.
  ///   - profile: The backup's settings, where they are not found by themselves.
  ///   - replacesExisting: Whether a store that is there may go.
  ///   - busyTimeout: How long to wait for who uses the store, in seconds.
  ///   - progress: Counts pages; cancelling it, or the task, ends the copying.
  /// - Throws: `SQLError.alreadyExists` without `replacesExisting`; `SQLError.busy`; what opening the backup
  ///   throws. A store that was there is then as it was.
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
  /// Says how many of so many pages are done.
  /// - Throws: `CancellationError` when the run was cancelled, or the progress.
  func show(_ progress: Progress?, _ done: Int, of total: Int) throws {
    progress?.totalUnitCount = Int64(total)
    progress?.completedUnitCount = Int64(done)
    try check()
    if progress?.isCancelled == true { throw CancellationError() }
  }
}
