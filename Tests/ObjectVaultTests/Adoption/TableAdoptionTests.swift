// Plain tables of other libraries: every row is imported with its id, references become relationships, and
// what has no place is named.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.slow)) struct TableAdoptions {
  static let notes = """
    CREATE TABLE authors (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, joined DATETIME,
      is_admin BOOLEAN NOT NULL DEFAULT 0);
    CREATE TABLE "order" (id INTEGER PRIMARY KEY, "größe in cm" REAL DEFAULT 1.5, external_id TEXT, "_x" INTEGER, objectState TEXT);
    CREATE TABLE notes (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES authors(id) ON DELETE CASCADE,
      editorId INTEGER REFERENCES authors ON DELETE SET NULL, title TEXT NOT NULL DEFAULT 'it''s', body BLOB, stars INTEGER);
    CREATE INDEX notes_stars ON notes(stars);
    CREATE UNIQUE INDEX notes_title ON notes(author_id, title);
    CREATE TABLE tags (word TEXT PRIMARY KEY NOT NULL, note_count INT);
    CREATE TABLE note_tags (note_id INTEGER NOT NULL REFERENCES notes, tag TEXT NOT NULL REFERENCES tags(word),
      PRIMARY KEY (note_id, tag)) WITHOUT ROWID;
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO grdb_migrations VALUES ('v1');
    INSERT INTO authors VALUES (3, 'Ann', '2024-05-01 12:00:00.250', 1), (9, '陳大文', NULL, 0), (40, 'gone', NULL, 0);
    DELETE FROM authors WHERE id = 40;
    INSERT INTO notes VALUES (7, 3, NULL, 'a', x'00ff', 5), (8, 9, 3, 'b', NULL, NULL), (9000000000, 3, 9, '', x'', -1);
    INSERT INTO tags(rowid, word, note_count) VALUES (5, 'red', 1), (6, 'blue', 2);
    INSERT INTO note_tags VALUES (7, 'red'), (7, 'blue'), (8, 'blue');
    INSERT INTO "order" VALUES (1, NULL, 'x', 2, 'open');
    """

  @Test func `a column keeps its own name, and one that must be renamed to it gets another`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE a (id INTEGER PRIMARY KEY, objectState TEXT, status TEXT, isDeleted INTEGER, is_removed INTEGER);
      INSERT INTO a VALUES (1, 's', 't', 5, 6);
      """)
    _ = try await lab.adopt()
    #expect(try lab.rows("SELECT status, status2, isRemoved, isRemoved2 FROM A") == [["t", "s", 6, 5]])
  }

  @Test func `rows, ids and references are imported`() async throws {
    let lab = try AdoptionLab(Self.notes)
    let bytes = try Data(contentsOf: lab.file)
    let adoption = try await lab.adopt()
    #expect(adoption.losses.isEmpty && adoption.obstacles.isEmpty && adoption.origin == .tables)
    #expect(
      adoption.step.canonicalText == """
        create entity Authors {
            attribute isAdmin bool default 0
            attribute joined date optional
            attribute name string unique
            relationship notesByAuthor -> Notes many inverse Notes.author on delete cascade
            relationship notesByEditor -> Notes many inverse Notes.editor
        }
        create entity Notes {
            attribute body data optional
            attribute stars int optional indexed
            attribute title string default "it's"
            relationship author -> Authors required inverse Authors.notesByAuthor
            relationship editor -> Authors inverse Authors.notesByEditor
            relationship tags -> Tags many inverse Tags.notes
            index (author, title) unique
        }
        create entity Order {
            attribute externalId string optional
            attribute größeInCm double optional default 1.5
            attribute status string optional
            attribute x int optional
        }
        create entity Tags {
            attribute noteCount int optional
            attribute word string unique
            relationship notes -> Notes many inverse Notes.tags
        }
        """)
    #expect(
      try lab.rows("SELECT id, name, joined, isAdmin FROM Authors") == [
        [3, "Ann", .real(736_257_600.25), 1], [9, "陳大文", .null, 0],
      ])
    #expect(
      try lab.rows("SELECT id, author_id, editor_id, title, body, stars FROM Notes") == [
        [7, 3, .null, "a", .blob(Data([0, 255])), 5], [8, 9, 3, "b", .null, .null],
        [9_000_000_000, 3, 9, "", .blob(Data()), -1],
      ])
    #expect(try lab.rows("SELECT id, word, noteCount FROM Tags") == [[5, "red", 1], [6, "blue", 2]])
    #expect(
      try lab.rows("SELECT Notes_id, Tags_id FROM Notes_tags ORDER BY 1, 2") == [[7, 5], [7, 6], [8, 6]])
    #expect(
      try lab.rows("SELECT id, x, status, externalId, größeInCm FROM \"Order\"") == [
        [1, 2, "open", "x", .null]
      ])
    // Id 40 was issued before.
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Authors'") == [[40]])
    #expect(
      adoption.tables.map { "\($0.source) \($0.target) \($0.rows)" } == [
        "authors Authors 2", "note_tags Notes.tags 3", "notes Notes 3", "order Order 1", "tags Tags 2",
      ])
    #expect(adoption.notes.contains { $0.contains("grdb_migrations") && $0.contains("GRDB") })
    #expect(adoption.notes.contains { $0.contains("tags has no INTEGER PRIMARY KEY") })
    #expect(try Data(contentsOf: lab.file) == bytes && lab.folder.names == ["legacy.db", "new.store"])
    // The result is a store like any other.
    let set = try MigrationSet([adoption.step])
    #expect(try await Store.plan(at: lab.store, key: testKey, migrations: set).isUpToDate)
    #expect(
      try await Store.plan(at: lab.store, key: testKey, migrations: set).history.map(\.kind) == ["baseline"])
  }

  @Test func `a descending INTEGER PRIMARY KEY is no row id, and references by it are kept`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE person (id INTEGER PRIMARY KEY DESC, name TEXT);
      CREATE TABLE note (id INTEGER PRIMARY KEY, who INTEGER REFERENCES person(id));
      INSERT INTO person VALUES (2, 'Ada'), (1, 'Bob'), (9, 'Cy');
      INSERT INTO note VALUES (1, 1), (2, 2), (3, 9);
      """)
    let adoption = try await lab.adopt()
    #expect(
      adoption.losses.isEmpty && adoption.notes.contains { $0.contains("person has no INTEGER PRIMARY KEY") })
    #expect(
      try lab.rows("SELECT n.id, p.name FROM Note AS n JOIN Person AS p ON p.id = n.who_id ORDER BY 1") == [
        [1, "Bob"], [2, "Ada"], [3, "Cy"],
      ])
  }

  @Test func `a date too distant to be exact stays a text, and an invalid date is noted`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, far DATETIME, near DATETIME, ever DATETIME, wrong DATETIME);
      INSERT INTO t VALUES (1, '9999-12-31 23:59:59.999999', '2272-12-31 23:59:59.999999', '9999-12-31 23:59:59.999',
        '2020-02-30');
      """)
    let adoption = try await lab.plan()
    let types = adoption.schema.entities[0].attributes.map { ($0.name, $0.type) }
    #expect(
      types.map { "\($0.0) \($0.1 == .date)" } == ["far false", "near true", "ever true", "wrong false"])
    #expect(
      adoption.notes.contains { $0.contains("1 of them is not a valid day and time") },
      "\(adoption.notes)")
    try await lab.adopt()
    #expect(
      try lab.rows(
        "SELECT far, CAST(near AS INTEGER) - 8583494399, round(near - CAST(near AS INTEGER), 6), wrong FROM T"
      )
        == [["9999-12-31 23:59:59.999999", 0, 0.999999, "2020-02-30"]])
  }

  @Test func `ids out of range are obstacles, and a table called vault_meta makes no store`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT);
      INSERT INTO t VALUES (9223372036854775806, 'x'); UPDATE t SET id = 1;
      """)
    let obstacles = try await lab.plan().obstacles
    #expect(obstacles.count == 1 && obstacles[0].contains("lower seq in sqlite_sequence"), "\(obstacles)")
    let own = try AdoptionLab("CREATE TABLE vault_meta (key TEXT, value TEXT)")
    await #expect { _ = try await own.plan() } throws: { error in
      guard case StoreError.adoptionRefused(_, let reason, _) = error else { return false }
      return reason.contains("has a table vault_meta") && reason.contains("Rename that")
    }
  }

  @Test func `characters after a NUL in dates and UUIDs are kept`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, d DATETIME, u UUID);
      INSERT INTO t VALUES (1, '2020-01-01 00:00:00', '6BA7B810-9DAD-11D1-80B4-00C04FD430C8'),
        (2, '2020-01-01 00:00:00' || char(0) || 'x', '6BA7B810-9DAD-11D1-80B4-00C04FD430C8' || char(0) || 'x');
      """)
    try await lab.adopt()
    #expect(
      try lab.rows("SELECT substr(hex(d), -4), substr(hex(u), -4) FROM T WHERE id = 2") == [["0078", "0078"]])
  }

  @Test func `a step may differ in capitals, and may omit what is allowed`() async throws {
    let lab = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INT); INSERT INTO t VALUES (1, 'x', 2)")
    let step = "create entity T {\n attribute A string optional\n attribute extra int default 4\n}"
    await #expect {
      try await lab.adopt(step)
    } throws: { error in
      guard case StoreError.adoptionLoses(_, let losses) = error else { return false }
      return losses.map(\.name) == ["T.b"]
    }
    #expect(!lab.folder.names.contains("new.store"))
    try await lab.adopt(step, allowing: ["T.b"])
    #expect(try lab.rows("SELECT id, A, extra FROM T") == [[1, "x", 4]])
  }

  @Test func `what a model cannot express is named, and no rows are dropped without permission`() async throws
  {
    let lab = try AdoptionLab(
      """
      CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT COLLATE NOCASE CHECK (length(n) < 9), m INT DEFAULT (abs(random())));
      CREATE TABLE w (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
      CREATE TABLE c (id INTEGER PRIMARY KEY, a_id INTEGER REFERENCES a(id) ON UPDATE CASCADE, b1, b2,
        FOREIGN KEY (b1, b2) REFERENCES a(id, n));
      CREATE INDEX part ON a(n) WHERE n > 'b';
      CREATE VIEW v AS SELECT 1;
      CREATE TRIGGER tr AFTER INSERT ON a BEGIN SELECT 1; END;
      CREATE VIRTUAL TABLE f USING fts4(x);
      INSERT INTO w VALUES ('x', 1);
      INSERT INTO a VALUES (1, 'x', 1);
      INSERT INTO c VALUES (1, 1, NULL, NULL), (2, 77, NULL, NULL);
      """)
    let adoption = try await lab.plan()
    #expect(adoption.losses.map(\.name).sorted() == ["C.a", "f", "w"], "\(adoption.losses)")
    for word in [
      "CHECK", "COLLATE", "no longer has its default", "ON UPDATE", "several columns", "part", "view \"v\"",
      "trigger \"tr\"", "f_content",
    ] {
      #expect(adoption.notes.contains { $0.contains(word) }, "\(word): \(adoption.notes)")
    }
    await #expect { try await lab.adopt() } throws: {
      if case StoreError.adoptionLoses = $0 {
        "\($0)".contains("allow these names: ") && "\($0)".contains("WITHOUT ROWID")
      } else {
        false
      }
    }
    try await lab.adopt(allowing: ["C.a", "f", "w"])
    #expect(try lab.rows("SELECT id, a_id FROM C ORDER BY id") == [[1, 1], [2, .null]])
  }

  @Test func `columns with values of several types keep all of them`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, whole INT, half INT, big INT, mixed, bytes, uuid UUID, when_ DATETIME, since TIMESTAMP,
        flag BOOL, maybe BOOL, fine DATETIME);
      INSERT INTO t VALUES (1, 5, 1, 9007199254740993, 'a', 'text', x'00112233445566778899aabbccddeeff', '2001-01-01', 12, 1, 2, 'x'),
        (2, NULL, 1.5, 0.5, 2, x'ff', NULL, '2001-01-01T00:00:01+01:00', 13.5, 0, 0, '2024-01-01 00:00:00.123456');
      """)
    let adoption = try await lab.adopt()
    let types = adoption.schema.entities[0].attributes.map { "\($0.name) \($0.type.rawValue)" }.sorted()
    #expect(
      types == [
        "big string", "bytes data", "fine string", "flag bool", "half double", "maybe int", "mixed string",
        "since double",
        "uuid uuid", "when date", "whole int",
      ])
    #expect(
      try lab.rows("SELECT big, bytes, half, mixed, uuid, \"when\", since FROM T ORDER BY id") == [
        [
          "9007199254740993", .blob(Data("text".utf8)), .real(1), "a", "00112233-4455-6677-8899-AABBCCDDEEFF",
          .real(0),
          .real(12),
        ], ["0.5", .blob(Data([255])), .real(1.5), "2", .null, .real(-3599), .real(13.5)],
      ])
    for name in ["big", "mixed", "bytes"] { #expect(adoption.notes.contains { $0.hasPrefix("T.\(name),") }) }
  }

  @Test func `texts that are no UTF-8 are imported as bytes, and impossible dates as texts`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, latin TEXT, utf TEXT, day DATE, hour DATETIME);
      INSERT INTO t VALUES (1, CAST(x'4dfc6c6c6572' AS TEXT), 'Müller', '2024-02-29', '2024-02-28 23:59:59'),
        (2, CAST(x'4df66c6c6572' AS TEXT), 'Möller', '2024-02-30', '2024-02-29 24:00:00');
      """)
    let adoption = try await lab.adopt()
    let types = adoption.schema.entities[0].attributes.map { "\($0.name) \($0.type.rawValue)" }.sorted()
    #expect(types == ["day string", "hour string", "latin data", "utf string"])
    let rows = try lab.rows("SELECT latin, utf, day, hour FROM T ORDER BY id")
    #expect(
      rows == [
        [.blob(Data([0x4D, 0xFC] + Array("ller".utf8))), "Müller", "2024-02-29", "2024-02-28 23:59:59"],
        [.blob(Data([0x4D, 0xF6] + Array("ller".utf8))), "Möller", "2024-02-30", "2024-02-29 24:00:00"],
      ])
    #expect(adoption.notes.contains { $0.contains("2 texts are not UTF-8") }, "\(adoption.notes)")
  }

  @Test func `dates keep six digits of a second, and texts with more digits stay texts`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME, fine DATETIME, some TIMESTAMP);
      INSERT INTO t VALUES (1, '2024-05-01 12:00:00.999999', '2024-05-01 12:00:00.1234567', '2024-05-01 12:00:00.5+02:00'),
        (2, '2024-05-01T12:00:00.000001Z', NULL, 'never'), (3, '1999-12-31 23:59:59.5', NULL, NULL),
        (4, '2024-05-01 12:00:00.25+02:00', NULL, NULL), (5, '2024-05-01', NULL, NULL), (6, NULL, NULL, NULL);
      """)
    let adoption = try await lab.adopt()
    #expect(
      try lab.rows("SELECT at FROM T ORDER BY id").map(\.[0]) == [
        .real(736_257_600.999999), .real(736_257_600.000001), .real(-31_622_400.5), .real(736_250_400.25),
        .real(736_214_400), .null,
      ])
    #expect(adoption.schema.entities[0].attribute(named: "fine")?.type == .string)
    for name in ["T.fine", "T.some"] {
      #expect(
        adoption.notes.contains {
          $0.hasPrefix(name) && $0.contains("1 of them is not a valid day and time")
        },
        "\(adoption.notes)")
    }
  }

  @Test func `names become unique Swift names`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE "class" (id INTEGER PRIMARY KEY, "a b", "a_b", "AB", "", "rowid" INT, "id2_id" INT, "💥");
      CREATE TABLE "CLASS ES" (id INTEGER PRIMARY KEY);
      CREATE TABLE "1st" (id INTEGER PRIMARY KEY, x);
      CREATE TABLE "💥" (id INTEGER PRIMARY KEY, "select" TEXT);
      CREATE TABLE "класс" (id INTEGER PRIMARY KEY, "Имя" TEXT, URL TEXT, "camelCase" INT, "_" INT);
      CREATE TABLE "class_es" (id INTEGER PRIMARY KEY, self INT);
      INSERT INTO "класс" VALUES (1, 'да', 'u', 2, 3);
      """)
    let adoption = try await lab.adopt()
    #expect(
      adoption.tables.map { "\($0.source) \($0.target)" } == [
        "1st Table1st", "CLASS ES CLASSES", "class Class", "class_es ClassEs2", "класс Класс", "💥 Table",
      ], "\(adoption.tables)")
    #expect(try lab.rows("SELECT id, имя, url, camelCase FROM Класс") == [[1, "да", "u", 2]])
    let rendered = adoption.schema.rendered(as: .swift)
    #expect(rendered.notes.isEmpty && rendered.text.contains("final class Класс: ManagedObject"))
  }

  @Test func `sixty thousand rows are imported with their references`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE p (id INTEGER PRIMARY KEY, n TEXT);
      CREATE TABLE q (id INTEGER PRIMARY KEY, p_id INTEGER REFERENCES p(id), x REAL);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000)
      INSERT INTO p SELECT i * 3, 'row ' || i FROM n;
      INSERT INTO q SELECT id + 1, id, id / 7.0 FROM p;
      """)
    let progress = Progress(totalUnitCount: 0)
    let set = try MigrationSet([try await lab.plan().step])
    try await Store.adopt(
      lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set, progress: progress)
    #expect(
      try lab.rows("SELECT count(*), sum(id), sum(p_id), total(x) FROM Q") == [
        try lab.rows("SELECT 30000, sum(id) + 30000, sum(id), total(id / 7.0) FROM P")[0]
      ])
    #expect(progress.totalUnitCount == 60_000)
    // A cancelled import leaves no store.
    let stopped = Progress(totalUnitCount: 0)
    stopped.cancel()
    let other = lab.folder.url.appendingPathComponent("other.store")
    await #expect(throws: CancellationError.self) {
      try await Store.adopt(
        lab.file, fileKey: nil, into: other, key: testKey, migrations: set, progress: stopped)
    }
    #expect(lab.folder.names == ["legacy.db", "new.store"])
  }

  @Test func `invalid ids and rows that the step rejects stop the import`() async throws {
    let lab = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (0, 1), (-5, 1), (2, 1)")
    #expect(try await lab.plan().obstacles.count == 1)
    await #expect { try await lab.adopt() } throws: { "\($0)".contains("2 rows with an id below 1") }
    let high = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (9223372036854775807, 1), (2, 1)")
    #expect(
      try await high.plan().obstacles.contains { $0.contains("1 row with an id above 4611686018427387") })
    let other = try AdoptionLab(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 1), (2, 1), (3, NULL)")
    for (step, words) in [
      ("attribute a int optional unique", "do not fit T"), ("attribute a int", "do not fit T"),
      ("attribute a date optional", "stored differently"),
      ("attribute a bool optional\n attribute c int", "do not fit T"),
      ("attribute b int optional", "these names: T.a"),
    ] {
      await #expect { try await other.adopt("create entity T {\n \(step)\n}") } throws: {
        "\($0)".contains(words)
      }
    }
    #expect(other.folder.names == ["legacy.db"])
  }
}
