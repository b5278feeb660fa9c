// Lists of values in steps: the engine gets each row once and outside of queries, whatever the number of
// rows. A run with many rows reports its progress and can be cancelled.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct InsertedValueLists {
  static let base = "create entity Day {\n attribute n int\n attribute s string\n}"

  /// The statements with rows of `Day` that the engine gets for a block, and the number of rows afterwards.
  static func statements(_ block: String, progress: Progress? = nil) async throws -> (
    sql: [String], rows: Int
  ) {
    let lab = try await MigrationLab(base)
    let seen = Locked<[String]>([])
    _ = try Store.migrateWatched(
      at: lab.url, key: testKey, migrations: lab.set([base, block]), progress: progress
    ) { connection in
      connection.onStatement { event in
        if event.sql.contains("INSERT INTO `Day`") { seen.withLock { $0.append(event.sql) } }
      }
    }
    return (seen.withLock { $0 }, Int(try lab.rows("SELECT count(*) FROM Day")[0][0].int64 ?? 0))
  }

  static func list(_ count: Int) -> String {
    (0..<count).map { "(\($0 + 100_000), 'row \($0 + 100_000)')" }.joined(separator: ",\n")
  }

  @Test(arguments: ["seed", "transform sql"])
  func `a list of values is one statement, with a length in proportion to its rows`(_ verb: String)
    async throws
  {
    var lengths: [Int] = []
    for count in [400, 800, 1200] {
      let block = "\(verb) {\nINSERT INTO $Day ($Day.n, $Day.s) VALUES \(Self.list(count))\n}"
      let (sql, rows) = try await Self.statements(block)
      #expect(sql.count == 1 && rows == count)
      // In a subquery the engine searches each row from the first one on.
      #expect(!sql.joined().contains("SELECT"), "\(sql.joined().prefix(200))")
      lengths.append(sql.joined().utf8.count)
    }
    #expect(lengths[2] - lengths[1] == lengths[1] - lengths[0], "\(lengths)")
  }

  @Test func `an embedded step passes its list of values in the same way`() async throws {
    let lab = try await MigrationLab(Self.base)
    let set = try lab.set([Self.base, "seed {\nINSERT INTO $Day (n, s) VALUES \(Self.list(300))\n}"])
    let embedded = try MigrationSet.embedded(
      set.steps.map { .init(number: $0.number, name: $0.name, checksum: $0.checksum, text: $0.text) })
    let seen = Locked(0)
    _ = try Store.migrateWatched(at: lab.url, key: testKey, migrations: embedded) { connection in
      connection.onStatement { event in
        if event.sql.contains("INSERT INTO `Day`"), !event.sql.contains("SELECT") {
          seen.withLock { $0 += 1 }
        }
      }
    }
    #expect(seen.withLock { $0 } == 1)
    #expect(try lab.rows("SELECT count(*), min(id), max(id) FROM Day") == [[300, 1, 300]])
  }

  @Test(arguments: [
    (
      "WITH w(x) AS (SELECT 5) INSERT INTO $Day (n, s) VALUES ((SELECT x FROM w), 'a'), (6, 'b')",
      "1 5 a,2 6 b"
    ),
    (
      "INSERT INTO $Day (n, s) WITH w(x) AS (SELECT 5) VALUES ((SELECT x FROM w), 'a'), (6, 'b')",
      "1 5 a,2 6 b"
    ),
    ("INSERT INTO $Day (n, s) VALUES (1, 'a') UNION ALL SELECT 2, 'b'", "1 1 a,2 2 b"),
    (
      "INSERT INTO $Day (id, n, s) VALUES ('7', 1, 'a'), (NULL, 2, 'b'), (3 + 2, 3, 'c'), (NULL, 4, 'd')",
      "5 3 c,7 1 a,8 2 b,9 4 d"
    ),
    ("INSERT INTO $Day (s, id, n) VALUES ('(,)', 1.0, max(1, 2) /* ), */), ('b', 9, 3)", "1 2 (,),9 3 b"),
    ("INSERT INTO $Day VALUES (NULL, 1, 4, 'x')", "1 4 x"),
    (
      "INSERT INTO $Day (n, s) VALUES (1, 'a'); INSERT INTO $Day (n, s) VALUES ((SELECT max(id) FROM $Day), 'b')",
      "1 1 a,2 1 b"
    ),
  ])
  func `rows of a list of values get the ids and values that a query would give them`(
    _ sql: String, _ rows: String
  ) async throws {
    let lab = try await MigrationLab(Self.base)
    try await lab.migrate("seed { \(sql) }")
    let found = try lab.rows("SELECT id || ' ' || n || ' ' || s FROM Day ORDER BY id").map {
      $0[0].string ?? ""
    }
    #expect(found.joined(separator: ",") == rows)
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    "INSERT INTO $Day (n, s) VALUES (1, 'a')", "INSERT INTO $Day (n, s) VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO $Day (n, s) SELECT 1, 'a'",
  ])
  func `a BEFORE trigger sees the id that its row gets`(_ sql: String) async throws {
    let lab = try await MigrationLab(
      Self.base + "\ncreate entity Seen {\n attribute last int default 0\n}"
        + "\ncreate raw trigger t { BEFORE INSERT ON $Day BEGIN UPDATE $Seen SET last = NEW.id; END }",
      fill: ["INSERT INTO Seen(id) VALUES (1)", "INSERT OR REPLACE INTO vault_ids VALUES ('Day', 40)"])
    try await lab.migrate("seed { \(sql) }")
    let ids = try lab.rows("SELECT max(id), min(id) FROM Day")[0]
    #expect(ids[1] == 41)
    #expect(try lab.rows("SELECT last FROM Seen") == [[ids[0]]])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Day'") == [[ids[0]]])
  }

  @Test func `a row with another number of values is reported with the statement as written`() async throws {
    for (sql, word) in [
      ("INSERT INTO \"Day\" (n, s) VALUES (1)", "1 values for 2 columns"),
      ("INSERT INTO \"Day\" (n, s) VALUES (1, 'a'), (2)", "VALUES must have the same number of terms"),
      ("INSERT INTO \"Day\" (n, rowid, s) VALUES (1, 2)", "2 values for 3 columns"),
    ] {
      let lab = try await MigrationLab(Self.base)
      await #expect("\(sql)") {
        try await lab.migrate("seed { \(sql) }")
      } throws: {
        StoppedStep($0).map { $0.reason.contains(word) && $0.reason.contains(sql) } == true
      }
    }
  }

  // MARK: Runs with many rows

  /// Records its counts, and is cancelled at the fourth one.
  private final class Stopping: Progress, @unchecked Sendable {
    // Written under the lock.
    let seen = Locked<Set<Int64>>([])
    override var completedUnitCount: Int64 {
      didSet {
        let count = seen.withLock { seen in
          seen.insert(completedUnitCount)
          return seen.count
        }
        if count == 4 { cancel() }
      }
    }
  }

  @Test func `many statements move the progress, and a cancellation stops the rest`() async throws {
    // The engine gets 200 of them as one statement.
    let count = 4000
    let lines = (0..<count).map { "INSERT INTO $Day (n, s) VALUES (\($0), 'x');" }
    let block = "seed {\n\(lines.joined(separator: "\n"))\n}"
    let (whole, stopped) = (Progress(totalUnitCount: 1), Stopping(totalUnitCount: 1))
    let (sql, rows) = try await Self.statements(block, progress: whole)
    #expect(sql.count == count / 200 && rows == count)
    #expect(whole.totalUnitCount == Int64(count + 1) && whole.isFinished)

    let lab = try await MigrationLab(Self.base)
    let seen = Locked(0)
    #expect(throws: CancellationError.self) {
      _ = try Store.migrateWatched(
        at: lab.url, key: testKey, migrations: lab.set([Self.base, block]), progress: stopped
      ) { connection in
        connection.onStatement { event in
          if event.sql.contains("INSERT INTO `Day`") { seen.withLock { $0 += 1 } }
        }
      }
    }
    #expect(seen.withLock { $0 } < 10, "\(seen.withLock { $0 })")
    #expect(try lab.rows("SELECT count(*) FROM Day") == [[0]])
  }

  @Test func `creating a store counts the rows of its seeds`() async throws {
    let folder = try TemporaryFolder()
    let set = try DowngradeLab.set([Self.base, "seed {\nINSERT INTO $Day (n, s) VALUES \(Self.list(250))\n}"])
    let progress = Progress(totalUnitCount: 0)
    try await Store.create(
      at: folder.url.appendingPathComponent("a.store"), key: testKey, migrations: set, progress: progress)
    #expect(progress.totalUnitCount == 252 && progress.isFinished)
  }
}
