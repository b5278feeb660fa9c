// The linked SQLCipher library: its versions and its capabilities. Code that generates SQL checks these
// properties.

private import CSQLCipher

/// The SQLCipher library that this process is linked with.
public struct Engine: Sendable, Hashable {
  /// SQLite's version, such as `3.15.2`.
  public let sqliteVersion: String
  /// SQLite's version as a number, such as 3015002.
  public let sqliteNumber: Int
  /// SQLCipher's version, such as `3.4.1`; empty if the library cannot encrypt.
  public let cipherVersion: String

  /// The engine of this process. It is determined once and needs no file.
  public static let current: Engine = {
    // The log can only be installed before the first use of the library.
    _ = EngineLog.isInstalled
    // With memory statistics, each allocation would take a process-wide lock, for which parallel readers
    // would compete.
    _ = vault_config_without_statistics()
    // Handle and statement are local to this closure. Closing or finalizing nil is permitted.
    var cipher = ""
    var handle: OpaquePointer?
    if unsafe sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
      == SQLITE_OK
    {
      var statement: OpaquePointer?
      if unsafe sqlite3_prepare_v2(handle, "PRAGMA cipher_version", -1, &statement, nil) == SQLITE_OK,
        unsafe sqlite3_step(statement) == SQLITE_ROW, let text = unsafe sqlite3_column_text(statement, 0)
      {
        cipher = unsafe String(cString: text)
      }
      unsafe sqlite3_finalize(statement)
    }
    unsafe sqlite3_close_v2(handle)
    return unsafe Engine(
      sqliteVersion: String(cString: sqlite3_libversion()),
      sqliteNumber: Int(sqlite3_libversion_number()),
      cipherVersion: cipher.split(separator: " ").first.map(String.init) ?? "")
  }()

  /// Creates the description of an engine with a given SQLite version, for SQL that
  /// another process will run.
  /// - Parameter sqliteVersion: The version, such as `3.15.2`.
  /// - Returns: nil if the text is not a version of SQLite 3.
  package init?(sqliteVersion: String) {
    let parts = sqliteVersion.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
    guard (2...3).contains(parts.count), parts[0] == 3, parts.allSatisfy({ (0..<1000).contains($0) }) else {
      return nil
    }
    let patch = parts.count > 2 ? parts[2] : 0
    self.init(
      sqliteVersion: sqliteVersion, sqliteNumber: 3_000_000 + parts[1] * 1000 + patch, cipherVersion: "")
  }

  private init(sqliteVersion: String, sqliteNumber: Int, cipherVersion: String) {
    (self.sqliteVersion, self.sqliteNumber) = (sqliteVersion, sqliteNumber)
    self.cipherVersion = cipherVersion
  }

  /// Whether the library can encrypt. If not, nothing is opened.
  public var hasCipher: Bool { !cipherVersion.isEmpty }
  /// SQLCipher's major version, 3 or 4; 0 without a cipher.
  public var cipherMajor: Int { cipherVersion.split(separator: ".").first.flatMap { Int($0) } ?? 0 }
  /// Whether `ALTER TABLE … RENAME COLUMN` is supported (from SQLite 3.25).
  public var canRenameColumn: Bool { sqliteNumber >= 3_025_000 }
  /// Whether `ALTER TABLE … DROP COLUMN` is supported (from SQLite 3.35).
  public var canDropColumn: Bool { sqliteNumber >= 3_035_000 }
  /// Whether renaming a table rewrites references to it unless `legacy_alter_table`
  /// is on (from SQLite 3.25).
  public var rewritesReferencesOnRename: Bool { sqliteNumber >= 3_025_000 }
  /// Whether window functions (`OVER`) are supported (from SQLite 3.25).
  public var hasWindowFunctions: Bool { sqliteNumber >= 3_025_000 }
  /// The largest number of parameters of a statement.
  public var maximumParameters: Int { sqliteNumber >= 3_032_000 ? 32_766 : 999 }
}

extension Engine: CustomStringConvertible {
  /// The versions as text, such as `SQLCipher 3.4.1 / SQLite 3.15.2`.
  public var description: String {
    "SQLCipher \(hasCipher ? cipherVersion : "none") / SQLite \(sqliteVersion)"
  }
}
