// What classes say of former names, beside what somebody says of them: in which order, and what stays a question.

import Foundation
import ObjectVault
import TestSupport
import Testing

private enum Moved {
  /// Each name is the next one's now, and a leaves.
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

  private func proposal(_ old: String, _ new: String, renaming: [String]) throws -> MigrationProposal {
    try steps(old).proposal(
      for: try steps(new).model(at: 1), renaming: renaming.compactMap { MigrationRenaming($0) })
  }

  private func proposal(_ old: String, _ new: Schema, renaming: [String] = []) throws -> MigrationProposal {
    try steps(old).proposal(for: new, renaming: renaming.compactMap { MigrationRenaming($0) })
  }

  @Test func `entities that exchange their names do so before a property of one is renamed`() throws {
    let told = try proposal(
      "create entity A {\n attribute x string\n}\ncreate entity B {\n attribute x int\n}",
      "create entity A {\n attribute y int\n}\ncreate entity B {\n attribute x string\n}",
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
      "A=B: the steps already have B; first drop it in a step of its own, or state its new name."
    ),
    (
      ["A.x=w"],
      "A.x=w: the steps already have A.w; first drop it in a step of its own, or state its new name."
    ),
  ])
  func `renamings that contradict each other are told as such`(_ renaming: [String], _ text: String) throws {
    let model =
      "create entity A {\n attribute x int\n attribute w int\n}\ncreate entity B {\n attribute x int\n}"
    let error = #expect(throws: StoreError.self) { try proposal(model, model, renaming: renaming) }
    #expect(error.map { "\($0)" } == text)
  }

  @Test func `what a class says of its properties is asked of the entity that it was`() throws {
    let swapped = Schema {
      Entity(Swapped.One.self)
      Entity(Swapped.Two.self)
    }
    let question = "One.x declares the former name One.y, but the steps have both."
    let renamed = try proposal(
      "create entity Former {\n attribute x int default 0\n attribute y int default 0\n}\n"
        + "create entity Two {\n attribute z int default 0\n}", swapped, renaming: ["Former=One"])
    #expect(renamed.lines == ["rename entity Former -> One"])
    #expect(renamed.notes.contains { $0.hasPrefix(question) })
    #expect(renamed.servedHints.map { "\($0.renaming)" } == ["One.y=x", "One.x=y"])
    let exchanged = try proposal(
      "create entity Two {\n attribute x int default 0\n attribute y int default 0\n}\n"
        + "create entity One {\n attribute z int default 0\n}", swapped, renaming: ["One=Two", "Two=One"])
    #expect(exchanged.lines.count == 3 && exchanged.notes.contains { $0.hasPrefix(question) })
  }

  @Test func `what may be a renaming is doubted, and what lacks a value told, in a renamed entity, too`()
    throws
  {
    let told = try proposal(
      "create entity U {\n attribute name string\n}", "create entity W {\n attribute title string\n}",
      renaming: ["U=W"])
    #expect(told.doubts.map(\.description) == ["W.name=title"])
    #expect(told.notes.contains { $0.hasPrefix("W.title is required") })
  }

  @Test func `names that move on by one are renamed, the last one first`() throws {
    let row =
      "create entity Row {\n attribute a int default 0\n attribute b int default 0\n attribute c int default 0\n}"
    let moved = try proposal(row, Schema { Entity(Moved.Row.self) })
    #expect(
      moved.lines == [
        "rename attribute Row.c -> d", "rename attribute Row.b -> c", "rename attribute Row.a -> b",
      ])
    #expect(moved.notes.isEmpty && moved.losses.isEmpty)
  }

  @Test func `what somebody has said of a former name is no question any more`() throws {
    let row = "create entity Row {\n attribute a int default 0\n attribute b int default 0\n}"
    let schema = Schema { Entity(Taken.Row.self) }
    let asked = try proposal(row, schema)
    #expect(
      asked.notes.contains { $0.hasPrefix("Row.b declares the former name Row.a, but the steps have both.") })
    let told = try proposal(row, schema, renaming: ["Row.a=c"])
    #expect(told.lines == ["rename attribute Row.a -> c"] && told.notes.isEmpty, "\(told.notes)")
  }

  @Test func `a circle behind a new name stays a question`() throws {
    let row = "create entity Row {\n attribute b int default 0\n attribute c int default 0\n}"
    let circled = try proposal(row, Schema { Entity(Circled.Row.self) })
    #expect(circled.lines == ["rename attribute Row.c -> d", "add attribute Row.c int default 0"])
    #expect(circled.notes.count == 2 && circled.notes.allSatisfy { $0.contains("the steps have both") })
  }

  // MARK: Entities

  private static let user =
    "create entity User {\n attribute name string\n relationship boss -> User\n}"

  @Test func `an entity that says what it was is renamed, and so are the properties of its class`() throws {
    let told = try proposal(Self.user, Schema { Entity(HintedClasses.Person.self).renamed(from: "User") })
    #expect(told.lines == ["rename entity User -> Person", "rename attribute Person.name -> title"])
    #expect(told.notes.isEmpty && told.doubts.isEmpty && told.losses.isEmpty)
    // Saying it twice is saying it once; a property may be told by either name of its entity.
    let schema = Schema { Entity(HintedClasses.Person.self).renamed(from: "User") }
    for more in [["User=Person"], ["User.name=title"], ["Person.name=title", "User=Person"]] {
      #expect(try proposal(Self.user, schema, renaming: more).lines == told.lines)
    }
    // The lines that an opening shows are the same.
    let lines = SchemaDifference.operations(from: try steps(Self.user).model(at: 1), to: schema)
    #expect(lines.map(\.description) == told.lines)
  }

  @Test func `an entity that says what nobody was, or what it is, is a new one`() throws {
    for name in ["Human", "Person", ""] {
      let told = try proposal(Self.user, Schema { Entity(HintedClasses.Person.self).renamed(from: name) })
      #expect(told.lines.contains { $0.hasPrefix("create entity Person") } && told.losses == ["User"])
      #expect(told.doubts.map(\.description).allSatisfy { $0 == "User=Person" })
    }
    // It has been done.
    let done = "create entity Person {\n attribute title string\n relationship boss -> Person\n}"
    let schema = Schema { Entity(HintedClasses.Person.self).renamed(from: "User") }
    #expect(try proposal(done, schema).lines.isEmpty)
  }

  @Test func `names of entities that move on by one are renamed, the last one first`() throws {
    let told = try proposal(
      "create entity User {\n attribute name string\n}\n"
        + "create entity Person {\n attribute title string\n relationship boss -> Person\n}",
      Schema {
        Entity(HintedClasses.Person.self).renamed(from: "User")
        Entity(HintedClasses.Member.self).renamed(from: "Person")
      })
    #expect(told.lines.prefix(2) == ["rename entity Person -> Member", "rename entity User -> Person"])
  }

  @Test func `a name of an entity that is used again is a new entity`() throws {
    let told = try proposal(
      "create entity Member {\n attribute title string\n relationship boss -> Member\n}",
      Schema {
        Entity(HintedClasses.Person.self).renamed(from: "Member")
        Entity(HintedClasses.Member.self)
      })
    #expect(told.lines.first == "rename entity Member -> Person")
    #expect(told.lines.last?.hasPrefix("create entity Member") == true && told.lines.count == 2)
  }

  @Test func `entities that say of each other that they were the other are a question`() throws {
    let old =
      "create entity Person {\n attribute title string\n relationship boss -> Person\n}\n"
      + "create entity Member {\n attribute name string\n}"
    let schema = Schema {
      Entity(HintedClasses.Person.self).renamed(from: "Member")
      Entity(HintedClasses.Member.self).renamed(from: "Person")
    }
    let told = try proposal(old, schema)
    #expect(told.lines.isEmpty && told.notes.count == 2)
    #expect(
      told.notes.first
        == "Member declares the former name Person, but the steps have both. If the renaming is done, remove "
        + ".renamed(from: \"Person\") from the schema; if not, state each renaming that is still to be made"
    )
    let answered = try proposal(old, schema, renaming: ["Member=Person", "Person=Member"])
    #expect(
      answered.lines.prefix(3).allSatisfy { $0.hasPrefix("rename entity") }
        && !answered.notes.contains { $0.contains("declares the former name") })
  }

  @Test func `an entity of a hierarchy is renamed before its parent and its properties are looked at`() throws
  {
    let told = try proposal(
      "create entity Human {\n attribute name string\n}\n"
        + "create entity Worker : Human {\n attribute pay int default 0\n}",
      Schema {
        Entity(HintedHierarchy.Person.self).renamed(from: "Human")
        Entity(HintedHierarchy.Employee.self).renamed(from: "Worker")
      })
    #expect(
      Set(told.lines) == ["rename entity Human -> Person", "rename entity Worker -> Employee"]
        && told.lines.count == 2)
  }

  @Test func `two that say that they were one and the same are refused, and so is who says otherwise`() throws
  {
    func refusal(_ old: String, _ schema: Schema, _ renaming: [String] = []) -> String? {
      let error = #expect(throws: StoreError.self) { try proposal(old, schema, renaming: renaming) }
      guard case .renamingRefused = error else { return nil }
      return error.map { "\($0)" }
    }
    let both = Schema {
      Entity(HintedClasses.Person.self).renamed(from: "User")
      Entity(HintedClasses.Member.self).renamed(from: "User")
    }
    #expect(
      refusal(Self.user, both) == "User=Person: User=Member renames User as well; remove one of the two.")
    let one = Schema {
      Entity(HintedClasses.Person.self).renamed(from: "User")
      Entity(HintedClasses.Member.self)
    }
    #expect(
      refusal(Self.user, one, ["User=Member"])
        == "User=Member: User=Person renames User as well; remove one of the two.")
    let row = "create entity Row {\n attribute a int default 0\n}"
    #expect(
      refusal(row, Schema { Entity(Contradictory.Row.self) })
        == "Row.a=c: Row.a=b renames Row.a as well; remove one of the two.")
  }
}
