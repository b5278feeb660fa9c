// `make E.r many` and `make E.r one`: objects stay linked, wherever their links are stored.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct LinkMoves {
  static let base = """
    create entity A {
        attribute n string
        relationship lone -> B
        relationship many -> B many
        relationship b -> B inverse B.bs
        relationship t -> B many inverse B.ts
        relationship p -> B inverse B.q
        relationship must -> B required inverse B.musts
        relationship up -> A inverse A.downs
        relationship downs -> A many inverse A.up
        relationship likes -> A many inverse A.liked
        relationship liked -> A many inverse A.likes
    }
    create entity B {
        attribute n string
        relationship bs -> A many inverse A.b
        relationship ts -> A many inverse A.t
        relationship q -> A inverse A.p
        relationship musts -> A many inverse A.must on delete cascade
    }
    """

  /// A store with five objects of each entity, none of which is linked with several others.
  /// - Parameter isSeveral: Whether some are linked with several others, where that is possible.
  private func lab(_ steps: String..., isSeveral: Bool = false) async throws -> DowngradeLab {
    let lab = try await DowngradeLab([Self.base] + steps)
    let store = try await Store.open(at: lab.url, key: testKey)
    defer { store.close() }
    try await store.write { context in
      let bs = try (0..<5).map { index in
        try context.insert(entity: "B") { try $0.set("n", to: "b\(index)") }
      }
      let all = try (0..<5).map { index in
        try context.insert(entity: "A") { object in
          try object.set("n", to: "a\(index)")
          try object.set("must", toOne: bs[(index + 2) % 5])
          // The last one has no other links.
          guard index < 4 else { return }
          try object.set("lone", toOne: bs[index / 2])
          try object.add(bs[3 - index], to: "many")
          try object.set("b", toOne: bs[isSeveral ? index / 3 : index])
          try object.add(bs[(index + 1) % 4], to: "t")
          try object.set("p", toOne: bs[4 - index])
          if isSeveral {
            try object.add(bs[index], to: "t")
            try object.add(bs[index], to: "many")
          }
        }
      }
      for index in 1..<4 {
        try all[index].set("up", toOne: all[isSeveral ? 0 : index - 1])
        try all[index].add(all[index - 1], to: "likes")
      }
      if isSeveral { try all[3].add(all[0], to: "likes") }
    }
    return lab
  }

  /// The links of all objects, read through objects. A to-one and a to-many give equal lines.
  private func graph(_ lab: DowngradeLab) async throws -> [String] {
    let store = try await Store.open(at: lab.url, key: testKey)
    defer { store.close() }
    #expect(try await store.verify().isEmpty)
    let schema = store.schema
    return try await store.read { context in
      try schema.entities.flatMap { entity in
        try context.fetch(entity: entity.name).all().sorted { $0.id.rowID < $1.id.rowID }.flatMap { object in
          entity.relationships.sorted { $0.name < $1.name }.map { relationship in
            let members =
              relationship.isToMany
              ? Array(object[toMany: relationship.name])
              : [object[toOne: relationship.name]].compactMap { $0 }
            let ids = members.map { "\($0.id.rowID)" }.sorted().joined(separator: " ")
            return "\(entity.name) \(object.id.rowID) \(relationship.name): \(ids)"
          }
        }
      }
    }
  }

  static let lossless = [
    "make A.lone many", "make A.many one", "make A.b many", "make B.bs one", "make A.t one", "make B.ts one",
    "make A.p many", "make B.q many", "make A.must many", "make A.up many", "make A.downs one",
    "make A.likes one",
    "make A.liked one", "make A.b many\nmake B.bs one", "make A.t one\nmake B.ts one",
    "make A.p many\nmake B.q many",
    "make A.lone many\nrename relationship A.lone -> some\nrename entity A -> Z",
  ]

  @Test(arguments: lossless)
  func `make many and make one keep the links, and a rollback restores them`(_ step: String) async throws {
    let lab = try await lab(step)
    let (before, image) = (try await graph(lab), try lab.image)
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    try await lab.up()
    let after = try await graph(lab)
    if step.contains("rename") {
      #expect(after.count == before.count)
    } else {
      #expect(after == before)
    }
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name LIKE '\\_mig%' ESCAPE '\\'") == [[0]])
    let new = try await DowngradeLab([Self.base, step], at: 2)
    #expect(try new.image.physicalHash == lab.image.physicalHash)
    #expect(try await lab.down(1).takenBack == [2])
    #expect(try await graph(lab) == before)
    #expect(try lab.image == image)
  }

  @Test(arguments: [
    ("make A.many one", "A.many", "1 2 3"), ("make A.t one", "A.t", "1"), ("make B.ts one", "B.ts", "1"),
    ("make B.bs one", "B.bs", "1"), ("make A.downs one", "A.downs", "1"),
    ("make A.likes one", "A.likes", "4"),
  ])
  func `make one refuses objects with several links, and picks one where an order is given`(
    _ step: String, _ name: String, _ rows: String
  ) async throws {
    let lab = try await lab(step, isSeveral: true)
    let before = try lab.image
    await #expect {
      try await lab.up()
    } throws: { error in
      guard case StoreError.rowsRefused(2, "s2", let operation, let reason) = error else { return false }
      return operation == step && reason.contains(" several ")
        && (reason.contains("(row \(rows))") || reason.contains("(rows \(rows.prefix(1))"))
    }
    #expect(try lab.image == before)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    let refusal = try #require(plan.refusals.first)
    #expect(plan.refusals.count == 1 && plan.steps[0].unasked.isEmpty)
    #expect(refusal.rule == .single && refusal.operation == step)
    #expect(refusal.rows.first.map(String.init) == String(rows.prefix(1)))
    #expect(refusal.count == refusal.rows.count)
    let entity = step.contains("A.downs") || step.contains("A.likes") ? "A" : step.contains("B.") ? "A" : "B"
    for (order, isLast) in [("$\(entity).n", false), ("length($\(entity).n), $\(entity).n DESC", true)] {
      let picking = try await self.lab("\(step) picking (\(order))", isSeveral: true)
      let former = try await graph(picking)
      #expect(try picking.set.losses(ofStep: 2) == [name])
      await #expect(throws: StoreError.lossNotAllowed(step: 2, name: "s2", losses: [name])) {
        try await picking.up()
      }
      try await picking.up(allowing: [name])
      let parts = name.split(separator: ".")
      let (owner, property) = (String(parts[0]), String(parts[1]))
      // The names have the order of the ids.
      let expected = former.filter { $0.hasPrefix(owner) && $0.contains(" \(property):") }.map { line in
        let ids = line.split(separator: ":")[1].split(separator: " ").compactMap { Int($0) }
        return "\(line.split(separator: ":")[0]): \((isLast ? ids.max() : ids.min()).map { "\($0)" } ?? "")"
      }
      let found = try await graph(picking).filter { $0.hasPrefix(owner) && $0.contains(" \(property):") }
      #expect(found == expected, "\(step) picking (\(order))")
      guard case .none(let reason) = try picking.set.steps[1].rollback(from: picking.set.model(at: 1)) else {
        Issue.record("the links that were not picked have a rollback")
        continue
      }
      #expect(reason.hasSuffix("the links that were not picked are lost"))
    }
  }

  @Test func `both ends agree on the link that is picked, and the order may use only the other entity`()
    async throws
  {
    for step in ["make A.many one", "make B.bs one", "make A.downs one"] {
      // Even with a random order, both ends of a one-to-one get the same link.
      let random = try await lab("\(step) picking (random())", isSeveral: true)
      let name = String(step.split(separator: " ")[1])
      try await random.up(allowing: [name])
      #expect(try random.image.rows.isEmpty == false)
    }
    // B.bs references A: `b_id` is a column of A, and no column of B is available.
    let own = try await lab(
      "add attribute B.size int default 1\nmake B.bs one picking ($B.size)", isSeveral: true)
    await #expect {
      try await own.up(allowing: ["B.bs"])
    } throws: { error in
      guard case StoreError.migrationFailed(2, _, let operation, let reason) = error else { return false }
      return operation.hasPrefix("make B.bs one")
        && reason.contains("$B.size is a column of B, but the order after picking can only use columns of A")
    }
  }

  @Test func `a rollback makes a to-one required again, unless a row has no link`() async throws {
    let lab = try await lab("make A.must many")
    try await lab.up()
    try lab.run("DELETE FROM A_must WHERE A_id = 3")
    await #expect {
      try await lab.down(1)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, "make A.must required", let reason) = error else {
        return false
      }
      return reason.contains("row 3")
    }
  }

  @Test(arguments: [
    ("make A.many many", "A.many is already many"), ("make A.b one", "A.b is already one"),
    ("make A.n many", "there is no relationship A.n"), ("make A.bb many", "did you mean \"b\""),
    ("make A.self many", "is its own inverse"), ("add index A(n, b)\nmake A.b many", "drop the index first"),
  ])
  func `make many or one that does not fit the model is refused with the reason`(
    _ step: String, _ reason: String
  ) throws {
    let extra = step.contains("self") ? "\nadd relationship A.self -> A inverse A.self" : ""
    #expect {
      _ = try DowngradeLab.set([Self.base + extra, step]).model(at: 2)
    } throws: { "\($0)".contains(reason) }
  }

  @Test func `make many and make one are printed as they were written, and wrong forms are errors`() throws {
    for line in ["make A.b many", "make A.t one", "make A.t one picking (length($B.n) DESC, ')')"] {
      let step = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)  # why\n")
      #expect(step.canonicalText == line)
      #expect(try MigrationStep(number: 1, name: "s", text: step.text) == step)
    }
    for (line, reason) in [
      ("make A.t one picking", "( … ) is missing after picking"), ("make A.t on", "did you mean \"one\"?"),
      ("make A.t many picking (x)", "has no meaning here"),
      ("make A.t one picking ()", "the parentheses are empty"),
    ] {
      #expect {
        _ = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      } throws: { "\($0)".contains(reason) }
    }
  }

  final class Box: ManagedObject {
    @Attribute var name: String
    @ToMany(inverse: \Thing.boxes) var things: Set<Thing>
  }
  final class Thing: ManagedObject {
    @Attribute var name: String
    @ToMany var boxes: Set<Box>
  }

  @Test func `classes with a to-many where the steps have a to-one are refused with the line to write`()
    async throws
  {
    let schema = Schema {
      Entity(Box.self)
      Entity(Thing.self)
    }
    let steps = try DowngradeLab.set([
      "create entity Box {\n attribute name string\n relationship things -> Thing many inverse Thing.boxes\n}\n"
        + "create entity Thing {\n attribute name string\n relationship boxes -> Box inverse Box.things\n}"
    ])
    let folder = try TemporaryFolder()
    await #expect {
      _ = try await Store.open(
        at: folder.url.appendingPathComponent("x"), key: testKey, schema: schema, migrations: .set(steps))
    } throws: { error in
      guard case StoreError.schemaMismatch(_, let lines) = error else { return false }
      return lines == ["make Thing.boxes many"]
    }
  }
}
