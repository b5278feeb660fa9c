// Pragmas with a type, checkpoints, checks.

private import CSQLCipher

extension Connection {
  /// How the file keeps its journal.
  public enum JournalMode: String, Sendable {
    /// Write-ahead log: readers do not wait for the writer.
    case wal
    /// A rollback journal, deleted at commit.
    case delete
  }

  /// Sets the journal mode.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:)`` when other connections keep it from changing.
  public func setJournalMode(_ mode: JournalMode) throws {
    let found = try value(sql: "PRAGMA journal_mode = \(mode.rawValue)")?.string
    guard found == mode.rawValue else {
      throw SQLError.busy(file: path, waitedSeconds: configuration.busyTimeout)
    }
    // In WAL mode NORMAL is safe against crashes of the process; a power loss may take the last commits.
    try executeScript("PRAGMA synchronous = \(mode == .wal ? "NORMAL" : "FULL")")
  }

  /// Whether commits wait until the disk has them; else a power loss may take the last ones (never a part).
  public func setFullSync(_ isFull: Bool) throws {
    try executeScript("PRAGMA synchronous = \(isFull ? "FULL" : "NORMAL")")
  }

  /// The file's `user_version`.
  public func userVersion() throws -> Int { Int(try value("PRAGMA user_version")?.int64 ?? 0) }

  /// Sets the file's `user_version`. Part of the open transaction, if there is one.
  public func setUserVersion(_ version: Int) throws { try execute(sql: "PRAGMA user_version = \(version)") }

  /// Copies the WAL into the file and empties it.
  /// - Returns: Whether all of it was copied; `false` when readers were in the way.
  @discardableResult
  public func checkpoint() throws -> Bool {
    let row = try rows("PRAGMA wal_checkpoint(TRUNCATE)").first
    return row?.first?.int64 == 0
  }

  /// SQLite's own check of the file's structure.
  /// - Parameter isQuick: Leaves out whether the indexes agree with their tables.
  /// - Returns: What is wrong, a line each; empty when all is well.
  public func integrityErrors(isQuick: Bool = false) throws -> [String] {
    let lines = try rows(sql: "PRAGMA \(isQuick ? "quick_check" : "integrity_check")").compactMap {
      $0.first?.string
    }
    return lines == ["ok"] ? [] : lines
  }

  /// Rows that break a foreign key: table, rowid, the table meant, the key's number in its table.
  public func foreignKeyViolations() throws -> [[SQLValue]] { try rows("PRAGMA foreign_key_check") }
}
