// The rows that data blocks write are checked in new stores and in migrated ones alike, and a fault is
// attributed to the step that caused it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private enum Humour: String, AttributeValue {
  case calm, cross
  static var placeholder: Humour { .calm }
}
private final class Guest: ManagedObject {
  @Attribute var name: String
  @Attribute var humour: Humour?
}
private let guests = Schema { Entity(Guest.self) }

@Suite(.tags(.slow)) struct RowAudits {
  static let guest = "create entity Guest {\n attribute name string\n attribute mood string optional\n}"

  let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
  }

  private func failure(_ body: () async throws -> Void) async -> (
    step: Int, operation: String, reason: String
  )? {
    do { try await body() } catch StoreError.migrationFailed(let step, _, let operation, let reason) {
      return (step, operation, reason)
    } catch { Issue.record(error) }
    return nil
  }

  // MARK: References

  @Test func `deleting a row that a table made by hand references is refused`() async throws {
    let connection = try Connection.open(lab.url.path, key: testKey)
    try connection.executeScript(
      """
      CREATE TABLE mine (id INTEGER PRIMARY KEY, tag REFERENCES Tag(id) ON DELETE CASCADE);
      INSERT INTO Tag(id, name) VALUES (71, 'mine'), (72, 'gone');
      INSERT INTO mine VALUES (5, 71), (6, NULL);
      """)
    connection.close()
    let failed = await failure {
      try await lab.migrate("transform sql { DELETE FROM $Tag WHERE $Tag.id > 70 }")
    }
    #expect(
      failed?.reason.contains("1 reference to a missing row: the table mine (row 5)") == true,
      "\(failed as Any)")
    #expect(try lab.rows("SELECT count(*) FROM Tag WHERE id > 70") == [[2]])
    // Existing damage blocks nothing, and hides no new damage.
    let strict = Engine.current.cipherMajor >= 4 ? ", STRICT" : ""
    let other = try Connection.open(lab.url.path, key: testKey)
    try other.executeScript(
      """
      PRAGMA foreign_keys = OFF;
      CREATE TABLE others (n TEXT PRIMARY KEY, tag INTEGER REFERENCES Tag(id)) WITHOUT ROWID\(strict);
      INSERT INTO others VALUES ('a', 99), ('b', 71);
      """
    )
    other.close()
    let again = await failure {
      try await lab.migrate(
        "add attribute Tag.more string optional\ntransform sql { DELETE FROM $Tag WHERE $Tag.id = 71 }")
    }
    #expect(again?.operation == "transform sql", "\(again as Any)")
    #expect(again?.reason.contains("the table mine (row 5); the table others") == true, "\(again as Any)")
    try await lab.migrate("transform sql { DELETE FROM $Tag WHERE $Tag.id = 72 }")
  }

  @Test(arguments: [
    (
      "INSERT INTO $Post($Post.text, $Post.user) VALUES ('new', 99)",
      "1 reference to a missing row: Post.user (row 1)"
    ),
    (
      "INSERT INTO $Post($Post.text, $Post.user) VALUES ('new', 'abc')",
      "1 of 1 value of Post.user is invalid (expected: id of User)"
    ),
    ("INSERT INTO $Post.tags VALUES (7, 8)", "the links Post.tags ((7, 8))"),
  ])
  func `a new store refuses a seed that references missing rows`(_ sql: String, _ words: String) async throws
  {
    let folder = try TemporaryFolder()
    let set = try lab.set([MigrationOperations.base, "seed { \(sql) }"])
    let failed = await failure {
      try await Store.create(at: folder.url.appendingPathComponent("new"), key: testKey, migrations: set)
    }
    #expect(
      failed?.step == 2 && failed?.operation == "seed" && failed?.reason.contains(words) == true,
      "\(failed as Any)")
    #expect(folder.names.isEmpty)
  }

  @Test func `new damage among links is reported beside existing damage of the same links`() async throws {
    let connection = try lab.open()
    try connection.executeScript("PRAGMA foreign_keys = OFF; INSERT INTO Post_tags VALUES (7, 1)")
    connection.close()
    let failed = await failure {
      try await lab.migrate("transform sql { INSERT INTO $Post.tags VALUES (8, 1), (9, 1), (10, 1) }")
    }
    let words = "3 references to missing rows: the links Post.tags ((8, 1), (9, 1), (10, 1))"
    #expect(failed?.reason == words)
    try await lab.migrate("transform sql { INSERT INTO $Post.tags VALUES (2, 1) }")
  }

  @Test func `existing damage does not block a step, even if its table is renamed`() async throws {
    let connection = try lab.open()
    try connection.executeScript(
      "PRAGMA foreign_keys = OFF; INSERT INTO Post_tags VALUES (7, 1); UPDATE Post SET user_id = 99 WHERE id = 3"
    )
    connection.close()
    let set = try lab.set([
      MigrationOperations.base,
      "rename entity Post -> Note\nrename relationship Note.user -> author\ntransform sql { UPDATE $Note SET $Note.text = 'n' }",
    ])
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: set).steps == [2])
    let worse = try lab.set(
      [set.steps[0], set.steps[1]].map(\.canonicalText) + [
        "transform sql { UPDATE $Note SET $Note.author = 98 WHERE id = 3 }"
      ])
    let failed = await failure { _ = try await Store.migrate(at: lab.url, key: testKey, migrations: worse) }
    #expect(failed?.step == 3 && failed?.reason.contains("1 reference to") == true, "\(failed as Any)")
  }

  @Test func `broken references are attributed to the step that broke them, and not to the last one`()
    async throws
  {
    let set = try lab.set([
      MigrationOperations.base, "transform sql { DELETE FROM $User WHERE $User.id = 1 }",
      "add index Post(text)",
    ])
    let failed = await failure { _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set) }
    #expect(failed?.step == 2 && failed?.operation == "transform sql")
    #expect(failed?.reason == "2 references to missing rows: Post.user (rows 1, 2)")
    #expect(try lab.isSound())
  }

  // MARK: Enum cases

  @Test(arguments: [
    "transform sql { UPDATE $Guest SET $Guest.mood = 'gloomy' }",
    "retype Guest.mood to string using ('gloomy')",
  ])
  func `classes refuse a written value that their enum has no case for, also after a renaming`(_ step: String)
    async throws
  {
    let lab = try await MigrationLab(Self.guest, fill: ["INSERT INTO Guest(id, name) VALUES (1, 'a')"])
    let set = try lab.set([Self.guest, step, "rename attribute Guest.mood -> humour"])
    let failed = await failure {
      _ = try await Store.open(at: lab.url, key: testKey, schema: guests, migrations: .set(set))
    }
    #expect(
      failed?.step == 2
        && failed?.reason == "1 of 1 value of Guest.humour is invalid (expected: string): row 1",
      "\(failed as Any)")
    #expect(try lab.rows("SELECT mood FROM Guest") == [[.null]])
    // A program without classes knows no cases. Later, `verify` with the classes finds the value.
    #expect(try await Store.migrate(at: lab.url, key: testKey, migrations: set).steps == [2, 3])
    let store = try await Store.open(at: lab.url, key: testKey, schema: guests, migrations: .set(set))
    #expect(try await store.verify() == ["1 of 1 value of Guest.humour is invalid (expected: string): row 1"])
  }

  @Test func `classes refuse a seeded value that their enum has no case for, and accept others`() async throws
  {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    func open(_ mood: String) async throws -> Store {
      let set = try lab.set([
        Self.guest, "rename attribute Guest.mood -> humour",
        "seed { INSERT INTO $Guest(id, $Guest.name, $Guest.humour) VALUES (1, 'a', '\(mood)') }",
      ])
      return try await Store.open(at: url, key: testKey, schema: guests, migrations: .set(set))
    }
    let failed = await failure { _ = try await open("gloomy") }
    #expect(failed?.step == 3 && folder.names.isEmpty)
    #expect(try await open("cross").read { try $0.fetch(Guest.self).one().humour } == .cross)
  }

  // MARK: The form of values

  static let forms: [(column: String, bad: String, good: String)] = [
    ("flag", "7", "1"), ("float", "1e300", "0.1"), ("float", "3.4028236e38", "3.4028234e38"),
    ("decimal", "'12abc'", "'-1.50'"), ("decimal", "'1e5'", "'12'"),
    (
      "decimal", "'0.1234567890123456789012345678901234567890123456789'",
      "'123456789012345678901234567890123456.78'"
    ),
    ("uuid", "'0f8fad5b-d9cb-469f-a165-70867728950e'", "'0F8FAD5B-D9CB-469F-A165-70867728950E'"),
    ("url", "'a b'", "'a%20b'"), ("url", "'https://x.org/ä'", "'https://x.org/%C3%A4'"),
    ("mood", "'gloomy'", "'calm'"),
    ("int", "'x'", "-5"), ("int8", "300", "-128"), ("date", "'2001-01-01'", "12"),
  ]

  private static func fill(_ sample: Sample) {
    sample.mood = .cross
    (sample.flag, sample.int, sample.int8, sample.int16, sample.int32, sample.int64) = (true, 1, 1, 1, 1, 1)
    (sample.uint8, sample.uint16, sample.uint32, sample.float, sample.double) = (1, 1, 1, 1, 1)
    (sample.decimal, sample.string, sample.date, sample.uuid, sample.data) = (1, "s", .now, UUID(), Data())
    sample.url = URL(fileURLWithPath: "/tmp")
  }

  @Test(arguments: forms.indices)
  func `verify accepts the values that a getter accepts, and no others`(_ index: Int) async throws {
    let (column, bad, good) = Self.forms[index]
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in _ = context.insert(Sample.self) { Self.fill($0) } }
    for (value, isBad) in [(bad, true), (good, false)] {
      let connection = try Connection.open(temporary.store.url.path, key: testKey)
      try StoreInfo.prepare(connection)
      try connection.execute(sql: "UPDATE Sample SET \(column) = \(value)")
      connection.close()
      let told = try await temporary.store.read { context in
        let sample = try context.fetch(Sample.self).one()
        _ = (
          sample.flag, sample.float, sample.decimal, sample.uuid, sample.url, sample.mood, sample.int,
          sample.int8,
          sample.date
        )
        return context.unreadableValues.count
      }
      #expect(told == (isBad ? 1 : 0), "\(column) \(value)")
      #expect(try await temporary.store.verify().count == (isBad ? 1 : 0), "\(column) \(value)")
    }
  }

  @Test(arguments: [
    ("{\"a\":1,\"b\":[{\"x\":\"1 2\",\"y\":null}]}", true), ("\"a b\"", true), ("[1,\"\\u00e9\\n\"]", true),
    ("{\"B\":1,\"a\":2,\"z\":3,\"é\":4}", true), ("{\"a\": 1}", false), ("{\"b\":1,\"a\":2}", false),
    ("[{\"a\":1,\"a\":2}]", false),
    ("{\"\\u0062\":1,\"a\":2}", false), ("\"a\\/b\"", false), ("{", false),
    ("{\"a\":{\"b\":1},\"A\":2}", false),
  ])
  func `JSON is accepted only in the form in which classes store it`(_ json: String, _ isStored: Bool)
    async throws
  {
    let base = "create entity Thing {\n attribute extra json\n}"
    let lab = try await MigrationLab(base, fill: ["INSERT INTO Thing(id, extra) VALUES (1, '1')"])
    let failed = await failure {
      try await lab.migrate("transform sql { UPDATE $Thing SET $Thing.extra = '\(json)' }")
    }
    #expect((failed == nil) == isStored, "\(failed as Any)")
    if failed == nil { #expect(try lab.rows("SELECT extra FROM Thing") == [[.text(json)]]) }
  }

  @Test func `classes store JSON in the form that verify accepts`() async throws {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      _ = context.insert(Sample.self) {
        Self.fill($0)
        $0.address = Address(street: "a/b \"ä\" \u{1F600}\n", number: -3)
      }
    }
    #expect(try await temporary.store.verify() == [])
  }
}
