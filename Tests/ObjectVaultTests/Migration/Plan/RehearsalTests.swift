// A rehearsal has the result of the run, also for steps that a plan cannot judge, and leaves no files.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Rehearsals {
  static let base =
    "create entity U {\n attribute n string unique\n attribute m int\n attribute k int\n index (m, k) unique\n}"
  static let fill = [
    "INSERT INTO U(id, n, m, k) VALUES (1, 'a', 1, 5), (2, 'b', 2, 5), (3, 'cc', 3, 6), (4, 'dd', 4, 7)"
  ]

  // MARK: Results that a plan does not know

  @Test(arguments: [
    // Each with the number of duplicated values, and the rows that the error names.
    ("retype U.n to int using (length($U.n))", 2, "rows 2, 4"),
    ("retype U.n to string using (CASE WHEN id < 3 THEN 1 WHEN id = 3 THEN '1' ELSE $U.n END)", 1, "row 3"),
    ("retype U.n to double using (CASE id WHEN 1 THEN '1' WHEN 2 THEN 1 ELSE id END)", 1, "row 2"),
    ("retype U.n to int using (CASE id WHEN 1 THEN '01' WHEN 2 THEN 1 ELSE id END)", 1, "row 2"),
    ("retype U.n to decimal using (CASE id WHEN 1 THEN '1.0' WHEN 2 THEN '1.00' ELSE id END)", 1, "row 2"),
    ("retype U.m to int using (1)", 1, "row 2"),
    ("rename attribute U.n -> name\nretype U.name to int using (length($U.name))", 2, "rows 2, 4"),
    ("add attribute U.code string unique filling \"a\"", 1, "row 4"),
    ("add attribute U.x int default 1\nadd index U(x, k) unique", 1, "row 2"),
    (
      "rename attribute U.k -> kind\nadd attribute U.x int optional\nmake U.x required filling 3\nadd index U(x, kind) unique",
      1, "row 2"
    ),
  ])
  func `a rehearsal rejects values that a step makes equal, as the run does`(
    _ step: String, _ count: Int, _ rows: String
  ) async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    await #expect { try await lab.refuse(step) } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.hasPrefix("\(count) value") && reason.contains("(\(rows)")
    }
  }

  @Test(arguments: PlanHierarchyRefusals.laterCases.indices)
  func `a rehearsal rejects hierarchy rows after other changes, as the run does`(_ index: Int) async throws {
    let each = PlanHierarchyRefusals.laterCases[index]
    let lab = try await MigrationLab(each.base, fill: each.fill)
    let rows = each.rows.map(String.init).joined(separator: ", ")
    await #expect { try await lab.refuse(each.step) } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation == each.operation && reason.contains("\(rows)") && reason.hasPrefix("\(each.count) ")
    }
  }

  @Test(arguments: PlanRefusals.cases.indices)
  func `a rehearsal reports the refusals of a plan in the words of the run`(_ index: Int) async throws {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    let step = PlanRefusals.cases[index].step
    await #expect { try await lab.refuse(step, isKnown: true) } throws: { error in
      if case StoreError.rowsRefused = error { true } else { false }
    }
  }

  @Test(arguments: [
    // The column keeps its name and gets other values: its type rewrites them, or compares them
    // differently.
    ["retype U.n to int using ($U.n)", "drop index U(m, k)\nadd index U(n, m) unique"],
    ["drop index U(n)\nretype U.n to int using ($U.n)\nadd index U(n, k) unique"],
    ["drop index U(n)\nretype U.n to decimal using ($U.n)", "add index U(n) unique"],
    // Names that denote something else afterwards.
    [
      "drop index U(n)\ndrop attribute U.n\nadd attribute U.n string default \"x\"", "add index U(n) unique",
    ],
    [
      "drop index U(m, k)\nrename attribute U.m -> x\nrename attribute U.k -> m\nrename attribute U.x -> k",
      "add index U(m) unique",
    ],
    ["drop raw view V\ncreate raw view V { SELECT 0 AS x }", "require \"so\" { SELECT min(x) FROM V }"],
    [
      "add attribute U.x int default 1\ndrop raw view V\ncreate raw view V { SELECT 0 AS x }",
      "require \"so\" { SELECT min(x) FROM V }",
    ],
    ["add attribute U.x int default 1", "require \"so\" { SELECT count(*) = 0 FROM (SELECT * FROM $U) }"],
    // Functions and tables that are not the model's.
    ["transform sql { UPDATE $U SET $U.m = 7 WHERE $U.id = 4 }", "require \"so\" { SELECT changes() = 9 }"],
    ["create entity W {\n attribute a int\n}", "require \"so\" { SELECT count(*) = 0 FROM sqlite_master }"],
    [
      "create entity W {\n attribute a int\n}",
      "require \"so\" { SELECT count(*) = 0 FROM vault_migrations }",
    ],
    // A trigger that was made by hand.
    ["transform sql { UPDATE $T SET $T.a = 2 }", "require \"so\" { SELECT count(*) = 4 FROM $U }"],
  ])
  func `a plan never takes what a step makes for what exists`(_ steps: [String]) async throws {
    let fill = [
      "INSERT INTO U(id, n, m, k) VALUES (1, '1', 1, 1), (2, '01', 2, 1), (3, '1.0', 3, 2), (4, '7', 3, 9)"
    ]
    let lab = try await MigrationLab(
      Self.base
        + "\ncreate entity T {\n attribute a int\n}\ncreate raw view V { SELECT 1 AS x FROM $U WHERE $U.id = 1 }",
      fill: fill + [
        "INSERT INTO T(id, a) VALUES (1, 1)",
        "CREATE TRIGGER byHand AFTER UPDATE ON T BEGIN DELETE FROM U WHERE id = 4; END",
      ])
    await #expect(throws: StoreError.self) {
      switch steps.count {
      case 1: try await lab.refuse(steps[0])
      default: try await lab.refuse(steps[0], steps[1])
      }
    }
  }

  @Test func `duplicates in an index of a new inherited attribute and an own one are counted`() async throws {
    let base = "create entity P {\n attribute z int\n}\ncreate entity Q : P {\n attribute b int optional\n}"
    let lab = try await MigrationLab(
      base,
      fill: ["INSERT INTO P(id, _entity, z, b) VALUES (1, 'Q', 0, 5), (2, 'Q', 0, 5), (3, 'P', 0, NULL)"])
    await #expect {
      try await lab.refuse("add attribute P.a int default 1\nadd index Q(a, b) unique")
    } throws: {
      "\($0)".contains("1 value of Q(a, b) occurs more than once")
    }
  }

  @Test func `objects of an entity that gets its first child are counted; those of the child are not`()
    async throws
  {
    let base = "create entity P {\n attribute z int\n}"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO P(id, z) VALUES (1, 0), (2, 0)"])
    let set = try lab.set([
      base, "create entity Q : P {\n attribute b int optional\n}",
      "transform swift f on P\ntransform swift f on Q",
    ])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.steps[1].transforms.map(\.rows) == [2, nil])
  }

  // MARK: The run

  private static let chain = [
    "add attribute U.x int default 7", "transform sql { UPDATE $U SET $U.x = $U.k }",
    "add index U(x) unique", "add attribute U.y int optional",
  ]

  @Test func `a rehearsal reports the steps with their durations, and leaves the store unchanged`()
    async throws
  {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let before = try lab.folder.bytes("lab.store")
    let progress = Progress(totalUnitCount: 0)
    let good = try await Store.rehearse(
      at: lab.url, key: testKey, migrations: lab.set([Self.base] + Self.chain.prefix(2)), progress: progress)
    #expect(good.failure == nil && good.steps.map(\.number) == [2, 3])
    #expect(good.steps.map(\.name) == ["step2", "step3"] && good.steps.allSatisfy { !$0.isRollback })
    let sum = good.steps.reduce(0) { $0 + $1.seconds }
    #expect(good.steps.allSatisfy { $0.seconds > 0 } && good.seconds >= sum)
    #expect(progress.completedUnitCount == progress.totalUnitCount && progress.totalUnitCount > 2)

    let set = try lab.set([Self.base] + Self.chain)
    let bad = try await Store.rehearse(at: lab.url, key: testKey, migrations: set)
    #expect(bad.steps.map(\.number) == [2, 3])
    await #expect {
      try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    } throws: { $0 as? StoreError == bad.failure as? StoreError }
    #expect(try lab.folder.bytes("lab.store") == before && lab.folder.names == ["lab.store"])
  }

  @Test func `a store that has all steps has nothing to rehearse`() async throws {
    let lab = try await MigrationLab(Self.base)
    let rehearsal = try await Store.rehearse(at: lab.url, key: testKey, migrations: lab.set([Self.base]))
    #expect(rehearsal.steps.isEmpty && rehearsal.failure == nil)
  }

  @Test func `a rehearsal allows losses, and reports missing functions`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    func failure(_ step: String) async throws -> StoreError? {
      try await Store.rehearse(at: lab.url, key: testKey, migrations: lab.set([Self.base, step])).failure
        as? StoreError
    }
    #expect(try await failure("drop index U(m, k)\ndrop attribute U.m") == nil)
    guard case .transformMissing(2, _, "f")? = try await failure("retype U.n to int using swift f") else {
      Issue.record("a missing function is accepted")
      return
    }
  }

  @Test func `a downgrade is rehearsed, with the rows that it rejects`() async throws {
    let lab = try await DowngradeLab(
      [Self.base, "add attribute U.small int16 optional", "retype U.small to int"], at: 3,
      fill: Self.fill + ["UPDATE U SET small = 40000 WHERE id = 2"])
    let back = try await Store.rehearseDowngrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(back.steps.isEmpty)
    await #expect {
      try await Store.downgrade(
        at: lab.url, key: testKey, to: 1, migrations: lab.set, allowing: ["U.small"])
    } throws: { $0 as? StoreError == back.failure as? StoreError }
    try lab.run("UPDATE U SET small = 7")
    let good = try await Store.rehearseDowngrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(good.failure == nil && good.steps.map(\.number) == [3, 2])
    #expect(good.steps.map(\.isRollback) == [true, true])
  }

  @Test func `a rehearsal sees only committed rows, and does not block writers`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let other = try lab.open()
    defer { other.close() }
    try other.executeScript("PRAGMA journal_mode = WAL")
    try other.execute("UPDATE U SET k = id")
    try other.executeScript("BEGIN IMMEDIATE; UPDATE U SET k = 1")
    let set = try lab.set([Self.base, "add index U(k) unique"])
    #expect(try await Store.rehearse(at: lab.url, key: testKey, migrations: set).failure == nil)
    try other.executeScript("COMMIT")
    #expect(try await Store.rehearse(at: lab.url, key: testKey, migrations: set).failure != nil)
  }

  // MARK: The copy

  /// The copies of rehearsals in the folder of temporary files, of this process and of others.
  private static var copies: [String] {
    let folder = NSTemporaryDirectory()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasPrefix("vault-rehearse-") }.map { folder + "/" + $0 + "/copy.store" }
  }

  /// Whether a copy opens with the tests' key and has a row. Other copies may disappear at any moment.
  private static func holds(_ path: String, _ row: Int64) -> Bool {
    guard let connection = try? Connection.open(path, key: testKey) else { return false }
    defer { connection.close() }
    return (try? connection.value("SELECT id FROM U WHERE id = \(row)")) == .integer(row)
  }

  @Test func `the copy of a rehearsal is encrypted with the store's key, and only its owner can read it`()
    async throws
  {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let seen = Locked<[String]>([])
    let look = MigrationTransform.values("look") { (text: String) -> Int in
      for path in Self.copies where Self.holds(path, 55) {
        let folder = (path as NSString).deletingLastPathComponent
        let modes = [path, folder].map { path in
          let attributes = try? FileManager.default.attributesOfItem(atPath: path)
          return String((attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0, radix: 8)
        }
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        let isPlain =
          bytes.starts(with: Data("SQLite format 3".utf8)) || bytes.range(of: Data("secret name".utf8)) != nil
        seen.withLock { $0.append("\(modes.joined(separator: " ")) \(bytes.isEmpty) \(isPlain)") }
      }
      return text.utf8.count
    }
    try lab.open().execute("INSERT INTO U(id, n, m, k) VALUES (55, 'secret name', 55, 55)")
    let set = try lab.set([Self.base, "drop index U(n)\nretype U.n to int using swift look"])
      .transforming(by: [look])
    let rehearsal = try await Store.rehearse(at: lab.url, key: testKey, migrations: set)
    #expect(rehearsal.failure == nil)
    let found = seen.withLock { $0 }
    #expect(!found.isEmpty && found.allSatisfy { $0 == "600 700 false false" }, "\(found)")
  }

  @Test func `a cancelled rehearsal throws CancellationError, and removes its copy`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let (progress, mine) = (Progress(totalUnitCount: 0), Locked<String?>(nil))
    let stop = MigrationTransform.values("stop") { (text: String) -> Int in
      progress.cancel()
      mine.withLock { $0 = Self.copies.first { Self.holds($0, 77) } }
      return text.utf8.count
    }
    try lab.open().execute("INSERT INTO U(id, n, m, k) VALUES (77, 'x', 77, 77)")
    let set = try lab.set([Self.base, "drop index U(n)\nretype U.n to int using swift stop"])
      .transforming(by: [stop])
    await #expect(throws: CancellationError.self) {
      try await Store.rehearse(at: lab.url, key: testKey, migrations: set, progress: progress)
    }
    #expect(lab.folder.names == ["lab.store"])
    let copy = try #require(mine.withLock { $0 })
    #expect(!FileManager.default.fileExists(atPath: (copy as NSString).deletingLastPathComponent))
  }

  @Test func `a rehearsal throws for steps of another store and for a wrong key`() async throws {
    let lab = try await MigrationLab(Self.base)
    await #expect(throws: StoreError.self) {
      try await Store.rehearse(
        at: lab.url, key: testKey, migrations: lab.set([Self.base + "\nadd index U(k)"]))
    }
    await #expect(throws: SQLError.wrongKey(file: lab.url.path)) {
      try await Store.rehearse(at: lab.url, key: .passphrase("another"), migrations: lab.set([Self.base]))
    }
  }
}
