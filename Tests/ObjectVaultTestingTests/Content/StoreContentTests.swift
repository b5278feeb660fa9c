// Contents of stores as values, and the sentences about their differences.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

final class Reel: ManagedObject {
  @ToMany(inverse: \Clip.reel) var clips: [Clip]
  @ToMany var best: [Clip]
}

final class Clip: ManagedObject {
  @ToOne var reel: Reel?
}

@Suite struct StoreContentTests {
  private func microblog() async throws -> TestStore {
    let test = try await TestStore(Microblog.microblog, migrations: MicroblogMigrations.all)
    try await test.store.write { context in
      let tag = context.insert(Tag.self) { $0.name = "x" }
      let user = context.insert(User.self) {
        $0.name = "Ada"
        $0.city = "London"
      }
      context.insert(Status.self) {
        $0.text = "Hello"
        $0.createdAt = Date(timeIntervalSinceReferenceDate: 1)
        $0.user = user
        $0.tags = [tag]
      }
      context.insert(User.self) { $0.name = "Bo" }
    }
    return test
  }

  @Test func `a content has objects, to-ones, and links of both ends`() async throws {
    let content = try await microblog().content()
    #expect(content.version == 6 && content.count == 4 && content.count(of: "User") == 2)
    #expect(content.objects["User"]?[1] == ["name": "Ada", "screenName": "", "city": "London"])
    #expect(content.objects["Status"]?[1]?["user"] == 1)
    #expect(content.links["Status.tags"] == [.init(source: 1, target: 1)])
    #expect(content.links["Tag.statuses"] == [.init(source: 1, target: 1)])
    #expect(content.links["User.statuses"] == nil && content.count(of: "Nobody") == 0)
  }

  @Test func `a content has the order of members, and a changed order is reported`() async throws {
    let test = try await TestStore(
      Schema {
        Entity(Reel.self)
        Entity(Clip.self)
      })
    try await test.store.write { context in
      let clips = (0..<3).map { _ in context.insert(Clip.self) }
      context.insert(Reel.self) { reel in
        reel.clips = [clips[2], clips[0], clips[1]]
        reel.best = [clips[1], clips[0]]
      }
    }
    let before = try test.content()
    #expect(before.orders == ["Reel.clips": [1: [3, 1, 2]], "Reel.best": [1: [2, 1]]])
    try await test.store.write { context in
      let reel = try context.fetch(Reel.self).one()
      reel.best.reverse()
      reel.clips.removeFirst()
    }
    let after = try test.content()
    #expect(after.orders == ["Reel.clips": [1: [1, 2]], "Reel.best": [1: [1, 2]]])
    // The removed member is reported by its own to-one.
    #expect(
      after.differences(from: before, showsValues: false) == [
        "Clip.reel: 1 of 3 values differs (row 3)",
        "Reel.best: the members of 1 object are in another order (row 1)",
      ])
  }

  @Test func `differences between contents are described in sentences`() async throws {
    let test = try await microblog()
    let before = try test.content()
    #expect(before.differences(from: before) == [])
    try await test.store.write { context in
      let ada = try context.fetch(User.self).where("name == 'Ada'").one()
      ada.city = nil
      context.delete(try context.fetch(User.self).where("name == 'Bo'").one())
      context.insert(User.self) { $0.name = "Cy" }
      for status in ada.statuses { status.tags = [] }
    }
    let after = try test.content()
    #expect(
      after.differences(from: before) == [
        "User: 1 of 2 rows is missing (row 2)",
        "User.city: 1 of 2 values differs, the first in row 1: \"London\" is now nil",
        "User: 1 row is new (row 3)",
        "Status.tags: 1 of 1 link is missing (1 to 1)", "Tag.statuses: 1 of 1 link is missing (1 to 1)",
      ])
    #expect(
      after.differences(from: before, showsValues: false).contains { $0.hasSuffix("differs (row 1)") })
    #expect(!"\(after.differences(from: before, showsValues: false))".contains("London"))
  }
}

@Suite struct PhysicalSchemas {
  private func schema(_ script: String) throws -> PhysicalSchema {
    let database = try TemporaryDatabase(script)
    return try PhysicalSchema(database.connection)
  }

  @Test(arguments: [
    ("CREATE TABLE A(\"id\" INTEGER PRIMARY KEY, \"b\" TEXT)", "column b TEXT is only in the other"),
    (
      "CREATE TABLE A(\"id\" INTEGER PRIMARY KEY, \"b\" TEXT NOT NULL, \"a\" TEXT COLLATE NOCASE)",
      "column a TEXT COLLATE NOCASE is only in the other"
    ),
    ("CREATE TABLE B(x)", "table B is only in the other"),
    ("CREATE VIEW V AS SELECT 1", "view V is only in the other"),
    (
      "CREATE TABLE A(\"id\" INTEGER PRIMARY KEY, \"b\" TEXT REFERENCES C(id) ON DELETE CASCADE)",
      "on delete CASCADE"
    ),
    (
      "CREATE TABLE A(\"id\" INTEGER PRIMARY KEY, \"b\" TEXT DEFAULT 'x')",
      "DEFAULT 'x' is only in the other"
    ),
    ("CREATE TABLE A(\"id\" INTEGER PRIMARY KEY); CREATE UNIQUE INDEX i ON A(id)", "unique index i on id"),
  ])
  func `every difference between schemas is named`(_ script: String, _ expected: String) throws {
    let plain = try schema("CREATE TABLE A(\"id\" INTEGER PRIMARY KEY)")
    let found = try plain.differences(from: schema(script), called: "the one", and: "the other")
    #expect(found.contains { $0.contains(expected) }, "\(found)")
  }

  @Test(arguments: [
    // The table has the name of the column; a reference has it; a default has a comma; no quotes; another
    // word order.
    "CREATE TABLE \"name\"(\"id\" INTEGER PRIMARY KEY, \"name\" TEXT %)",
    "CREATE TABLE A(\"b\" INTEGER REFERENCES \"name\"(id), \"name\" TEXT %)",
    "CREATE TABLE A(\"name\" TEXT DEFAULT 'a, b' %)",
    "CREATE TABLE A(name TEXT CHECK (name NOT IN ('a', 'b')) %)",
    "CREATE TABLE A(\"b\" TEXT DEFAULT '\"name\" TEXT COLLATE BINARY,', \"name\" TEXT /* , */ %)",
  ])
  func `a lost collation of a column is detected, whatever surrounds it`(_ script: String) throws {
    let (with, without) = (script.replacing("%", with: "collate \"nocase\""), script.replacing("%", with: ""))
    let found = try schema(with).differences(from: schema(without), called: "the one", and: "the other")
    #expect(found.count == 2 && found.contains { $0.contains("column name TEXT COLLATE nocase") }, "\(found)")
    #expect(try schema(with) == schema(script.replacing("%", with: "COLLATE nocase")))
  }

  @Test func `the order of columns is ignored`() throws {
    let one = try schema("CREATE TABLE A(\"a\" TEXT, \"b\" INTEGER)")
    #expect(try one == schema("CREATE TABLE A(b INTEGER, a TEXT)"))
  }
}
