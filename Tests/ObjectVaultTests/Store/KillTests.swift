// A process is killed while it saves, and while it migrates. All that it acknowledged is in the store,
// completely.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.kills, .slow), .serialized) struct Kills {
  /// How long a child process takes that is not killed.
  private static func seconds(of mode: String, copyOf template: URL) throws -> Double {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("whole.store")
    try FileManager.default.copyItem(at: template, to: url)
    let start = Date()
    _ = try runChild(mode, url.path)
    return Date().timeIntervalSince(start)
  }

  @Test func `kills during saves lose nothing that was acknowledged`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    var acknowledged = 0
    for _ in 0..<killCount {
      acknowledged += try runAndKillChild("save", url, after: 0.001...0.06)
      let store = try await openMicroblog(url)
      let (users, statuses, orphans) = try await store.read { context in
        (
          try context.fetch(User.self).count(), try context.fetch(Status.self).count(),
          try context.fetch(User.self).where("statuses.@count != 10").count()
        )
      }
      #expect(users >= acknowledged && statuses == users * 10 && orphans == 0)
      #expect(try await store.verify().isEmpty)
      // At most the save that was running has committed without an acknowledgement.
      acknowledged = users
      store.close()
    }
    // Each child is killed after its first line.
    #expect(acknowledged >= killCount)
  }

  @Test func `kills during saves of undone and redone changes leave one whole state`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    var last = 0
    for round in 0..<killCount {
      let acknowledged = try runAndKillChild("save-undone", url, after: 0.001...0.06)
      let store = try await openMicroblog(url)
      let (names, statuses, strays) = try await store.read { context in
        (
          try context.fetch(User.self).all().map(\.name), try context.fetch(Status.self).count(),
          try context.fetch(Status.self).where("user == nil").count()
        )
      }
      #expect(names.count == 1 && statuses == 10 && strays == 0, "\(names)")
      // Three lines for each number, and one for the first of all. The commit that was running may be done.
      let number = try #require(names.first.flatMap { Int($0) })
      let whole = round == 0 ? acknowledged - 1 : acknowledged
      let (replaced, phase) = (whole / 3, whole % 3)
      let base = round == 0 ? 0 : last
      // Saved, or redone: the new user, or the next one. Undone: the former one, or the new one again.
      let expected =
        switch phase {
        case 0: [base + replaced, base + replaced + 1]
        case 1: [base + replaced + 1, base + replaced]
        default: [base + replaced, base + replaced + 1]
        }
      #expect(expected.contains(number), "\(number) after \(acknowledged) lines from \(base)")
      #expect(try await store.verify().isEmpty)
      last = number
      store.close()
    }
  }

  @Test func `kills during a migration leave the old version or the new one`() async throws {
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let folder = try TemporaryFolder()
    let template = folder.url.appendingPathComponent("template.store")
    try await Store.create(at: template, key: testKey, migrations: MigrationSet(Array(set.steps.prefix(1))))
    do {
      let connection = try Connection.open(template.path, key: testKey)
      try connection.execute(
        "INSERT INTO User(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000) SELECT 'user ' || i FROM n"
      )
      try connection.execute(
        "INSERT INTO Status(text, createdAt, user_id) SELECT 'status', 1.0, id FROM User")
    }
    let seconds = try Self.seconds(of: "migrate", copyOf: template)
    var seen: Set<Int> = []
    for round in 0..<killCount {
      let url = folder.url.appendingPathComponent("a\(round).store")
      try FileManager.default.copyItem(at: template, to: url)
      _ = try runAndKillChild("migrate", url, after: 0...seconds)
      let connection = try Connection.open(url.path, key: testKey)
      try StoreInfo.prepare(connection)
      let version = try connection.userVersion()
      seen.insert(version)
      #expect(version == 1 || version == 6)
      #expect(try connection.findings().isEmpty && StoreInfo(connection).drift(connection).isEmpty)
      #expect(try connection.value("SELECT count(*) FROM Status WHERE user_id IS NOT NULL") == 30000)
      connection.close()
      let store = try await openMicroblog(url)
      #expect(store.opening.version == 6)
      store.close()
    }
    if isTorture, killCount >= 50 { #expect(seen == [1, 6]) }
  }

  @Test func `kills during a rollback of steps leave the new version or the old one`() async throws {
    let texts = [
      """
      create entity User {
        attribute name string unique
        relationship statuses -> Status many inverse Status.user on delete cascade
      }
      create entity Status {
        attribute text string
        relationship user -> User inverse User.statuses
      }
      """,
      "rename attribute Status.text -> body\nmake Status.body optional\nadd index Status(body)",
      "add attribute User.town string default \"?\" indexed\nrename entity Status -> Post\ncreate entity Town {\n}",
    ]
    let set = try MigrationSet(
      texts.enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)\n")
      })
    let folder = try TemporaryFolder()
    let template = folder.url.appendingPathComponent("template.store")
    try await Store.create(at: template, key: testKey, migrations: set)
    do {
      let connection = try Connection.open(template.path, key: testKey)
      try connection.execute(
        "INSERT INTO User(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT 'user ' || i FROM n"
      )
      try connection.execute("INSERT INTO Post(body, user_id) SELECT 'post', id FROM User")
    }
    let seconds = try Self.seconds(of: "downgrade", copyOf: template)
    var seen: Set<Int> = []
    for round in 0..<max(10, killCount / 2) {
      let url = folder.url.appendingPathComponent("a\(round).store")
      try FileManager.default.copyItem(at: template, to: url)
      _ = try runAndKillChild("downgrade", url, after: 0...seconds)
      let connection = try Connection.open(url.path, key: testKey)
      try StoreInfo.prepare(connection)
      let version = try connection.userVersion()
      seen.insert(version)
      #expect(version == 1 || version == 3)
      #expect(try connection.findings().isEmpty && StoreInfo(connection).drift(connection).isEmpty)
      let table = version == 1 ? "Status" : "Post"
      #expect(try connection.value(sql: "SELECT count(*) FROM \(table) WHERE user_id IS NOT NULL") == 20000)
      connection.close()
      // Once more, after which nothing of the killed run is left.
      try await Store.downgrade(
        at: url, key: testKey, to: 1, migrations: set, allowing: ["User.town", "Town"])
      let left = folder.names.filter { $0.hasPrefix("a\(round).") }
      #expect(left.allSatisfy { $0.hasSuffix(".store") || $0.hasSuffix(".backup") }, "\(left)")
      #expect(try await Store.migrate(at: url, key: testKey, migrations: set).steps == [2, 3])
    }
    if isTorture, killCount >= 50 { #expect(seen == [1, 3]) }
  }
}
