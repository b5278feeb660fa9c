// Former names that classes declare, beside renamings that a caller gives: their order, and which of them
// stay a question.

import Foundation
import ObjectVault
import TestSupport
import Testing

private enum Moved {
  /// Each name has become the name of the next property, and `a` is gone.
  final class Row: ManagedObject {
    @Attribute(.renamed(from: "a")) var b: Int = 0
    @Attribute(.renamed(from: "b")) var c: Int = 0
    @Attribute(.renamed(from: "c")) var d: Int = 0
  }
}
private enum Circled {
  final class Row: ManagedObject {
    @Attribute(.renamed(from: "c")) var b: Int = 0
    @Attribute(.renamed(from: "b")) var c: Int = 0
    @Attribute(.renamed(from: "c")) var d: Int = 0
  }
}
private enum Taken {
  final class Row: ManagedObject {
    @Attribute(.renamed(from: "a")) var b: Int = 0
    @Attribute var c: Int = 0
  }
}
private enum Contradictory {
  final class Row: ManagedObject {
    @Attribute(.renamed(from: "a")) var b: Int = 0
    @Attribute(.renamed(from: "a")) var c: Int = 0
  }
}
private enum HintedClasses {
  final class Person: ManagedObject {
    @Attribute(.renamed(from: "name")) var title: String
    @ToOne var boss: Person?
  }
  final class Member: ManagedObject { @Attribute var name: String }
}
private enum HintedHierarchy {
  class Person: ManagedObject { @Attribute var name: String }
  final class Employee: Person { @Attribute var pay: Int = 0 }
}
private enum Swapped {
  final class One: ManagedObject {
    @Attribute(.renamed(from: "y")) var x: Int = 0
    @Attribute(.renamed(from: "x")) var y: Int = 0
  }
  final class Two: ManagedObject { @Attribute var z: Int = 0 }
}

@Suite(.tags(.pure)) struct RenamingHintOrders {
  private func steps(_ text: String) throws -> MigrationSet {
    try MigrationSet([MigrationStep(number: 1, name: "x", text: "format: 1\n[up]\n\(text)\n")])
  }

  private func proposal(from old: String, to new: String, renaming: [String]) throws -> MigrationProposal {
    try steps(old).proposal(
      for: try steps(new).model(at: 1), renaming: renaming.compactMap { MigrationRenaming($0) })
  }

  private func proposal(from old: String, to new: Schema, renaming: [String] = []) throws -> MigrationProposal
  {
    try steps(old).proposal(for: new, renaming: renaming.compactMap { MigrationRenaming($0) })
  }

  @Test func `entities exchange their names before a property of one is renamed`() throws {
    let told = try proposal(
      from: "create entity A {\n attribute x string\n}\ncreate entity B {\n attribute x int\n}",
      to: "create entity A {\n attribute y int\n}\ncreate entity B {\n attribute x string\n}",
      renaming: ["A=B", "B=A", "A.x=y"])
    #expect(
      told.lines == [
        "rename entity A -> ABefore", "rename entity B -> A", "rename entity ABefore -> B",
        "rename attribute A.x -> y",
      ])
  }

  @Test(arguments: [
    (["A.x=y", "A.x=z"], "A.x=z: A.x=y renames A.x as well; remove one of the two."),
    (["A.x=z", "A.w=z"], "A.w=z: A.x=z gives the name A.z as well; remove one of the two."),
    (["A=C", "A=D"], "A=D: A=C renames A as well; remove one of the two."),
    (["A=C", "B=C"], "B=C: A=C gives the name C as well; remove one of the two."),
    (
      ["A=B"],
      "A=B: the steps already have B; first drop it in a step of its own, or pass its renaming as well."
    ),
    (
      ["A.x=w"],
      "A.x=w: the steps already have A.w; first drop it in a step of its own, or pass its renaming as well."
    ),
  ])
  func `contradictory renamings are refused, and the error names both`(_ renaming: [String], _ text: String)
    throws
  {
    let model =
      "create entity A {\n attribute x int\n attribute w int\n}\ncreate entity B {\n attribute x int\n}"
    let error = #expect(throws: StoreError.self) { try proposal(from: model, to: model, renaming: renaming) }
    #expect(error.map { "\($0)" } == text)
  }

  @Test func `former names of properties are looked up in the entity that the class was before`() throws {
    let swapped = Schema {
      Entity(Swapped.One.self)
      Entity(Swapped.Two.self)
    }
    let question = "One.x declares the former name One.y, but the steps have both."
    let renamed = try proposal(
      from: "create entity Former {\n attribute x int default 0\n attribute y int default 0\n}\n"
        + "create entity Two {\n attribute z int default 0\n}", to: swapped, renaming: ["Former=One"])
    #expect(renamed.lines == ["rename entity Former -> One"])
    #expect(renamed.notes.contains { $0.hasPrefix(question) })
    #expect(renamed.doneHints.map { "\($0.renaming)" } == ["One.y=x", "One.x=y"])
    let exchanged = try proposal(
      from: "create entity Two {\n attribute x int default 0\n attribute y int default 0\n}\n"
        + "create entity One {\n attribute z int default 0\n}", to: swapped, renaming: ["One=Two", "Two=One"])
    #expect(exchanged.lines.count == 3 && exchanged.notes.contains { $0.hasPrefix(question) })
  }

  @Test func `possible renamings and missing values are also reported in a renamed entity`() throws {
    let told = try proposal(
      from: "create entity U {\n attribute name string\n}",
      to: "create entity W {\n attribute title string\n}",
      renaming: ["U=W"])
    #expect(told.doubts.map(\.description) == ["W.name=title"])
    #expect(told.notes.contains { $0.hasPrefix("W.title is required") })
  }

  @Test func `names of properties that move on by one are renamed, the last one first`() throws {
    let row =
      "create entity Row {\n attribute a int default 0\n attribute b int default 0\n attribute c int default 0\n}"
    let moved = try proposal(from: row, to: Schema { Entity(Moved.Row.self) })
    #expect(
      moved.lines == [
        "rename attribute Row.c -> d", "rename attribute Row.b -> c", "rename attribute Row.a -> b",
      ])
    #expect(moved.notes.isEmpty && moved.losses.isEmpty)
  }

  @Test func `a given renaming answers the question that a declared former name raises`() throws {
    let row = "create entity Row {\n attribute a int default 0\n attribute b int default 0\n}"
    let schema = Schema { Entity(Taken.Row.self) }
    let asked = try proposal(from: row, to: schema)
    #expect(
      asked.notes.contains { $0.hasPrefix("Row.b declares the former name Row.a, but the steps have both.") })
    let told = try proposal(from: row, to: schema, renaming: ["Row.a=c"])
    #expect(told.lines == ["rename attribute Row.a -> c"] && told.notes.isEmpty, "\(told.notes)")
  }

  @Test func `a cycle of declared names beside a new name stays a question`() throws {
    let row = "create entity Row {\n attribute b int default 0\n attribute c int default 0\n}"
    let circled = try proposal(from: row, to: Schema { Entity(Circled.Row.self) })
    #expect(circled.lines == ["rename attribute Row.c -> d", "add attribute Row.c int default 0"])
    #expect(circled.notes.count == 2 && circled.notes.allSatisfy { $0.contains("the steps have both") })
  }

  // MARK: Entities

  private static let user =
    "create entity User {\n attribute name string\n relationship boss -> User\n}"

  @Test func `an entity with a declared former name is renamed, and so are its properties`() throws {
    let told = try proposal(
      from: Self.user, to: Schema { Entity(HintedClasses.Person.self).renamed(from: "User") })
    #expect(told.lines == ["rename entity User -> Person", "rename attribute Person.name -> title"])
    #expect(told.notes.isEmpty && told.doubts.isEmpty && told.losses.isEmpty)
    // A repeated renaming has no effect, and a property may be given by either name of its entity.
    let schema = Schema { Entity(HintedClasses.Person.self).renamed(from: "User") }
    for more in [["User=Person"], ["User.name=title"], ["Person.name=title", "User=Person"]] {
      #expect(try proposal(from: Self.user, to: schema, renaming: more).lines == told.lines)
    }
    // Opening a store shows the same lines.
    let lines = SchemaDifference.operations(from: try steps(Self.user).model(at: 1), to: schema)
    #expect(lines.map(\.description) == told.lines)
  }

  @Test func `an entity whose declared former name is unknown or its own is a new entity`() throws {
    for name in ["Human", "Person", ""] {
      let told = try proposal(
        from: Self.user, to: Schema { Entity(HintedClasses.Person.self).renamed(from: name) })
      #expect(told.lines.contains { $0.hasPrefix("create entity Person") } && told.losses == ["User"])
      #expect(told.doubts.map(\.description).allSatisfy { $0 == "User=Person" })
    }
    // The renaming has been done.
    let done = "create entity Person {\n attribute title string\n relationship boss -> Person\n}"
    let schema = Schema { Entity(HintedClasses.Person.self).renamed(from: "User") }
    #expect(try proposal(from: done, to: schema).lines.isEmpty)
  }

  @Test func `names of entities that move on by one are renamed, the last one first`() throws {
    let told = try proposal(
      from: "create entity User {\n attribute name string\n}\n"
        + "create entity Person {\n attribute title string\n relationship boss -> Person\n}",
      to: Schema {
        Entity(HintedClasses.Person.self).renamed(from: "User")
        Entity(HintedClasses.Member.self).renamed(from: "Person")
      })
    #expect(told.lines.prefix(2) == ["rename entity Person -> Member", "rename entity User -> Person"])
  }

  @Test func `a former entity name that is used again is a new entity`() throws {
    let told = try proposal(
      from: "create entity Member {\n attribute title string\n relationship boss -> Member\n}",
      to: Schema {
        Entity(HintedClasses.Person.self).renamed(from: "Member")
        Entity(HintedClasses.Member.self)
      })
    #expect(told.lines.first == "rename entity Member -> Person")
    #expect(told.lines.last?.hasPrefix("create entity Member") == true && told.lines.count == 2)
  }

  @Test func `two entities that declare each other's names as former ones are a question`() throws {
    let old =
      "create entity Person {\n attribute title string\n relationship boss -> Person\n}\n"
      + "create entity Member {\n attribute name string\n}"
    let schema = Schema {
      Entity(HintedClasses.Person.self).renamed(from: "Member")
      Entity(HintedClasses.Member.self).renamed(from: "Person")
    }
    let told = try proposal(from: old, to: schema)
    #expect(told.lines.isEmpty && told.notes.count == 2)
    #expect(
      told.notes.first
        == "Member declares the former name Person, but the steps have both. If the renaming is done, remove "
        + ".renamed(from: \"Person\") from the schema; if not, state each renaming that is still to be made"
    )
    let answered = try proposal(from: old, to: schema, renaming: ["Member=Person", "Person=Member"])
    #expect(
      answered.lines.prefix(3).allSatisfy { $0.hasPrefix("rename entity") }
        && !answered.notes.contains { $0.contains("declares the former name") })
  }

  @Test func `entities of a hierarchy are renamed before parents and properties are compared`() throws {
    let told = try proposal(
      from: "create entity Human {\n attribute name string\n}\n"
        + "create entity Worker : Human {\n attribute pay int default 0\n}",
      to: Schema {
        Entity(HintedHierarchy.Person.self).renamed(from: "Human")
        Entity(HintedHierarchy.Employee.self).renamed(from: "Worker")
      })
    #expect(
      Set(told.lines) == ["rename entity Human -> Person", "rename entity Worker -> Employee"]
        && told.lines.count == 2)
  }

  @Test func `two claims of one former name are refused, and so is a contradicting renaming`() throws {
    func refusal(from old: String, to schema: Schema, renaming: [String] = []) -> String? {
      let error = #expect(throws: StoreError.self) { try proposal(from: old, to: schema, renaming: renaming) }
      guard case .renamingRefused = error else { return nil }
      return error.map { "\($0)" }
    }
    let both = Schema {
      Entity(HintedClasses.Person.self).renamed(from: "User")
      Entity(HintedClasses.Member.self).renamed(from: "User")
    }
    #expect(
      refusal(from: Self.user, to: both)
        == "User=Person: User=Member renames User as well; remove one of the two.")
    let one = Schema {
      Entity(HintedClasses.Person.self).renamed(from: "User")
      Entity(HintedClasses.Member.self)
    }
    #expect(
      refusal(from: Self.user, to: one, renaming: ["User=Member"])
        == "User=Member: User=Person renames User as well; remove one of the two.")
    let row = "create entity Row {\n attribute a int default 0\n}"
    #expect(
      refusal(from: row, to: Schema { Entity(Contradictory.Row.self) })
        == "Row.a=c: Row.a=b renames Row.a as well; remove one of the two.")
  }
}
