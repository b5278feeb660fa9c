// Raw views, triggers and indexes follow all changes of the tables that they name, on both engines. A
// migrated store has the same ones as a new store.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.slow)) struct RawObjects {
  static let base = """
    create entity U {
        attribute s string
        attribute n int optional
        attribute spare int optional
        relationship v -> V inverse V.us
        relationship tags -> V many inverse V.tagged
    }
    create entity V {
        attribute t string default "t"
        attribute count int default 0
        relationship us -> U many inverse U.v
        relationship tagged -> U many inverse U.tags
    }
    """
  static let objects = """
    create raw view Named {
        SELECT u.$U.id, u.$U.s AS name, (SELECT count(*) FROM $U.tags WHERE $U.tags.U = u.$U.id) AS tags
        FROM $U AS u -- all of them
        WHERE u.$U.s <> '$U; /* no comment */'
    }
    create raw view Few { SELECT name FROM Named WHERE tags < 2 }
    create raw trigger counted {
        AFTER UPDATE OF $U.n ON $U WHEN NEW.$U.v NOT NULL
        BEGIN
            UPDATE $V SET $V.count = $V.count + 1 WHERE $V.id = NEW.$U.v;
        END;
    }
    create raw index byLength { ON $U (length($U.s)) WHERE $U.n NOT NULL }
    create raw index oneOfAKind unique { ON $V (lower($V.t)) }
    """
  static let fill = [
    "INSERT INTO V(id, t) VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO U(id, s, n, v_id) VALUES (1, 'one', 1, 1), (2, 'two', NULL, 2), (3, 'three', 3, NULL)",
    "INSERT INTO U_tags(U_id, V_id) VALUES (1, 1), (1, 2), (3, 2)",
  ]

  private func lab(_ steps: String..., at version: Int = 2) async throws -> DowngradeLab {
    try await DowngradeLab([Self.base, Self.objects] + steps, at: version, fill: Self.fill)
  }

  private static let list =
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name IN ('Named', 'Few', 'counted', 'byLength', 'oneOfAKind') ORDER BY name"

  /// Checks that everything works, under the present names.
  private func check(_ lab: DowngradeLab, owner: String, value: String, isCounting: Bool = true) throws {
    let connection = try lab.open()
    defer { connection.close() }
    #expect(
      try connection.rows("SELECT name, tags FROM Named ORDER BY id") == [
        ["one", 2], ["two", 0], ["three", 1],
      ])
    #expect(try connection.rows("SELECT name FROM Few ORDER BY name") == [["three"], ["two"]])
    let before = try connection.value("SELECT sum(count) FROM V")?.int64 ?? -1
    try connection.execute(sql: "UPDATE \(quoted(owner)) SET \(quoted(value)) = 7 WHERE id = 1")
    #expect(try connection.value("SELECT sum(count) FROM V")?.int64 == before + 1)
    let index = try connection.rows(
      sql:
        "SELECT id FROM \(quoted(owner)) INDEXED BY byLength WHERE length(s) = 3 AND \(quoted(value)) NOT NULL AND id = 1"
    )
    #expect(index == [[1]])
  }

  // MARK: Changes of the tables

  /// Steps that rebuild, rename or alter what the objects name; the entity and the attribute afterwards.
  static let changes: [(String, String, String)] = [
    ("make U.n required filling 0\nmake U.n optional", "U", "n"), ("retype U.n to string", "U", "n"),
    ("drop attribute U.spare", "U", "n"), ("rename attribute U.spare -> other", "U", "n"),
    ("rename entity U -> Person", "Person", "n"), ("rename attribute U.n -> number", "U", "number"),
    ("rename entity U -> Person\nrename attribute Person.n -> number", "Person", "number"),
    ("rename relationship U.tags -> labels", "U", "n"), ("rename relationship U.v -> w", "U", "n"),
    ("add attribute U.more string default \"\"", "U", "n"), ("add relationship U.next -> U", "U", "n"),
    ("set default of V.count to 3", "U", "n"), ("drop relationship V.tagged", "U", "n"),
    ("retype V.t to string using (upper($V.t))", "U", "n"), ("set delete rule of V.us to cascade", "U", "n"),
    ("transform sql { UPDATE $U SET $U.spare = 1 }\nrename attribute U.spare -> n2", "U", "n"),
    ("create entity W {\n attribute a int\n}", "U", "n"),
    (
      "create entity Spare {\n relationship u -> U inverse U.place\n}\nadd relationship U.place -> Spare inverse Spare.u\nmove attribute U.spare -> Spare.spare by U.place",
      "U", "n"
    ),
  ]

  @Test(arguments: changes)
  func `named tables may change, and a migrated store has the raw objects of a new one`(
    _ step: String, _ owner: String, _ value: String
  ) async throws {
    let lab = try await lab(step)
    try await lab.up(allowing: ["U.spare"])
    let new = try await DowngradeLab([Self.base, Self.objects, step], at: 3)
    #expect(try lab.rows(Self.list) == new.rows(Self.list) && lab.rows(Self.list).count == 5)
    #expect(try lab.image.physicalHash == new.image.physicalHash)
    try check(lab, owner: owner, value: value)
    // The SQL of the model makes the same objects.
    let made = try TemporaryDatabase()
    try StoreInfo.prepare(made.connection)
    try made.connection.executeScript(lab.set.model(at: 3).rendered(as: .sql).text)
    #expect(try made.connection.rows(sql: Self.list) == lab.rows(Self.list))
  }

  @Test func `operations that move rows do not fire triggers`() async throws {
    let split = try #require(Self.changes.last?.0)
    let lab = try await DowngradeLab(
      [
        Self.base,
        "create raw trigger forbidden { BEFORE UPDATE ON $U BEGIN SELECT RAISE(ABORT, 'woken'); END }", split,
      ], at: 2, fill: Self.fill)
    try await lab.up()
    #expect(try lab.rows("SELECT count(*) FROM U") == [[3]])
    #expect(throws: SQLError.self) { try lab.run("UPDATE U SET n = 3") }
    // A data block fires triggers, and their errors fail it.
    let woken = try await DowngradeLab(
      [
        Self.base,
        "create raw trigger forbidden { BEFORE UPDATE ON $U BEGIN SELECT RAISE(ABORT, 'woken'); END }",
        "transform sql { UPDATE $U SET $U.n = 1 }",
      ], at: 2, fill: Self.fill)
    await #expect { try await woken.up() } throws: { "\($0)".contains("woken") }
  }

  @Test func `a view of a rebuilt table obstructs no operation`() async throws {
    // Trap A5: SQLite 3.25 and later refuse to rename a table or a column while a view names a missing
    // table.
    let lab = try await DowngradeLab(
      [
        Self.base, "create raw view Both { SELECT a.$U.s FROM $U AS a JOIN $V AS b ON b.$V.id = a.$U.v }",
        "rename attribute V.t -> title\nretype U.n to string\nrename attribute U.spare -> left",
      ], at: 2, fill: Self.fill)
    try await lab.up()
    #expect(try lab.rows("SELECT s FROM Both ORDER BY s") == [["one"], ["two"]])
  }

  @Test func `only raw objects that name a changed table are made again`() throws {
    let set = try DowngradeLab.set([
      Self.base, Self.objects, "add attribute U.more int optional", "retype V.count to string",
    ])
    for engine in ["3.15.2", "3.46.1"] {
      let engine = try #require(Engine(sqliteVersion: engine))
      let added = try set.sql(ofStep: 3, on: engine)
      #expect(!added.contains { $0.contains("INDEX") || $0.hasPrefix("DROP") }, "\(added)")
      #expect(added.contains("-- must fit the tables: trigger counted"))
      let changed = try set.sql(ofStep: 4, on: engine)
      #expect(!changed.contains { $0.contains("byLength") }, "\(changed)")
      let (drop, table) = ("DROP TRIGGER \"counted\";", "DROP TABLE \"V\";")
      #expect(
        try #require(changed.firstIndex(of: drop)) < #require(changed.firstIndex(of: table)), "\(changed)")
      #expect(changed.contains("CREATE UNIQUE INDEX \"oneOfAKind\" ON \"V\" (lower(\"t\"));"))
    }
  }

  // MARK: Rollbacks

  @Test func `a rollback restores raw objects that were dropped or replaced`() async throws {
    let replaced = "drop raw view Few\ncreate raw view Few { SELECT name FROM Named WHERE tags = 0 }"
    let lab = try await lab(
      replaced, "drop raw trigger counted\ndrop raw index byLength\nrename attribute U.n -> number",
      "rename entity V -> W")
    let (before, list) = (try lab.image, try lab.rows(Self.list))
    try await lab.up(3)
    #expect(try lab.rows("SELECT name FROM Few") == [["two"]])
    try await lab.up()
    #expect(try lab.rows(Self.list).count == 3)
    #expect(try await lab.down(2).takenBack == [5, 4, 3])
    #expect(try lab.image == before && lab.rows(Self.list) == list)
    try check(lab, owner: "U", value: "n")
  }

  @Test func `a raw object that was dropped or changed by hand is drift`() async throws {
    let lab = try await lab("add attribute U.more int optional")
    try lab.run("DROP VIEW Few; DROP INDEX byLength; CREATE INDEX byLength ON U (length(s))")
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.drift.count == 2, "\(plan.drift)")
    #expect(plan.drift.contains { $0.hasPrefix("view Few is missing (in the sqlcipher shell: CREATE VIEW ") })
    #expect(plan.drift.contains { $0.hasPrefix("index byLength is \"CREATE INDEX") })
    await #expect { try await lab.up() } throws: { error in
      guard case StoreError.schemaDrift(_, let differences) = error else { return false }
      return differences == plan.drift
    }
  }

  @Test func `rows that a unique raw index rejects leave the store unchanged`() async throws {
    let lab = try await DowngradeLab(
      [Self.base, "create raw index oneOfAKind unique { ON $V (lower($V.t)) }"],
      fill: ["INSERT INTO V(id, t) VALUES (1, 'a'), (2, 'A')"])
    let before = try lab.image
    await #expect { try await lab.up() } throws: { error in
      guard case StoreError.rowsRefused(2, _, "create raw index oneOfAKind unique", _) = error else {
        return false
      }
      return true
    }
    #expect(try lab.image == before)
  }

  @Test func `a new store with seeds has its raw objects from their step on`() async throws {
    let lab = try await DowngradeLab(
      [
        Self.base, Self.objects,
        "seed {\n INSERT INTO $V($V.id, $V.t) VALUES (1, 'x');\n INSERT INTO $U($U.id, $U.s, $U.v) VALUES (1, 's', 1);\n UPDATE $U SET $U.n = 2\n}",
      ],
      at: 3)
    #expect(try lab.rows("SELECT count FROM V") == [[1]])
    let fold = try lab.set.folded(to: 3)
    #expect(fold.step.canonicalText.contains("create raw trigger counted {"))
  }

  @Test func `adoptInPlace keeps raw objects that the steps know, and refuses others`() async throws {
    let set = try DowngradeLab.set([Self.base, Self.objects])
    func adopt(_ more: String) async throws {
      let folder = try TemporaryFolder()
      let file = folder.url.appendingPathComponent("old.sqlite")
      _ = try Connection.create(file.path, key: testKey) { connection in
        try connection.executeScript(set.model(at: 2).rendered(as: .sql).text + more)
      }
      try await Store.adoptInPlace(file, key: testKey, migrations: set)
      let store = try Connection.open(file.path, key: testKey)
      #expect(try store.rows(sql: Self.list).count == 5)
    }
    try await adopt("")
    await #expect { try await adopt("CREATE VIEW other AS SELECT 1;") } throws: {
      "\($0)".contains("view other")
    }
  }
}
