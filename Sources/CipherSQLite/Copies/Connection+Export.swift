// Copies of the whole content to another file: with another key or other cipher settings, from or to a plain
// file. Each copy is a new file that is built, compared with the original, verified and synced before it
// gets its name.

private import CSQLCipher
private import Foundation

extension Connection {
  /// Encrypts a plain SQLite file into a new file. The original is not changed: delete it once the copy
  /// has replaced it. Even then its blocks may stay on the disk for a long time.
  ///
  /// - Parameters:
  ///   - plaintext: The plain file. If a crash left a journal next to it, the engine first rolls that
  ///     transaction back.
  ///   - path: The new file.
  ///   - key: The key of the new file.
  ///   - profile: The settings of the new file; by default the engine's for new files.
  ///   - prepare: Registers the collations and functions that the schema needs.
  ///   - progress: Called with the number of pages done and in total. Each page counts twice: when
  ///     written and when compared. If it throws, the copying ends.
  /// - Throws: ``SQLError/notADatabase(file:reason:)`` if the file is not a plain SQLite file;
  ///   ``SQLError/alreadyExists(file:)``, ``SQLError/emptyKey``;
  ///   ``SQLError/verificationFailed(file:reason:)`` if the copy differs from the original.
  ///   Then there is no new file.
  public static func encrypt(
    plaintext: String, to path: String, key: Key, profile: CipherProfile? = nil,
    prepare: (Connection) throws -> Void = { _ in }, progress: ((Int, Int) throws -> Void)? = nil
  ) throws {
    try ensureCipher()
    let target = try UnlockedKey(forNewFile: path, key: key, profile: profile ?? .engineDefault)
    let plaintext = try DatabasePath(plaintext)
    try PathState.existing(plaintext)
    let header = try RawFile.open(plaintext).read(16, at: 0) ?? []
    guard header == Array("SQLite format 3\0".utf8) else {
      throw SQLError.notADatabase(file: plaintext.given, reason: "it is not an unencrypted SQLite file")
    }
    let source = try plain(plaintext, access: .readWrite)
    defer { source.close() }
    try prepare(source)
    try source.exportAll(to: path, target, progress)
  }

  /// Writes the whole content to a plain, unencrypted SQLite file with mode 0600. It
  /// is readable without a key.
  /// - Parameters:
  ///   - path: The new file.
  ///   - progress: Called with the number of pages done and in total. Each page counts twice: when
  ///     written and when compared. If it throws, the copying ends.
  /// - Throws: As ``copy(to:key:profile:progress:)``.
  public func exportPlaintext(to path: String, progress: ((Int, Int) throws -> Void)? = nil) throws {
    try exportAll(to: path, nil, progress)
  }

  /// Copies the whole content, in its current state, to a new file with another key and other settings.
  /// Free pages are omitted; every row keeps its id.
  ///
  /// Slower than ``backup(to:key:progress:)``, which copies page by page and keeps the settings.
  /// - Parameters:
  ///   - path: The new file.
  ///   - key: The key of the new file.
  ///   - profile: The settings of the new file; by default those of this file.
  ///   - progress: As for ``exportPlaintext(to:progress:)``.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/emptyKey``,
  ///   ``SQLError/uncommittedChanges(file:)`` inside a transaction;
  ///   ``SQLError/verificationFailed(file:reason:)``. Then there is no new file.
  public func copy(
    to path: String, key: Key, profile: CipherProfile? = nil, progress: ((Int, Int) throws -> Void)? = nil
  ) throws {
    let target = try UnlockedKey(forNewFile: path, key: key, profile: profile ?? unlocked.profile)
    try exportAll(to: path, target, progress)
  }

  /// Converts a file in place from older cipher settings to those of new files, or to `profile`.
  ///
  /// A new file is built, compared, synced and renamed over the old one, with its owner, group and mode. If
  /// the process is killed, the path has either the old file or the new one. No other process can open the
  /// file meanwhile.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key.
  ///   - newKey: Its new key, which must differ from `key` or have a salt of its own. By default the key
  ///     stays; a passphrase is derived again, with a new salt unless `key` has one of its own.
  ///   - profile: The new settings. By default the engine's for new files, with at
  ///     least as many rounds as before.
  ///   - configuration: Timeouts and cache, and the file's cipher settings if they cannot be detected.
  ///   - prepare: Registers the collations and functions that the schema needs.
  ///   - progress: As for ``exportPlaintext(to:progress:)``.
  /// - Returns: The former and the new settings. They are equal if only the key was changed, or nothing.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while another connection uses the file; as
  ///   ``open(_:key:configuration:)``; ``SQLError/sameKey(file:)``; ``SQLError/ownerWouldChange(file:)``,
  ///   ``SQLError/severalNames(file:count:)``.
  public static func upgradeCipher(
    _ path: String, key: Key, newKey: Key? = nil, to profile: CipherProfile? = nil,
    configuration: Configuration = Configuration(), prepare: (Connection) throws -> Void = { _ in },
    progress: ((Int, Int) throws -> Void)? = nil
  ) throws -> (from: CipherProfile, to: CipherProfile) {
    let file = try DatabasePath(path)
    let connection = try open(file, key: key, configuration: configuration)
    let unlocked = connection.unlocked
    // The lock of this connection would prevent the replacement.
    connection.close()
    if let newKey, newKey.salt == nil { _ = try UnlockedKey(replacing: unlocked, by: newKey, of: file.given) }
    let old = unlocked.profile
    var new = profile ?? Engine.current.newFileProfile
    if profile == nil { new.rounds = max(new.rounds, old.rounds) }
    guard old != new || newKey != nil else { return (old, old) }
    _ = try rebuild(
      file, unlocked: unlocked, key: newKey ?? key, profile: new, configuration: configuration,
      prepare: prepare,
      progress: progress)
    return (old, new)
  }

  // MARK: In place

  /// Writes the content to a new file with another key or other settings, and replaces the original with it.
  /// No connection of this process may have the file open.
  static func rebuild(
    _ file: DatabasePath, unlocked: UnlockedKey, key: Key, profile: CipherProfile,
    configuration: Configuration,
    prepare: (Connection) throws -> Void, progress: ((Int, Int) throws -> Void)?
  ) throws -> UnlockedKey {
    let target = try UnlockedKey(forNewFile: file.given, key: key, profile: profile)
    let hold = try FileReplacement.take(file, unlocked: unlocked, configuration: configuration)
    guard let source = hold.connection else { throw SQLError.closed(file: file.given) }
    try prepare(source)
    try hold.replace(with: source.copyContent(to: NewFile(at: file), target, progress))
    return target
  }

  // MARK: Implementation

  private func exportAll(
    to path: String, _ unlocked: UnlockedKey?, _ progress: ((Int, Int) throws -> Void)?
  ) throws {
    try checkOpen()
    guard !isInTransaction else { throw SQLError.uncommittedChanges(file: self.path) }
    let target = try DatabasePath(path)
    try PathState.ensureAbsent(target)
    try PathState.ensureNothingBeside(target)
    try copyContent(to: NewFile(at: target), unlocked, progress).publish()
  }

  /// Fills a new file with the whole content of one snapshot, and verifies it.
  /// - Parameters:
  ///   - new: The new file.
  ///   - unlocked: Its key; nil for an unencrypted file.
  ///   - progress: If it throws, the copying ends.
  private func copyContent(
    to new: NewFile, _ unlocked: UnlockedKey?, _ progress: ((Int, Int) throws -> Void)?
  ) throws -> SealedFile {
    let mode = try value("PRAGMA main.journal_mode")?.string
    // Copied and compared in one transaction, so that both read the same state.
    try transaction(.deferred) {
      let pages = Int(try value("PRAGMA page_count")?.int64 ?? 0)
      let target = try Self.newTarget(
        new.file, unlocked, pageBytes: pragma("page_size", as: Int.self) ?? 4096)
      defer { target.close() }
      try target.adoptFunctions(of: self)
      let rows = try ContentCopy(source: self, target: target).run {
        try progress?(min($0, pages), pages * 2)
      }
      target.close()

      let copy =
        try unlocked.map {
          try Connection.keyed(new.file, unlocked: $0, configuration: Configuration())
        } ?? Connection.plain(new.file, access: .readWrite)
      defer { copy.close() }
      try copy.adoptFunctions(of: self)
      if mode == "wal" { _ = try copy.value("PRAGMA journal_mode = wal") }
      let difference = try ContentComparison.difference(between: self, and: copy) {
        try progress?(pages + pages * $0 / max(rows, 1), pages * 2)
      }
      if let difference {
        throw SQLError.verificationFailed(file: new.target.given, reason: "in the copy \(difference)")
      }
      try copy.checkpoint(.truncate)
      try progress?(pages * 2, pages * 2)
    }
    return try new.sealed(under: unlocked, like: self)
  }

  private static func newTarget(
    _ file: DatabasePath, _ unlocked: UnlockedKey?, pageBytes: Int
  ) throws -> Connection {
    if let unlocked { return try keyed(file, unlocked: unlocked, configuration: Configuration()) }
    let target = try plain(file, access: .readWrite)
    try target.execute(sql: "PRAGMA page_size = \(pageBytes)")
    return target
  }
}
