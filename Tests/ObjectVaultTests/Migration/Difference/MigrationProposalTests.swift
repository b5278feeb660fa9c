// Proposed steps: they result in the model, can be parsed from their file, and note what only a person can
// decide.

import Foundation
import Migrations
import Microblog
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure, .random, .slow)) struct MigrationProposals {
  private func proposal(
    from old: String, to new: String, renaming: [String] = []
  ) throws -> MigrationProposal {
    func set(_ text: String) throws -> MigrationSet {
      try MigrationSet([MigrationStep(number: 1, name: "x", text: "format: 1\n[up]\n\(text)\n")])
    }
    return try set(old).proposal(
      for: try set(new).model(at: 1), renaming: renaming.compactMap { MigrationRenaming($0) })
  }

  @Test func `the proposed lines for two thousand random pairs of models result in the new model`() throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 1848)
    var random = SeededGenerator(seed: seed)
    var kinds: Set<String> = []
    for round in 0..<2000 {
      let old = RandomSchemas.schema(&random)
      let new = RandomSchemas.changed(old, &random)
      let set = try MigrationSet.creating(old)
      let proposal = try set.proposal(for: new)
      let text = "format: 1\n[up]\n" + proposal.lines.joined(separator: "\n") + "\n"
      let read = try MigrationStep(number: 2, name: "change", text: text)
      #expect(read.operations == proposal.operations, "seed \(seed), round \(round):\n\(text)")
      do {
        let reached = try MigrationSet(set.steps + [read]).model(at: 2)
        guard reached == new else {
          Issue.record("seed \(seed), round \(round): another model\n\(text)\n\(old.json)\n\(new.json)")
          return
        }
      } catch {
        Issue.record("seed \(seed), round \(round): \(error)\n\(text)\n\(old.json)\n\(new.json)")
        return
      }
      #expect(proposal.operations.isEmpty == (old == new))
      kinds.formUnion(proposal.lines.map { $0.split(separator: " ").prefix(2).joined(separator: " ") })
    }
    #expect(kinds.count > 12, "\(kinds.sorted())")
  }

  @Test(arguments: [
    (
      ["User=Person", "User.name=fullName"],
      ["rename entity User -> Person", "rename attribute Person.name -> fullName"]
    ),
    (
      ["User.name=fullName", "User=Person"],
      ["rename entity User -> Person", "rename attribute Person.name -> fullName"]
    ),
    (
      ["User=Person", "Person.name=fullName"],
      ["rename entity User -> Person", "rename attribute Person.name -> fullName"]
    ),
  ])
  func `a renamed property is given by its entity's former name or by the new one`(
    _ renaming: [String], _ lines: [String]
  ) throws {
    let told = try proposal(
      from: "create entity User {\n attribute name string\n}",
      to: "create entity Person {\n attribute fullName string\n}",
      renaming: renaming)
    #expect(told.lines == lines)
  }

  @Test func `names may be exchanged, and may pass to another property`() throws {
    let model =
      "create entity A {\n attribute x string\n attribute y string\n}\ncreate entity B {\n attribute z int\n}"
    let swapped = try proposal(from: model, to: model, renaming: ["A.x=y", "A.y=x"])
    #expect(
      swapped.lines == [
        "rename attribute A.x -> xBefore", "rename attribute A.y -> x", "rename attribute A.xBefore -> y",
      ])
    let entities = try proposal(
      from: model,
      to:
        "create entity B {\n attribute x string\n attribute y string\n}\ncreate entity A {\n attribute z int\n}",
      renaming: ["A=B", "B=A"])
    #expect(
      entities.lines == ["rename entity A -> ABefore", "rename entity B -> A", "rename entity ABefore -> B"])
    let chain = try proposal(
      from: model,
      to:
        "create entity A {\n attribute y string\n attribute w string\n}\ncreate entity B {\n attribute z int\n}",
      renaming: ["A.x=y", "A.y=w"])
    #expect(chain.lines == ["rename attribute A.y -> w", "rename attribute A.x -> y"])
  }

  @Test func `names are exchanged beside another renaming and beside a taken temporary name`() throws {
    let old =
      "create entity A {\n attribute a int\n attribute b int\n attribute c int\n attribute aBefore int\n}"
    let new =
      "create entity A {\n attribute a int\n attribute b int\n attribute d int\n attribute aBefore int\n}"
    let told = try proposal(from: old, to: new, renaming: ["A.c=d", "A.a=b", "A.b=a"])
    #expect(
      told.lines == [
        "rename attribute A.c -> d", "rename attribute A.a -> aBefore2", "rename attribute A.b -> a",
        "rename attribute A.aBefore2 -> b",
      ])
    for renaming in [["A.c=a", "A.a=b", "A.b=a"], ["A.a=b", "A.a=b", "A.b=a"], ["A.a=b", "A.a=d"]] {
      #expect(throws: StoreError.self) { try proposal(from: old, to: new, renaming: renaming) }
    }
  }

  @Test func `a proposal notes that an entity begins to inherit a required property`() throws {
    let guess = try proposal(
      from: "create entity Thing {\n attribute name string\n}\ncreate entity Tag {\n attribute n int\n}",
      to: "create entity Thing {\n attribute name string\n}\ncreate entity Tag : Thing {\n attribute n int\n}"
    )
    #expect(guess.lines == ["set parent of Tag to Thing"])
    #expect(
      guess.notes.count == 1 && guess.notes[0].hasPrefix("Tag inherits name, which is required"),
      "\(guess.notes)")
  }

  @Test func `a possible renaming is a doubt, and a given renaming keeps the values`() throws {
    let (old, new) = (
      "create entity U {\n attribute name string\n attribute age int\n}",
      "create entity U {\n attribute fullName string\n attribute age int\n}"
    )
    let guess = try proposal(from: old, to: new)
    #expect(guess.lines == ["drop attribute U.name", "add attribute U.fullName string"])
    #expect(guess.doubts.map(\.description) == ["U.name=fullName"])
    #expect(guess.losses == ["U.name"])
    let told = try proposal(from: old, to: new, renaming: ["U.name=fullName"])
    #expect(told.lines == ["rename attribute U.name -> fullName"])
    #expect(told.doubts.isEmpty && told.losses.isEmpty && told.notes.isEmpty)
  }

  @Test func `an entity with another name keeps its objects if the renaming is given`() throws {
    let (old, new) = (
      "create entity U {\n attribute a int\n attribute b int\n relationship vs -> V many inverse V.u\n}\ncreate entity V {\n attribute a int\n relationship u -> U inverse U.vs\n}",
      "create entity W {\n attribute a int\n attribute c int\n relationship vs -> V many inverse V.u\n}\ncreate entity V {\n attribute a int\n relationship u -> W inverse W.vs\n}"
    )
    #expect(try proposal(from: old, to: new).doubts.map(\.description).contains("U=W"))
    let told = try proposal(from: old, to: new, renaming: ["U=W", "W.b=c"])
    #expect(told.lines == ["rename entity U -> W", "rename attribute W.b -> c"])
  }

  @Test(arguments: ["X=Y", "U.nmae=fullName", "U.name=fulName", "U=Q"])
  func `a renaming of an unknown name is an error`(_ text: String) throws {
    #expect(throws: StoreError.self) {
      try proposal(
        from: "create entity U {\n attribute name string\n}",
        to: "create entity U {\n attribute fullName string\n}",
        renaming: [text])
    }
  }

  @Test(arguments: ["", "=", "a", "a=", "a.b=c.d", "a.b.c=d", "a=b=c", "a=b.c", ".a=b"])
  func `MigrationRenaming refuses a text of another form`(_ text: String) {
    #expect(MigrationRenaming(text) == nil)
  }

  @Test func `dropping an inverse keeps the links of the other end`() throws {
    let lines = try proposal(
      from:
        "create entity U {\n attribute a int\n relationship vs -> V many inverse V.u\n}\ncreate entity V {\n relationship u -> U inverse U.vs\n}",
      to: "create entity U {\n attribute a int\n}\ncreate entity V {\n relationship u -> U\n}"
    ).lines
    #expect(lines == ["drop relationship U.vs"])
  }

  @Test func `a proposal notes each change that a person has to check`() throws {
    let proposal = try proposal(
      from: "create entity U {\n attribute a string optional\n attribute b string\n}",
      to: "create entity U {\n attribute a string\n attribute b int\n attribute c int\n}")
    #expect(
      proposal.lines == [
        "make U.a required", "retype U.b to int using (CAST($U.b AS INTEGER))", "add attribute U.c int",
      ])
    #expect(proposal.notes.count == 3)
  }

  @Test func `the classes of the microblog are the model of its steps`() throws {
    let proposal = try MigrationSet.embedded(MicroblogMigrations.steps).proposal(for: microblog)
    #expect(proposal.operations.isEmpty && proposal.notes.isEmpty)
  }
}
