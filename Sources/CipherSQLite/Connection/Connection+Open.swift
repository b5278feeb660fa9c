// Opening: what the path is, does the key fit, then a keyed handle with our settings.

private import CSQLCipher
private import Foundation

extension Connection {
  /// Opens an existing encrypted file.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - key: A passphrase (derived here once: some 20 to 100 ms) or a raw key. A ``Key/provider(_:)`` must
  ///     be resolved before.
  ///   - configuration: Access, time-outs, cache.
  /// - Throws: ``SQLError``: see its cases for each thing that the file or the key can be.
  public static func open(
    _ path: String, key: Key, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try open(DatabasePath(path), key: key, configuration: configuration)
  }

  /// The same for a file whose links were followed before.
  package static func open(
    _ file: DatabasePath, key: Key, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try ensureCipher()
    if case .invalid(let error) = key.material { throw error }
    try PathState.existing(file)
    if configuration.access == .readWrite, !PathState.isWritable(file) {
      throw SQLError.readOnly(file: file.given)
    }
    if case .keyFile(let keyPath, let secret) = key.material {
      return try open(file, KeyFile.open(at: keyPath, unlock: secret), secret, as: key, configuration)
    }
    let candidates = KeyCandidates(key, known: configuration.profile)
    return try Settling(file, seconds: configuration.busyTimeout).run { attempt in
      // Whoever promised that nobody changes the file wants no lock taken.
      let look = try FileLook(
        file, seconds: configuration.access == .immutable ? nil : configuration.busyTimeout)
      let unlocked = try look.unlock(
        key, candidates, known: configuration.profile, isThorough: attempt > 0)
      // The look's lock is kept until the engine has its own, so that the file is not replaced between the two: the engine
      // would take the new file's journal for one of the old file, and put it back. But where there is a journal, the
      // engine may need the file for itself.
      if FileStatus(file.journal) != nil { look.release() }
      let connection = try openOnce(file, unlocked: unlocked, configuration: configuration)
      // The two may have met different files.
      guard !look.isOutdated else { throw SQLError.fileReplaced(file: file.given) }
      return connection
    }
  }

  private static func open(
    _ file: DatabasePath, _ keyFile: KeyFile, _ secret: KeyFile.Unlock, as key: Key,
    _ configuration: Configuration
  ) throws -> Connection {
    do {
      let connection = try open(file, key: keyFile.key.salted(as: key), configuration: configuration)
      if configuration.access == .readWrite { keyFile.abandonRotation(of: OpenedDatabase(connection)) }
      return connection
    } catch SQLError.wrongKey {
      // A rotation may have been interrupted after the database had got its new key. That it fits is proved by the
      // engine, which reads the log too; only then the old key may go.
      guard let pending = try KeyFile.pendingKey(at: keyFile.path, unlock: secret) else {
        throw SQLError.wrongKey(file: file.given)
      }
      let connection = try open(file, key: Key.raw(pending).salted(as: key), configuration: configuration)
      if configuration.access == .readWrite { try keyFile.finishRotation(pending) }
      return connection
    }
  }

  /// Opens a file with a key that was derived before. Takes well under a millisecond.
  public static func open(
    _ path: String, unlocked: UnlockedKey, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try open(DatabasePath(path), unlocked: unlocked, configuration: configuration)
  }

  /// The same for a file whose links were followed before.
  package static func open(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration = Configuration()
  ) throws -> Connection {
    try Settling(file, seconds: configuration.busyTimeout).run { _ in
      try openOnce(file, unlocked: unlocked, configuration: configuration)
    }
  }

  private static func openOnce(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration
  ) throws -> Connection {
    let connection = try keyed(file, unlocked: unlocked, configuration: configuration)
    do {
      // The first read: authenticates page 1, and reads the schema. In WAL mode it takes a lock that stays, so that the
      // file is not replaced any more.
      _ = try connection.value("SELECT count(*) FROM sqlite_master")
      guard !connection.hasMoved else { throw SQLError.fileReplaced(file: file.given) }
      try connection.applySettings()
      connection.isVerified = true
    } catch SQLError.engine(let code, _, _, _) where code == 26 || code == 11 {
      throw connection.meaning()
    }
    return connection
  }

  /// Whether any page but the first is under this connection's key.
  func verifiesSample() -> Bool {
    guard let raw = try? RawFile.open(file) else { return false }
    return unlocked.verifiesSample(of: raw)
  }

  /// What it means that the engine cannot read a file under a key that was thought to fit.
  func meaning() -> SQLError {
    if hasMoved { return .fileReplaced(file: path) }
    // A rekey was committed to the log, and its process died before the log was copied back.
    let log = configuration.access == .immutable ? nil : WriteAheadLog(beside: file)
    if let log, !log.fits(unlocked) { return .wrongKey(file: path) }
    let damaged = auditPagesOnce()
    let (pageBytes, byteCount) = (unlocked.profile.pageBytes, FileStatus(file.path)?.byteCount ?? 0)
    if damaged.first == 1, !verifiesSample() { return .wrongKey(file: path) }
    return .corrupted(file: path, pages: damaged.isEmpty ? [byteCount / pageBytes + 1] : damaged)
  }

  /// Creates an encrypted file, whole or not at all.
  ///
  /// It is built under a temporary name with mode 0600, filled by `fill`, proved to be ciphertext, and only
  /// then given its name. A file that is there already is left alone.
  /// Its settings are ``Configuration/profile``, or the engine's own with pages of 4096 bytes.
  /// - Throws: ``SQLError/alreadyExists(file:)``, ``SQLError/folderMissing(folder:)``,
  ///   ``SQLError/emptyKey``, ``SQLError/cipherSettingsMismatch(file:profile:)``,
  ///   ``SQLError/saltMissing(file:)``, and what `fill` throws.
  public static func create(
    _ path: String, key: Key, configuration: Configuration = Configuration(),
    fill: (Connection) throws -> Void
  ) throws -> UnlockedKey {
    try create(DatabasePath(path), key: key, configuration: configuration, fill: fill)
  }

  /// The same at a path whose links were followed before.
  package static func create(
    _ target: DatabasePath, key: Key, configuration: Configuration = Configuration(),
    fill: (Connection) throws -> Void
  ) throws -> UnlockedKey {
    try ensureCipher()
    let unlocked = try UnlockedKey(
      forNewFile: target.given, key: key, profile: configuration.profile ?? .engineDefault)
    try PathState.ensureAbsent(target)
    try PathState.ensureNothingBeside(target)
    let new = try NewFile(at: target)
    let connection = try keyed(new.file, unlocked: unlocked, configuration: configuration)
    defer { connection.close() }
    try connection.applySettings()
    try fill(connection)
    // Closing copies the log too, but does not tell when it fails.
    try connection.checkpoint(.truncate)
    connection.close()
    try new.sealed(under: unlocked, like: connection).publish()
    return unlocked
  }

  static func ensureCipher() throws {
    guard Engine.current.hasCipher else {
      throw SQLError.engineHasNoCipher(library: "SQLite \(Engine.current.sqliteVersion)")
    }
  }

  static func keyed(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration
  ) throws -> Connection {
    try PathState.checkCompanions(file)
    var handle: OpaquePointer?
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    flags |= configuration.access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    let name = fileURI(file.path) + (configuration.access == .immutable ? "?immutable=1" : "")
    let code = FileGate.opening { sqlite3_open_v2(name, &handle, flags, nil) }
    let connection = Connection(handle: handle, file: file, unlocked: unlocked, configuration: configuration)
    guard code == SQLITE_OK else {
      throw code == SQLITE_CANTOPEN
        ? SQLError.cannotOpen(file, system: sqlite3_system_errno(handle)) : connection.error(code, sql: "")
    }
    try CipherDefaults.whileUnchanged {
      let keyed = try unlocked.withKeySpecification {
        sqlite3_key_v2(handle, "main", $0.baseAddress, Int32($0.count))
      }
      guard keyed == SQLITE_OK else { throw connection.error(keyed, sql: "") }
      if Engine.current.cipherMajor >= 4 {
        // 4.x writes its own lines to standard error; errors are reported by throwing.
        try connection.executeScript("PRAGMA cipher_log_level = NONE")
      }
      try connection.executeScript(unlocked.profile.pragmas("cipher_"))
    }
    connection.installBusyHandler()
    sqlite3_extended_result_codes(handle, 1)
    return connection
  }

  func applySettings() throws {
    // temp_store: some builds would spill sorts and temporary tables to disk in clear.
    try executeScript(
      """
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = \(-max(64, configuration.cacheBytes / 1024));
      PRAGMA foreign_keys = \(configuration.enforcesForeignKeys ? "ON" : "OFF");
      PRAGMA recursive_triggers = ON;
      """)
    if configuration.access != .readWrite { try executeScript("PRAGMA query_only = ON") }
  }
}

/// `path` as a `file:` URI: every byte that could mean something else is escaped.
func fileURI(_ path: String) -> String {
  let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.~".utf8)
  var text = "file:"
  for byte in path.utf8 {
    if plain.contains(byte) {
      text.unicodeScalars.append(Unicode.Scalar(byte))
    } else {
      text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
  }
  return text
}
