// An opening whose caller waits for it does only as much work as it is allowed. Otherwise it reports the
// work that is pending.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Note: ManagedObject {
  @Attribute var title: String
  @Attribute var stars: Int = 0
  @ToMany var tags: Set<Tag>
}
private final class Tag: ManagedObject { @Attribute var name: String }

@Suite struct MigrationLimits {
  private static let base = """
    create entity Note {
      attribute title string
      relationship tags -> Tag many
    }
    create entity Tag {
      attribute name string
    }
    """
  private static let schema = Schema {
    Entity(Note.self)
    Entity(Tag.self)
  }
  private static let fill = [
    "INSERT INTO Note(title) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40) SELECT 'n' || i FROM n",
    "INSERT INTO Tag(name) VALUES ('a'), ('b')", "INSERT INTO Note_tags SELECT id, 1 FROM Note",
  ]

  private func open(_ lab: MigrationLab, _ steps: [String], limit: MigrationLimit) throws -> Store {
    try Store.open(
      at: lab.url, key: testKey, schema: Self.schema, migrations: .set(lab.set(steps)),
      migratingAtMost: limit)
  }

  @Test func `a new store and one without pending steps open at once, whatever the limit`() async throws {
    let lab = try await MigrationLab(Self.base)
    try FileManager.default.removeItem(at: lab.url)
    let steps = [Self.base, "add attribute Note.stars int default 0"]
    for isNew in [true, false] {
      let store = try open(lab, steps, limit: .seconds(0))
      #expect(store.opening.isNew == isNew && store.opening.version == 2)
      store.close()
    }
  }

  // The engine parses an expression by recursion, with some 500 bytes for each of its levels, of which it
  // allows 1000.
  @Test(arguments: [
    "transform sql { UPDATE $Note SET $Note.stars = EXPRESSION }",
    "retype Note.title to string using (EXPRESSION)",
  ])
  func `the deepest expression of a step runs even if the caller's stack is small`(_ operation: String)
    async throws
  {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let deepest = "length('')" + String(repeating: "+1", count: 990)
    let step = "add attribute Note.stars int default 0\n" + operation.replacing("EXPRESSION", with: deepest)
    let (url, set) = (lab.url, try lab.set([Self.base, step]))
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      let thread = Thread {
        done.resume(
          with: Result {
            try Store.open(
              at: url, key: testKey, schema: Self.schema, migrations: .set(set), migratingAtMost: .rows(1000)
            ).close()
          })
      }
      thread.stackSize = 256 << 10
      thread.start()
    }
    let column = operation.contains("stars") ? "stars" : "title"
    #expect(try lab.rows("SELECT DISTINCT CAST(\(column) AS INTEGER) FROM Note") == [[990]])
  }

  /// The number of rows that each step writes, with 40 notes that have a tag each, and two tags.
  static let costs: [(step: String, rows: Int)] = [
    ("add attribute Note.stars int default 0", 0),
    (
      "create entity Lone {\n attribute x int\n}\nadd attribute Note.stars int default 0\ndrop entity Lone", 0
    ),
    ("add attribute Note.stars int default 0\nadd index Note(title)\ndrop index Note(title)", 40),
    ("add attribute Note.stars int default 0\nmake Note.title optional\nmake Note.title required", 0),
    ("add attribute Note.stars int default 0\ntransform sql { UPDATE $Note SET $Note.stars = 1 }", 40),
    ("add attribute Note.stars int default 0\ntransform sql { DELETE FROM $Tag WHERE 0 }", 2),
    (
      "add attribute Note.stars int default 0\nset default of Tag.name to \"x\"\nset default of Tag.name to none",
      0
    ),
    ("add attribute Note.stars int default 0\nretype Note.title to string using (upper($Note.title))", 40),
    ("add attribute Note.stars int default 0\nretype Tag.name to string using (upper($Tag.name))", 2),
  ]

  @Test(arguments: costs.indices)
  func `the cost of a step is the number of rows in the tables that it writes`(_ index: Int) async throws {
    let (step, rows) = Self.costs[index]
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let set = try lab.set([Self.base, step])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.cost.rows == rows && plan.steps.map(\.rows) == [rows] && plan.cost.seconds > 0)
    if rows > 0 {
      #expect {
        try open(lab, [Self.base, step], limit: .rows(rows - 1))
      } throws: { error in
        guard case StoreError.migrationNeeded(let need) = error else { return false }
        return need.rows == rows && need.steps == ["0002 step2"] && need.storeVersion == 1
          && need.targetVersion == 2 && "\(error)".contains("0002 step2")
      }
      #expect(throws: StoreError.self) {
        try open(lab, [Self.base, step], limit: .seconds(plan.cost.seconds / 2))
      }
      // Nothing has happened: not even a log is left.
      #expect(try await Store.plan(at: lab.url, key: testKey, migrations: set).storeVersion == 1)
    }
    let store = try open(lab, [Self.base, step], limit: .rows(rows))
    #expect(store.opening.migratedSteps == [2])
    #expect(try await store.read { try $0.fetch(Note.self).where("tags.@count == 1").count() } == 40)
    store.close()
    #expect(try lab.isSound())
  }

  @Test func `the cost follows rows through renamings, new tables and links`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let steps = [
      Self.base, "rename entity Note -> Memo\nrename entity Tag -> Note", "make Memo.tags one",
      "create entity Tag {\n attribute name string\n}\nadd index Tag(name)",
      "retype Memo.title to string using (upper($Memo.title))\nadd index Note(name)",
    ]
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set(steps))
    // Both tables and the links; the notes once more; nothing; the notes, and the index of the tags.
    #expect(plan.steps.map(\.rows) == [82, 40, 0, 42])
    #expect(plan.cost.rows == 164)
  }

  @Test func `the cost of a large table is the range of its ids`() async throws {
    let lab = try await MigrationLab(Self.base)
    let connection = try lab.open()
    try connection.execute(
      "INSERT INTO Tag(id, name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10001) SELECT i * 2, 'n' FROM n"
    )
    connection.close()
    let step = "retype Tag.name to string using (upper($Tag.name))"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([Self.base, step]))
    #expect(plan.cost.rows == 20_001)
    try lab.open().execute("DELETE FROM Tag WHERE id > 20000")
    let less = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([Self.base, step]))
    #expect(less.cost.rows == 10_000)
  }

  @Test func `a loss that is not allowed is reported before the cost`() async throws {
    let lab = try await MigrationLab(Self.base + "\nadd attribute Tag.old int default 1", fill: Self.fill)
    let steps = [
      Self.base + "\nadd attribute Tag.old int default 1",
      "drop attribute Tag.old\nadd attribute Note.stars int default 0",
    ]
    #expect {
      try open(lab, steps, limit: .rows(0))
    } throws: {
      if case StoreError.lossNotAllowed = $0 { true } else { false }
    }
  }

  @Test func `an opening with a limit refuses a key from a provider`() async throws {
    let lab = try await MigrationLab(Self.base)
    #expect(throws: SQLError.self) {
      try Store.open(
        at: lab.url, key: .provider { testKey }, schema: Self.schema,
        migrations: .set(lab.set([Self.base, "add attribute Note.stars int default 0"])),
        migratingAtMost: .rows(0))
    }
  }

  @Test func `progress counts rows, and each step once`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let steps = try lab.set([
      Self.base, "add attribute Note.stars int default 0",
      "retype Note.title to string using (upper($Note.title))",
    ])
    let progress = Progress(totalUnitCount: 1)
    let store = try await Store.open(
      at: lab.url, key: testKey, schema: Self.schema, migrations: .set(steps), progress: progress)
    store.close()
    #expect(progress.totalUnitCount == 42 && progress.completedUnitCount == 42)
  }
}
