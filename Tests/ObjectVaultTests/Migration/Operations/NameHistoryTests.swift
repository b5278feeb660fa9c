// The properties that steps leave unchanged, for a comparison of a store before and after them.

import ObjectVault
import Testing

@Suite(.tags(.pure)) struct NameTrails {
  private static let base = """
    create entity User {
        attribute name string
        attribute nick string optional
        attribute age int
    }
    """

  /// The properties of the only entity whose values a block leaves unchanged.
  private func kept(_ block: String) throws -> Set<String> {
    let set = try MigrationSet(
      [Self.base, "transform sql { \(block) }"].enumerated().map { index, text in
        try MigrationStep(number: index + 1, name: "s", text: "format: 1\n[up]\n\(text)\n")
      })
    return Set(try NameHistory(set, from: 1, to: 2).keptProperties(of: "User").keys)
  }

  private static let rows = "($User.id, $User.name, $User.age) SELECT $User.id, 'x', 1 FROM $User"

  @Test(arguments: [
    "REPLACE INTO $User \(rows)", "INSERT OR REPLACE INTO $User \(rows)",
    "insert or replace /* INTO */ into $User \(rows)",
  ])
  func `a REPLACE counts as a change of the columns that it names`(_ block: String) throws {
    #expect(try kept(block) == ["nick"])
  }

  @Test(arguments: [
    "INSERT INTO $User ($User.name, $User.age) SELECT replace($User.name, 'a', 'b'), 1 FROM $User",
    "INSERT INTO $User ($User.name, $User.age) VALUES ('replace into', 1)",
    "INSERT INTO $User ($User.name, $User.age) VALUES ('x', 1) /* replace into */",
  ])
  func `a function, a text or a comment called replace is no REPLACE`(_ block: String) throws {
    #expect(try kept(block) == ["name", "nick", "age"])
  }

  @Test func `a block changes the columns that it writes, and not those that it reads`() throws {
    #expect(
      try kept("UPDATE OR REPLACE $User SET $User.nick = replace($User.name, 'a', 'b')") == ["name", "age"])
  }
}
