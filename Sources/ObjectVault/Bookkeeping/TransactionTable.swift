// vault_transactions: the history of a store. All SQL that names the table is in this file.

internal import CipherSQLite

/// The table `vault_transactions` of one file. It exists in stores with a history.
///
/// A transaction has one row, its head. A body of more than 64 KiB is in the rows after the head, its parts;
/// the head then has none.
struct TransactionTable {
  /// The name of the table in SQL.
  static let name = "vault_transactions"
  /// All columns of the table.
  static let columns: Set<String> = [
    "id", "parts", "time", "author", "name", "version", "kind", "origin", "body",
  ]

  /// The head of a transaction.
  struct Head {
    let id: Int64
    /// The number of parts.
    let parts: Int64
    /// Seconds from 2001-01-01.
    let time: Double
    let author: String?
    let name: String?
    /// The version of the model.
    let version: Int64
    /// 0 for changes of a program, 1 for a step that ran, 2 for a step that was rolled back.
    let kind: Int64

    /// Whether the numbers are those that the store writes.
    var isValid: Bool {
      (1...Self.highest).contains(id) && (0...Self.highest).contains(parts) && time.isFinite
        && (0...Int64(Int32.max)).contains(version) && (0...2).contains(kind)
    }
    /// The highest id of a row.
    static let highest = Int64.max / 4

    init(
      id: Int64, parts: Int64, time: Double, author: String?, name: String?, version: Int64, kind: Int64
    ) {
      (self.id, self.parts, self.time) = (id, parts, time)
      (self.author, self.name, self.version, self.kind) = (author, name, version, kind)
    }
  }

  let connection: Connection

  init(connection: Connection) { self.connection = connection }

  /// Creates the table. `origin` is for transactions of other stores; it is NULL for those of this store.
  func createIfMissing() throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS vault_transactions (id INTEGER PRIMARY KEY, parts INTEGER, time REAL,
        author TEXT, name TEXT, version INTEGER, kind INTEGER, origin TEXT, body BLOB)
      """)
  }

  /// Returns whether the file has the table.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  // MARK: Writing

  // Constant texts: interpolated `SQL` values would be built for each transaction.
  private static let headSQL = """
    INSERT INTO vault_transactions (id, parts, time, author, name, version, kind, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """
  private static let partSQL = "INSERT INTO vault_transactions (id, body) VALUES (?, ?)"
  private static let lastSQL = "SELECT max(id) FROM vault_transactions"

  /// The highest id of a row; nil if there are no rows.
  func last() throws -> Int64? { try connection.value(sql: Self.lastSQL)?.int64 }

  func append(_ head: Head, body: SQLValue) throws {
    try connection.execute(
      sql: Self.headSQL,
      [
        .integer(head.id), .integer(head.parts), .real(head.time), head.author.map { .text($0) } ?? .null,
        head.name.map { .text($0) } ?? .null, .integer(head.version), .integer(head.kind), body,
      ])
  }

  func appendPart(_ id: Int64, body: SQLValue) throws {
    try connection.execute(sql: Self.partSQL, [.integer(id), body])
  }

  // MARK: Reading

  /// Which heads ``heads(_:_:)`` reads.
  struct Selection {
    /// The ids: above `after`, and at most `through`.
    var after = Int64.min
    var through = Int64.max
    var author: String?
    /// Seconds from 2001-01-01: at least `from`, and less than `before`.
    var from: Double?
    var before: Double?
    var newestFirst = false
  }

  /// Calls `body` with each head until it returns `false`; the second argument reads the transaction's body.
  func heads(_ selection: Selection, _ body: (Head, () throws -> [UInt8]) throws -> Bool) throws {
    var sql: SQL = """
      SELECT id, parts, time, author, name, version, kind, body FROM vault_transactions
      WHERE id > \(selection.after) AND id <= \(selection.through) AND parts NOT NULL
      """
    if let author = selection.author { sql = "\(sql) AND author = \(author)" }
    if let from = selection.from { sql = "\(sql) AND time >= \(from)" }
    if let before = selection.before { sql = "\(sql) AND time < \(before)" }
    sql = selection.newestFirst ? "\(sql) ORDER BY id DESC" : "\(sql) ORDER BY id"
    try connection.withStatement(sql: sql.text) { statement in
      try statement.bind(SQLArguments(sql.values))
      while try statement.step() {
        let head = Head(
          id: statement.int64(0), parts: statement.int64(1), time: statement.value(2).double ?? 0,
          author: statement.text(3), name: statement.text(4), version: statement.int64(5),
          kind: statement.int64(6))
        guard try body(head, { try self.body(of: head, own: statement.value(7)) }) else { return }
      }
    }
  }

  private func body(of head: Head, own: SQLValue) throws -> [UInt8] {
    guard head.isValid, head.parts > 0 else { return own.bytes }
    let parts = try connection.query(
      sql: "SELECT body FROM vault_transactions WHERE id > ? AND id <= ? ORDER BY id",
      [.integer(head.id), .integer(head.id + head.parts)]
    ) { $0.value(0) }
    return parts.reduce(into: []) { $0 += $1.bytes }
  }

  /// Returns the time of the transaction with an id; nil if there is none.
  func time(of id: Int64) throws -> Double? {
    try connection.value("SELECT time FROM vault_transactions WHERE id = \(id) AND parts NOT NULL")?.double
  }

  // MARK: Purging

  /// Returns the id of the last transaction before a time that has no later ones before it.
  func lastID(before time: Double) throws -> Int64? {
    // Clocks may be set back: the purge ends before the first transaction that is to be kept.
    let kept = try connection.value(
      "SELECT min(id) FROM vault_transactions WHERE parts NOT NULL AND time >= \(time)")?.int64
    return try lastID(below: kept ?? Int64.max)
  }

  /// Returns the id of the last transaction that is not among the newest ones; nil if there is none.
  /// - Parameter count: The number of the newest ones.
  func lastID(keeping count: Int) throws -> Int64? {
    guard count > 0 else { return try lastID(below: Int64.max) }
    let kept = try connection.value(
      "SELECT id FROM vault_transactions WHERE parts NOT NULL ORDER BY id DESC LIMIT 1 OFFSET \(count - 1)")
    return try kept?.int64.flatMap { try lastID(below: $0) }
  }

  /// Returns the id of the last transaction that is not among the newest ones; nil if there is none.
  /// - Parameter bytes: The number of bytes that the bodies of the newest ones may take.
  func lastID(keepingBytes bytes: Int) throws -> Int64? {
    var (sum, kept) = (0, Int64.max)
    try connection.withStatement(
      sql: "SELECT id, length(body), parts FROM vault_transactions ORDER BY id DESC"
    ) { statement in
      while try statement.step() {
        sum += Int(statement.int64(1))
        if sum > bytes { return }
        if !statement.value(2).isNull { kept = statement.int64(0) }
      }
    }
    return try lastID(below: kept)
  }

  /// Returns the id of the last transaction below a number; nil if there is none.
  private func lastID(below id: Int64) throws -> Int64? {
    try connection.value("SELECT max(id) FROM vault_transactions WHERE id < \(id) AND parts NOT NULL")?.int64
  }

  /// Deletes the transactions up to one.
  /// - Returns: How many were deleted.
  func remove(through id: Int64) throws -> Int {
    let count = try count(through: id)
    let parts = try connection.value("SELECT parts FROM vault_transactions WHERE id = \(id)")?.int64
    try connection.execute(
      "DELETE FROM vault_transactions WHERE id <= \(id &+ max(0, min(parts ?? 0, Head.highest)))")
    return count
  }

  /// Returns the number of transactions up to one.
  func count(through id: Int64) throws -> Int {
    let count = try connection.value(
      "SELECT count(*) FROM vault_transactions WHERE id <= \(id) AND parts NOT NULL")
    return Int(count?.int64 ?? 0)
  }
}

extension SQLValue {
  fileprivate var bytes: [UInt8] { if case .blob(let data) = self { Array(data) } else { [] } }
}
