// Encrypted copies of the database, page by page, with the engine's online backup.

private import CSQLCipher
private import Foundation

extension Connection {
  /// Writes an encrypted copy of the database, in its current state, to a new file.
  ///
  /// The copy is one snapshot: it does not contain changes that other connections commit meanwhile. In WAL
  /// mode those connections need not wait. The copy is built under a temporary name with mode 0600. Then it
  /// is opened with its key and compared with this file row by row. Every page is authenticated, and the
  /// copy is synced. Only then does the copy get its name.
  ///
  /// In files up to 256 MiB the indexes are compared with their tables, so that damage is found while an
  /// older, intact backup may still exist. This method cannot write an unencrypted copy.
  ///
  /// - Parameters:
  ///   - path: The new file.
  ///   - key: The copy's key. By default it has this file's key and salt, so that the same passphrase opens
  ///     it; another key costs one derivation. A ``Key/provider(_:)`` must be resolved before the call.
  ///   - progress: Called every 256 pages with the number of pages copied and in total, then repeatedly with
  ///     the total twice while the copy is compared. If it throws, the backup ends.
  /// - Throws: ``SQLError/emptyKey`` before anything is written; ``SQLError/alreadyExists(file:)``,
  ///   ``SQLError/folderMissing(folder:)``; ``SQLError/uncommittedChanges(file:)`` inside a transaction
  ///   that has written; ``SQLError/leftBeside(file:name:)`` if a log, an index or a journal is next to
  ///   `path`; ``SQLError/diskFull(file:)``; ``SQLError/corrupted(file:pages:)`` if pages of this file are
  ///   damaged; ``SQLError/verificationFailed(file:reason:)``. After any error there is no new file.
  public func backup(
    to path: String, key: Key? = nil, progress: (_ copied: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws {
    try backup(to: path, key: key, isTemporary: false, progress: progress)
  }

  /// Writes a copy as ``backup(to:key:progress:)`` does, optionally a temporary one.
  /// - Parameter isTemporary: Whether the copy's name is registered in ``Temporaries``. The finished copy
  ///   is then removed if the process ends before the name is unregistered.
  package func backup(
    to path: String, key: Key? = nil, isTemporary: Bool,
    progress: (_ copied: Int, _ total: Int) throws -> Void
  ) throws {
    try checkOpen()
    let target = try DatabasePath(path)
    let unlocked =
      try key.map {
        try UnlockedKey(forNewFile: path, key: $0, profile: self.unlocked.profile)
      } ?? self.unlocked
    try PathState.ensureAbsent(target)
    try PathState.ensureNothingBeside(target)
    try copyPages(to: NewFile(at: target), under: unlocked, progress).publish(isTemporary: isTemporary)
  }

  /// Fills a new file with the pages of this one, and verifies that the two files have equal content.
  func copyPages(
    to new: NewFile, under unlocked: UnlockedKey, _ progress: (_ copied: Int, _ total: Int) throws -> Void
  ) throws -> SealedFile {
    // A transaction pins the snapshot. Without it, a commit of another connection would restart the
    // backup, and the copy would be compared with a later state.
    do {
      try isInTransaction
        ? copySnapshot(to: new, unlocked, progress)
        : transaction(.deferred) { try copySnapshot(to: new, unlocked, progress) }
    } catch let error as SQLError {
      // The engine has many error codes for a page that does not authenticate, so any of its errors may
      // mean damage.
      guard case .engine = error else { throw error }
      let damaged = auditPages()
      throw damaged.isEmpty ? error : .corrupted(file: path, pages: damaged)
    }
    return try new.sealed(under: unlocked, like: self)
  }

  private func copySnapshot(
    to new: NewFile, _ unlocked: UnlockedKey, _ progress: (Int, Int) throws -> Void
  ) throws {
    // The transaction's snapshot begins with its first read.
    _ = try value("SELECT count(*) FROM sqlite_master")
    let target = try Connection.keyed(new.file, unlocked: unlocked, configuration: Configuration())
    defer { target.close() }
    try copyPages(to: target, progress)
    target.close()
    var configuration = Configuration()
    configuration.access = .immutable
    let copy = try Connection.keyed(new.file, unlocked: unlocked, configuration: configuration)
    defer { copy.close() }
    try copy.adoptFunctions(of: self)
    let pages = try value("PRAGMA page_count")?.int64 ?? 0
    // Comparing takes longer than copying: `progress` can end it, too.
    func stopIfRequested() throws { try progress(Int(pages), Int(pages)) }
    let difference =
      try copy.value("PRAGMA page_count")?.int64 == pages
      ? ContentComparison.difference(between: self, and: copy) { _ in try stopIfRequested() }
      : "its size differs"
    try stopIfRequested()
    if let difference {
      throw SQLError.verificationFailed(file: new.target.given, reason: "in the copy \(difference)")
    }
    // The copy has this file's pages, so a problem in the copy is a problem of this file.
    if copy.comparesIndexes, let problem = try copy.integrityErrors().first {
      throw SQLError.verificationFailed(file: path, reason: problem)
    }
  }

  /// Copies all pages to an empty database. The caller must have begun a transaction.
  func copyPages(to copy: Connection, _ progress: (Int, Int) throws -> Void) throws {
    // Memory safety: both connections stay open until sqlite3_backup_finish, which is called exactly once.
    guard let backup = unsafe sqlite3_backup_init(copy.handle, "main", handle, "main") else {
      throw unsafe copy.error(sqlite3_errcode(copy.handle), sql: "backup")
    }
    var isFinished = false
    defer { if !isFinished { unsafe sqlite3_backup_finish(backup) } }
    while true {
      let code = unsafe sqlite3_backup_step(backup, 256)
      let total = unsafe Int(sqlite3_backup_pagecount(backup))
      try unsafe progress(total - Int(sqlite3_backup_remaining(backup)), total)
      switch code & 0xff {
      case SQLITE_OK: continue
      case SQLITE_DONE:
        isFinished = true
        let result = unsafe sqlite3_backup_finish(backup)
        guard result == SQLITE_OK else { throw copy.error(result, sql: "backup") }
        return
      case SQLITE_BUSY, SQLITE_LOCKED:
        throw SQLError.uncommittedChanges(file: path)
      default:
        // The engine sets the message of the error on the copy's connection only
        // when the backup is finished.
        isFinished = true
        unsafe sqlite3_backup_finish(backup)
        throw copy.error(code, sql: "backup")
      }
    }
  }
}
