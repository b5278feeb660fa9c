// Merges of two entities: rows, ids, references to them, losses and refusals.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct EntityMerges {
  static let base = """
    create entity Person {
        attribute name string
        attribute mail string optional unique
        attribute age int default 1
        relationship boss -> Person inverse Person.staff
        relationship staff -> Person many inverse Person.boss
        relationship friends -> Person many inverse Person.fans
        relationship fans -> Person many inverse Person.friends
        relationship town -> Town
        relationship tags -> Tag many inverse Tag.people
        relationship notes -> Note many inverse Note.person
    }
    create entity Company {
        attribute title string
        attribute mail string optional
        attribute size int16 optional
        attribute www string optional
        relationship boss -> Company inverse Company.staff
        relationship staff -> Company many inverse Company.boss
        relationship friends -> Company many inverse Company.fans
        relationship fans -> Company many inverse Company.friends
        relationship town -> Town
        relationship tags -> Tag many inverse Tag.companies
        relationship notes -> Note many inverse Note.company
        relationship invoices -> Invoice many inverse Invoice.company on delete cascade
        relationship seats -> Town many
    }
    create entity Tag {
        attribute t string
        relationship people -> Person many inverse Person.tags
        relationship companies -> Company many inverse Company.tags
    }
    create entity Note {
        attribute text string
        relationship person -> Person inverse Person.notes
        relationship company -> Company inverse Company.notes
    }
    create entity Invoice {
        attribute n int
        relationship company -> Company required inverse Company.invoices
        relationship others -> Company many
        index (company, n) unique
    }
    create entity Town {
        attribute t string
    }
    """
  static let fill = [
    "INSERT INTO Town(id, t) VALUES (1, 'Bonn')",
    "INSERT INTO Person(id, name, mail, age, boss_id, town_id) VALUES (1, 'Ann', 'a', 30, NULL, 1), (2, 'Bob', NULL, 40, 1, NULL)",
    "INSERT INTO Company(id, _version, title, mail, size, www, boss_id, town_id) VALUES (1, 7, 'Acme', 'c', 5, 'w', NULL, 1), (4, 1, 'Sub', NULL, NULL, NULL, 1, NULL)",
    "INSERT INTO Person_fans(fans_id, friends_id) VALUES (1, 2)",
    "INSERT INTO Company_fans(fans_id, friends_id) VALUES (1, 4)",
    "INSERT INTO Tag(id, t) VALUES (1, 'x'), (2, 'y')",
    "INSERT INTO Person_tags(Person_id, Tag_id) VALUES (1, 1)",
    "INSERT INTO Company_tags(Company_id, Tag_id) VALUES (1, 1), (4, 2)",
    "INSERT INTO Note(id, text, person_id, company_id) VALUES (1, 'p', 2, NULL), (2, 'c', NULL, 4), (3, '-', NULL, NULL)",
    "INSERT INTO Invoice(id, n, company_id) VALUES (1, 100, 1), (2, 100, 4)",
    "INSERT INTO Invoice_others(Invoice_id, Company_id) VALUES (1, 4), (1, 1)",
    "INSERT INTO Company_seats(Company_id, Town_id) VALUES (1, 1)",
    "INSERT OR REPLACE INTO vault_ids VALUES ('Person', 10)",
  ]
  static let merge =
    "merge entity Company into Person with Company.title -> Person.name, Company.size -> Person.age"

  private func lab(_ step: String, _ more: String...) async throws -> DowngradeLab {
    try await DowngradeLab([Self.base, step], fill: Self.fill + more)
  }

  @Test func `merged objects get ids of the target entity, and references follow them`() async throws {
    let lab = try await lab(Self.merge)
    #expect(try Set(lab.set.losses(ofStep: 2)) == ["Company.www", "Company.seats"])
    try await lab.up(allowing: ["Company.www", "Company.seats"])
    #expect(
      try lab.rows("SELECT id, _version, name, mail, age, boss_id, town_id FROM Person ORDER BY id") == [
        [1, 1, "Ann", "a", 30, .null, 1], [2, 1, "Bob", .null, 40, 1, .null],
        [11, 7, "Acme", "c", 5, .null, 1], [14, 1, "Sub", .null, 1, 11, .null],
      ])
    #expect(try lab.rows("SELECT fans_id, friends_id FROM Person_fans ORDER BY 1") == [[1, 2], [11, 14]])
    #expect(
      try lab.rows("SELECT Person_id, Tag_id FROM Person_tags ORDER BY 1") == [[1, 1], [11, 1], [14, 2]])
    #expect(try lab.rows("SELECT id, person_id FROM Note ORDER BY 1") == [[1, 2], [2, 14], [3, .null]])
    #expect(try lab.rows("SELECT id, company_id FROM Invoice ORDER BY 1") == [[1, 11], [2, 14]])
    #expect(
      try lab.rows("SELECT Invoice_id, Person_id FROM Invoice_others ORDER BY 2") == [[1, 11], [1, 14]])
    let model = try lab.set.model(at: 2)
    #expect(model.entity(named: "Company") == nil)
    let invoice = try #require(model.entity(named: "Invoice"))
    #expect(
      invoice.relationship(named: "company")
        == RelationshipDescription(name: "company", destination: "Person", isRequired: true))
    #expect(invoice.indexes == [IndexDescription(properties: ["company", "n"], isUnique: true)])
    #expect(model.entity(named: "Note")?.relationships.map(\.name) == ["person"])
    #expect(model.entity(named: "Tag")?.relationships.map(\.name) == ["people"])
    let new = try await DowngradeLab([Self.base, Self.merge], at: 2)
    #expect(try new.image.physicalHash == lab.image.physicalHash)
    #expect(try lab.rows("SELECT count(*) FROM sqlite_master WHERE name LIKE '\\_mig%' ESCAPE '\\'") == [[0]])
    // Ids are issued once.
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Person'") == [[14]])
  }

  @Test func `a source without rows takes its ids along`() async throws {
    let lab = try await DowngradeLab(
      [Self.base, Self.merge],
      fill: ["INSERT OR REPLACE INTO vault_ids VALUES ('Person', 10), ('Company', 40)"])
    try await lab.up(allowing: ["Company.www", "Company.seats"])
    #expect(try lab.rows("SELECT last FROM vault_ids WHERE entity = 'Person'") == [[40]])
  }

  @Test func `a merge is printed as it was written, and has no rollback`() throws {
    let set = try DowngradeLab.set([Self.base, Self.merge])
    #expect(set.steps[1].operations.map(\.description) == [Self.merge])
    guard case .none(let reason) = try set.steps[1].rollback(from: set.model(at: 1)) else {
      Issue.record("it has a rollback")
      return
    }
    #expect(reason.contains("it is no longer known which objects of Person were of Company"))
  }

  @Test(arguments: [
    ("merge entity Company into Person", "Person.name is required, but no property of Company becomes it"),
    ("merge entity Company into Company", "cannot be merged into itself"),
    ("merge entity Compny into Person", "did you mean \"Company\"?"),
    ("merge entity Company into Person with Company.titel -> Person.name", "did you mean \"title\"?"),
    ("merge entity Company into Person with Company.title -> Person.age", "first retype one of them"),
    (
      "merge entity Company into Person with Company.title -> Person.boss",
      "of another kind or has another target"
    ),
    (
      "rename relationship Company.invoices -> tags2\nmerge entity Company into Person with Company.title -> Person.name, Company.tags2 -> Person.tags",
      "of another kind or has another target"
    ),
    (
      "merge entity Company into Person with Company.title -> Person.name, Company.www -> Person.name",
      "one of these names is used twice"
    ),
    ("create raw view Names { SELECT $Company.title FROM $Company }\n" + merge, "the view Names uses it"),
    (
      "make Invoice.company optional\nset delete rule of Company.invoices to nullify\nmerge entity Company into Person with Company.title -> Person.name, Company.invoices -> Person.notes",
      "of another kind or has another target"
    ),
  ])
  func `a merge that does not fit the model is refused with the reason`(_ step: String, _ reason: String)
    throws
  {
    let set = try DowngradeLab.set([Self.base, step])
    #expect { _ = try set.model(at: 2) } throws: { "\($0)".contains(reason) }
  }

  @Test(arguments: [
    ("UPDATE Note SET company_id = 1 WHERE id = 1", "1 object of Note has both company and person"),
    ("UPDATE Company SET mail = 'a' WHERE id = 4", "must be unique"),
  ])
  func `rows that do not fit a merge are counted, and the store stays unchanged`(
    _ change: String, _ reason: String
  ) async throws {
    let lab = try await lab(Self.merge, change)
    let before = try lab.image
    await #expect {
      try await lab.up(allowing: ["Company.www", "Company.seats"])
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, Self.merge, let found) = error else { return false }
      return found.contains(reason)
    }
    #expect(try lab.image == before)
  }

  @Test func `a merge refuses objects without a value that the target requires`() async throws {
    let lab = try await lab(
      "drop attribute Company.size\nset default of Person.age to none\nadd attribute Company.age int optional\n\(Self.merge.split(separator: ",")[0])"
    )
    await #expect {
      try await lab.up(allowing: ["Company.www", "Company.seats", "Company.size"])
    } throws: { "\($0)".contains("2 objects of Company have no age, but Person requires it") }
  }

  // MARK: Links within the entity

  static let ends: [(members: String, tables: [String], links: [[SQLValue]])] = [
    ("relationship friends -> Person many", ["Person_friends"], [[11, 14]]),
    ("relationship fans -> Person many", ["Person_fans"], [[14, 11]]),
    (
      "relationship friends -> Person many\n    relationship fans -> Person many",
      ["Person_friends", "Person_fans"], [[11, 14], [14, 11]]
    ),
  ]

  @Test(arguments: ends.indices)
  func `links within a merged entity are kept by whichever end the target has`(_ index: Int) async throws {
    let (members, tables, links) = Self.ends[index]
    let base = """
      create entity Person {
          attribute name string
          \(members)
      }
      create entity Company {
          attribute name string
          relationship friends -> Company many inverse Company.fans
          relationship fans -> Company many inverse Company.friends
      }
      """
    let lab = try await DowngradeLab(
      [base, "merge entity Company into Person"],
      fill: [
        "INSERT INTO Company(id, name) VALUES (1, 'a'), (4, 'b')",
        "INSERT OR REPLACE INTO vault_ids VALUES ('Person', 10)",
        // 1 has the friend 4.
        "INSERT INTO Company_fans(fans_id, friends_id) VALUES (1, 4)",
      ])
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    try await lab.up()
    for (table, link) in zip(tables, links) {
      #expect(try lab.rows("SELECT * FROM \(table)") == [link], "\(table)")
    }
  }

  @Test func `links within a merged entity are kept if only the to-many end has a counterpart`() async throws
  {
    let base = """
      create entity Person {
          attribute name string
          relationship chief -> Person inverse Person.staff
          relationship staff -> Person many inverse Person.chief
      }
      create entity Company {
          attribute name string
          relationship boss -> Company inverse Company.staff
          relationship staff -> Company many inverse Company.boss
      }
      """
    let lab = try await DowngradeLab(
      [base, "merge entity Company into Person"],
      fill: ["INSERT INTO Company(id, name, boss_id) VALUES (1, 'a', NULL), (4, 'b', 1)"])
    #expect(try lab.set.losses(ofStep: 2).isEmpty)
    try await lab.up()
    #expect(try lab.rows("SELECT id, chief_id FROM Person ORDER BY id") == [[1, .null], [4, 1]])
  }

  // MARK: With other operations

  @Test func `a merged value of another type fails the merge`() async throws {
    let lab = try await lab(Self.merge)
    try lab.run("UPDATE Company SET mail = x'00' WHERE id = 1")
    await #expect {
      try await lab.up(allowing: ["Company.www", "Company.seats"])
    } throws: { "\($0)".contains("of Person.mail is invalid (expected: string): row 11") }
    #expect(try lab.rows("SELECT count(*) FROM Company") == [[2]])
  }

  @Test func `a merge makes a copy of the store, and a plan does not check rows that it changes`()
    async throws
  {
    let base = """
      create entity Person {
          attribute name string
      }
      create entity Company {
          attribute name string
      }
      create entity Note {
          relationship person -> Person inverse Person.notes
          relationship company -> Company inverse Company.notes
      }
      add relationship Person.notes -> Note many inverse Note.person
      add relationship Company.notes -> Note many inverse Note.company
      """
    let lab = try await DowngradeLab(
      [
        base, "merge entity Company into Person",
        "set delete rule of Person.notes to cascade\nmake Note.person required",
      ],
      fill: [
        "INSERT INTO Company(id, name) VALUES (1, 'a')", "INSERT INTO Note(id, company_id) VALUES (1, 1)",
      ])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.makesBackup && plan.losses.isEmpty)
    #expect(
      plan.refusals.isEmpty && plan.steps[1].unasked.contains { $0.contains("0002") },
      "\(plan.steps[1].unasked)")
    try await lab.up()
    #expect(try lab.rows("SELECT id, person_id FROM Note") == [[1, 1]])
  }
}
