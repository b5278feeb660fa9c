// Workloads 9, 12 and 14: compiling a predicate, opening a pool, migrating.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

extension Bench {
  // MARK: 9

  /// Returns the seconds in which a predicate of six comparisons and a join is compiled to SQL.
  func compilePredicate(_ repeats: Int) async throws -> Double {
    // Opening a store begins a look-up of conformances on another thread, which takes some milliseconds.
    // With a passphrase, it has ended when the store is open. With the raw key of this program, it would
    // still run during the timed part.
    try await Task.sleep(for: .milliseconds(200))
    return try await compiledPredicate(repeats).seconds
  }

  /// Returns the seconds in which the engine prepares the same SQL.
  func prepareSameSQL(_ repeats: Int) async throws -> Double {
    let text = try await compiledPredicate(1).text
    let same = Floor(folder.appendingPathComponent("ours.store").path)
    // The first statement of a connection, whichever it is, reads the schema.
    same.run("SELECT count(*) FROM Post")
    return seconds { for _ in 0..<repeats { sqlite3_finalize(same.prepare(text)) } } / Double(repeats)
  }

  private func compiledPredicate(_ repeats: Int) async throws -> (seconds: Double, text: String) {
    try await store.read { context in
      var text = ""
      // Making the predicates is Foundation's work and is not timed; the library's work, from a predicate
      // to its SQL, is timed. All predicates are timed together, as in the floor: if each were timed,
      // reading the clock would be a twentieth of the result.
      let predicates = (0..<repeats).map { index in
        // Constants and not literals, because the compiler takes too long to type-check six literals.
        let (name, letter) = ("name \(index & 7)", "a")
        let (low, high, half, age): (Int, Int, Double, Int?) = (3, 100, 0.5, 7)
        return #Predicate<Post> {
          ($0.likes > low && $0.likes < high) && ($0.score >= half && $0.text.contains(letter))
            && ($0.author?.name == name && $0.author?.age != age)
        }
      }
      let time = try seconds {
        // By index: a loop over the elements would copy each predicate, which does not happen to a
        // predicate that is written where it is used.
        for index in predicates.indices {
          text = try context.fetch(Post.self).where(predicates[index]).sql.text
        }
      }
      // No time of the thread: the first predicate is measured in a process of its own, and a repeated
      // one is too short for that clock.
      lastThreadSeconds = .nan
      return (time / Double(repeats), text)
    }
  }

  // MARK: 12

  static func openPool(_ path: String) throws -> Double {
    try seconds {
      let pool = try ConnectionPool(path: path, key: .passphrase("correct horse"))
      // Four readers at once: all have to be open before the first one is returned to the pool.
      try pool.withReader { _ in
        try pool.withReader { _ in
          try pool.withReader { _ in try pool.withReader { _ = try $0.value("SELECT 1") } }
        }
      }
      pool.close()
    }
  }

  /// One derivation: the engine's own, at the first statement after the key.
  static func deriveOnce(_ path: String) -> Double {
    seconds {
      var handle: OpaquePointer?
      sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
      let key = "correct horse"
      sqlite3_key_v2(handle, "main", key, Int32(key.utf8.count))
      sqlite3_exec(handle, "PRAGMA cipher_page_size = 4096", nil, nil, nil)
      if sqlite3_exec(handle, "SELECT count(*) FROM sqlite_master", nil, nil, nil) != SQLITE_OK {
        fatalError("floor open")
      }
      sqlite3_close_v2(handle)
    }
  }
}

/// Workload 14: a table of `rows` rows with two indexes, created again for each run.
enum MigrationBench {
  static let initial = """
    format: 1
    [up]
    create entity Item {
        attribute a int indexed
        attribute b string indexed
        attribute c double
    }
    """
  static let addColumn = "format: 1\n[up]\nadd attribute Item.d int default 7"
  // Without the backup that a retype makes by default, because the floor makes none.
  static let rebuild = "format: 1\nbackup: never\n[up]\nretype Item.c to int using (CAST($Item.c AS INTEGER))"

  static func steps() throws -> MigrationSet {
    try MigrationSet([
      MigrationStep(number: 1, name: "initial", text: initial),
      MigrationStep(number: 2, name: "add", text: addColumn),
      MigrationStep(number: 3, name: "rebuild", text: rebuild),
    ])
  }

  private static let fill =
    "INSERT INTO Item(id, a, b, c) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) "
    + "SELECT i, i * 7919 % 1000003, 'item number ' || i, i / 3.0 FROM n"

  static func floor(_ rows: Int) throws -> Double {
    try inFolder { path in
      let floor = Floor(path)
      floor.run(
        """
        CREATE TABLE Item (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, a INTEGER NOT NULL,
          b TEXT NOT NULL, c REAL NOT NULL);
        CREATE INDEX ix_a ON Item(a);
        CREATE INDEX ix_b ON Item(b);
        \(fill.replacingOccurrences(of: "%d", with: "\(rows)"));
        """)
      floor.close()
      // Opened and closed in the timed part, as in the library's migration.
      return seconds {
        let again = Floor(path)
        // A migration that was reported as done must be on the disk. The library sets this pragma, and so
        // would a loop with the same guarantee.
        again.run("PRAGMA synchronous = FULL")
        again.run("PRAGMA foreign_keys = OFF")
        again.run("BEGIN IMMEDIATE; \(changeSQL) ; COMMIT")
        again.close()
      }
    }
  }

  static let changeSQL = """
    ALTER TABLE Item ADD COLUMN d INTEGER NOT NULL DEFAULT 7;
    CREATE TABLE _n (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, a INTEGER NOT NULL,
      b TEXT NOT NULL, c INTEGER NOT NULL, d INTEGER NOT NULL DEFAULT 7);
    INSERT INTO _n SELECT id, _version, a, b, CAST(c AS INTEGER), d FROM Item;
    DROP TABLE Item;
    ALTER TABLE _n RENAME TO Item;
    CREATE INDEX ix_a ON Item(a);
    CREATE INDEX ix_b ON Item(b);
    PRAGMA foreign_key_check
    """

  static func ours(_ rows: Int) async throws -> Double {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("ours.store")
    let set = try steps()
    try await Store.create(at: url, key: .raw(rawKey), migrations: MigrationSet(Array(set.steps.prefix(1))))
    do {
      let connection = try Connection.open(url.path, key: .raw(rawKey))
      try connection.setJournalMode(.wal)
      try connection.execute(sql: fill.replacingOccurrences(of: "%d", with: "\(rows)"))
    }
    let start = DispatchTime.now().uptimeNanoseconds
    _ = try await Store.migrate(at: url, key: .raw(rawKey), migrations: set)
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  }

  private static func inFolder(_ body: (String) throws -> Double) throws -> Double {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder.appendingPathComponent("floor.db").path)
  }
}
