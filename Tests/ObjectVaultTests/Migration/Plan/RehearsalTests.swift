// A rehearsal says what the run says, of steps whose plan cannot know it, and leaves nothing but its answer.

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

  // MARK: What a plan does not know

  @Test(arguments: [
    // Each with the number of values that would be there more than once, and the last row of the first of them.
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
  func `values that a step makes alike are refused by the rehearsal as by the run`(
    _ step: String, _ count: Int, _ rows: String
  ) async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    await #expect { try await lab.refuse(step) } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.hasPrefix("\(count) value") && reason.contains("(\(rows)")
    }
  }

  @Test(arguments: PlanFamilyRefusals.laterCases.indices)
  func `what a family refuses behind other changes is refused by the rehearsal, too`(_ index: Int)
    async throws
  {
    let each = PlanFamilyRefusals.laterCases[index]
    let lab = try await MigrationLab(each.base, fill: each.fill)
    let rows = each.rows.map(String.init).joined(separator: ", ")
    await #expect { try await lab.refuse(each.step) } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation == each.operation && reason.contains("\(rows)") && reason.hasPrefix("\(each.count) ")
    }
  }

  @Test(arguments: PlanRefusals.cases.indices)
  func `what a plan knows, a rehearsal says in the words of the run`(_ index: Int) async throws {
    let lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
    let step = PlanRefusals.cases[index].step
    await #expect { try await lab.refuse(step) } throws: { error in
      if case StoreError.rowsRefused = error { true } else { false }
    }
  }

  // MARK: How it goes

  private static let chain = [
    "add attribute U.x int default 7", "transform sql { UPDATE $U SET $U.x = $U.k }",
    "add index U(x) unique", "add attribute U.y int optional",
  ]

  @Test func `the steps that ran are told with their durations, and the store stays as it is`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let before = try lab.folder.bytes("lab.store")
    let progress = Progress(totalUnitCount: 0)
    let good = try await Store.rehearse(
      at: lab.url, key: testKey, migrations: lab.set([Self.base] + Self.chain.prefix(2)), progress: progress)
    #expect(good.failure == nil && good.steps.map(\.number) == [2, 3])
    #expect(good.steps.map(\.name) == ["step2", "step3"] && good.steps.allSatisfy { !$0.leadsBack })
    let sum = good.steps.reduce(0) { $0 + $1.seconds }
    #expect(good.steps.allSatisfy { $0.seconds > 0 } && good.seconds >= sum)
    #expect(progress.completedUnitCount == progress.totalUnitCount && progress.totalUnitCount > 2)

    let set = try lab.set([Self.base] + Self.chain)
    let bad = try await Store.rehearse(at: lab.url, key: testKey, migrations: set)
    #expect(bad.steps.map(\.number) == [2, 3])
    await #expect {
      try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    } throws: { $0 as? StoreError == bad.failure }
    #expect(try lab.folder.bytes("lab.store") == before && lab.folder.names == ["lab.store"])
  }

  @Test func `a store that has all steps has nothing to rehearse`() async throws {
    let lab = try await MigrationLab(Self.base)
    let rehearsal = try await Store.rehearse(at: lab.url, key: testKey, migrations: lab.set([Self.base]))
    #expect(rehearsal.steps.isEmpty && rehearsal.failure == nil)
  }

  @Test func `losses count as allowed, and functions that are missing do not`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    func failure(_ step: String) async throws -> StoreError? {
      try await Store.rehearse(at: lab.url, key: testKey, migrations: lab.set([Self.base, step])).failure
    }
    #expect(try await failure("drop index U(m, k)\ndrop attribute U.m") == nil)
    guard case .transformMissing(2, _, "f")? = try await failure("retype U.n to int using swift f") else {
      Issue.record("it has no such function")
      return
    }
  }

  @Test func `the way back is rehearsed, with what it refuses`() async throws {
    let lab = try await DowngradeLab(
      [Self.base, "add attribute U.small int16 optional", "retype U.small to int"], at: 3,
      fill: Self.fill + ["UPDATE U SET small = 40000 WHERE id = 2"])
    let back = try await Store.rehearseDowngrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(back.steps.isEmpty)
    await #expect {
      try await Store.downgrade(
        at: lab.url, key: testKey, to: 1, migrations: lab.set, allowing: ["U.small"])
    } throws: { $0 as? StoreError == back.failure }
    try lab.run("UPDATE U SET small = 7")
    let good = try await Store.rehearseDowngrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    #expect(good.failure == nil && good.steps.map(\.number) == [3, 2])
    #expect(good.steps.map(\.leadsBack) == [true, true])
  }

  @Test func `it is what others have committed, while they go on`() async throws {
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

  /// The copies of rehearsals among the temporary files, of this process and of others.
  private static var copies: [String] {
    let folder = NSTemporaryDirectory()
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasPrefix("vault-rehearse-") }.map { folder + "/" + $0 + "/copy.store" }
  }

  @Test func `the copy is encrypted under the store's key, and nobody else's to read`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let seen = Locked<[String]>([])
    let look = MigrationTransform.values("look") { (text: String) -> Int in
      for path in Self.copies {
        // One of another test may go at any moment.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
          let bytes = FileManager.default.contents(atPath: path), !bytes.isEmpty
        else { continue }
        let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
        let isPlain = bytes.starts(with: Data("SQLite format 3".utf8))
        seen.withLock { $0.append("\(mode == 0o600) \(isPlain)") }
      }
      return text.utf8.count
    }
    let set = try lab.set([Self.base, "drop index U(n)\nretype U.n to int using swift look"])
      .transforming(by: [look])
    let rehearsal = try await Store.rehearse(at: lab.url, key: testKey, migrations: set)
    #expect(rehearsal.failure == nil)
    let found = seen.withLock { $0 }
    #expect(!found.isEmpty && found.allSatisfy { $0 == "true false" }, "\(found)")
  }

  @Test func `a cancelled rehearsal ends as any run does, and the copy goes`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let progress = Progress(totalUnitCount: 0)
    let stop = MigrationTransform.values("stop") { (text: String) -> Int in
      progress.cancel()
      return text.utf8.count
    }
    let set = try lab.set([Self.base, "drop index U(n)\nretype U.n to int using swift stop"])
      .transforming(by: [stop])
    await #expect(throws: CancellationError.self) {
      try await Store.rehearse(at: lab.url, key: testKey, migrations: set, progress: progress)
    }
    #expect(lab.folder.names == ["lab.store"])
  }

  @Test func `steps that are none of the store's are an error, and no failure of the run`() async throws {
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
