// What the planner knows of tables: kept by a pool after writes of many rows and at its end, exact for small tables and
// estimated for large ones, in work that does not grow with them.

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

  /// What is known of `note`, by index.
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
  func `closing leaves what the planner needs of tables that have grown`(_ count: Int, _ isEstimated: Bool)
    async throws
  {
    let pool = try pool()
    try await pool.write { try Self.fill($0, count) }
    pool.close()
    let found = try known()
    #expect(found["by_gone"]?.count == 2 && found["by_made"] == [count, 1], "\(found)")
    // A value that all rows have, one of four, and none.
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
    // Who refers to a row that is deleted is found by the index, though hardly any row refers to one.
    let deletion = try connection.query(sql: "EXPLAIN QUERY PLAN DELETE FROM note WHERE id = 5") {
      $0.text(3) ?? ""
    }
    #expect(deletion.allSatisfy { !$0.contains("SCAN") }, "\(deletion)")
    #expect(deletion.contains { $0.contains("by_parent") }, "\(deletion)")
  }

  private static let nilColumns = [SQLName("note"): Set(["gone", "parent"].map { SQLName($0) })]

  @Test(arguments: [4000, 40_000]) func `rows that are nil are no rows of a value`(_ count: Int) async throws
  {
    let pool = try pool()
    try await pool.write { connection in
      try Self.fill(connection, count)
      // One of ten has a value, which five have on the average; two of three have a parent.
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
  func `rows that all refer to one are found by the index when another is deleted`(
    _ count: Int
  ) async throws {
    let pool = try pool()
    try await pool.write { connection in
      try Self.fill(connection, count)
      for _ in 0..<2 { try connection.execute("UPDATE note SET parent = 1") }
    }
    let plan = try await pool.write { connection in
      // The engine looks for other statistics when a statement runs, and EXPLAIN runs none.
      _ = try connection.rows("SELECT id FROM note LIMIT 1")
      return try connection.query(sql: "EXPLAIN QUERY PLAN DELETE FROM note WHERE id = 5") {
        $0.text(3) ?? ""
      }
    }
    pool.close()
    #expect(plan.allSatisfy { !$0.contains("SCAN") } && plan.contains { $0.contains("by_parent") }, "\(plan)")
    #expect(try known()["by_parent"] == [count, count / 2])
  }

  @Test func `a pool hands over which columns are nil, when it is opened and when that has changed`()
    async throws
  {
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

  @Test func `a pool that is not told to keeps none, and a small table has none`() async throws {
    let plain = try pool(keepsStatistics: false)
    try await plain.write { try Self.fill($0, 30_000) }
    plain.close()
    #expect(try known().isEmpty)
    let pool = try pool()
    _ = try await pool.write { try $0.execute("DELETE FROM note WHERE id > 900") }
    pool.close()
    #expect(try known().isEmpty)
  }

  @Test
  func
    `readers go by them at once after a write of many rows, and they are made anew when rows have doubled`()
    async throws
  {
    let pool = try pool()
    defer { pool.close() }
    let query = "EXPLAIN QUERY PLAN SELECT * FROM note WHERE state = 1 ORDER BY made LIMIT "
    let plan: @Sendable (Int, Connection) throws -> Bool = { number, connection in
      // The engine looks for another schema when a statement runs, and EXPLAIN runs none.
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

  @Test func `nobody waits for them`() async throws {
    let (pool, other) = (try pool(), try Connection.open(path, key: testKey))
    defer { other.close() }
    try await pool.write { try Self.fill($0, 5000) }
    try other.executeScript("BEGIN IMMEDIATE")
    pool.close()
    try other.executeScript("COMMIT")
    #expect(try known().isEmpty)
    #expect(try other.integrityErrors().isEmpty)
  }

  /// How many steps of the engine a look at a table takes.
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

  @Test func `the look at a large table takes as much work as at one twice as large`() throws {
    let (half, whole) = (try Self.steps(rows: 40_000, in: folder), try Self.steps(rows: 80_000, in: folder))
    #expect(whole < half * 5 / 4, "\(half) \(whole)")
  }
}
