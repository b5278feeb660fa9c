// Core Data entities that inherit, with the model that shows where each property belongs. Python's own
// SQLite reads the imported file for comparison.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct CoreDataHierarchies {
  static let step = """
    create entity Desk {
        attribute number int optional
        relationship owner -> Employee
    }
    create entity Letter {
        attribute text string optional
        relationship carbons -> Person many inverse Person.copies
        relationship sender -> Party inverse Party.sent
    }
    create entity Party {
        attribute name string optional
        attribute since date optional
        relationship sent -> Letter many inverse Letter.sender on delete cascade
    }
    create entity Project {
        attribute title string optional
        relationship leader -> Manager inverse Manager.leads
        relationship team -> Employee many ordered inverse Employee.projects
    }
    create entity Company : Party {
        attribute title string optional
        attribute vatNumber string optional unique
        relationship staff -> Employee many ordered inverse Employee.employer on delete deny
    }
    create entity Person : Party {
        attribute born date optional
        attribute photo data optional
        attribute title1 string optional
        relationship copies -> Letter many inverse Letter.carbons
        relationship mentor -> Person inverse Person.pupils
        relationship pupils -> Person many inverse Person.mentor
        index (name, born)
    }
    create entity Employee : Person {
        attribute isBoss bool optional
        attribute salary double optional indexed
        relationship desk -> Desk inverse Desk.owner on delete cascade
        relationship employer -> Company inverse Company.staff
        relationship projects -> Project many inverse Project.team
    }
    create entity Manager : Employee {
        attribute level int optional
        relationship leads -> Project many inverse Project.leader on delete deny
    }
    """

  /// Queries of the file, and the corresponding queries of the store.
  private static let queries = [
    (
      """
      SELECT p.Z_PK, k.Z_NAME, p.ZNAME, p.ZSINCE, p.ZTITLE, p.ZVATNUMBER, p.ZTITLE1, p.ZBORN, p.ZPHOTO, p.ZMENTOR,
        p.ZISBOSS, p.ZSALARY, p.ZEMPLOYER, p.ZLEVEL
      FROM ZPARTY AS p JOIN Z_PRIMARYKEY AS k ON k.Z_ENT = p.Z_ENT ORDER BY 1
      """,
      """
      SELECT id, _entity, name, since, title, vatNumber, title1, born, photo, mentor_id, isBoss, salary,
        employer_id, level FROM Party ORDER BY 1
      """
    ),
    (
      "SELECT Z_PK FROM ZPARTY WHERE ZEMPLOYER = 1 ORDER BY Z_FOK_EMPLOYER",
      "SELECT id FROM Party WHERE employer_id = 1 ORDER BY _employer_position"
    ),
    (
      "SELECT Z_PK, ZNUMBER, ZOWNER FROM ZDESK ORDER BY 1", "SELECT id, number, owner_id FROM Desk ORDER BY 1"
    ),
    (
      "SELECT Z_PK, ZTEXT, ZSENDER FROM ZLETTER ORDER BY 1",
      "SELECT id, text, sender_id FROM Letter ORDER BY 1"
    ),
    (
      "SELECT Z_PK, ZTITLE, ZLEADER FROM ZPROJECT ORDER BY 1",
      "SELECT id, title, leader_id FROM Project ORDER BY 1"
    ),
    (
      "SELECT Z_2COPIES, Z_5CARBONS FROM Z_2CARBONS ORDER BY 1, 2",
      "SELECT Letter_id, Person_id FROM Letter_carbons ORDER BY 1, 2"
    ),
    (
      "SELECT Z_8PROJECTS, Z_6TEAM FROM Z_6PROJECTS ORDER BY 1, Z_FOK_6TEAM",
      "SELECT Project_id, Employee_id FROM Employee_projects ORDER BY 1, Project_team_position"
    ),
  ]

  /// The rows of the file as Python reads them.
  private func witnessed(_ file: URL) throws -> [[[String]]] {
    let script = """
      import json, sqlite3, sys
      def text(value):
          if value is None: return "null"
          if isinstance(value, bytes): return "blob " + value.hex()
          return {int: "integer ", float: "real ", str: "text "}[type(value)] + str(value)
      file = sqlite3.connect(sys.argv[1])
      print(json.dumps([[[text(cell) for cell in row] for row in file.execute(query)] for query in sys.argv[2:]]))
      """
    let said = try runTool("/usr/bin/python3", ["-c", script, file.path] + Self.queries.map(\.0))
    return try JSONDecoder().decode([[[String]]].self, from: Data(said.output.utf8))
  }

  private func text(_ value: SQLValue) -> String {
    switch value {
    case .null: "null"
    case .integer(let number): "integer \(number)"
    case .real(let number): "real \(number)"
    case .text(let text): "text \(text)"
    case .blob(let data): "blob \(data.map { String(format: "%02x", $0) }.joined())"
    }
  }

  private func isTaken(_ lab: AdoptionLab) throws -> Bool {
    let found = try Self.queries.map { try lab.rows($0.1).map { $0.map(text) } }
    let expected = try witnessed(lab.file)
    #expect(found == expected)
    return found == expected && expected.allSatisfy { !$0.isEmpty }
  }

  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3"),
    arguments: [true, false])
  func `each property is declared by its entity, and every cell and entity is imported`(withInherited: Bool)
    async throws
  {
    let archive = CoreDataHierarchy.archive(withInherited: withInherited).packed
    let lab = try AdoptionLab(CoreDataHierarchy.tables + CoreDataHierarchy.cached(archive))
    let adoption = try await lab.adopt()
    #expect(adoption.losses.isEmpty && adoption.obstacles.isEmpty, "\(adoption)")
    #expect(adoption.step.canonicalText == Self.step)
    #expect(try isTaken(lab))
    #expect(
      adoption.tables.filter { $0.source == "ZPARTY" }.map { "\($0.target) \($0.rows)" } == [
        "Party 0", "Company 2", "Person 2", "Employee 2", "Manager 2",
      ])
    #expect(
      try lab.rows("SELECT entity, last FROM vault_ids ORDER BY entity") == [
        ["Desk", 3], ["Letter", 2], ["Party", 20], ["Project", 2],
      ])
    #expect(
      adoption.notes.contains {
        $0
          == "Person.title1 is called title in Core Data's model. It is renamed because another entity in the table of Party has a property called title."
      }, "\(adoption.notes)")
  }

  @Test func `imported objects are found as their own entity and through every ancestor`() async throws {
    let lab = try AdoptionLab(CoreDataHierarchy.file)
    try await lab.adopt()
    let store = try await Store.open(at: lab.store, key: testKey)
    func names(_ entity: String) async throws -> [String] {
      try await store.read { context in
        try context.fetch(entity: entity).sorted(byPath: "id").all().map { "\($0.entityName) \($0.id.rowID)" }
      }
    }
    #expect(try await names("Employee") == ["Employee 3", "Manager 4", "Employee 5", "Manager 7"])
    #expect(try await names("Company") == ["Company 1", "Company 9"])
    #expect(try await names("Party").count == 8)
  }

  @Test func `values of other entities move a column up, and references to others move the target up`()
    async throws
  {
    let lab = try AdoptionLab(
      CoreDataHierarchy.file
        + """
        UPDATE ZPARTY SET ZLEVEL = 1 WHERE Z_PK = 3;
        UPDATE ZPROJECT SET ZLEADER = 5 WHERE Z_PK = 2;
        INSERT INTO Z_6PROJECTS VALUES (2, 2, 5);
        """)
    let adoption = try await lab.adopt()
    #expect(adoption.losses.isEmpty, "\(adoption.losses)")
    let model = adoption.schema
    #expect(model.entity(named: "Employee")?.attribute(named: "level") != nil)
    #expect(model.entity(named: "Project")?.relationship(named: "leader")?.destination == "Employee")
    #expect(model.entity(named: "Project")?.relationship(named: "team")?.destination == "Person")
    #expect(try lab.rows("SELECT level FROM Party WHERE id = 3") == [[1]])
    #expect(try lab.rows("SELECT leader_id FROM Project WHERE id = 2") == [[5]])
    for words in [
      "Employee.level is declared in a higher entity", "Project.leader refers to Employee and not to Manager",
      "Z_6PROJECTS.Z_6TEAM refers to Person and not to Employee",
    ] {
      #expect(adoption.notes.contains { $0.contains(words) }, "\(words): \(adoption.notes)")
    }
  }

  @Test func `rows without an entity and wrong entity numbers are losses`() async throws {
    let lab = try AdoptionLab(
      CoreDataHierarchy.file
        + """
        INSERT INTO ZPARTY (Z_PK, Z_ENT, ZNAME) VALUES (10, 99, 'nobody'), (11, NULL, 'none');
        UPDATE ZLETTER SET Z3_SENDER = 5 WHERE Z_PK = 2;
        """)
    let adoption = try await lab.plan()
    #expect(adoption.losses.map { "\($0.name) \($0.rows)" } == ["ZPARTY.Z_ENT 2", "ZLETTER.Z3_SENDER 1"])
    try await lab.adopt(allowing: ["ZPARTY.Z_ENT", "ZLETTER.Z3_SENDER"])
    #expect(
      try lab.rows("SELECT id, _entity FROM Party WHERE id > 9 ORDER BY 1") == [
        [10, "Party"], [11, "Party"],
      ])
  }
}
