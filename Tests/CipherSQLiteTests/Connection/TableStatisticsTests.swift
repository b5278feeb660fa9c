// Statistics for the query planner. A pool stores them after writes of many rows and when it is closed. They
// are exact for small tables and estimated for large ones, with work that does not grow with the table.

import CipherSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.slow)) struct TablesWithStatistics {
  private let folder: TemporaryFolder
  private var path: String { folder.path("a.store") }
  private static let tables = """
    CREATE TABLE note (id INTEGER PRIMARY KEY, gone INTEGER, made INTEGER, kind INTEGER, state INTEGER DEFAULT 1,
      parent INTEGER REFERENCES note (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE INDEX by_gone ON note (gone); CREATE INDEX by_made ON note (made); CREATE INDEX by_kind ON note (kind, made);
    CREATE INDEX by_state ON note (state); CREATE INDEX by_parent ON note (parent);
    CREATE INDEX few ON note (made) WHERE gone NOT NULL; CREATE TABLE small (id INTEGER PRIMARY KEY, a);
    CREATE TABLE link (a INTEGER, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID; CREATE VIEW v AS SELECT 1;
    """

  init() throws { folder = try TemporaryFolder() }

  private func pool(keepsStatistics: Bool = true) throws -> ConnectionPool {
    if !FileManager.default.fileExists(atPath: path) {
      _ = try Connection.create(path, key: testKey) { try $0.executeScript(Self.tables) }
    }
    var configuration = ConnectionPool.Configuration()
    configuration.keepsStatistics = keepsStatistics
    return try ConnectionPool(path: path, key: testKey, configuration: configuration)
  }

  private static func fill(_ connection: Connection, _ rows: Int) throws {
    try connection.execute(
      """
      INSERT INTO note (gone, made, kind) WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k LIMIT \(rows))
      SELECT NULL, i, i % 4 FROM k
      """)
  }

  /// The statistics of `note`, by index.
  private func known() throws -> [String: [Int]] {
    let connection = try Connection.open(path, key: testKey)
    defer { connection.close() }
    guard try connection.tableExists("sqlite_stat1") else { return [:] }
    let rows = try connection.rows("SELECT idx, stat FROM sqlite_stat1 WHERE tbl = 'note'")
    return Dictionary(
      rows.map { ($0[0].string ?? "", ($0[1].string ?? "").split(separator: " ").compactMap { Int($0) }) }
    ) { first, _ in first }
  }

  @Test(arguments: [(2000, false), (30_000, true)])
  func `closing a pool stores the planner statistics of tables that have grown`(
    _ count: Int, _ isEstimated: Bool
  ) async throws {
    let pool = try pool()
    try await pool.write { try Self.fill($0, count) }
    pool.close()
    let found = try known()
    #expect(found["by_gone"]?.count == 2 && found["by_made"] == [count, 1], "\(found)")
    // `state` has one value in all rows, `kind` has one of four, `gone` and `parent` are nil.
    let (all, kinds) = (found["by_state"]?.last ?? 0, found["by_kind"]?[1] ?? 0)
    #expect(all > count * 9 / 10 && all <= count, "\(found)")
    #expect(found["by_gone"] == [count, 1] && found["by_parent"] == [count, 1], "\(found)")
    #expect(kinds > count / 8 && kinds < count / 2 && found["by_kind"]?.last == 1, "\(found)")
    #expect(found["few"] == nil || !isEstimated)
    let connection = try Connection.open(path, key: testKey)
    defer { connection.close() }
    #expect(try TableStatistics(connection).nilColumns() == Self.nilColumns)
    func plan(_ condition: String) throws -> [String] {
      try connection.query(
        sql: "EXPLAIN QUERY PLAN SELECT * FROM note WHERE \(condition) ORDER BY made LIMIT 20"
      ) {
        $0.text(3) ?? ""
      }
    }
    for condition in ["state = 1", "likelihood(gone IS NULL, 0.99)"] {
      let plan = try plan(condition)
      #expect(plan.count == 1 && plan[0].contains("by_made"), "\(condition): \(plan)")
    }
    #expect(try plan("gone = 5").joined().contains("by_gone"))
    // Deleting a row finds the rows that refer to it by the index, although hardly any row refers to one.
    let deletion = try connection.query(sql: "EXPLAIN QUERY PLAN DELETE FROM note WHERE id = 5") {
      $0.text(3) ?? ""
    }
    #expect(deletion.allSatisfy { !$0.contains("SCAN") }, "\(deletion)")
    #expect(deletion.contains { $0.contains("by_parent") }, "\(deletion)")
  }

  private static let nilColumns = [SQLName("note"): Set(["gone", "parent"].map { SQLName($0) })]

  @Test(arguments: [4000, 40_000]) func `rows that are nil do not count as rows of one value`(_ count: Int)
    async throws
  {
    let pool = try pool()
    try await pool.write { connection in
      try Self.fill(connection, count)
      // One row of ten has a `gone`, and five rows share each value on average. Two rows of three have a
      // parent.
      try connection.execute("UPDATE note SET gone = id / 50 WHERE id % 10 = 0")
      try connection.execute("UPDATE note SET parent = 1 + id / 9 WHERE id % 3 > 0")
    }
    pool.close()
    let found = try known()
    #expect(found["by_gone"]?.last == 5, "\(found)")
    let children = found["by_parent"]?.last ?? 0
    #expect(children == 6, "\(found)")
    let connection = try Connection.open(path, key: testKey)
    defer { connection.close() }
    #expect(try TableStatistics(connection).nilColumns() == [SQLName("note"): [SQLName("gone")]])
  }

  @Test(arguments: [4000, 40_000])
  func `deleting a row uses the index of its references, though all rows refer to one row`(_ count: Int)
    async throws
  {
    let pool = try pool()
    try await pool.write { connection in
      try Self.fill(connection, count)
      for _ in 0..<2 { try connection.execute("UPDATE note SET parent = 1") }
    }
    let plan = try await pool.write { connection in
      // SQLite reloads the statistics when a statement runs, and EXPLAIN runs none.
      _ = try connection.rows("SELECT id FROM note LIMIT 1")
      return try connection.query(sql: "EXPLAIN QUERY PLAN DELETE FROM note WHERE id = 5") {
        $0.text(3) ?? ""
      }
    }
    pool.close()
    #expect(plan.allSatisfy { !$0.contains("SCAN") } && plan.contains { $0.contains("by_parent") }, "\(plan)")
    #expect(try known()["by_parent"] == [count, count / 2])
  }

  @Test func `a pool reports the nil columns when it is opened and when they have changed`() async throws {
    let told = Told()
    var configuration = ConnectionPool.Configuration()
    configuration.keepsStatistics = true
    configuration.onNilColumns = { told.columns.append($0) }
    try self.pool().close()
    let pool = try ConnectionPool(path: path, key: testKey, configuration: configuration)
    try await pool.write { try Self.fill($0, 12_000) }
    pool.close()
    try ConnectionPool(path: path, key: testKey, configuration: configuration).close()
    #expect(told.columns == [[:], Self.nilColumns, Self.nilColumns])
  }

  private final class Told: Sendable {
    private let all = Mutex<[TableStatistics.NilColumns]>([])
    var columns: [TableStatistics.NilColumns] {
      get { all.withLock { $0 } }
      set { all.withLock { $0 = newValue } }
    }
  }

  @Test func `a pool without keepsStatistics stores none, and a small table has none`() async throws {
    let plain = try pool(keepsStatistics: false)
    try await plain.write { try Self.fill($0, 30_000) }
    plain.close()
    #expect(try known().isEmpty)
    let pool = try pool()
    _ = try await pool.write { try $0.execute("DELETE FROM note WHERE id > 900") }
    pool.close()
    #expect(try known().isEmpty)
  }

  @Test func `readers use new statistics at once, which are refreshed when the rows have doubled`()
    async throws
  {
    let pool = try pool()
    defer { pool.close() }
    let query = "EXPLAIN QUERY PLAN SELECT * FROM note WHERE state = 1 ORDER BY made LIMIT "
    let plan: @Sendable (Int, Connection) throws -> Bool = { number, connection in
      // SQLite reloads the schema when a statement runs, and EXPLAIN runs none.
      _ = try connection.rows("SELECT id FROM note LIMIT 1")
      return try connection.query(sql: query + "\(number)") { $0.text(3) ?? "" }.joined().contains("by_made")
    }
    #expect(try await !pool.read { try plan(1, $0) })
    try await pool.write { try Self.fill($0, 9000) }
    #expect(try await !pool.read { try plan(2, $0) })
    try await pool.write { try Self.fill($0, 1000) }
    #expect(try await pool.read { try plan(3, $0) })
    #expect(try known()["by_made"]?.first == 10_000)
    try pool.withWriter { connection in
      try connection.transaction { try Self.fill(connection, 9000) }
      _ = try connection.transaction { try connection.execute("UPDATE note SET kind = 3 WHERE id < 2000") }
    }
    #expect(try known()["by_made"]?.first == 10_000)
    try await pool.write { try Self.fill($0, 11_000) }
    #expect(try known()["by_made"]?.first == 30_000)
  }

  @Test func `closing a pool does not wait for a lock to store statistics`() async throws {
    let (pool, other) = (try pool(), try Connection.open(path, key: testKey))
    defer { other.close() }
    try await pool.write { try Self.fill($0, 5000) }
    try other.executeScript("BEGIN IMMEDIATE")
    pool.close()
    try other.executeScript("COMMIT")
    #expect(try known().isEmpty)
    #expect(try other.integrityErrors().isEmpty)
  }

  /// The steps of the engine that one refresh of the statistics takes.
  private static func steps(rows: Int, in folder: TemporaryFolder) throws -> Int {
    let connection = try Connection.create(folder.path("\(rows).store"), key: testKey) { connection in
      try connection.executeScript(tables)
      try fill(connection, rows)
    }
    _ = connection
    let opened = try Connection.open(folder.path("\(rows).store"), key: testKey)
    defer { opened.close() }
    var steps = 0
    opened.onProgress(every: 1) {
      steps += 1
      return true
    }
    try opened.transaction { try TableStatistics(opened).refresh() }
    return steps
  }

  @Test func `refreshing the statistics takes no more work for a table twice as large`() throws {
    let (half, whole) = (try Self.steps(rows: 40_000, in: folder), try Self.steps(rows: 80_000, in: folder))
    #expect(whole < half * 5 / 4, "\(half) \(whole)")
  }
}
