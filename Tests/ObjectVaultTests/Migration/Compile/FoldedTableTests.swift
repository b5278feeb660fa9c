// A series of operations rebuilds a table at most once, also with backfill values for what it adds, and the
// rows get what separate steps would give them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FoldedTables {
  static let base = """
    create entity Team {
        attribute title string
    }
    create entity User {
        attribute name string
        attribute nick string optional
    }
    create entity Guest : User {
        attribute host string optional
    }
    create entity Note {
        attribute text string optional
        relationship by -> Guest
    }
    """
  static let fill = [
    "INSERT INTO Team(id, title) VALUES (1, 'red'), (7, 'blue')",
    "INSERT INTO User(id, _entity, name, nick, host) VALUES (1, 'User', 'Ada', NULL, NULL), (2, 'Guest', 'Bob', 'b', 'h')",
    "INSERT INTO Note(id, text, by_id) VALUES (1, NULL, 2), (2, 't', NULL)",
  ]
  let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: Self.fill) }

  /// The tables that the second step of a set rebuilds, once for each rebuild.
  private func copied(_ set: MigrationSet, on engine: Engine) throws -> [String] {
    try set.sql(ofStep: 2, on: engine).compactMap { $0.prefixMatch(of: #/INSERT INTO "_mig_([^"]+)"/#) }
      .map { String($0.1) }
  }

  @Test(arguments: [
    ["add attribute User.town string filling \"Bonn\""],
    [
      "add attribute User.town string filling \"Bonn\" default \"Ulm\"",
      "make User.nick required filling \"?\"",
    ],
    [
      "retype User.nick to string using (upper($User.nick))", "add attribute User.age int filling 7",
      "add attribute User.score double default 1.5",
    ],
    ["add relationship User.team -> Team required filling 7", "add attribute User.age int filling 7"],
    [
      "add attribute User.age int filling 7", "rename attribute User.age -> years",
      "rename entity User -> Person",
    ],
    ["add attribute Guest.room int filling 7 default 0", "add attribute User.age int filling 1"],
    ["add relationship Guest.team -> Team required filling 1", "make User.nick required filling \"\""],
    [
      "add relationship Team.users -> User many on delete cascade",
      "add relationship User.team -> Team required inverse Team.users filling 1",
    ],
    [
      "add attribute User.age int filling 7", "add attribute User.more int default 3",
      "drop attribute User.age", "make User.nick required filling \"\"",
    ],
    ["create entity Room : User {\n attribute floor int\n}", "add attribute Room.number int filling 4"],
  ])
  func `backfill values for what a step adds are written in its one copy of the table`(_ operations: [String])
    async throws
  {
    let together = try lab.set([Self.base, operations.joined(separator: "\n")])
    for version in ["3.15.2", "3.40.1"] {
      let engine = try #require(Engine(sqliteVersion: version))
      let copied = try copied(together, on: engine)
      #expect(copied.count == Set(copied).count, "\(version): \(copied)")
      // A new entity has no rows to fill.
      #expect(copied.isEmpty == operations[0].hasPrefix("create entity"), "\(version): \(copied)")
    }
    let (one, apart) = (
      try await lab.rows(after: together), try await lab.rows(after: lab.set([Self.base] + operations))
    )
    #expect(one != nil && one == apart)
    try await lab.migrate(operations.joined(separator: "\n"))
    #expect(try lab.isSound())
  }

  static let linked = """
    create entity Team {
        attribute title string
        relationship users -> User many inverse User.team
        relationship fans -> User many inverse User.favourites
    }
    create entity User {
        attribute name string
        attribute nick string optional
        relationship team -> Team inverse Team.users
        relationship boss -> User
        relationship favourites -> Team many inverse Team.fans
    }
    create entity Guest : User {
        attribute host string optional
        relationship room -> Team
    }
    """
  static let filledLinks = [
    "INSERT INTO Team(id, title) VALUES (1, 'red'), (7, 'blue')",
    """
    INSERT INTO User(id, _entity, name, nick, host, team_id, boss_id, room_id) VALUES
      (1, 'User', 'Ada', NULL, NULL, 7, NULL, NULL), (2, 'Guest', 'Bob', 'b', 'h', 7, 1, 1),
      (3, 'User', 'Cy', NULL, NULL, 1, 2, NULL), (4, 'Guest', 'Di', NULL, NULL, NULL, 2, 7)
    """,
    "INSERT INTO Team_fans(Team_id, User_id) VALUES (1, 1), (7, 1), (7, 2), (1, 4)",
  ]

  @Test(arguments: [
    ["make User.boss many", "drop attribute User.nick"],
    ["set default of User.nick to \"n\"", "make User.boss many"],
    ["make User.favourites one picking ($Team.title)", "drop attribute User.nick"],
    ["make User.boss many", "make User.team many"],
    ["make User.boss many", "make Guest.room many", "make User.favourites one picking ($Team.title DESC)"],
    ["make User.favourites one picking ($Team.title)", "rename attribute Team.title -> name"],
    ["retype User.nick to string using (upper($User.nick))", "make User.nick required filling \"?\""],
    ["retype Guest.host to int using (length($Guest.host))", "make Guest.host required filling 3"],
    [
      "make User.nick required filling \"-\"", "set default of User.nick to \"n\"", "make User.boss many",
      "add attribute User.age int filling 7", "add index User(nick)", "drop attribute User.name",
    ],
  ])
  func `moved links and backfill values for retyped columns are written in the one copy, too`(
    _ operations: [String]
  ) async throws {
    let lab = try await MigrationLab(Self.linked, fill: Self.filledLinks)
    let together = try lab.set([Self.linked, operations.joined(separator: "\n")])
    let copied = try copied(together, on: #require(Engine(sqliteVersion: "3.15.2")))
    #expect(copied.count == Set(copied).count && copied.contains("User"), "\(copied)")
    let (one, apart) = (
      try await lab.rows(after: together), try await lab.rows(after: lab.set([Self.linked] + operations))
    )
    #expect(one != nil && one == apart)
    try await lab.migrate(operations.joined(separator: "\n"))
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    // The choice uses values that an earlier line fills or changes.
    ["make Team.title required filling \"z\"", "make User.favourites one picking ($Team.title)"],
    [
      "add attribute Team.rank int filling 3",
      "make User.favourites one picking ($Team.rank, $Team.title DESC)",
    ],
    [
      "retype Team.title to string using (CASE $Team.title WHEN 'red' THEN 'z' ELSE 'a' END)",
      "make User.favourites one picking ($Team.title)",
    ],
    // An expression reads links that an earlier line moves.
    [
      "make User.team many",
      "retype User.nick to string using ((SELECT count(*) FROM $User.team WHERE $User.team.User = $User.id))",
    ],
    // A series of operations has one table of the chosen rows.
    ["make User.favourites one picking ($Team.title)", "make Team.users one picking ($User.name DESC)"],
    // Both ends of one relationship.
    ["make User.favourites one picking ($Team.title)", "make Team.fans one picking ($User.name)"],
    ["make User.team many", "make Team.users one picking ($User.name DESC)"],
  ])
  func `an operation finds the values that an earlier line of its step makes`(_ operations: [String])
    async throws
  {
    let lab = try await MigrationLab(Self.linked, fill: Self.filledLinks)
    let apart = try await lab.rows(after: lab.set([Self.linked] + operations))
    let together = try await lab.rows(after: lab.set([Self.linked, operations.joined(separator: "\n")]))
    #expect(apart != nil && apart == together)
  }

  @Test func `the second end of a one-to-one finds the first, which the same step has filled`() async throws {
    let base =
      "create entity Team {\n attribute title string\n}\ncreate entity User {\n attribute name string\n}"
    let rows = [
      "INSERT INTO Team(id, title) VALUES (1, 'red')", "INSERT INTO User(id, name) VALUES (4, 'Ada')",
    ]
    let operations = [
      "add relationship Team.captain -> User required filling 4",
      "add relationship User.leads -> Team inverse Team.captain on delete cascade",
    ]
    let lab = try await MigrationLab(base, fill: rows)
    let apart = try await lab.rows(after: lab.set([base] + operations))
    let together = try await lab.rows(after: lab.set([base, operations.joined(separator: "\n")]))
    #expect(apart != nil && apart == together)
    try await lab.migrate(operations.joined(separator: "\n"))
    #expect(try lab.rows("SELECT captain_id FROM Team, User") == [[4]])
  }

  @Test(arguments: [
    ["add attribute User.age int", "make User.age required filling 5"],
    ["add relationship User.team -> Team required", "make User.team required filling 1"],
    ["add attribute Guest.age int", "make Guest.age required filling 5"],
  ])
  func `a new required property without a value is refused, though a later line would fill it`(
    _ operations: [String]
  ) async throws {
    #expect(try await lab.rows(after: lab.set([Self.base] + operations)) == nil)
    await #expect { try await lab.migrate(operations.joined(separator: "\n")) } throws: { error in
      if case StoreError.rowsRefused = error { true } else { false }
    }
    #expect(try lab.isSound())
  }

  @Test func `a backfill value without its object is reported with the rows, among other operations`()
    async throws
  {
    let step = "rename attribute User.name -> title\nadd relationship Guest.team -> Team required filling 9"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set([Self.base, step]))
    #expect(plan.refusals.map(\.rows) == [[2]], "\(plan.refusals)")
    await #expect {
      try await lab.migrate(step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.contains("would get 9 as their team")
    }
  }

  @Test func `a unique backfill value is refused for several rows, and accepted for a single one`()
    async throws
  {
    await #expect { try await lab.migrate("add attribute User.code int unique filling 5") } throws: {
      "\($0)".contains("add index User(code) unique")
    }
    try await lab.migrate("add attribute Guest.code int unique filling 5")
    #expect(try lab.rows("SELECT id, code FROM User ORDER BY id") == [[1, .null], [2, 5]])
  }
}
