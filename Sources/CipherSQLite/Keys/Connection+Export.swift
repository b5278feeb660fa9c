// The whole content into another file: under another key, with other settings, out of a plain file or into one.
// Every one of them is a new file that is built, compared with the original, synced, and only then named.

private import CSQLCipher
private import Foundation

extension Connection {
  /// Encrypts a plain SQLite file into a new one. The original is not changed: delete it when the copy is in use,
  /// and know that a disk may keep its blocks for long.
  ///
  /// - Parameters:
  ///   - plaintext: The plain file. A journal that a crash left beside it is replayed.
  ///   - path: The new file.
  ///   - key: Its key.
  ///   - profile: Its settings; by default the engine's for new files.
  ///   - prepare: Registers the collations and functions that the schema needs.
  ///   - progress: Called with the pages done and in all, where each page counts twice: written, and verified.
  /// - Throws: ``SQLError/notADatabase(file:reason:)`` when the file is none, or encrypted already;
  ///   ``SQLError/alreadyExists(file:)``, ``SQLError/emptyKey``; ``SQLError/verificationFailed(file:reason:)``
  ///   when the copy does not hold what the original holds: there is no file then.
  public static func encrypt(
    plaintext: String, to path: String, key: Key, profile: CipherProfile? = nil,
    prepare: (Connection) throws -> Void = { _ in }, progress: ((Int, Int) -> Void)? = nil
  ) throws {
    try ensureCipher()
    let target = try UnlockedKey(forNewFile: path, key: key, profile: profile ?? .engineDefault)
    let source = try plain(plaintext)
    defer { source.close() }
    try prepare(source)
    try source.exportAll(to: path, target, progress)
  }

  /// Writes the whole content, readable for everybody who gets hold of it, to a plain SQLite file. Mode 0600.
  /// - Parameters:
  ///   - path: The new file.
  ///   - progress: Called with the pages done and in all, where each page counts twice: written, and compared.
  /// - Throws: As ``copy(to:key:profile:progress:)``.
  public func exportPlaintext(to path: String, progress: ((Int, Int) -> Void)? = nil) throws {
    try exportAll(to: path, nil, progress)
  }

  /// Copies the whole content to a new file under a key and settings of its own. Free pages are left behind.
  ///
  /// Slower than ``backup(to:key:progress:)``, which copies page by page and keeps the settings.
  /// - Parameters:
  ///   - path: The new file.
  ///   - key: Its key.
  ///   - profile: Its settings; by default those of this file.
  ///   - progress: As for ``exportPlaintext(to:progress:)``.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/emptyKey``,
  ///   ``SQLError/uncommittedChanges(file:)`` inside a transaction;
  ///   ``SQLError/verificationFailed(file:reason:)``. There is no file then.
  public func copy(
    to path: String, key: Key, profile: CipherProfile? = nil, progress: ((Int, Int) -> Void)? = nil
  ) throws {
    let target = try UnlockedKey(forNewFile: path, key: key, profile: profile ?? unlocked.profile)
    try exportAll(to: path, target, progress)
  }

  /// Moves a file of older settings to those that the engine gives to new files, or to others, in place: a new file,
  /// compared, synced and renamed over the old one. Killed at any moment, the file is the old one or the new one.
  ///
  /// - Parameters:
  ///   - path: The file. No other connection may be open on it in WAL mode.
  ///   - key: Its key, which stays; a passphrase is stretched anew.
  ///   - profile: The settings from now on. By default the engine's for new files, and never fewer rounds than before.
  ///   - configuration: Time-outs, cache; the settings that the file has, where they are not found by themselves.
  ///   - prepare: Registers the collations and functions that the schema needs.
  ///   - progress: As for ``exportPlaintext(to:progress:)``.
  /// - Returns: The settings before and now; they are equal when nothing was to be done.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while others use the file; as
  ///   ``open(_:key:configuration:)``.
  public static func upgradeCipher(
    _ path: String, key: Key, to profile: CipherProfile? = nil,
    configuration: Configuration = Configuration(), prepare: (Connection) throws -> Void = { _ in },
    progress: ((Int, Int) -> Void)? = nil
  ) throws -> (from: CipherProfile, to: CipherProfile) {
    let connection = try open(path, key: key, configuration: configuration)
    defer { connection.close() }
    let old = connection.unlocked.profile
    var new = profile ?? Engine.current.newFileProfile
    if profile == nil { new.rounds = max(new.rounds, old.rounds) }
    guard old != new else { return (old, old) }
    try prepare(connection)
    _ = try connection.replaceFile(key: key, profile: new, progress)
    return (old, new)
  }

  // MARK: In place

  /// Writes the content under another key and other settings, and puts the result in the place of this file. The
  /// connection is closed afterwards, whatever happens.
  func replaceFile(
    key: Key, profile: CipherProfile, _ progress: ((Int, Int) -> Void)? = nil
  ) throws -> UnlockedKey {
    defer { close() }
    let target = try UnlockedKey(forNewFile: path, key: key, profile: profile)
    let mode = try value("PRAGMA journal_mode")?.string ?? "delete"
    // Leaving WAL needs the file alone: so nobody else has it open in that mode, and no log is left behind.
    // Connections without WAL find out by themselves that their file was replaced (SQLITE_READONLY_DBMOVED).
    try setJournalMode(.delete)
    let file = try NewFile(at: path)
    // Until the new file has the name, nobody writes: it would be lost.
    try withoutOtherWriters {
      try build(file, target, journalMode: mode, progress)
      try file.replace()
    }
    return target
  }

  // MARK: Parts

  private func exportAll(
    to path: String, _ target: UnlockedKey?, _ progress: ((Int, Int) -> Void)?
  ) throws {
    guard handle != nil else { throw SQLError.closed(file: self.path) }
    guard !isInTransaction else { throw SQLError.uncommittedChanges(file: self.path) }
    guard case .absent = try PathState.of(path) else { throw SQLError.alreadyExists(file: path) }
    let file = try NewFile(at: path)
    let mode = try value("PRAGMA journal_mode")?.string ?? "delete"
    // The comparison comes after the copy: what others wrote between the two would look like a mistake.
    try withoutOtherWriters { try build(file, target, journalMode: mode, progress) }
    try file.publish()
  }

  /// Runs `body` while no other connection or process writes to the file; they go on reading.
  private func withoutOtherWriters(_ body: () throws -> Void) throws {
    guard configuration.access == .readWrite else { return try body() }
    let guardian =
      try isPlain ? Connection.plain(path) : .open(path, unlocked: unlocked, configuration: configuration)
    defer { guardian.close() }
    try guardian.execute("BEGIN IMMEDIATE")
    try body()
  }

  /// Fills a new file with everything, and compares. Without a key it is plaintext.
  private func build(
    _ file: NewFile, _ target: UnlockedKey?, journalMode: String, _ progress: ((Int, Int) -> Void)?
  ) throws {
    let pages = Int(try value("PRAGMA page_count")?.int64 ?? 0)
    let pageBytes = isPlain ? Int(try pragma("page_size", as: Int.self) ?? 4096) : unlocked.profile.pageBytes
    try attach(file.temporary, as: "vault_target", unlocked: target)
    do {
      try execute(sql: "PRAGMA vault_target.auto_vacuum = \(try value("PRAGMA auto_vacuum")?.int64 ?? 0)")
      try transaction(.deferred) {
        try watchingGrowth(of: file.temporary, pageBytes: pageBytes, pages: pages, progress) {
          _ = try value("SELECT sqlcipher_export('vault_target')")
        }
        // The engine's export leaves these behind.
        for pragma in ["user_version", "application_id"] {
          let number = try value(sql: "PRAGMA \(pragma)")?.int64 ?? 0
          try execute(sql: "PRAGMA vault_target.\(pragma) = \(number)")
        }
      }
    } catch {
      try? detach("vault_target")
      throw error
    }
    try detach("vault_target")
    let copy: Connection
    if let target {
      try Connection.proveCiphertext(file.temporary, path: file.path, unlocked: target)
      copy = try Connection.keyed(file.temporary, unlocked: target, configuration: Configuration())
    } else {
      copy = try Connection.plain(file.temporary)
    }
    defer { copy.close() }
    if journalMode == "wal" { _ = try copy.value("PRAGMA journal_mode = wal") }
    if let difference = try difference(from: copy) {
      throw SQLError.verificationFailed(file: file.path, reason: difference)
    }
    let audit = { (done: Int, total: Int) -> Void in progress?(total + done, total * 2) }
    guard try target == nil || copy.checkpoint() && copy.auditPages(progress: audit).isEmpty else {
      throw SQLError.verificationFailed(file: file.path, reason: "pages of the copy are damaged")
    }
    if target == nil { progress?(pages * 2, pages * 2) }
  }

  /// What a copy has not as this file has it: pragma values, schema, every row; nil when they are equal.
  private func difference(from copy: Connection) throws -> String? {
    for pragma in ["user_version", "application_id", "encoding", "auto_vacuum"] {
      let (left, right) = (try value(sql: "PRAGMA \(pragma)"), try copy.value(sql: "PRAGMA \(pragma)"))
      if left != right { return "\(pragma) differs" }
    }
    let list: SQL = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name, sql"
    let expected = try rows(list)
    if try expected != copy.rows(list) { return "tables, indexes, views or triggers differ" }
    for object in expected where object[0] == "table" {
      let table = quoted(object[1].string ?? "")
      let (left, right) = (
        try prepare(sql: "SELECT * FROM \(table)"), try copy.prepare(sql: "SELECT * FROM \(table)")
      )
      while true {
        let (hasLeft, hasRight) = (try left.step(), try right.step())
        if hasLeft != hasRight || hasLeft && left.row() != right.row() {
          return "the rows of \(table) differ"
        }
        if !hasLeft { break }
      }
    }
    return nil
  }

  /// A connection to a file in clear, for exports alone: no public call opens one.
  private static func plain(_ path: String) throws -> Connection {
    guard case .file = try PathState.of(path) else { throw SQLError.notFound(file: path) }
    let header = try RawFile.open(path).read(16, at: 0) ?? []
    guard header == Array("SQLite format 3\0".utf8) else {
      throw SQLError.notADatabase(file: path, reason: "it is not a plain SQLite file")
    }
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE, nil)
    // Keys of zeros, which nothing asks for: a plain file has none.
    let none = try UnlockedKey(
      deriving: .raw([UInt8](repeating: 0, count: 32)), salt: [UInt8](repeating: 0, count: 16),
      profile: Engine.current.newFileProfile)
    let connection = Connection(handle: handle, path: path, unlocked: none, configuration: Configuration())
    guard code == SQLITE_OK else { throw connection.error(code, sql: "") }
    connection.isPlain = true
    connection.installBusyHandler()
    try connection.executeScript("PRAGMA temp_store = MEMORY")
    return connection
  }
}
