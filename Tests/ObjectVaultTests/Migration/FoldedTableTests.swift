// A run of operations writes a table anew once at most, fillings of what it adds included, and the rows get what steps of
// their own would give them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FoldedTables {
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

  /// The tables that the second step of a set copies, as often as it does.
  private func copied(_ set: MigrationSet, on engine: Engine) throws -> [String] {
    try set.sql(ofStep: 2, on: engine).filter { $0.hasPrefix("INSERT INTO \"_mig_") }
      .compactMap { $0.split(separator: "\"").dropLast().last.map(String.init) }
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
  func `a filling of what a run adds is of its one copy`(_ operations: [String]) async throws {
    let together = try lab.set([Self.base, operations.joined(separator: "\n")])
    for version in ["3.15.2", "3.40.1"] {
      let engine = try #require(Engine(sqliteVersion: version))
      let copied = try copied(together, on: engine)
      #expect(copied.count == Set(copied).count, "\(version): \(copied)")
      // A new entity has no rows to be filled.
      #expect(copied.isEmpty == operations[0].hasPrefix("create entity"), "\(version): \(copied)")
    }
    let (one, apart) = (
      try await lab.rows(after: together), try await lab.rows(after: lab.set([Self.base] + operations))
    )
    #expect(one != nil && one == apart)
    try await lab.migrate(operations.joined(separator: "\n"))
    #expect(try lab.isSound())
  }

  @Test func `the second end of a one-to-one is filled out of the first, which the same step has filled`()
    async throws
  {
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
    #expect(try lab.rows("SELECT captain_id, leads_id FROM Team, User") == [[4, 1]])
  }

  @Test(arguments: [
    ["add attribute User.age int", "make User.age required filling 5"],
    ["add relationship User.team -> Team required", "make User.team required filling 1"],
    ["add attribute Guest.age int", "make Guest.age required filling 5"],
  ])
  func `what is required when it is added is refused, though a line behind would fill it`(
    _ operations: [String]
  ) async throws {
    #expect(try await lab.rows(after: lab.set([Self.base] + operations)) == nil)
    await #expect { try await lab.migrate(operations.joined(separator: "\n")) } throws: { error in
      if case StoreError.rowsRefused = error { true } else { false }
    }
    #expect(try lab.isSound())
  }

  @Test func `a filling that leads to nobody is told with its rows, in a run with others`() async throws {
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

  @Test func `what is filled and unique is refused before, and the row that is alone gets its value`()
    async throws
  {
    let plan = try await Store.plan(
      at: lab.url, key: testKey,
      migrations: lab.set([Self.base, "add attribute User.code int unique filling 5"]))
    #expect(plan.refusals.count == 1, "\(plan.refusals)")
    try await lab.migrate("add attribute Guest.code int unique filling 5")
    #expect(try lab.rows("SELECT id, code FROM User ORDER BY id") == [[1, .null], [2, 5]])
  }
}
