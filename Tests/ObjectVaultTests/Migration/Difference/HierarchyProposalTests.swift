// Proposals for classes that inherit differently from the entities of the steps.

import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct HierarchyProposals {
  private func entity(_ name: String, below parent: String? = nil, _ attributes: String...)
    -> EntityDescription
  {
    EntityDescription(
      name: name, parent: parent,
      attributes: attributes.map { AttributeDescription(name: $0, type: .int, isOptional: true) })
  }

  /// The operations, one line each, and the losses.
  private func proposal(from old: [EntityDescription], to new: [EntityDescription]) throws -> (
    lines: [String], losses: [String]
  ) {
    let first = try MigrationSet.creating(Schema(entities: old))
    let proposal = try first.proposal(for: Schema(entities: new))
    #expect(proposal.notes == [])
    return (proposal.operations.map(\.summary), proposal.losses)
  }

  @Test func `a new child is created after its parent, and nothing is lost`() throws {
    let proposal = try proposal(
      from: [entity("Z", "a")],
      to: [entity("Z", "a"), entity("A", below: "M", "c"), entity("M", below: "Z", "b")])
    #expect(proposal.lines == ["create entity M : Z", "create entity A : M"])
    #expect(proposal.losses == [])
  }

  @Test func `a new parent with the properties that children share gets their values`() throws {
    let proposal = try proposal(
      from: [entity("Cat", "name", "lives"), entity("Dog", "name", "tricks")],
      to: [
        entity("Pet", "name"), entity("Cat", below: "Pet", "lives"), entity("Dog", below: "Pet", "tricks"),
      ])
    #expect(
      proposal.lines == [
        "create entity Pet", "set parent of Cat to Pet", "set parent of Dog to Pet",
      ])
    #expect(proposal.losses == [])
  }

  @Test func `children that lose their parent keep what they inherited`() throws {
    let proposal = try proposal(
      from: [
        entity("Pet", "name"), entity("Cat", below: "Pet", "lives"), entity("Dog", below: "Pet", "tricks"),
      ],
      to: [entity("Cat", "name", "lives"), entity("Dog", "name")])
    #expect(
      proposal.lines == [
        "set parent of Cat to none", "set parent of Dog to none", "drop attribute Dog.tricks",
        "drop entity Pet",
      ])
    #expect(proposal.losses == ["Dog.tricks", "Pet"])
  }

  @Test func `an entity between two others that is renamed is replaced, or kept if the renaming is given`()
    throws
  {
    let old = [
      entity("Animal", "name"), entity("Dog", below: "Animal", "rank"),
      entity("Puppy", below: "Dog", "teeth"),
    ]
    let new = [
      entity("Animal", "name"), entity("E1", below: "Animal", "rank"), entity("Puppy", below: "E1", "teeth"),
    ]
    let proposal = try proposal(from: old, to: new)
    #expect(Set(proposal.lines).count == proposal.lines.count, "\(proposal.lines)")
    #expect(
      proposal.lines.last == "drop entity Dog" && proposal.losses == ["Dog.rank", "Dog"], "\(proposal)")
    // With the renaming all values are kept.
    let first = try MigrationSet.creating(Schema(entities: old))
    let doubts = try first.proposal(for: Schema(entities: new)).doubts
    #expect(doubts == [.entity("Dog", to: "E1")])
    let renamed = try first.proposal(for: Schema(entities: new), renaming: doubts)
    #expect(renamed.lines == ["rename entity Dog -> E1"] && renamed.losses.isEmpty)
  }

  @Test func `names that differ only in case collide in the table of a hierarchy`() throws {
    let middle = try proposal(
      from: [
        entity("Animal", "name"), entity("Dog", below: "Animal", "Rank"),
        entity("Puppy", below: "Dog", "teeth"),
      ],
      to: [
        entity("Animal", "name"), entity("E1", below: "Animal", "rank"),
        entity("Puppy", below: "E1", "teeth"),
      ])
    #expect(middle.losses == ["Dog.Rank", "Dog"], "\(middle)")
    let below = try proposal(
      from: [entity("Pet", "name"), entity("Cat", below: "Pet", "Lives"), entity("Dog", "lives", "tricks")],
      to: [
        entity("Pet", "name"), entity("Cat", below: "Pet"), entity("Dog", below: "Pet", "lives", "tricks"),
      ])
    #expect(below.lines.last == "set parent of Dog to Pet", "\(below)")
    #expect(below.losses.contains("Cat.Lives"), "\(below)")
    let above = try proposal(
      from: [entity("Pet", "Name"), entity("Dog", "name", "tricks")],
      to: [entity("Pet", "Name"), entity("Dog", below: "Pet", "tricks")])
    #expect(above.losses == ["Dog.name"], "\(above)")
  }

  @Test func `an entity moves from one hierarchy to another by way of a table of its own`() throws {
    let proposal = try proposal(
      from: [entity("P", "a"), entity("Q", "b"), entity("R", below: "P", "c")],
      to: [entity("P", "a"), entity("Q", "b"), entity("R", below: "Q", "c")])
    #expect(
      proposal.lines == ["set parent of R to none", "drop attribute R.a", "set parent of R to Q"])
    #expect(proposal.losses == ["R.a"])
  }

  @Test func `parent and child exchange places by way of a table of their own`() throws {
    let proposal = try proposal(
      from: [entity("P", "a"), entity("Q", below: "P", "b")],
      to: [entity("Q", "b"), entity("P", below: "Q", "a")])
    #expect(
      proposal.lines == ["set parent of Q to none", "drop attribute Q.a", "set parent of P to Q"])
    #expect(proposal.losses == ["Q.a"])
  }

  @Test func `a removed property that would share a column is dropped before a parent is set`() throws {
    let proposal = try proposal(
      from: [
        entity("B", "b"), entity("A", below: "B", "a"), entity("C", "a", "c"), entity("D", below: "C", "d"),
      ],
      to: [
        entity("B", "b"), entity("A", below: "B", "a", "d"), entity("C", below: "B", "c", "e"),
        entity("D", below: "C", "f"),
      ])
    #expect(
      proposal.lines == [
        "drop attribute C.a", "set parent of C to B", "drop attribute D.d", "add attribute A.d int optional",
        "add attribute C.e int optional",
        "add attribute D.f int optional",
      ])
    #expect(proposal.losses == ["C.a", "D.d"])
  }

  @Test func `a removed property of the new parent is dropped before a child that has it arrives`() throws {
    var (old, new) = (entity("B", "c", "d"), entity("B", below: "C", "c", "d"))
    old.indexes = [IndexDescription(properties: ["d", "c"])]
    new.indexes = old.indexes
    let proposal = try proposal(
      from: [entity("A", "a"), entity("C", below: "A", "c"), old],
      to: [entity("A", "a"), entity("C", below: "A"), new])
    #expect(proposal.lines == ["drop attribute C.c", "set parent of B to C"])
    #expect(proposal.losses == ["C.c"])
  }

  @Test func `a removed property of a sibling is dropped before an entity that has it arrives`() throws {
    let proposal = try proposal(
      from: [entity("B", "b"), entity("A", below: "B", "a"), entity("C", "a", "c")],
      to: [entity("B", "b"), entity("A", below: "B"), entity("C", below: "B", "a", "c")])
    #expect(proposal.lines == ["drop attribute A.a", "set parent of C to B"])
    #expect(proposal.losses == ["A.a"])
  }

  @Test func `a removed hierarchy is dropped from its lowest entity up`() throws {
    let proposal = try proposal(
      from: [entity("A", "a"), entity("B", below: "A", "b"), entity("C", below: "B", "c"), entity("D", "d")],
      to: [entity("D", "d")])
    #expect(proposal.lines == ["drop entity C", "drop entity B", "drop entity A"])
  }

  @Test func `the difference of two models states which parent an entity has in each`() throws {
    let (old, new) = (
      Schema(entities: [entity("A", "a"), entity("B", below: "A", "b")]),
      Schema(entities: [entity("A", "a"), entity("B", "b")])
    )
    #expect(
      SchemaDifference.lines(old, against: new, found: "the steps", expected: "the classes") == [
        "B inherits from A in the steps and has no parent in the classes"
      ])
  }
}
