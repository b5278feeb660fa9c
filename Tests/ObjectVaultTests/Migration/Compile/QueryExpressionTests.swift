// Queries as the expression of a step, with brackets of their own and without.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct QueryExpressions {
  private static let base = """
    create entity User {
     attribute name string
     attribute code string
     relationship posts -> Post many inverse Post.user
    }
    create entity Post {
     attribute title string
     relationship user -> User inverse User.posts
    }
    """
  private static let fill = [
    "INSERT INTO User(id, name, code) VALUES (1, 'a', '7'), (2, 'b', '8')",
    "INSERT INTO Post(id, title, user_id) VALUES (1, 'z', 1), (2, 'y', 1), (3, 'x', 2)",
  ]

  @Test(arguments: [
    "SELECT count(*) FROM $Post WHERE $Post.user = $User.$User.id",
    "/* posts */ with p AS (SELECT * FROM $Post) select count(*) FROM p WHERE p.user_id = $User.$User.id",
    "(SELECT count(*) FROM $Post WHERE $Post.user = $User.$User.id)",
  ])
  func `retype can compute an attribute by a query`(_ sql: String) async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    let step = "retype User.code to int using (\(sql))"
    let set = try lab.set([Self.base, step])
    // The text is kept as it was written, and the checksum covers it.
    #expect(set.steps[1].canonicalText == step)
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: set).refusals.isEmpty)
    try await lab.migrate(step)
    #expect(try lab.rows("SELECT code FROM User ORDER BY id") == [[2], [1]])
    #expect(try lab.isSound())
  }

  @Test func `VALUES is a query, and a name that begins with that word is none`() async throws {
    let lab = try await MigrationLab(
      "create entity User {\n attribute code string\n attribute values_of string default \"v\"\n}",
      fill: ["INSERT INTO User(id, code) VALUES (1, '7')"])
    try await lab.migrate(
      "retype User.code to int using (VALUES (5))\nretype User.values_of to string using (values_of || 'w')")
    #expect(try lab.rows("SELECT code, values_of FROM User") == [[5, "vw"]])
  }

  @Test(arguments: ["SELECT upper($Post.title)", "$Post.title"])
  func `make one can pick a link by a query`(_ order: String) async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    try await lab.migrate("make User.posts one picking (\(order))")
    #expect(try lab.rows("SELECT id FROM Post WHERE user_id NOT NULL ORDER BY user_id") == [[2], [3]])
    #expect(try lab.isSound())
  }
}
