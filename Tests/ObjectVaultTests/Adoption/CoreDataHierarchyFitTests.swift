// Inheritance hierarchies of Core Data without a model, and steps that were changed: every loss is named.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.slow)) struct CoreDataHierarchyFits {
  private func text(_ adoption: Adoption, _ entity: String) -> String {
    adoption.step.operations.map(\.description).first { $0.hasPrefix("create entity \(entity) ") } ?? ""
  }

  @Test func `without a model the rows show which entity declares a column, else the root does`() async throws
  {
    let lab = try AdoptionLab(CoreDataHierarchy.tables)
    let targets = ["Employee.employer": "company", "Project.leader": "Manager"]
    let adoption = try await lab.adopt(relationships: targets)
    #expect(adoption.losses.isEmpty && adoption.obstacles.isEmpty, "\(adoption)")
    #expect(
      adoption.step.canonicalText == """
        create entity Desk {
            attribute number int optional
            relationship employees -> Employee many inverse Employee.desk
            relationship owner -> Employee inverse Employee.desks
        }
        create entity Letter {
            attribute text string optional
            relationship carbons -> Person many inverse Person.copies
            relationship sender -> Party inverse Party.letters
        }
        create entity Party {
            attribute name string optional
            relationship letters -> Letter many inverse Letter.sender
        }
        create entity Project {
            attribute title string optional
            relationship leader -> Manager inverse Manager.projects2
            relationship team -> Employee many ordered inverse Employee.projects
        }
        create entity Company : Party {
            attribute since date optional
            attribute title string optional
            attribute vatnumber string optional unique
            relationship employees -> Employee many ordered inverse Employee.employer
        }
        create entity Person : Party {
            attribute born date optional
            attribute photo data optional
            attribute title1 string optional
            relationship copies -> Letter many inverse Letter.carbons
            relationship mentor -> Person inverse Person.persons
            relationship persons -> Person many inverse Person.mentor
            index (name, born)
        }
        create entity Employee : Person {
            attribute isboss int optional
            attribute salary double optional indexed
            relationship desk -> Desk inverse Desk.employees
            relationship desks -> Desk many inverse Desk.owner
            relationship employer -> Company inverse Company.employees
            relationship projects -> Project many inverse Project.team
        }
        create entity Manager : Employee {
            attribute level int optional
            relationship projects2 -> Project many inverse Project.leader
        }
        """)
    #expect(
      try lab.rows("SELECT id, _entity, level, salary, employer_id FROM Party ORDER BY id") == [
        [1, "Company", .null, .null, .null], [2, "Person", .null, .null, .null],
        [3, "Employee", .null, .real(1000.5), 1], [4, "Manager", 3, .real(9000), 9],
        [5, "Employee", .null, .real(7), 1], [6, "Person", .null, .null, .null],
        [7, "Manager", .null, .null, .null], [9, "Company", .null, .null, .null],
      ])
    for words in ["Manager declares level, because only its rows have values", "Party declares name"] {
      #expect(adoption.notes.contains { $0.contains(words) }, "\(words): \(adoption.notes)")
    }
  }

  @Test func `a column without values is declared by the root entity`() async throws {
    let lab = try AdoptionLab(
      CoreDataHierarchy.tables
        + "DELETE FROM ZPARTY WHERE Z_ENT <> 7; DELETE FROM Z_6PROJECTS; DELETE FROM Z_2CARBONS;")
    let adoption = try await lab.plan()
    #expect(text(adoption, "Party").contains("attribute level int optional"))
    #expect(adoption.schema.entity(named: "Manager")?.parent == "Employee")
    #expect(adoption.schema.entity(named: "Manager")?.attributes == [])
  }

  @Test func `steps may declare a column at another entity if the rows with values allow it`() async throws {
    let lab = try AdoptionLab(CoreDataHierarchy.file)
    let own = CoreDataHierarchies.step
    let above = own.replacing("    attribute level int optional\n", with: "")
      .replacing(
        "    attribute name string optional\n",
        with: "    attribute Level int optional\n    attribute name string optional\n")
    try await lab.adopt(above)
    #expect(try lab.rows("SELECT Level FROM Party WHERE id = 4") == [[3]])
    let below = own.replacing("    attribute salary double optional indexed\n", with: "")
      .replacing(
        "    attribute level int optional\n",
        with: "    attribute level int optional\n    attribute salary double optional\n")
    let other = try AdoptionLab(CoreDataHierarchy.file)
    await #expect {
      try await other.adopt(below)
    } throws: { error in
      guard case StoreError.adoptionRefused = error else { return false }
      return "\(error)".contains("2 of 6 rows of other entities have a value in Manager.salary")
    }
  }

  @Test func `steps may declare a many-to-many at a parent, and get its links`() async throws {
    let lab = try AdoptionLab(CoreDataHierarchy.file)
    let step = CoreDataHierarchies.step
      .replacing(
        "carbons -> Person many inverse Person.copies", with: "carbons -> Party many inverse Party.copies"
      )
      .replacing("    relationship copies -> Letter many inverse Letter.carbons\n", with: "")
      .replacing(
        "    relationship sent -> Letter",
        with: "    relationship copies -> Letter many inverse Letter.carbons\n    relationship sent -> Letter"
      )
    let adoption = try await lab.adopt(step)
    #expect(adoption.losses.isEmpty)
    let usual = try AdoptionLab(CoreDataHierarchy.file)
    try await usual.adopt()
    let links = try usual.rows("SELECT Letter_id, Person_id FROM Letter_carbons ORDER BY 1, 2")
    #expect(
      try !links.isEmpty && lab.rows("SELECT Letter_id, Party_id FROM Letter_carbons ORDER BY 1, 2") == links)
  }

  @Test func `an attribute called kind in a hierarchy is an ordinary attribute`() async throws {
    let lab = try AdoptionLab(CoreDataHierarchy.file)
    try await lab.adopt(
      CoreDataHierarchies.step.replacing(
        "    attribute name string optional\n",
        with: "    attribute kind string default \"plain\"\n    attribute name string optional\n"))
    #expect(try lab.rows("SELECT DISTINCT kind FROM Party") == [["plain"]])
  }

  @Test func `rows of an entity that the steps omit become its parent's, which must be allowed`() async throws
  {
    let lab = try AdoptionLab(CoreDataHierarchy.file)
    let step = try #require(CoreDataHierarchies.step.components(separatedBy: "create entity Manager").first)
      .replacing("    relationship leader -> Manager inverse Manager.leads\n", with: "")
    await #expect {
      try await lab.adopt(step)
    } throws: {
      guard case StoreError.adoptionLoses(_, let losses) = $0 else { return false }
      return losses.map(\.name) == ["Manager.level", "Manager", "Project.leader"] && losses[1].rows == 2
        && losses[1].reason.contains("of Employee")
    }
    let adoption = try await lab.adopt(step, allowing: ["Manager.level", "Manager", "Project.leader"])
    #expect(
      try lab.rows("SELECT id FROM Party WHERE _entity = 'Employee' ORDER BY 1") == [[3], [4], [5], [7]])
    #expect(
      adoption.tables.filter { $0.source == "ZPARTY" }.map { "\($0.target) \($0.rows)" } == [
        "Party 0", "Company 2", "Person 2", "Employee 4",
      ])
  }

  @Test func `a step of one entity with an attribute kind gets the name of each row's entity`() async throws {
    let lab = try AdoptionLab(CoreDataAdoptions.file)
    let step = try await lab.plan(["note.author": "Person"]).step.canonicalText
      .replacing("\ncreate entity Manager : Person {\n}", with: "")
      .replacing(
        "    attribute name string optional\n",
        with: "    attribute kind string optional\n    attribute name string optional\n")
    try await lab.adopt(step)
    #expect(try lab.rows("SELECT id, kind FROM Person ORDER BY id") == [[1, "Person"], [5, "Manager"]])
  }

  @Test func `steps with an entity at another place of the hierarchy are refused`() async throws {
    let lab = try AdoptionLab(CoreDataHierarchy.file)
    let step = CoreDataHierarchies.step.replacing(
      "create entity Company : Party {", with: "create entity Company {")
    await #expect { try await lab.adopt(step) } throws: {
      "\($0)".contains("set parent of Company to none")
    }
  }
}
