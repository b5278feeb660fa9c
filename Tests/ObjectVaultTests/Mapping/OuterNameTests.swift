// Names that refer to a row of an outer query, inside a query over another table that has a column of
// that name.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct OuterNamesOfQueries {
  private static let base = """
    create entity User {
     attribute name string
     attribute count int default 0
     relationship posts -> Post many inverse Post.user
     relationship tags -> Tag many inverse Tag.users
    }
    create entity Admin : User {
     attribute level int default 0
     relationship team -> Tag
    }
    create entity Post {
     attribute title string
     attribute name string
     relationship user -> User inverse User.posts
     relationship team -> Tag
    }
    create entity Tag {
     attribute label string
     relationship users -> User many inverse User.tags
    }
    """

  private func outcome(of step: String) -> String {
    do {
      let set = try MigrationSet([
        MigrationStep(number: 1, name: "a", text: "format: 1\n[up]\n\(Self.base)\n"),
        MigrationStep(number: 2, name: "b", text: "format: 1\n[up]\n\(step)\n"),
      ])
      return try set.compileFaults().joined(separator: "\n")
    } catch { return "\(error)" }
  }

  @Test(arguments: [
    (
      "UPDATE $User SET $User.count = (SELECT count(*) FROM $Post WHERE $Post.user = $User.id)", "User.id",
      "Post"
    ),
    (
      "UPDATE $User SET $User.count = (select count(*) from $Post p where p.$Post.user = $User.id)",
      "User.id", "Post"
    ),
    (
      "UPDATE $Admin SET $Admin.count = (SELECT 1 FROM $Post WHERE $Post.title = $Admin.name)", "Admin.name",
      "Post"
    ),
    // A child's own column; its table has the name of the root entity.
    (
      "UPDATE $User SET $User.count = (SELECT count(*) FROM $Post WHERE $Post.title = '' AND $Admin.team = 3)",
      "Admin.team", "Post"
    ),
    (
      "DELETE FROM $User WHERE EXISTS (SELECT 1 FROM $Tag JOIN $Post ON 1 WHERE $User.name = '')",
      "User.name", "Post"
    ),
    (
      "DELETE FROM $User WHERE 1 IN (SELECT 1 FROM $User UNION SELECT $User.id FROM $Post)", "User.id", "Post"
    ),
    (
      "DELETE FROM $User WHERE (SELECT 1 FROM $Post WHERE (SELECT $User.id FROM $Tag WHERE 1) > 0) = 1",
      "User.id",
      "Tag"
    ),
    (
      "UPDATE $Post SET $Post.title = ''; UPDATE $User SET $User.count = (SELECT 1 FROM $Tag, $Post WHERE $User.id = 1)",
      "User.id", "Post"
    ),
    (
      "UPDATE $User SET $User.count = (SELECT count(*) FROM $Tag JOIN $Tag.users ON $Tag.users.Tag = $Tag.id WHERE $User.id = 1)",
      "User.id", "Tag"
    ),
    ("DELETE FROM $User WHERE EXISTS (SELECT 1 FROM ($Post) WHERE $User.id = 1)", "User.id", "Post"),
  ])
  func `an outer name that an inner table would capture is refused with the qualified name`(
    _ sql: String, _ name: String, _ table: String
  ) throws {
    let told = outcome(of: "transform sql { \(sql) }")
    let entity = try #require(name.split(separator: ".").first)
    #expect(
      told.contains("$\(name) is in a query that reads \(table), where it would mean the column")
        && told.contains("write $\(entity).$\(name) for the row of the outer query"), "\(told)")
    // The suggested name compiles.
    #expect(outcome(of: "transform sql { \(qualified(sql, name: name)) }") == "")
  }

  /// Replaces the last occurrence of the name in the SQL by the qualified name of the message.
  private func qualified(_ sql: String, name: String) -> String {
    guard let range = sql.range(of: "$\(name)", options: .backwards) else { return sql }
    return sql.replacingCharacters(in: range, with: "$\(name.prefix { $0 != "." }).$\(name)")
  }

  @Test(arguments: [
    "transform sql { UPDATE $User SET $User.name = $Post.name }",
    "transform sql { DELETE FROM $User WHERE $Post.name = 'w' }",
    "retype User.name to string using ($Post.name)",
    "seed { INSERT INTO $Post ($Post.name) SELECT $Post.name FROM $User }",
    "create raw index i { ON $User (lower($Post.name)) }",
    "transform sql { DELETE FROM $User WHERE $User.id IN (SELECT $User.id FROM $User WHERE $Post.name = '') }",
  ])
  func `a name whose entity no query reads is refused if another table would capture it`(_ step: String) {
    let told = outcome(of: step)
    #expect(
      told.contains(
        "$Post.name is in a query that reads User, where it would mean the column name of that table; no "
          + "query around"),
      "\(told)")
  }

  @Test(arguments: [
    // Only the outer table has the column.
    "UPDATE $User SET $User.count = (SELECT count(*) FROM $Post WHERE $Post.title = '' AND $User.count = 1)",
    // The inner query reads the entity of the name.
    "DELETE FROM $User WHERE $User.id IN (SELECT $User.id FROM $User)",
    "DELETE FROM $Post WHERE $Post.user IN (SELECT u.$User.id FROM $User u JOIN $Tag t ON t.$Tag.id = u.$User.id)",
    "DELETE FROM $Admin WHERE $Admin.id IN (SELECT $User.id FROM $Admin)",
    "UPDATE $User SET $User.count = (SELECT count(*) FROM $User u WHERE $Admin.team = 3 AND u.$Admin.level = 1)",
    "DELETE FROM $User WHERE $Admin.team IN (SELECT $Tag.id FROM $Tag WHERE $Admin.level = 2)",
    "INSERT INTO $Tag ($Tag.label) SELECT $User.name FROM $User",
    "INSERT INTO $Tag ($Tag.label) SELECT $User.name FROM $User UNION SELECT $Post.title FROM $Post",
    // The link table has no such column.
    "UPDATE $User SET $User.count = (SELECT count(*) FROM $User.tags WHERE $User.tags.User = $User.id)",
    // The columns of a subquery or of a common table expression are unknown.
    "DELETE FROM $User WHERE EXISTS (SELECT 1 FROM (SELECT 1 AS id) WHERE $User.id = 1)",
    "DELETE FROM $User WHERE EXISTS (WITH p AS (SELECT $Post.id FROM $Post) SELECT 1 FROM p WHERE $User.id = 1)",
    // ORDER BY after a UNION refers to the columns of the first query.
    "INSERT INTO $Tag ($Tag.label) SELECT $User.name FROM $User UNION SELECT $Post.title FROM $Post ORDER BY $User.name",
    // A string literal, a name that is already qualified, and OR IGNORE.
    "DELETE FROM $Post WHERE $Post.title IN (SELECT '$User.id' FROM $Tag)",
    "UPDATE $User SET $User.count = (SELECT 1 FROM $Post WHERE $Post.user = $User.$User.id)",
    "UPDATE OR IGNORE $User SET $User.count = (SELECT 1)",
  ])
  func `a name that no inner table captures is accepted`(_ sql: String) {
    #expect(outcome(of: "transform sql { \(sql) }") == "")
  }

  @Test(arguments: [
    "retype User.name to int using (SELECT count(*) FROM $Post WHERE $Post.user = $User.id)",
    "create raw view Busy { SELECT $User.id FROM $User WHERE EXISTS (SELECT 1 FROM $Post WHERE $Post.user = $User.id) }",
    "require \"x\" { SELECT count(*) = 0 FROM $User WHERE EXISTS (SELECT 1 FROM $Post WHERE $Post.user = $User.id) }",
  ])
  func `an outer name that an inner table would capture is refused in other operations, too`(_ step: String) {
    #expect(outcome(of: step).contains("$User.id is in a query that reads Post"))
  }
}
