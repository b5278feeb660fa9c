// The whole content into another file: under another key, with other settings, out of a plain file or into one.
// Every one of them is a new file that is built, compared with the original, proved to be whole, synced, and only then
// named.

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
  ///   - progress: Called with the pages done and in all, where each page counts twice: written, and compared. What it
  ///     throws ends the copying.
  /// - Throws: ``SQLError/notADatabase(file:reason:)`` when the file is none, or encrypted already;
  ///   ``SQLError/alreadyExists(file:)``, ``SQLError/emptyKey``; ``SQLError/verificationFailed(file:reason:)``
  ///   when the copy does not hold what the original holds: there is no file then.
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
      throw SQLError.notADatabase(file: plaintext.given, reason: "it is not a plain SQLite file")
    }
    let source = try plain(plaintext, access: .readWrite)
    defer { source.close() }
    try prepare(source)
    try source.exportAll(to: path, target, progress)
  }

  /// Writes the whole content, readable for everybody who gets hold of it, to a plain SQLite file. Mode 0600.
  /// - Parameters:
  ///   - path: The new file.
  ///   - progress: Called with the pages done and in all, where each page counts twice: written, and compared. What it
  ///     throws ends the copying.
  /// - Throws: As ``copy(to:key:profile:progress:)``.
  public func exportPlaintext(to path: String, progress: ((Int, Int) throws -> Void)? = nil) throws {
    try exportAll(to: path, nil, progress)
  }

  /// Copies the whole content, as it is now, to a new file under a key and settings of its own. Free pages are left
  /// behind; every row keeps its id.
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
    to path: String, key: Key, profile: CipherProfile? = nil, progress: ((Int, Int) throws -> Void)? = nil
  ) throws {
    let target = try UnlockedKey(forNewFile: path, key: key, profile: profile ?? unlocked.profile)
    try exportAll(to: path, target, progress)
  }

  /// Moves a file of older settings to those that the engine gives to new files, or to others, in place: a new file,
  /// compared, synced and renamed over the old one, with its owner, group and mode. Killed at any moment, the file is the
  /// old one or the new one. Nobody can open it meanwhile.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key.
  ///   - newKey: Its key from now on, which is another one, or has another salt. By default it stays; a passphrase is stretched
  ///     anew.
  ///   - profile: The settings from now on. By default the engine's for new files, and never fewer rounds than before.
  ///   - configuration: Time-outs, cache; the settings that the file has, where they are not found by themselves.
  ///   - prepare: Registers the collations and functions that the schema needs.
  ///   - progress: As for ``exportPlaintext(to:progress:)``.
  /// - Returns: The settings before and now; they are equal when nothing was to be done.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while others use the file; as
  ///   ``open(_:key:configuration:)``; ``SQLError/sameKey(file:)``; ``SQLError/ownerWouldChange(file:)``, ``SQLError/severalNames(file:count:)``.
  public static func upgradeCipher(
    _ path: String, key: Key, newKey: Key? = nil, to profile: CipherProfile? = nil,
    configuration: Configuration = Configuration(), prepare: (Connection) throws -> Void = { _ in },
    progress: ((Int, Int) throws -> Void)? = nil
  ) throws -> (from: CipherProfile, to: CipherProfile) {
    let file = try DatabasePath(path)
    let connection = try open(file, key: key, configuration: configuration)
    let unlocked = connection.unlocked
    // Its lock would be in the way.
    connection.close()
    if let newKey, newKey.salt == nil { _ = try UnlockedKey(replacing: unlocked, by: newKey, of: file.given) }
    let old = unlocked.profile
    var new = profile ?? Engine.current.newFileProfile
    if profile == nil { new.rounds = max(new.rounds, old.rounds) }
    guard old != new || newKey != nil else { return (old, old) }
    _ = try rebuild(
      file, unlocked, key: newKey ?? key, profile: new, configuration: configuration, prepare: prepare,
      progress)
    return (old, new)
  }

  // MARK: In place

  /// Writes the content under another key and other settings, and puts the result in the place of the file. No
  /// connection of this process may be open on it.
  static func rebuild(
    _ file: DatabasePath, _ unlocked: UnlockedKey, key: Key, profile: CipherProfile,
    configuration: Configuration,
    prepare: (Connection) throws -> Void, _ progress: ((Int, Int) throws -> Void)?
  ) throws -> UnlockedKey {
    let target = try UnlockedKey(forNewFile: file.given, key: key, profile: profile)
    let hold = try FileHold.take(file, unlocked: unlocked, configuration: configuration)
    guard let source = hold.connection else { throw SQLError.closed(file: file.given) }
    try prepare(source)
    try hold.replace(with: source.copyContent(to: NewFile(at: file), target, progress))
    return target
  }

  // MARK: Parts

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

  /// Fills a new file with everything, as it is at one moment, and proves that it holds the same.
  /// - Parameters:
  ///   - new: The file.
  ///   - unlocked: Its key; nil for a file in clear.
  ///   - progress: What it throws ends the copying.
  private func copyContent(
    to new: NewFile, _ unlocked: UnlockedKey?, _ progress: ((Int, Int) throws -> Void)?
  ) throws -> SealedFile {
    let mode = try value("PRAGMA main.journal_mode")?.string
    // Copied and compared in one transaction: what others write meanwhile is in neither.
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
