// Journal modes, checkpoints, vacuum, typed pragmas, limits, integrity checks.

private import CSQLCipher

extension Connection {
  /// How changes are journaled.
  public enum JournalMode: String, Sendable {
    /// A write-ahead log: readers do not wait for the writer.
    case wal
    /// A rollback journal, deleted at each commit.
    case delete
  }

  /// Sets the journal mode, and the setting of ``setFullSync(_:)`` to the default for that mode.
  /// - Parameter mode: The mode.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` if other connections prevent the change for
  ///   longer than the busy timeout.
  public func setJournalMode(_ mode: JournalMode) throws {
    // The engine does not wait for this lock, because two connections that each have a lock could wait for
    // each other.
    try retryingWhileBusy {
      let found = try value(sql: "PRAGMA journal_mode = \(mode.rawValue)")?.string
      guard found == mode.rawValue else { throw waitingError() }
    }
    // In WAL mode NORMAL is safe against crashes of the process; a power loss may lose the last commits.
    try executeScript("PRAGMA synchronous = \(mode == .wal ? "NORMAL" : "FULL")")
  }

  /// Sets whether a commit waits until its data is on the disk. If it does not, a power loss may lose the
  /// last commits; in WAL mode it never loses a part of one.
  /// - Parameter isFull: `true` for waiting.
  /// - Throws: ``SQLError``.
  public func setFullSync(_ isFull: Bool) throws {
    try executeScript("PRAGMA synchronous = \(isFull ? "FULL" : "NORMAL")")
  }

  /// Returns the file's `user_version`.
  /// - Throws: ``SQLError``.
  public func userVersion() throws -> Int { Int(try value("PRAGMA user_version")?.int64 ?? 0) }

  /// Sets the file's `user_version`. It is part of the open transaction, if there is one.
  /// - Parameter version: The number.
  /// - Throws: ``SQLError``.
  public func setUserVersion(_ version: Int) throws { try execute(sql: "PRAGMA user_version = \(version)") }

  /// Copies the WAL into the file and truncates the WAL.
  /// - Returns: Whether all of it was copied; `false` if other connections prevented it for longer than
  ///   the busy timeout.
  /// - Throws: ``SQLError``.
  @discardableResult
  public func checkpoint() throws -> Bool {
    let row = try rows("PRAGMA wal_checkpoint(TRUNCATE)").first
    return row?.first?.int64 == 0
  }

  /// How much a checkpoint does.
  public enum CheckpointMode: Int32, Sendable {
    /// Copies as much as possible without waiting.
    case passive = 0
    /// Waits for writers and readers, and copies everything.
    case full = 1
    /// As `full`; in addition, the next writer starts the log from its beginning.
    case restart = 2
    /// As `restart`; in addition, truncates the log's file.
    case truncate = 3
  }

  /// The result of a checkpoint, in pages.
  public struct Checkpoint: Sendable, Hashable {
    /// The number of pages in the log; -1 without WAL.
    public let logPages: Int
    /// The number of pages of the log that are now in the file; -1 without WAL.
    public let copiedPages: Int
  }

  /// Copies the log into the file.
  /// - Parameters:
  ///   - mode: How much to do.
  ///   - schema: The name of one database; nil for all that are attached.
  /// - Returns: How many pages the log has, and how many of them were copied.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` if other connections prevented the checkpoint
  ///   for longer than the busy timeout (never in passive mode).
  @discardableResult
  public func checkpoint(_ mode: CheckpointMode, schema: String? = nil) throws -> Checkpoint {
    let handle = try unsafe opened()
    var (log, copied): (Int32, Int32) = (-1, -1)
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, schema, mode.rawValue, &log, &copied)
    guard code == SQLITE_OK else { throw error(code, sql: "checkpoint") }
    return Checkpoint(logPages: Int(log), copiedPages: Int(copied))
  }

  /// The size of the database in bytes, including pages that are only in the log: the number of pages times
  /// the page size, or the size of the file if that is larger. nil if there is no file.
  package var contentBytes: Int? {
    let pages = (try? value("PRAGMA page_count"))?.int64 ?? 0
    return file.byteCount.map { max($0, Int(pages) * unlocked.profile.pageBytes) }
  }

  /// Rebuilds the file without free pages. For some time this needs twice the file's size on disk
  /// (encrypted), and the file's size in memory, because the engine's temporary files are kept in memory.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` inside a transaction.
  public func vacuum() throws { try execute("VACUUM") }

  /// Rebuilds the file as ``vacuum()`` does, in WAL mode, and returns the free pages to the file system.
  /// - Parameter progress: Called with the number of pages done and in total, where each page counts twice:
  ///   written to the log, and copied to the file. Called from another thread while pages are written. What
  ///   it throws stops the work.
  /// - Throws: As ``vacuum()``; ``SQLError/diskFull(file:)``; what `progress` throws. The file is unchanged
  ///   then.
  package func vacuum(progress: @escaping (Int, Int) throws -> Void) throws {
    // Otherwise the rewritten file would be appended to what is in the log already.
    _ = try? checkpoint(.truncate)
    let count = try value("PRAGMA page_count")?.int64 ?? 0
    let pages = Int(max(0, count - (try value("PRAGMA freelist_count")?.int64 ?? 0)))
    try progress(0, pages * 2)
    let growth = GrowthMonitor(
      file.log, pageBytes: unlocked.profile.pageBytes + 24, pages: pages, report: progress,
      onError: { [interruptor] in interruptor.interrupt() })
    let result = Result { try vacuum() }
    if let thrown = growth.stop(), case .failure = result { throw thrown }
    try result.get()
    // If a reader prevents this, a later checkpoint shrinks the file.
    _ = try? checkpoint(.truncate)
    try? progress(pages * 2, pages * 2)
  }

  /// Returns free pages to the file system, in a file with `auto_vacuum = INCREMENTAL`.
  /// - Parameter pages: The largest number of pages; 0 for all.
  /// - Throws: ``SQLError``.
  public func incrementalVacuum(pages: Int = 0) throws {
    _ = try rows(sql: "PRAGMA incremental_vacuum(\(max(0, pages)))")
  }

  // MARK: Pragmas and limits

  /// Returns the value of a pragma.
  /// - Parameters:
  ///   - name: The pragma.
  ///   - type: The type of the value.
  /// - Returns: The value; nil if the pragma returns none.
  /// - Throws: ``SQLError/columnType(column:expected:found:)``; ``SQLError/notOneStatement(sql:)`` for a
  ///   name that is not an identifier, with or without a schema name before it, for pragmas for keys, and
  ///   for `temp_store`.
  public func pragma<Value: SQLConvertible>(_ name: String, as type: Value.Type) throws -> Value? {
    try checkPragma(name)
    return try withStatement(sql: "PRAGMA \(name)") { statement in
      guard try statement.step() else { return nil }
      // Some builds return numbers as text.
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
  /// Pragmas for keys are refused, because keys must never appear in SQL text. So are `temp_store`,
  /// `cipher_profile` and `cipher_log`, which could write values in clear.
  /// - Parameters:
  ///   - name: The pragma.
  ///   - value: A number or a word.
  /// - Throws: ``SQLError/notOneStatement(sql:)`` for a pragma that is refused, and for names or
  ///   values that are not words.
  public func setPragma(_ name: String, to value: some CustomStringConvertible) throws {
    try checkPragma(name)
    // These pragmas write statements and their values to a plain file.
    guard !["cipher_profile", "cipher_log"].contains(where: { name.asciiLowercased.hasSuffix($0) }) else {
      throw SQLError.notOneStatement(sql: "PRAGMA \(name)")
    }
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

  /// Limits of SQLite, such as for input that would need too many resources (`sqlite3_limit`).
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
    /// The depth to which triggers fire further triggers.
    case triggerDepth = 10
  }

  /// Returns the current value of a limit.
  /// - Parameter limit: The limit.
  /// - Returns: Its value; 0 if the connection is closed.
  public func limit(_ limit: Limit) -> Int {
    unsafe handle.map { unsafe Int(sqlite3_limit($0, limit.rawValue, -1)) } ?? 0
  }

  /// Sets a limit.
  /// - Parameters:
  ///   - limit: The limit.
  ///   - value: Its new value. A value above the engine's compiled limit is reduced to that limit.
  /// - Returns: The former value; 0 if the connection is closed.
  @discardableResult
  public func setLimit(_ limit: Limit, to value: Int) -> Int {
    unsafe handle.map { unsafe Int(sqlite3_limit($0, limit.rawValue, Int32(clamping: max(0, value)))) } ?? 0
  }

  /// Checks the structure of the file by SQLite's own integrity check.
  /// - Parameter isQuick: `true` to skip the comparison of indexes with their tables.
  /// - Returns: The problems found, one per element; empty if there are none.
  /// - Throws: ``SQLError``.
  public func integrityErrors(isQuick: Bool = false) throws -> [String] {
    let lines = try rows(sql: "PRAGMA \(isQuick ? "quick_check" : "integrity_check")").compactMap {
      $0.first?.string
    }
    return lines == ["ok"] ? [] : lines
  }

  /// Whether the file is small enough (up to 256 MiB) for its indexes to be compared with their tables
  /// even if the caller does not request it.
  package var comparesIndexes: Bool { contentBytes ?? 0 <= 256 << 20 }

  /// Returns the rows that violate a foreign key: table, rowid, referenced table, and the
  /// number of the key in its table.
  /// - Returns: One row for each violation.
  /// - Throws: ``SQLError``.
  public func foreignKeyViolations() throws -> [[SQLValue]] { try rows("PRAGMA foreign_key_check") }
}
