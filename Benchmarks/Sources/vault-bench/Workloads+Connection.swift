// Workloads 15 and 19, and two of the connection alone: a look-up in the statement cache (30), and a
// typed cursor (31).

import CFloor
import CipherSQLite
import Foundation

/// Encrypted files of one table, the same for the floor and for the library.
enum ConnectionBench {
  static let names = (0..<10).map { "i\($0)" }

  static func inFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.appendingPathComponent("a.store").path)
  }

  /// - Parameter bytes: The approximate size of the file.
  static func create(_ path: String, bytes: Int) throws {
    _ = try Connection.create(path, key: .raw(rawKey)) { connection in
      try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, body BLOB)")
      try connection.execute(
        """
        INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(bytes / 1000))
        SELECT i, randomblob(900) FROM n
        """
      )
    }
  }

  // MARK: 15

  static func floorRekey(_ bytes: Int) async throws -> Double {
    try await inFolder { path in
      try create(path, bytes: bytes)
      let floor = Floor(path)
      let text = "x'" + String(repeating: "77", count: 32) + "'"
      let time = seconds {
        floor.check(sqlite3_rekey_v2(floor.handle, "main", text, Int32(text.utf8.count)))
        floor.run("PRAGMA wal_checkpoint(TRUNCATE)")
      }
      floor.close()
      return time
    }
  }

  static func oursRekey(_ bytes: Int) async throws -> Double {
    try await inFolder { path in
      try create(path, bytes: bytes)
      let pool = try ConnectionPool(path: path, key: .raw(rawKey))
      defer { pool.close() }
      return try seconds { try pool.rekey(to: .raw([UInt8](repeating: 0x77, count: 32))) }
    }
  }

  // MARK: 19

  static let readsInAll = 400_000

  /// One task reads rows, and no other task runs.
  static func oneReader(_ path: String) async throws -> Double {
    let pool = try ConnectionPool(path: path, key: .raw(rawKey))
    defer { pool.close() }
    let start = Date()
    _ = try await read(pool, count: readsInAll)
    return Date().timeIntervalSince(start)
  }

  /// Eight tasks share the same number of reads, while another one commits up to twenty times a second.
  /// SQLite empties the caches of all readers after each commit.
  static func eightReadersAndAWriter(_ path: String) async throws -> Double {
    var configuration = ConnectionPool.Configuration()
    configuration.readers = 8
    let pool = try ConnectionPool(path: path, key: .raw(rawKey), configuration: configuration)
    defer { pool.close() }
    let writer = Task {
      for commits in 0..<1_000_000 {
        if Task.isCancelled { return commits }
        let id = commits % 1000 + 1
        try await pool.write { _ = try $0.execute("UPDATE t SET body = randomblob(900) WHERE id = \(id)") }
        try? await Task.sleep(for: .milliseconds(50))
      }
      return 0
    }
    let start = Date()
    let slowest = try await withThrowingTaskGroup(of: Double.self) { group in
      for _ in 0..<8 { group.addTask { try await read(pool, count: readsInAll / 8) } }
      return try await group.reduce(0, max)
    }
    let time = Date().timeIntervalSince(start)
    writer.cancel()
    let commits = (try? await writer.value) ?? 0
    FileHandle.standardError.write(
      Data("  slowest read \((slowest * 1e5).rounded() / 100) ms, commits meanwhile \(commits)\n".utf8))
    return time
  }

  /// - Returns: The slowest read, in seconds.
  private static func read(_ pool: ConnectionPool, count: Int) async throws -> Double {
    var slowest = 0.0
    for number in 0..<count / 20 {
      let start = DispatchTime.now().uptimeNanoseconds
      let length = try await pool.read { connection in
        var length: Int64 = 0
        for step in 0..<20 {
          let id = Int64((number * 20 + step) * 7919 % 20_000 + 1)
          length +=
            try connection.value("SELECT length(body) FROM t WHERE id = ?", [.integer(id)])?.int64 ?? 0
        }
        return length
      }
      blackHole(Int(length))
      slowest = max(slowest, Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9)
    }
    return slowest
  }

  // MARK: The connection alone

  /// Returns the seconds of a reset and a binding, the least that it costs to use a statement again.
  static func resetAndBind(_ floor: Floor) -> Double {
    let statement = floor.prepare("SELECT body FROM t WHERE id = ?")
    defer { sqlite3_finalize(statement) }
    return seconds {
      for number in 0..<100_000 {
        sqlite3_reset(statement)
        sqlite3_bind_int64(statement, 1, sqlite3_int64(number))
      }
    } / 100_000
  }

  /// Returns the seconds of one look-up of a cached statement.
  static func lookUp(_ connection: Connection) throws -> Double {
    let sql = "SELECT body FROM t WHERE id = ?"
    try connection.withStatement(sql: sql) { _ in }
    return try seconds { for _ in 0..<100_000 { try connection.withStatement(sql: sql) { _ in } } } / 100_000
  }

  struct Ten {
    var values: (Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64)
  }

  static let tenSQL: SQL = "SELECT i0, i1, i2, i3, i4, i5, i6, i7, i8, i9 FROM Ten"

  static func floorCursor(_ floor: Floor) -> Double {
    seconds {
      let statement = floor.prepare(tenSQL.text)
      var sum: Int64 = 0
      while sqlite3_step(statement) == SQLITE_ROW {
        let row = Ten(
          values: (
            sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
            sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 3),
            sqlite3_column_int64(statement, 4), sqlite3_column_int64(statement, 5),
            sqlite3_column_int64(statement, 6), sqlite3_column_int64(statement, 7),
            sqlite3_column_int64(statement, 8), sqlite3_column_int64(statement, 9)
          ))
        sum &+= row.values.0 &+ row.values.9
      }
      sqlite3_finalize(statement)
      blackHole(Int(truncatingIfNeeded: sum))
    }
  }

  static func oursCursor(_ connection: Connection) throws -> Double {
    try seconds {
      let cursor = try connection.cursor(tenSQL) {
        Ten(
          values: (
            $0.int64(0), $0.int64(1), $0.int64(2), $0.int64(3), $0.int64(4), $0.int64(5), $0.int64(6),
            $0.int64(7), $0.int64(8), $0.int64(9)
          ))
      }
      var sum: Int64 = 0
      while let row = try cursor.next() { sum &+= row.values.0 &+ row.values.9 }
      blackHole(Int(truncatingIfNeeded: sum))
    }
  }
}
