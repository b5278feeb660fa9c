// Opens a handle of the engine for a file, gives it the key, and applies the settings of every
// connection.

private import CSQLCipher

extension Connection {
  static func ensureCipher() throws {
    guard Engine.current.hasCipher else {
      throw SQLError.engineHasNoCipher(library: "SQLite \(Engine.current.sqliteVersion)")
    }
  }

  static func keyed(
    _ file: DatabasePath, unlocked: UnlockedKey, configuration: Configuration
  ) throws -> Connection {
    try PathState.checkCompanions(file, isRead: configuration.access != .immutable)
    var handle: OpaquePointer?
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    flags |= configuration.access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    let name = fileURI(file.path) + (configuration.access == .immutable ? "?immutable=1" : "")
    let code = FileGate.opening { unsafe sqlite3_open_v2(name, &handle, flags, nil) }
    let connection = unsafe Connection(
      handle: handle, file: file, unlocked: unlocked, configuration: configuration)
    guard code == SQLITE_OK else {
      throw unsafe code == SQLITE_CANTOPEN
        ? SQLError.cannotOpen(file, system: sqlite3_system_errno(handle)) : connection.error(code, sql: "")
    }
    try CipherDefaults.whileUnchanged {
      let keyed = try unsafe unlocked.withKeySpecification {
        unsafe sqlite3_key_v2(handle, "main", $0.baseAddress, Int32($0.count))
      }
      guard keyed == SQLITE_OK else { throw connection.error(keyed, sql: "") }
      if Engine.current.cipherMajor >= 4 {
        // SQLCipher 4 logs to standard error; errors are reported by throwing.
        try connection.executeScript("PRAGMA cipher_log_level = NONE")
      }
      try connection.executeScript(unlocked.profile.pragmas("cipher_"))
    }
    connection.installBusyHandler()
    unsafe sqlite3_extended_result_codes(handle, 1)
    return connection
  }

  func applySettings() throws {
    // temp_store: some builds would spill sorts and temporary tables to the disk in clear text.
    try executeScript(
      """
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = \(-max(64, configuration.cacheBytes / 1024));
      PRAGMA foreign_keys = \(configuration.enforcesForeignKeys ? "ON" : "OFF");
      PRAGMA recursive_triggers = ON;
      """)
    if configuration.access != .readWrite { try executeScript("PRAGMA query_only = ON") }
  }

  /// Opens an empty, unencrypted database in memory: for trying SQL only, never for a user's rows.
  package static func inMemory() throws -> Connection {
    var handle: OpaquePointer?
    let code = unsafe sqlite3_open_v2(
      DatabasePath.memory.path, &handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil
    )
    let connection = unsafe Connection(
      handle: handle, file: .memory, unlocked: try noKey(), configuration: Configuration())
    guard code == SQLITE_OK else { throw connection.error(code, sql: "") }
    try connection.executeScript("PRAGMA temp_store = MEMORY")
    return connection
  }

  /// A key of zeros, which is never used: a clear-text database has no key.
  private static func noKey() throws -> UnlockedKey {
    try UnlockedKey(
      deriving: .raw([UInt8](repeating: 0, count: 32)), salt: [UInt8](repeating: 0, count: 16),
      profile: Engine.current.newFileProfile)
  }

  /// Opens a connection to a clear-text file. For exports and for files of other programs only: no public
  /// call returns such a connection.
  /// - Parameters:
  ///   - file: The file.
  ///   - access: How it is opened.
  ///   - busyTimeout: How long to wait for another connection's lock, in seconds.
  static func plain(_ file: DatabasePath, access: Access, busyTimeout: Double = 5) throws -> Connection {
    try PathState.checkCompanions(file, isRead: access != .immutable)
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    let name = fileURI(file.path) + (access == .immutable ? "?immutable=1" : "")
    let code = FileGate.opening {
      unsafe sqlite3_open_v2(
        name, &handle, flags | (access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY), nil)
    }
    var configuration = Configuration()
    configuration.busyTimeout = busyTimeout
    let connection = unsafe Connection(
      handle: handle, file: file, unlocked: try noKey(), configuration: configuration)
    guard code == SQLITE_OK else {
      throw unsafe code == SQLITE_CANTOPEN
        ? SQLError.cannotOpen(file, system: sqlite3_system_errno(handle)) : connection.error(code, sql: "")
    }
    connection.installBusyHandler()
    try connection.executeScript("PRAGMA temp_store = MEMORY")
    return connection
  }
}

/// Returns `path` as a `file:` URI, in which every byte that could have a special meaning is escaped.
private func fileURI(_ path: String) -> String {
  let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.~".utf8)
  // After two slashes, a URI has an authority: an empty one, also for a path that begins with two slashes.
  var text = path.hasPrefix("/") ? "file://" : "file:"
  for byte in path.utf8 {
    if plain.contains(byte) {
      text.unicodeScalars.append(Unicode.Scalar(byte))
    } else {
      text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
  }
  return text
}
