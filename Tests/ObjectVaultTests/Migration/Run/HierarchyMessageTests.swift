// Messages about inheritance hierarchies: they name the right place and reason, and only what is really
// lost.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct HierarchyMessages {
  private func losses(in base: String, of step: String) throws -> [String] {
    try MigrationSet(
      [base, step].enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)")
      }
    ).losses(ofStep: 2)
  }

  // MARK: References

  @Test func `a reference to a row of another entity is not reported as one to a missing row`() async throws {
    let lab = try await HierarchyStore.lab()
    let wrong = try await lab.refusal("transform sql { UPDATE $Note SET $Note.by = 1 WHERE id = 1 }")
    #expect(
      wrong?.reason
        == "1 reference to an object of the wrong entity: Note.by (row 1) to Person 1, which is not of the entity Employee"
    )
    let gone = try await lab.refusal("transform sql { UPDATE $Note SET $Note.by = 99 WHERE id = 1 }")
    #expect(gone?.reason == "1 reference to a missing row: Note.by (row 1)")
    let both = try await lab.refusal(
      "transform sql { UPDATE $Note SET $Note.by = 5 WHERE id < 3; UPDATE $Note SET $Note.by = 99 WHERE id = 3 }"
    )
    #expect(
      both?.reason
        == "1 reference to a missing row: Note.by (row 3); and 2 references to objects of the wrong "
        + "entity: Note.by (rows 1, 2) to Guest 5, which is not of the entity Employee")
  }

  @Test func `a link to an object of another entity is reported with both of its ids`() async throws {
    let base = HierarchyStore.base + "\nadd relationship Note.readers -> Employee many"
    let lab = try await MigrationLab(base, fill: HierarchyStore.fill)
    let stopped = try await lab.refusal(
      "transform sql { INSERT INTO $Note.readers ($Note.readers.Note, $Note.readers.Employee) VALUES (1, 5) }"
    )
    #expect(
      stopped?.reason
        == "1 reference to an object of the wrong entity: the links Note.readers ((1, 5)) to Guest 5, which is not of the "
        + "entity Employee")
  }

  // MARK: Faults at the end of a step

  @Test(arguments: [
    ("add relationship A.b -> B inverse B.as", "add relationship A.b -> B inverse B.as"),
    (
      "add relationship A.b -> B inverse B.as\nadd relationship A.c -> Nowhere\nadd attribute B.z int optional",
      "add relationship A.b -> B inverse B.as; add relationship A.c -> Nowhere"
    ),
    ("create entity C : Nobody {\n attribute x int\n}", "create entity C : Nobody"),
    ("add attribute A.x_id int optional\nrename attribute A.x_id -> y_id", "rename attribute A.x_id -> y_id"),
  ])
  func `a fault in the model after a step is attributed to the operation that caused it`(
    _ step: String, _ operation: String
  ) throws {
    let base = "create entity A {\n attribute n int\n}\ncreate entity B {\n attribute n int\n}"
    let set = try MigrationSet(
      [base, step + "\nseed { UPDATE $A SET $A.n = 1 }"].enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)")
      })
    for body in [{ _ = try set.model(at: 2) }, { _ = try set.losses(ofStep: 2) }] {
      #expect {
        try body()
      } throws: { error in
        guard case StoreError.migrationFailed(2, _, let found, _) = error else { return false }
        return found == operation
      }
    }
  }

  @Test(arguments: [
    "add attribute Child.extra int optional", "create entity Other : Child {\n attribute extra int\n}",
  ])
  func `one property too many in a hierarchy is attributed to the operation that added it`(
    _ operation: String
  ) throws {
    let attributes = { (range: Range<Int>) in range.map { " attribute a\($0) int\n" }.joined() }
    let base =
      "create entity Root {\n\(attributes(0..<300))}\ncreate entity Child : Root {\n\(attributes(300..<512))}"
    let set = try MigrationSet(
      [base, operation + "\nseed { UPDATE $Root SET $Root.a1 = 1 }"].enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)")
      })
    #expect {
      _ = try set.model(at: 2)
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, let found, let reason) = error else { return false }
      return operation.hasPrefix(found) && reason.contains("513")
    }
  }

  // MARK: Merges

  @Test(arguments: [
    ("attribute name string unique", "drop index Employee(name)"),
    (
      "attribute name string\n index (name, code) unique\n attribute code int",
      "drop index Employee(name, code)"
    ),
  ])
  func `set parent refuses to lose a unique index, and names the index to drop first`(
    _ own: String, _ remedy: String
  ) async throws {
    let base = """
      create entity Person {
          attribute name string
          attribute code int default 1
      }
      create entity Employee {
          \(own)
          attribute salary int
      }
      """
    let lab = try await MigrationLab(base)
    let stopped = try await lab.refusal("set parent of Employee to Person")
    #expect(stopped?.operation == "set parent of Employee to Person")
    #expect(stopped?.reason.hasSuffix("first write: \(remedy)") == true, "\(String(describing: stopped))")
    try await lab.migrate("\(remedy)\nset parent of Employee to Person")
    #expect(try lab.isSound())
  }

  @Test(arguments: [
    ("create entity Employee {", "drop index Employee(code)"),
    (
      "create entity Firm {\n attribute title string\n}\ncreate entity Employee : Firm {",
      "drop index Employee(code)"
    ),
    (
      "create entity Firm {\n attribute code string unique\n}\ncreate entity Employee : Firm {\n attribute x int optional",
      "set parent of Employee to none; drop index Employee(code)"
    ),
  ])
  func `the error for an index that a merge loses names the index to drop first`(
    _ entity: String, _ remedy: String
  ) async throws {
    let own = entity.contains("code") ? "" : "\n attribute code string unique"
    let lab = try await MigrationLab(
      "create entity Being {\n attribute born int optional\n}\n"
        + "create entity Person : Being {\n attribute name string optional\n}\n\(entity)\(own)\n}")
    let merge = "merge entity Employee into Person with Employee.code -> Person.name"
    let stopped = try #require(await lab.refusal(merge))
    #expect(stopped.operation == merge && stopped.reason.hasSuffix("first write: \(remedy)"), "\(stopped)")
    #expect(stopped.reason.contains("Employee(code) is unique"), "\(stopped)")
    try await lab.migrate(remedy.replacing("; ", with: "\n") + "\n" + merge)
    #expect(try lab.isSound())
  }

  @Test func `entities with the same unique attribute can become parent and child`() async throws {
    let base = """
      create entity Person {
          attribute name string unique
      }
      create entity Employee {
          attribute name string unique
      }
      """
    let lab = try await MigrationLab(base, fill: ["INSERT INTO Employee(name) VALUES ('a'), ('b')"])
    try await lab.migrate("set parent of Employee to Person")
    #expect(try lab.rows("SELECT name FROM Person ORDER BY 1") == [["a"], ["b"]])
  }

  @Test func `a proposal drops an index before it sets the parent of its entity`() throws {
    func entity(_ name: String, below parent: String? = nil, unique: Bool) -> EntityDescription {
      EntityDescription(
        name: name, parent: parent,
        attributes: parent != nil
          ? [] : [AttributeDescription(name: "name", type: .string, isUnique: unique)])
    }
    let set = try MigrationSet.creating(Schema(entities: [entity("Cat", unique: true)]))
    let proposal = try set.proposal(
      for: Schema(entities: [entity("Pet", unique: false), entity("Cat", below: "Pet", unique: true)]))
    #expect(
      proposal.lines.map { $0.split(separator: "\n")[0] } == [
        "create entity Pet {", "drop index Cat(name)", "set parent of Cat to Pet",
      ])
    #expect(proposal.notes == [])
  }

  // MARK: Losses

  private static let mentors = """
    create entity Person {
        attribute name string
        relationship mentor -> Person inverse Person.pupils
        relationship pupils -> Person many inverse Person.mentor
        relationship notes -> Note many inverse Note.author on delete cascade
        relationship likes -> Note many ordered inverse Note.liker
        relationship tags -> Tag many inverse Tag.people
    }
    create entity Employee : Person {
        attribute salary int
    }
    create entity Note {
        relationship author -> Person required inverse Person.notes
        relationship liker -> Person inverse Person.likes
    }
    create entity Tag {
        relationship people -> Person many inverse Person.tags
    }
    """

  @Test func `optional relationships to dropped rows are listed as losses, and required ones are not`() throws
  {
    #expect(
      try losses(in: Self.mentors, of: "set parent of Employee to none")
        == ["Employee.mentor", "Note.liker", "Person.mentor", "Person.tags"])
    #expect(
      try losses(in: Self.mentors, of: "drop entity Employee") == [
        "Employee", "Note.liker", "Person.mentor", "Tag.people",
      ])
  }

  @Test func `an entity that moves to another parent in its hierarchy loses inherited attributes`() throws {
    let base = Self.mentors + "\ncreate entity Boss : Employee {\n attribute level int\n}"
    #expect(try losses(in: base, of: "set parent of Boss to Person") == ["Boss.salary"])
  }

  @Test func `positions in an ordered relationship are lost when its members leave the hierarchy`() throws {
    let base = """
      create entity Person {
          relationship team -> Team inverse Team.people
      }
      create entity Employee : Person {
          attribute salary int
      }
      create entity Team {
          relationship people -> Person many ordered inverse Person.team
      }
      """
    #expect(try losses(in: base, of: "set parent of Employee to none") == ["Team.people"])
    #expect(try losses(in: base.replacing(" ordered", with: ""), of: "set parent of Employee to none") == [])
  }

  @Test func `an inheritance cycle is reported, with what to write instead`() throws {
    func reason(_ step: String) -> String {
      do {
        _ = try losses(in: HierarchyStore.base, of: step)
        return ""
      } catch { return "\(error)" }
    }
    #expect(
      reason("set parent of Person to Person").contains(
        "Person cannot inherit from itself; name another entity, or none"))
    #expect(
      reason("set parent of Person to Boss").contains(
        "Boss inherits from Person; first give Boss another parent"))
  }
}
