// An encrypted copy of the database, page by page, through the engine's online backup.

private import CSQLCipher
private import Foundation

extension Connection {
  /// Writes an encrypted copy of the database, as it is now, to a new file.
  ///
  /// The copy is one snapshot: what others commit meanwhile is not in it, and in WAL mode they need not wait.
  /// It is built under a temporary name with mode 0600, opened with its key, compared with this file row by row, every
  /// page authenticated, synced, and only then given its name. In files up to 256 MB the indexes are compared with their
  /// tables, so that a damaged file is found while there is still a better copy. There is no way to ask for an unencrypted one.
  ///
  /// - Parameters:
  ///   - path: The new file.
  ///   - key: The copy's key. By default it has this file's key and salt, so that the same passphrase opens
  ///     it; another key costs one derivation. A ``Key/provider(_:)`` must be resolved before.
  ///   - progress: Called every 256 pages with the pages copied and in all. What it throws ends the copying.
  /// - Throws: ``SQLError/emptyKey`` before anything is written; ``SQLError/alreadyExists(file:)``,
  ///   ``SQLError/folderMissing(folder:)``; ``SQLError/uncommittedChanges(file:)`` inside a transaction
  ///   that has written; ``SQLError/diskFull(file:)``; ``SQLError/verificationFailed(file:reason:)``. There is no file
  ///   then.
  public func backup(
    to path: String, key: Key? = nil, progress: (_ copied: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws {
    try backup(to: path, key: key, isTemporary: false, progress: progress)
  }

  /// Makes a copy as the public call does, which may be one that is not finished yet.
  /// - Parameter isTemporary: Whether a process that ends removes the copy, until ``Temporaries`` are told otherwise.
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

  /// Fills a new file with the pages of this one, and proves that it holds the same.
  func copyPages(
    to new: NewFile, under unlocked: UnlockedKey, _ progress: (_ copied: Int, _ total: Int) throws -> Void
  ) throws -> SealedFile {
    // A transaction of our own pins the snapshot: without it a commit of somebody else starts the copy anew, and the
    // copy would be compared with what came after it.
    do {
      try isInTransaction
        ? copySnapshot(to: new, unlocked, progress)
        : transaction(.deferred) { try copySnapshot(to: new, unlocked, progress) }
    } catch let error as SQLError {
      // The engine has many names for a page that does not authenticate.
      guard case .engine = error else { throw error }
      let damaged = auditPages()
      throw damaged.isEmpty ? error : .corrupted(file: path, pages: damaged)
    }
    return try new.sealed(under: unlocked, like: self)
  }

  private func copySnapshot(
    to new: NewFile, _ unlocked: UnlockedKey, _ progress: (Int, Int) throws -> Void
  ) throws {
    // The transaction begins with its first read.
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
    let (pages, copied) = (try value("PRAGMA page_count"), try copy.value("PRAGMA page_count"))
    let difference =
      try pages == copied ? ContentComparison.difference(between: self, and: copy) : "its size differs"
    if let difference {
      throw SQLError.verificationFailed(file: new.target.given, reason: "in the copy \(difference)")
    }
    // The copy is what the file is: page by page.
    if copy.comparesIndexes, let problem = try copy.integrityErrors().first {
      throw SQLError.verificationFailed(file: path, reason: problem)
    }
  }

  /// Copies all pages, in a transaction of the caller's, to a database that is empty.
  func copyPages(to copy: Connection, _ progress: (Int, Int) throws -> Void) throws {
    // Both connections are open until the backup is finished, which is exactly once.
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
        // The engine leaves the message of its error with the copy only when the copying is ended.
        isFinished = true
        unsafe sqlite3_backup_finish(backup)
        throw copy.error(code, sql: "backup")
      }
    }
  }
}
