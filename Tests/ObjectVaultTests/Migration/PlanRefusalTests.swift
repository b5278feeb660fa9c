// A plan asks the rows what the steps will ask of them, where no earlier step writes there.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PlanRefusals {
  let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
  }

  private func plan(_ steps: String...) async throws -> MigrationPlan {
    try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([MigrationOperations.base] + steps))
  }

  static let cases:
    [(step: String, entity: String, properties: [String], rule: String, count: Int, rows: [Int64])] = [
      ("add index Post(user) unique", "Post", ["user"], "unique", 1, [2]),
      ("make User.city required", "User", ["city"], "required", 1, [2]),
      ("make Post.user required", "Post", ["user"], "required", 1, [4]),
      (
        "rename entity Post -> Note\nrename relationship Note.user -> author\nadd index Note(author) unique",
        "Note", ["author"], "unique", 1, [2]
      ),
      ("rename attribute User.city -> town\nmake User.town required", "User", ["town"], "required", 1, [2]),
      ("add attribute User.mail string", "User", ["mail"], "required", 2, [1, 2]),
      ("add attribute Post.code int unique default 3", "Post", ["code"], "unique", 1, [4]),
      ("add relationship Post.main -> Tag required", "Post", ["main"], "required", 4, [1, 2, 3, 4]),
      (
        "add attribute Post.kind int default 1\nadd index Post(kind, user) unique", "Post", ["kind", "user"],
        "unique", 1, [2]
      ),
    ]

  @Test(arguments: cases.indices)
  func `rows that a step would refuse are counted, and the step fails`(_ index: Int) async throws {
    let each = Self.cases[index]
    let before = try lab.folder.bytes("lab.store")
    let found = try await plan(each.step)
    #expect(found.refusals.count == 1)
    let refusal = try #require(found.refusals.first)
    #expect(refusal.entity == each.entity && refusal.properties == each.properties)
    #expect(refusal.rule.rawValue == each.rule && refusal.count == each.count && refusal.rows == each.rows)
    #expect(found.steps[0].unasked.isEmpty)
    #expect(try lab.folder.bytes("lab.store") == before && lab.folder.names == ["lab.store"])
    await #expect {
      try await lab.migrate(each.step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, _) = error else { return false }
      return operation == refusal.operation
    }
  }

  @Test(arguments: [
    "make User.age optional\nmake User.age required", "make User.city required filling \"x\"",
    "add index Post(text, user) unique",
    "add attribute User.mail string unique optional", "add attribute User.mail string default \"\"",
    "create entity Empty {\n attribute a int\n}\nadd index Empty(a) unique",
    "add attribute User.x int optional\nadd index User(x, city) unique",
  ])
  func `what the rows keep to is no refusal`(_ step: String) async throws {
    let found = try await plan(step)
    #expect(found.refusals.isEmpty && found.steps[0].unasked.isEmpty)
    try await lab.migrate(step)
  }

  @Test func `what an earlier step writes cannot be asked, and that is said`() async throws {
    let found = try await plan(
      "transform sql { UPDATE $Post SET $Post.user = NULL WHERE $Post.id = 2 }",
      "add index Post(user) unique\nmake User.city required\nretype User.age to string\nadd index User(age) unique"
    )
    #expect(found.refusals.map(\.entity) == ["User"] && found.steps[0].unasked.isEmpty)
    #expect(
      found.steps[1].unasked == [
        "add index Post(user) unique: the rows could not be asked, for step 0002 step2 writes rows of Post before",
        "add index User(age) unique: the rows could not be asked, for \"retype User.age to string\" changes User.age before",
      ])
  }

  @Test func `the room that a change of the format takes is counted`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try FileManager.default.copyItem(
      at: packageRoot.appendingPathComponent("Tests/Fixtures/stores/format-1/microblog.sqlcipher"), to: url)
    let connection = try Connection.open(url.path, key: testKey)
    let texts = try connection.rows("SELECT name, text FROM vault_migrations ORDER BY version")
    connection.close()
    let set = try MigrationSet(
      texts.enumerated().map { index, row in
        try MigrationStep(
          number: index + 1, name: row[0].string ?? "", text: "format: 1\n[up]\n\(row[1].string ?? "")")
      })
    let plan = try await Store.plan(at: url, key: testKey, migrations: set)
    #expect(plan.changesFormat && plan.steps.isEmpty && plan.neededBytes == 2 * plan.bytes)
    _ = try await Store.migrate(at: url, key: testKey, migrations: set)
    #expect(try await Store.plan(at: url, key: testKey, migrations: set).neededBytes == 0)
  }
}
