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
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` when other connections keep it from changing longer than
  ///   the busy timeout.
  public func setJournalMode(_ mode: JournalMode) throws {
    // The engine does not wait for the lock that this takes: who waits with a lock could wait for one who waits.
    try retryingWhileBusy {
      let found = try value(sql: "PRAGMA journal_mode = \(mode.rawValue)")?.string
      guard found == mode.rawValue else { throw waitingError() }
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

  /// How far a checkpoint goes.
  public enum CheckpointMode: Int32, Sendable {
    /// As far as it gets without waiting for anybody.
    case passive = 0
    /// Waits for writers and readers, and copies everything.
    case full = 1
    /// And makes the next writer begin the log anew.
    case restart = 2
    /// And empties the log's file.
    case truncate = 3
  }

  /// What a checkpoint did, in pages.
  public struct Checkpoint: Sendable, Hashable {
    /// How many pages the log has; -1 without WAL.
    public let logPages: Int
    /// How many of them are in the file now; -1 without WAL.
    public let copiedPages: Int
  }

  /// Copies the log into the file.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` when others were in the way longer than the busy timeout
  ///   (never in passive mode).
  @discardableResult
  public func checkpoint(_ mode: CheckpointMode, schema: String? = nil) throws -> Checkpoint {
    let handle = try unsafe opened()
    var (log, copied): (Int32, Int32) = (-1, -1)
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, schema, mode.rawValue, &log, &copied)
    guard code == SQLITE_OK else { throw error(code, sql: "checkpoint") }
    return Checkpoint(logPages: Int(log), copiedPages: Int(copied))
  }

  /// How large the file is with all that its log holds, in bytes: by its pages or as it lies there, whichever is more. Nil where
  /// there is none.
  package var contentBytes: Int? {
    let pages = (try? value("PRAGMA page_count"))?.int64 ?? 0
    return file.byteCount.map { max($0, Int(pages) * unlocked.profile.pageBytes) }
  }

  /// Builds the file anew, without free pages. Takes the room of the file twice for a while, encrypted, and
  /// as much memory: what the engine would put into files of its own is kept there.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` inside a transaction.
  public func vacuum() throws { try execute("VACUUM") }

  /// Gives free pages back to the disk, in a file with `auto_vacuum = INCREMENTAL`.
  /// - Parameter pages: How many at most; 0 for all.
  public func incrementalVacuum(pages: Int = 0) throws {
    _ = try rows(sql: "PRAGMA incremental_vacuum(\(max(0, pages)))")
  }

  // MARK: Pragmas and limits

  /// The value of a pragma, nil when it gives none.
  /// - Throws: ``SQLError/columnType(column:expected:found:)``; ``SQLError/notOneStatement(sql:)`` for a name that is
  ///   no identifier.
  public func pragma<Value: SQLConvertible>(_ name: String, as type: Value.Type) throws -> Value? {
    try checkPragma(name)
    return try withStatement(sql: "PRAGMA \(name)") { statement in
      guard try statement.step() else { return nil }
      // Some builds give numbers as text.
      if let number = statement.text(0).flatMap({ Int64($0) }),
        let value = Value.from(.integer(number), dates: configuration.dates)
      {
        return value
      }
      let value: Value = try statement.get(0)
      return value
    }
  }

  /// Sets a pragma to a number, or to a word such as `NORMAL`.
  ///
  /// The key's pragmas are refused: keys never stand in SQL text. So is what would write values in clear.
  public func setPragma(_ name: String, to value: some CustomStringConvertible) throws {
    try checkPragma(name)
    let text = value.description
    guard !text.isEmpty, text.utf8.allSatisfy({ isWord($0) || $0 == UInt8(ascii: "-") }) else {
      throw SQLError.notOneStatement(sql: "PRAGMA \(name)")
    }
    _ = try rows(sql: "PRAGMA \(name) = \(text)")
  }

  private func checkPragma(_ name: String) throws {
    let plain = name.asciiLowercased
    guard !name.isEmpty, name.utf8.allSatisfy({ isWord($0) || $0 == UInt8(ascii: ".") }),
      !["key", "rekey", "hexkey", "hexrekey", "temp_store"].contains(where: { plain.hasSuffix($0) })
    else { throw SQLError.notOneStatement(sql: "PRAGMA \(name)") }
  }

  private func isWord(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
      || (0x61...0x7A).contains(byte)
  }

  /// What SQLite bounds, against input that asks for too much (`sqlite3_limit`).
  public enum Limit: Int32, Sendable, CaseIterable {
    /// Bytes of a text, a blob or a row.
    case length = 0
    /// Bytes of a statement.
    case sqlLength = 1
    /// Columns of a table, a result, an index.
    case columns = 2
    /// The depth of an expression.
    case expressionDepth = 3
    /// Parts of a compound SELECT.
    case compoundSelect = 4
    /// Arguments of a function.
    case functionArguments = 6
    /// Attached files.
    case attached = 7
    /// Bytes of a LIKE pattern.
    case likePatternLength = 8
    /// Parameters of a statement.
    case variables = 9
    /// How deep triggers call each other.
    case triggerDepth = 10
  }

  /// The present bound of something.
  public func limit(_ limit: Limit) -> Int {
    unsafe handle.map { unsafe Int(sqlite3_limit($0, limit.rawValue, -1)) } ?? 0
  }

  /// Sets a bound; above the engine's own it becomes that one.
  /// - Returns: The bound before.
  @discardableResult
  public func setLimit(_ limit: Limit, to value: Int) -> Int {
    unsafe handle.map { unsafe Int(sqlite3_limit($0, limit.rawValue, Int32(clamping: max(0, value)))) } ?? 0
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

  /// Whether the file is so small, up to 256 MB, that its indexes are compared with their tables without being asked for.
  package var comparesIndexes: Bool { contentBytes ?? 0 <= 256 << 20 }

  /// Rows that break a foreign key: table, rowid, the table meant, the key's number in its table.
  public func foreignKeyViolations() throws -> [[SQLValue]] { try rows("PRAGMA foreign_key_check") }
}
