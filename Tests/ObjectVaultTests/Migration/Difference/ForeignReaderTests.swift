// Views and triggers that were made by hand and name what a step drops or renames. Both engines refuse
// before the first step, and a plan reports it. Objects that name something else obstruct nothing.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ForeignReaders {
  private static let base = """
    create entity Thing {
     attribute name string
     attribute size int default 0
    }
    create entity Tag {
     attribute size int default 0
     attribute label string default "?"
    }
    """
  private static let fill = [
    "INSERT INTO Thing(id, name, size) VALUES (1, 'a', 3)", "INSERT INTO Tag(id) VALUES (1)",
  ]

  struct Case: Sendable, CustomTestStringConvertible {
    /// What was made by hand.
    let sql: String
    let step: String
    /// Parts of the refusal; nil for no refusal.
    let words: [String]?
    /// The number of objects that are reported.
    let count: Int
    var testDescription: String { "\(sql) | \(step)" }

    init(_ sql: String, step: String, count: Int = 1, _ words: String...) {
      (self.sql, self.step, self.count) = (sql, step, count)
      self.words = words.isEmpty ? nil : words
    }
  }

  static let losses: Set = ["Thing.size", "Tag.label", "Thing", "Tag"]
  static let drop = "drop attribute Thing.size"
  static let rename = "rename attribute Thing.size -> length"
  static let cases = [
    Case(
      "CREATE VIEW v AS SELECT size FROM Thing", step: drop,
      "the view v is not part of the store, and names Thing.size, which step 0003 step3 drops or renames",
      #"DROP VIEW "v";"#, "create raw view"),
    Case(
      #"CREATE VIEW v AS SELECT "SIZE" AS s FROM thing"#, step: rename, "names Thing.size, which step 0003"),
    Case(
      "CREATE VIEW v AS SELECT count(*) FROM Thing", step: "drop entity Thing", "names Thing, which step 0003"
    ),
    Case(
      "CREATE VIEW v AS SELECT count(*) FROM Thing", step: "rename entity Thing -> Item", "names Thing, which"
    ),
    Case(
      "CREATE VIEW v AS SELECT size FROM Thing; CREATE VIEW w AS SELECT * FROM v", step: drop, count: 2,
      "the view v",
      "the view w"),
    // A column of another table with this name, and all columns, whatever they are.
    Case("CREATE VIEW v AS SELECT t.name, g.size FROM Thing t JOIN Tag g ON g.id = t.id", step: drop),
    Case("CREATE VIEW v AS SELECT * FROM Thing", step: rename),
    Case("CREATE VIEW v AS SELECT size FROM Thing", step: "drop attribute Tag.label"),
    Case(
      "CREATE VIEW v AS SELECT size FROM Thing",
      step: "retype Thing.name to string using (upper($Thing.name))"),
    Case("CREATE VIEW v AS SELECT 1 AS size", step: drop),
    // The name in a text and in a comment, and another trigger that cannot be run.
    Case("CREATE VIEW v AS SELECT id, 'tag' AS kind FROM Thing /* Tag */", step: "drop entity Tag"),
    Case(
      "CREATE TABLE notes(a); CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT 1; END; "
        + "CREATE TRIGGER u AFTER INSERT ON notes BEGIN DELETE FROM nowhere; END", step: drop,
      "the trigger u on notes is not part of the store, and cannot be run"),
    Case(
      "CREATE TABLE notes(a); CREATE TRIGGER t AFTER INSERT ON notes BEGIN UPDATE OR IGNORE Tag SET label = 'x'; END",
      step: "drop entity Tag", "the trigger t on notes", "names Tag, which"),
    Case(
      "CREATE TRIGGER t AFTER INSERT ON Tag BEGIN SELECT 1; END", step: "drop entity Tag",
      "the trigger t on Tag"),
    // Tables with a reference to a table of the store.
    Case(
      "CREATE TABLE zz(x INTEGER REFERENCES Tag(id) ON DELETE CASCADE)", step: "rename entity Tag -> Label",
      "the table zz is not part of the store, and refers to Tag, which step 0003 step3 drops or renames",
      #"DROP TABLE "zz";"#, "create it again without that reference"),
    Case(
      "CREATE TABLE zz(x INTEGER REFERENCES Tag(id))",
      step: "retype Tag.label to string using (upper($Tag.label))"),
    // Objects that cannot be run even before the step.
    Case(
      "CREATE VIEW v AS SELECT x FROM nowhere", step: drop,
      "the view v is not part of the store, and cannot be run",
      "nowhere", "SQLite cannot drop or rename columns, as step 0003 step3 does"),
    Case("CREATE VIEW v AS SELECT x FROM nowhere", step: "add attribute Thing.more string optional"),
    Case(
      "CREATE VIEW v AS SELECT x FROM nowhere", step: "retype Thing.name to string using (upper($Thing.name))"
    ),
    // Triggers on the store's tables, on foreign tables, and on views.
    Case(
      "CREATE TRIGGER t AFTER UPDATE OF size ON Thing BEGIN SELECT 1; END", step: rename,
      "the trigger t on Thing"),
    Case(
      "CREATE TABLE notes(a); CREATE TRIGGER t AFTER INSERT ON notes BEGIN UPDATE Thing SET size = NEW.a; END",
      step: drop,
      "the trigger t on notes", "names Thing.size", #"DROP TRIGGER "t";"#),
    Case(
      "CREATE TABLE notes(a); CREATE TRIGGER t AFTER DELETE ON notes BEGIN DELETE FROM nowhere; END",
      step: drop,
      "the trigger t on notes", "cannot be run"),
    Case(
      "CREATE VIEW v AS SELECT name FROM Thing; CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN "
        + "INSERT INTO Thing(name, size) VALUES (NEW.name, 1); END", step: rename, "the trigger t on v"),
    Case(
      "CREATE TABLE notes(a); CREATE TRIGGER t AFTER INSERT ON notes BEGIN UPDATE Thing SET name = NEW.a; END",
      step: rename),
  ]

  /// Objects that the engine cannot run after the step, which no plan can know.
  static let misfits = [
    (
      "CREATE TRIGGER t AFTER INSERT ON Tag BEGIN INSERT INTO Thing VALUES (NULL, 1, 'a', 3, NULL); END",
      "add attribute Thing.more string optional", "the trigger t on Tag"
    ),
    ("CREATE VIEW v(a, b, c, d, e) AS SELECT * FROM Thing", "drop attribute Thing.size", "the view v"),
    (
      "CREATE VIEW v AS SELECT label FROM Tag INDEXED BY ix_Tag_label", "drop index Tag(label)", "the view v"
    ),
  ]

  @Test(arguments: misfits)
  func `an object that works before a step and not after it is reported, and nothing changes`(
    _ sql: String, _ step: String, _ title: String
  ) async throws {
    let base = Self.base + "\nadd index Tag(label)"
    let first = "add attribute Thing.first string optional"
    let lab = try await MigrationLab(base, fill: Self.fill)
    try await lab.migrate(first)
    try lab.open().executeScript(sql)
    // Another object, which does not work even before, is not reported.
    try lab.open().executeScript("CREATE VIEW lost AS SELECT x FROM nowhere")
    let before = try objects(lab)
    let set = try lab.set([base, first, "add attribute Tag.more string optional", step])
    func isTold(_ error: any Error) -> Bool {
      guard case StoreError.stepsObstructed(_, let lines) = error else { return false }
      return lines.count == 1 && lines[0].hasPrefix("\(title) is not part of the store, and ")
    }
    if step.hasPrefix("drop attribute") { try lab.open().executeScript("DROP VIEW lost") }
    let now = try objects(lab)
    await #expect {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set, allowing: Self.losses)
    } throws: { isTold($0) }
    #expect(try objects(lab) == now && now.count >= before.count - 1)
    let drop = title.hasPrefix("the view") ? "DROP VIEW v" : "DROP TRIGGER t"
    try lab.open().executeScript(drop)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set, allowing: Self.losses)
    #expect(try lab.isSound())
  }

  private func objects(_ lab: MigrationLab) throws -> [[SQLValue]] {
    try lab.rows("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")
  }

  @Test(arguments: cases)
  func `objects that name what a step drops or renames are reported before the first step`(_ each: Case)
    async throws
  {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    try lab.open().executeScript(each.sql)
    let before = try objects(lab)
    let set = try lab.set([Self.base, "add attribute Thing.first string optional", each.step])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    guard let words = each.words else {
      #expect(plan.drift == [])
      try await Store.migrate(
        at: lab.url, key: testKey, migrations: set, allowing: Self.losses)
      let kept = try objects(lab)
      #expect(before.filter { ["view", "trigger"].contains($0[0].string) && !kept.contains($0) } == [])
      return
    }
    let told = plan.drift.joined(separator: "\n")
    #expect(words.allSatisfy(told.contains), "\(told)")
    #expect(plan.drift.count == each.count, "\(told)")
    await #expect {
      try await Store.migrate(
        at: lab.url, key: testKey, migrations: set, allowing: Self.losses)
    } throws: {
      guard case StoreError.stepsObstructed(_, plan.drift) = $0 else { return false }
      return true
    }
    #expect(try objects(lab) == before)
    // The reported SQL removes the obstacle.
    let drops = plan.drift.compactMap { $0.firstMatch(of: #/\((DROP [^;]*;)\)/#).map { String($0.1) } }
    #expect(drops.count == plan.drift.count)
    for line in drops { try lab.open().executeScript(line) }
    _ = try await Store.migrate(
      at: lab.url, key: testKey, migrations: set, allowing: Self.losses)
    #expect(try lab.rows("SELECT count(*) FROM vault_migrations") == [[3]])
  }
}
