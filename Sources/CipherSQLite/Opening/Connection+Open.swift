// Opens a file: checks the path, determines whether the key fits, then opens a keyed handle with our
// settings (`Connection+Keyed`).

extension Connection {
  /// Opens an existing encrypted file.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - key: A passphrase, a raw key, or the key in a key file. This call derives the key from a
  ///     passphrase, which takes some 20 to 100 ms, and up to five times as long if the file does not have
  ///     the engine's own settings. A ``Key/provider(_:)`` must be resolved before.
  ///   - configuration: Access, time-outs, cache.
  /// - Returns: The connection, to be used from one thread at a time.
  /// - Throws: ``SQLError``: it has a case for each possible problem with the file or the key.
  public static func open(
    _ path: String, key: Key, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try open(DatabasePath(path), key: key, configuration: configuration)
  }

  /// Opens an existing encrypted file whose links were resolved before.
  package static func open(
    _ file: DatabasePath, key: Key, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try ensureCipher()
    if case .invalid(let error) = key.material { throw error }
    try PathState.existing(file)
    if configuration.access == .readWrite {
      guard PathState.isWritable(file) else { throw SQLError.readOnly(file: file.given) }
      try PathState.requireOneName(file)
    }
    if case .kept(let keeper) = key.material {
      let fits: ((Key, Connection) -> Bool)? =
        configuration.access == .readWrite ? { OpenedDatabase($1).opens(with: $0) } : nil
      return try keeper.unlock(file.path, settling: fits) {
        try open(file, key: $0.salted(as: key), configuration: configuration)
      }
    }
    let candidates = KeyCandidates(key, known: configuration.profile)
    return try OpenRetry(file, seconds: configuration.busyTimeout).run { attempt in
      // With `.immutable` access the caller guarantees that the file does not change, and no lock is
      // taken.
      let look = try FileProbe(
        file, seconds: configuration.access == .immutable ? nil : configuration.busyTimeout)
      let unlocked = try look.state(
        key, candidates, known: configuration.profile, isThorough: attempt > 0
      ).key(of: file)
      // The lock of `look` is kept until the engine has its own lock. Otherwise the file could be replaced
      // in between: the engine would take the new file's journal for one of the old file, and roll it back.
      // But if there is a journal now, the engine may need an exclusive lock, so the lock of `look` is
      // released. A journal that appears later belongs to another connection's commit. That commit waits
      // for the lock of `look`, and the engine waits for the commit. So `beforeWaiting` releases the lock.
      if FileStatus(file.journal) != nil { look.release() }
      let connection = try openOnce(
        file, unlocked: unlocked, configuration: configuration, beforeWaiting: look.release)
      // The key may have been checked on one file, and another one opened.
      guard !look.isOutdated else { throw SQLError.fileReplaced(file: file.given) }
      return connection
    }
  }

  /// Opens a file with a key that was derived before. Takes well under a millisecond.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - unlocked: The derived key.
  ///   - configuration: Access, time-outs, cache.
  /// - Returns: The connection, to be used from one thread at a time.
  /// - Throws: As ``open(_:key:configuration:)``.
  public static func open(
    _ path: String, unlocked: UnlockedKey, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try open(DatabasePath(path), unlocked: unlocked, configuration: configuration)
  }

  /// Opens a file with a derived key, at a path whose links were resolved before.
  package static func open(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try OpenRetry(file, seconds: configuration.busyTimeout).run { _ in
      try openOnce(file, unlocked: unlocked, configuration: configuration)
    }
  }

  /// Opens the file once, without retries.
  /// - Parameters:
  ///   - file: The file.
  ///   - unlocked: The derived key.
  ///   - configuration: Access, time-outs, cache.
  ///   - beforeWaiting: Called before this connection waits for the lock of another process: releases
  ///     locks that the other process may be waiting for.
  private static func openOnce(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration,
    beforeWaiting: (() -> Void)? = nil
  ) throws -> Connection {
    let connection = try keyed(file, unlocked: unlocked, configuration: configuration)
    connection.waiting.releasesLocks = beforeWaiting
    defer { connection.waiting.releasesLocks = nil }
    guard configuration.access == .immutable || WriteAheadLog.mayBelong(beside: file, to: unlocked) else {
      throw connection.verifiesFirstPage()
        ? SQLError.logUnderOtherKey(file: file.given) : .wrongKey(file: file.given)
    }
    do {
      // The first read: it authenticates page 1, and reads the schema. In WAL mode it takes a lock that
      // stays, so that the file cannot be replaced any more.
      _ = try connection.value("SELECT count(*) FROM sqlite_master")
      guard !connection.hasMoved else { throw SQLError.fileReplaced(file: file.given) }
      try connection.applySettings()
      connection.isVerified = true
    } catch SQLError.engine(let code, _, _, _) where code == 26 || code == 11 {
      throw connection.meaning()
    }
    return connection
  }

  /// Determines the cause when the engine cannot read a file under a key that seemed to fit.
  func meaning() -> SQLError {
    if hasMoved { return .fileReplaced(file: path) }
    // A rekey was committed to the log, and its process died before the log was copied into the file.
    let log = configuration.access == .immutable ? nil : WriteAheadLog(beside: file)
    if let log, !log.fits(unlocked) {
      return verifiesFirstPage() ? .logUnderOtherKey(file: path) : .wrongKey(file: path)
    }
    let damaged = auditPagesOnce()
    let (pageBytes, byteCount) = (unlocked.profile.pageBytes, FileStatus(file.path)?.byteCount ?? 0)
    if damaged.first == 1, !verifiesSample() { return .wrongKey(file: path) }
    // If every page in the file verifies, the page after the last one is missing.
    return .corrupted(file: path, pages: damaged.isEmpty ? [byteCount / pageBytes + 1] : damaged)
  }
}
