// The ids of rows that SQL in steps inserts: never one that an object had before, however the statement is
// written.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.slow)) struct InsertedIDs {
  static let base = """
    create entity Note {
        attribute text string unique
        attribute rank int default 7
        relationship tags -> Tag many inverse Tag.notes
    }
    create entity Tag {
        attribute t string
        relationship notes -> Note many inverse Note.tags
    }
    """
  // The objects 3 to 9 existed and were deleted.
  static let fill = [
    "INSERT INTO Note(id, text) VALUES (1, 'a'), (2, 'b')",
    "INSERT OR REPLACE INTO vault_ids VALUES ('Note', 9)",
  ]

  /// The ids of all notes after the first two, with their texts, and the high-water mark, after a second
  /// step.
  static func notes(_ block: String) async throws -> [String] {
    let lab = try await MigrationLab(base, fill: fill)
    try await lab.migrate(block)
    #expect(try lab.isSound())
    let rows = try lab.rows("SELECT id || text FROM Note WHERE id > 2 ORDER BY id").map { $0[0].string ?? "" }
    let mark = try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Note'")[0][0].int64 ?? 0
    return rows + ["\(mark)"]
  }

  @Test(arguments: [
    ("INSERT INTO $Note ($Note.text) VALUES ('x')", ["10x", "10"]),
    ("INSERT INTO $Note (text, _version) VALUES ('x', 1), ('y', 2)", ["10x", "11y", "11"]),
    ("INSERT INTO $Note (text) SELECT 'x' || text FROM $Note ORDER BY text DESC", ["10xb", "11xa", "11"]),
    ("INSERT INTO $Note (text) SELECT 'x' UNION ALL SELECT 'y'", ["10x", "11y", "11"]),
    (
      "WITH w(x) AS (SELECT 'v' UNION ALL SELECT 'w') INSERT INTO $Note (text) SELECT x FROM w ORDER BY x DESC",
      ["10w", "11v", "11"]
    ),
    (
      "INSERT INTO Note (text) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT 'x' || i FROM n",
      ["10x1", "11x2", "12x3", "12"]
    ),
    ("REPLACE INTO $Note (text, rank) VALUES ('x', 3)", ["10x", "10"]),
    // The row with this text is replaced, and its id is gone.
    ("INSERT OR REPLACE INTO $Note (text) VALUES ('b')", ["10b", "10"]),
    ("insert or ignore into [note] (\"text\", /* , */ `rank`) values ('x,(', 1), ('b', 2)", ["10x,(", "11"]),
    ("INSERT INTO main.$Note (text) VALUES ((SELECT 'x' || count(*) FROM Note))", ["10x2", "10"]),
    ("INSERT INTO $Note (id, text) VALUES (NULL, 'x'), (4, 'y'), (NULL, 'z')", ["4y", "10x", "11z", "11"]),
    (
      "INSERT INTO $Note (text, rowid) VALUES ('x', 40); INSERT INTO $Note (text) VALUES ('y')",
      ["40x", "41y", "41"]
    ),
    // In the column order of the file.
    ("INSERT INTO $Note SELECT NULL, 1, 'x', 7", ["10x", "10"]),
    (
      "INSERT INTO $Note (text) VALUES ('x'); DELETE FROM $Note WHERE $Note.text = 'x'; INSERT INTO $Note (text) VALUES ('y')",
      ["11y", "11"]
    ),
    (
      "UPDATE $Note SET $Note.id = 50 WHERE $Note.id = 2; DELETE FROM $Note WHERE $Note.id = 50; INSERT INTO $Note (text) VALUES ('x')",
      ["51x", "51"]
    ),
    (
      "UPDATE $Note SET $Note.id = 50 WHERE $Note.id = 2; UPDATE $Note SET rowid = 2 WHERE rowid = 50", ["50"]
    ),
    (
      "INSERT INTO $Note (text) VALUES ('x'); UPDATE $Note SET $Note.text = 'n' || last_insert_rowid() WHERE $Note.text = 'x'",
      ["10n10", "10"]
    ),
  ])
  func `no row of a data block gets an id that was issued before`(_ sql: String, _ expected: [String])
    async throws
  {
    for verb in ["seed", "transform sql"] {
      let found = try await Self.notes("\(verb) { \(sql) }")
      #expect(found == expected, "\(verb)")
    }
  }

  @Test func `a row of defaults gets a new id, and so does each of five thousand rows`() async throws {
    let lab = try await MigrationLab("create entity Day {\n attribute n int default 3\n}")
    try await lab.migrate(
      """
      transform sql {
        INSERT INTO $Day DEFAULT VALUES; DELETE FROM $Day; INSERT INTO $Day DEFAULT VALUES;
        INSERT INTO $Day (n) VALUES \((0..<5000).map { "(\($0))" }.joined(separator: ", "))
      }
      """)
    #expect(
      try lab.rows("SELECT min(id), max(id), count(*), sum(n) FROM Day") == [[2, 5002, 5001, 12_497_503]])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Day'") == [[5002]])
  }

  @Test func `a trigger sees the id that a row of a data block gets`() async throws {
    let lab = try await MigrationLab(
      Self.base
        + "\ncreate raw trigger first { AFTER INSERT ON $Note BEGIN UPDATE $Note SET rank = NEW.id WHERE id = NEW.id; END }",
      fill: Self.fill)
    try await lab.migrate("seed { INSERT INTO $Note (text) VALUES ('x') }")
    #expect(try lab.rows("SELECT id, rank FROM Note WHERE text = 'x'") == [[10, 10]])
  }

  @Test func `links, which have no ids, are inserted as they are`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    try await lab.migrate(
      """
      seed {
        INSERT INTO $Tag (t) VALUES ('t');
        INSERT INTO $Note.tags ($Note.tags.Note, $Note.tags.Tag) SELECT n.id, 1 FROM $Note AS n
      }
      """)
    #expect(try lab.rows("SELECT count(*) FROM Note_tags") == [[2]])
    #expect(try lab.isSound())
  }

  // MARK: The highest id

  static let limit = Int64.max >> 1

  @Test func `no operation that makes a row exceeds the highest id`() async throws {
    let exhausted = StoreError.idsExhausted(entity: "Note")
    let full = "INSERT OR REPLACE INTO vault_ids VALUES ('Note', \(Self.limit))"
    let merged = "create entity Memo {\n attribute text string\n}"
    for step in [
      "seed { INSERT INTO $Note (text) VALUES ('x') }", "merge entity Memo into Note",
    ] {
      let lab = try await MigrationLab(
        Self.base + "\n" + merged, fill: [full, "INSERT INTO Memo(id, text) VALUES (1, 'm')"])
      await #expect("\(step)") { try await lab.migrate(step) } throws: { error in
        guard case StoreError.migrationFailed(2, _, let operation, let reason) = error else { return false }
        return step.hasPrefix(operation)
          && reason.hasPrefix("no id is left for a row of Note: ids end at \(Self.limit)")
      }
      #expect(try lab.rows("SELECT count(*) FROM Note") == [[0]])
    }
    // The last id may be issued.
    let lab = try await MigrationLab(
      Self.base, fill: [full.replacing("\(Self.limit)", with: "\(Self.limit - 1)")])
    try await lab.migrate("seed { INSERT INTO $Note (text) VALUES ('x') }")
    #expect(try lab.rows("SELECT id FROM Note") == [[.integer(Self.limit)]])
    let store = try await Store.open(at: lab.url, key: testKey)
    await #expect(throws: exhausted) {
      try await store.write { context in
        _ = try context.insert(entity: "Note") { $0["text"] = "y" }
      }
    }
    store.close()
  }

  @Test(arguments: [
    "seed { INSERT INTO $Note (id, text) VALUES (\(limit + 1), 'x') }",
    "transform sql { UPDATE $Note SET id = \(limit + 1) WHERE id = 2 }",
  ])
  func `an id above the highest one is a fault of the step, and no row of the store gets it`(_ block: String)
    async throws
  {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    await #expect { try await lab.migrate(block) } throws: { error in
      guard case StoreError.migrationFailed(2, _, _, let reason) = error else { return false }
      return reason.contains(
        "gets the id \(Self.limit + 1), but ids end at \(Self.limit); give it a lower id")
    }
    #expect(try lab.isSound())
  }

  @Test func `the advice for exhausted ids allows new rows again`() async throws {
    let lab = try await MigrationLab(
      Self.base,
      fill: Self.fill + ["INSERT OR REPLACE INTO vault_ids VALUES ('Note', \(Self.limit))"])
    let advice = "\(StoreError.idsExhausted(entity: "Note"))"
    #expect(
      advice.contains("set last in vault_ids, where entity is 'Note', to the highest id that is still in use")
    )
    try lab.open().execute(
      "UPDATE vault_ids SET last = (SELECT max(id) FROM Note) WHERE entity = 'Note'")
    try await lab.migrate("seed { INSERT INTO $Note (text) VALUES ('x') }")
    #expect(try lab.rows("SELECT max(id) FROM Note") == [[3]])
  }

  @Test func `an imported file with ids above the highest one is refused`() async throws {
    let table = "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT NOT NULL);"
    let lab = try AdoptionLab(table + "INSERT INTO notes VALUES (\(Self.limit + 1), 'a'); DELETE FROM notes")
    await #expect { try await lab.adopt() } throws: { error in
      guard case StoreError.adoptionRefused(_, let reason, _) = error else { return false }
      return reason.contains("Notes: ids up to \(Self.limit + 1) were issued")
    }
    let last = try AdoptionLab(table + "INSERT INTO notes VALUES (\(Self.limit), 'a'); DELETE FROM notes")
    try await last.adopt()
    #expect(try last.rows("SELECT last FROM vault_ids") == [[.integer(Self.limit)]])
  }

  @Test(arguments: [(40, nil), (limit + 1, StoreError.idsExhausted(entity: "Day"))])
  func `adoptInPlace keeps the ids that AUTOINCREMENT issued, and refuses those above the limit`(
    _ id: Int64, _ error: StoreError?
  ) async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.db")
    _ = try Connection.create(url.path, key: testKey) { connection in
      try connection.executeScript(
        """
        CREATE TABLE Day (id INTEGER PRIMARY KEY AUTOINCREMENT, _version INTEGER NOT NULL DEFAULT 1, n INTEGER NOT NULL);
        INSERT INTO Day VALUES (\(id), 1, 5); DELETE FROM Day
        """)
    }
    let set = try DowngradeLab.set(["create entity Day {\n attribute n int\n}"])
    if let error {
      await #expect(throws: error) { try await Store.adoptInPlace(url, key: testKey, migrations: set) }
      return
    }
    try await Store.adoptInPlace(url, key: testKey, migrations: set)
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    #expect(try connection.value("SELECT last FROM vault_ids WHERE entity = 'Day'") == .integer(id))
  }

  // MARK: Changes of ids

  @Test func `a trigger that changes ids is refused`() async throws {
    let lab = try await MigrationLab(Self.base)
    for sql in [
      "AFTER INSERT ON $Note BEGIN UPDATE $Note SET $Note.id = NEW.id + 1000 WHERE $Note.id = NEW.id; END",
      "AFTER UPDATE ON $Note BEGIN UPDATE OR IGNORE $Tag SET (t, rowid) = ('a', 5); END",
      "AFTER DELETE ON $Note BEGIN UPDATE $Tag SET _rowid_ = 5; END",
    ] {
      await #expect("\(sql)") {
        try await lab.migrate("create raw trigger t { \(sql) }")
      } throws: { error in
        StoppedStep(error)?.reason.contains("changes ids") == true
      }
    }
    try await lab.migrate("create raw trigger t { AFTER UPDATE ON $Note BEGIN UPDATE $Tag SET t = 'a'; END }")
  }
}
