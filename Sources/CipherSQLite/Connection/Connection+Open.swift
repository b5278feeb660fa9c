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
    try ensureCipher()
    if case .invalid(let error) = key.material { throw error }
    guard case .file = try PathState.of(path) else { throw SQLError.notFound(file: path) }
    if configuration.access == .readWrite, !PathState.isWritable(path) { throw SQLError.readOnly(file: path) }
    if case .keyFile(let keyPath, let secret) = key.material {
      return try open(path, KeyFile.open(at: keyPath, unlock: secret), secret, as: key, configuration)
    }
    return try open(
      path, unlocked: UnlockedKey.unlock(path: path, key: key, profile: configuration.profile),
      configuration: configuration)
  }

  private static func open(
    _ path: String, _ keyFile: KeyFile, _ secret: KeyFile.Unlock, as key: Key,
    _ configuration: Configuration
  ) throws -> Connection {
    do {
      let connection = try open(
        path, key: keyFile.key.salted(as: key), configuration: configuration)
      if configuration.access == .readWrite { keyFile.abandonRotation(of: path) }
      return connection
    } catch SQLError.wrongKey {
      // A rotation may have been interrupted after the database had got its new key. That it fits is proved by the
      // engine, which reads the log too; only then the old key may go.
      guard let pending = try KeyFile.pendingKey(at: keyFile.path, unlock: secret) else {
        throw SQLError.wrongKey(file: path)
      }
      let connection = try open(
        path, key: Key.raw(pending).salted(as: key), configuration: configuration)
      if configuration.access == .readWrite { try keyFile.finishRotation(pending) }
      return connection
    }
  }

  /// Opens a file with a key that was derived before. Takes well under a millisecond.
  public static func open(
    _ path: String, unlocked: UnlockedKey, configuration: Configuration = Configuration()
  ) throws -> Connection {
    let connection = try keyed(path, unlocked: unlocked, configuration: configuration)
    do {
      // The first read: authenticates page 1, and reads the schema.
      _ = try connection.value("SELECT count(*) FROM sqlite_master")
      try connection.applySettings()
      connection.isVerified = true
    } catch SQLError.engine(let code, _, _, _) where code == 26 || code == 11 {
      if LogAudit.lastCommitFits(path, unlocked) == false { throw SQLError.wrongKey(file: path) }
      let damaged = connection.auditPages()
      if damaged.first == 1,
        damaged.count > 1 || !PathState.hasPages(path, beyond: unlocked.profile.pageBytes)
      {
        throw SQLError.wrongKey(file: path)
      }
      // Every page authenticates, and yet the engine cannot read: the log is under another key. A rekey was
      // committed there, and its process died before the log was copied back.
      if damaged.isEmpty, PathState.hasLog(path) { throw SQLError.wrongKey(file: path) }
      throw SQLError.corrupted(
        file: path, pages: damaged.isEmpty ? [PathState.nextPage(path, unlocked.profile.pageBytes)] : damaged)
    }
    return connection
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
    try ensureCipher()
    let unlocked = try UnlockedKey(
      forNewFile: path, key: key, profile: configuration.profile ?? .engineDefault)
    guard case .absent = try PathState.of(path) else { throw SQLError.alreadyExists(file: path) }
    let file = try NewFile(at: path)
    let temporary = file.temporary
    let connection = try keyed(temporary, unlocked: unlocked, configuration: configuration)
    try connection.applySettings()
    try fill(connection)
    connection.close()
    try proveCiphertext(temporary, path: path, unlocked: unlocked)
    try file.publish()
    return unlocked
  }

  static func proveCiphertext(_ file: String, path: String, unlocked: UnlockedKey) throws {
    let raw = try RawFile.open(file)
    let pageBytes = unlocked.profile.pageBytes
    guard let page = raw.read(pageBytes, at: 0),
      unlocked.verifies(page: page, number: 1)
    else {
      throw SQLError.verificationFailed(file: path, reason: "its first page is not under its key")
    }
    guard unlocked.profile.clearHeaderBytes > 0 || Array(page.prefix(16)) == unlocked.salt else {
      throw SQLError.verificationFailed(file: path, reason: "the new file does not begin with its salt")
    }
  }

  static func ensureCipher() throws {
    guard Engine.current.hasCipher else {
      throw SQLError.engineHasNoCipher(library: "SQLite \(Engine.current.sqliteVersion)")
    }
  }

  static func keyed(
    _ path: String, unlocked: UnlockedKey, configuration: Configuration
  ) throws -> Connection {
    var handle: OpaquePointer?
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    flags |= configuration.access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    let name = fileURI(path) + (configuration.access == .immutable ? "?immutable=1" : "")
    let code = sqlite3_open_v2(name, &handle, flags, nil)
    let connection = Connection(
      handle: handle, path: path, unlocked: unlocked, configuration: configuration)
    guard code == SQLITE_OK else {
      throw code == SQLITE_CANTOPEN
        ? SQLError.permissionDenied(file: path) : connection.error(code, sql: "")
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

  private func applySettings() throws {
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

extension PathState {
  static func nextPage(_ path: String, _ pageBytes: Int) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) / pageBytes + 1 : 1
  }

  static func hasLog(_ path: String) -> Bool {
    var status = stat()
    // 32 bytes are the log's header alone.
    return stat(path + "-wal", &status) == 0 && status.st_size > 32
  }

  static func hasPages(_ path: String, beyond bytes: Int) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && Int(status.st_size) > bytes
  }
}

/// `path` as a `file:` URI: every byte that could mean something else is escaped.
private func fileURI(_ path: String) -> String {
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
