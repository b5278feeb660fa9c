// Proposed steps for one-to-ones: they result in the requested model, and keep the links.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension OneToOneSteps {
  private func model(_ relationships: (team: RelationshipDescription?, user: RelationshipDescription?))
    -> Schema
  {
    let name = AttributeDescription(name: "name", type: .string)
    return Schema(entities: [
      EntityDescription(
        name: "Team", attributes: [name], relationships: relationships.team.map { [$0] } ?? []),
      EntityDescription(
        name: "User", attributes: [name], relationships: relationships.user.map { [$0] } ?? []),
    ])
  }

  private static let owning = RelationshipDescription(name: "captain", destination: "User")
  private static let looking = RelationshipDescription(name: "leads", destination: "Team", inverse: "captain")
  private var former: Schema { model((Self.owning, Self.looking)) }
  /// The model with the column at the other end.
  private var turned: Schema {
    model(
      (
        RelationshipDescription(name: "captain", destination: "User", inverse: "leads"),
        RelationshipDescription(name: "leads", destination: "Team")
      ))
  }

  @Test func `the proposed steps for every change of a one-to-one result in the requested model`() throws {
    let models = [
      model((nil, nil)), model((Self.owning, nil)),
      model((nil, RelationshipDescription(name: "leads", destination: "Team"))), former, turned,
      model(
        (
          Self.owning,
          RelationshipDescription(name: "leads", destination: "Team", isToMany: true, inverse: "captain")
        )),
    ]
    for old in models {
      for new in models {
        let steps = [old.creation, SchemaDifference.operations(from: old, to: new)].map {
          $0.map(\.description).joined(separator: "\n")
        }
        let set = try DowngradeLab.set(steps)
        #expect(try set.model(at: 1).json == old.json, "\(steps[0])")
        #expect(try set.model(at: 2).json == new.json, "\(steps)")
      }
    }
  }

  /// All models of three to-ones, `A.x`, `A.y` and `B.z`, that differ in destinations and inverses.
  private static let webs: [Schema] = {
    typealias End = (owner: String, name: String)
    let ends: [End] = [("A", "x"), ("A", "y"), ("B", "z")]
    var found: [Schema] = []
    // Which two are a pair, and which end has the column.
    for pair in [nil, (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] as [(Int, Int)?] {
      // Each of the others is absent or has one of two destinations.
      for choice in 0..<27 {
        let choices = [choice % 3, choice / 3 % 3, choice / 9]
        var relationships: [String: [RelationshipDescription]] = [:]
        for (place, end) in ends.enumerated() {
          if let pair, place == pair.0 || place == pair.1 {
            guard choices[place] == 0 else { break }
            let other = ends[place == pair.0 ? pair.1 : pair.0]
            relationships[end.owner, default: []].append(
              RelationshipDescription(
                name: end.name, destination: other.owner, inverse: place == pair.0 ? nil : other.name))
          } else if choices[place] > 0 {
            relationships[end.owner, default: []].append(
              RelationshipDescription(name: end.name, destination: choices[place] == 1 ? "A" : "B"))
          }
        }
        if let pair, choices[pair.0] > 0 || choices[pair.1] > 0 { continue }
        found.append(
          Schema(
            entities: ["A", "B"].map {
              EntityDescription(name: $0, relationships: relationships[$0] ?? [])
            }))
      }
    }
    return found
  }()

  @Test func `the proposed steps between all models of three to-ones result in the requested model`() throws {
    #expect(Self.webs.count == 27 + 6 * 3)
    let texts = Self.webs.map { $0.creation.map(\.description).joined(separator: "\n") }
    for (old, text) in zip(Self.webs, texts) {
      for new in Self.webs {
        let steps = [
          text, SchemaDifference.operations(from: old, to: new).map(\.description).joined(separator: "\n"),
        ]
        guard !steps[1].isEmpty else {
          #expect(old.json == new.json)
          continue
        }
        let set = try DowngradeLab.set(steps)
        #expect(try set.model(at: 1).json == old.json, "\(steps[0])")
        #expect(try set.model(at: 2).json == new.json, "\(steps)")
      }
    }
  }

  @Test(arguments: [("A", "B"), ("B", "A")], [true, false])
  func `the end of a one-to-one that gets the column may be required`(
    _ names: (String, String), _ wasRequired: Bool
  ) throws {
    // The column moves from one end to the other.
    func model(column: String, other: String, isRequired: Bool) -> Schema {
      Schema(entities: [
        EntityDescription(
          name: column,
          relationships: [RelationshipDescription(name: "to", destination: other, isRequired: isRequired)]),
        EntityDescription(
          name: other,
          relationships: [
            RelationshipDescription(name: "to", destination: column, inverse: "to", deleteRule: .cascade)
          ]),
      ])
    }
    let old = model(column: names.0, other: names.1, isRequired: wasRequired)
    let new = model(column: names.1, other: names.0, isRequired: true)
    let steps = [old.creation, SchemaDifference.operations(from: old, to: new)].map {
      $0.map(\.description).joined(separator: "\n")
    }
    #expect(try DowngradeLab.set(steps).model(at: 2).json == new.json, "\(steps)")
  }

  @Test func `lint requires a backfill value at the required end of a one-to-one with the column`() throws {
    let leads = "add relationship User.leads -> Team inverse Team.captain on delete cascade"
    let captain = "add relationship Team.captain -> User required inverse User.leads"
    let set = try DowngradeLab.set([Self.teams, "\(leads)\n\(captain)"])
    #expect(try set.findings().contains { $0.step == 2 && $0.rule == .requiresWithoutFilling })
  }

  @Test(arguments: [true, false]) func `a new parent can get either end of a one-to-one`(_ hasColumn: Bool)
    throws
  {
    func model(parent: EntityDescription?) -> Schema {
      let card = RelationshipDescription(
        name: "person", destination: "Person", inverse: hasColumn ? "card" : nil)
      return Schema(
        entities: [
          EntityDescription(name: "Card", relationships: parent == nil ? [] : [card]),
          EntityDescription(
            name: "User", parent: parent?.name,
            attributes: [AttributeDescription(name: "name", type: .string)]),
        ] + (parent.map { [$0] } ?? []))
    }
    let person = EntityDescription(
      name: "Person",
      relationships: [
        RelationshipDescription(name: "card", destination: "Card", inverse: hasColumn ? nil : "person")
      ])
    let (old, new) = (model(parent: nil), model(parent: person))
    let steps = [old.creation, SchemaDifference.operations(from: old, to: new)].map {
      $0.map(\.description).joined(separator: "\n")
    }
    let made = try DowngradeLab.set(steps).model(at: 2)
    #expect(made.json == new.json, "\(steps)")
    #expect(made.entity(named: "Person")?.relationship(named: "card")?.isLookedUp == !hasColumn)
  }

  @Test func `the proposed steps move the column to the other end with all links, and roll back`()
    async throws
  {
    let step = SchemaDifference.operations(from: former, to: turned).map(\.description).joined(
      separator: "\n")
    let lab = try await lab("\(Self.teams)\n\(Self.captain)\n\(Self.leads)", step, fill: Self.led)
    let before = try StoreImage(lab.url)
    for _ in 0..<2 {
      _ = try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set)
      #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, .null], [2, 3], [4, 1]])
      #expect(try columns(lab, "Team") == [])
      #expect(throws: SQLError.self) { try lab.run("UPDATE User SET leads_id = 3") }
      try await Store.downgrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
      #expect(try StoreImage(lab.url) == before)
    }
  }
}
