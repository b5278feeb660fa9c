// An encrypted copy of the database, page by page, through the engine's online backup.

private import CSQLCipher
private import Foundation

extension Connection {
  /// Writes an encrypted copy of the database, as it is now, to a new file.
  ///
  /// The copy is one snapshot: what others commit meanwhile is not in it, and in WAL mode they need not wait.
  /// It is built under a temporary name with mode 0600, synced, opened with its key, every page
  /// authenticated, and only then given its name. There is no way to ask for an unencrypted one.
  ///
  /// - Parameters:
  ///   - path: The new file.
  ///   - key: The copy's key. By default it has this file's key and salt, so that the same passphrase opens
  ///     it; another key costs one derivation. A ``Key/provider(_:)`` must be resolved before.
  ///   - progress: Called every 256 pages with the pages copied and in all. What it throws ends the copying.
  /// - Throws: ``SQLError/emptyKey`` before anything is written; ``SQLError/alreadyExists(file:)``,
  ///   ``SQLError/folderMissing(folder:)``; ``SQLError/uncommittedChanges(file:)`` inside a transaction
  ///   that has written; ``SQLError/verificationFailed(file:reason:)``. There is no file then.
  public func backup(
    to path: String, key: Key? = nil, progress: (_ copied: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws {
    guard handle != nil else { throw SQLError.closed(file: self.path) }
    let profile = unlocked.profile
    let target =
      try key.map { try UnlockedKey(forNewFile: path, key: $0, profile: profile) } ?? unlocked
    guard case .absent = try PathState.of(path) else { throw SQLError.alreadyExists(file: path) }
    let file = try NewFile(at: path)
    let temporary = file.temporary
    let copy = try Connection.keyed(temporary, unlocked: target, configuration: Configuration())
    // A transaction of our own pins the snapshot; without it a commit of somebody else starts the copy anew.
    let expected = try inTransaction {
      let expected = try Outline(self)
      try copyPages(to: copy, progress)
      return expected
    }
    copy.close()
    try Self.verify(temporary, named: path, unlocked: target, expected: expected)
    try file.publish()
  }

  private func inTransaction(_ body: () throws -> Outline) throws -> Outline {
    try isInTransaction ? body() : transaction(.deferred, body)
  }

  private func copyPages(to copy: Connection, _ progress: (Int, Int) throws -> Void) throws {
    guard let backup = sqlite3_backup_init(copy.handle, "main", handle, "main") else {
      throw copy.error(sqlite3_errcode(copy.handle), sql: "backup")
    }
    var isFinished = false
    defer { if !isFinished { sqlite3_backup_finish(backup) } }
    while true {
      let code = sqlite3_backup_step(backup, 256)
      let total = Int(sqlite3_backup_pagecount(backup))
      try progress(total - Int(sqlite3_backup_remaining(backup)), total)
      switch code & 0xff {
      case SQLITE_OK: continue
      case SQLITE_DONE:
        isFinished = true
        let result = sqlite3_backup_finish(backup)
        guard result == SQLITE_OK else { throw copy.error(result, sql: "backup") }
        return
      case SQLITE_BUSY, SQLITE_LOCKED:
        throw SQLError.uncommittedChanges(file: path)
      default: throw copy.error(code, sql: "backup")
      }
    }
  }

  /// Opens a new file as a stranger would, and compares.
  static func verify(
    _ temporary: String, named path: String, unlocked: UnlockedKey, expected: Outline
  ) throws {
    try proveCiphertext(temporary, path: path, unlocked: unlocked)
    var settings = Configuration()
    settings.access = .immutable
    let fresh = try Connection.open(temporary, unlocked: unlocked, configuration: settings)
    defer { fresh.close() }
    let damaged = fresh.auditPages()
    guard damaged.isEmpty else {
      throw SQLError.verificationFailed(file: path, reason: "\(damaged.count) pages of the copy are damaged")
    }
    guard try Outline(fresh) == expected else {
      throw SQLError.verificationFailed(file: path, reason: "the copy does not hold what the original holds")
    }
  }

  /// What has to be the same in a copy: pragma values, and the schema.
  struct Outline: Equatable {
    let pragmas: [SQLValue?]
    let objects: [[SQLValue]]

    init(_ connection: Connection) throws {
      pragmas = try ["user_version", "application_id", "page_count", "encoding", "auto_vacuum"].map {
        try connection.value(sql: "PRAGMA \($0)")
      }
      objects = try connection.rows(
        "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master ORDER BY type, name")
    }
  }
}
