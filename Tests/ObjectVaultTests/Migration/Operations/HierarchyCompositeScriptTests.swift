// Merges, moves and links of entities in hierarchies with random rows: a store gives the result of plain
// values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .sampled, .slow)) struct HierarchyCompositeScripts {
  static let base = """
    create entity Person {
        attribute key int optional
        attribute name string optional
        attribute nick string optional
        attribute rank int32 default 1
        relationship mentor -> Person
        relationship spare -> Person
        relationship home -> Place
        relationship friends -> Person many
        relationship liked -> Tag many
    }
    create entity Employee : Person {
        attribute salary int32 optional
        attribute badge string default "b"
        relationship boss -> Boss inverse Boss.reports
        relationship tags -> Tag many inverse Tag.staff
    }
    create entity Boss : Employee {
        attribute level int32 optional
        relationship reports -> Employee many inverse Employee.boss
        relationship notes -> Note many inverse Note.boss
    }
    create entity Guest : Person {
        attribute host string optional
        relationship inviter -> Employee
        relationship labels -> Tag many inverse Tag.guests
        relationship lines -> Note many inverse Note.guest
    }
    create entity Star : Guest {
        attribute fame int32 default 5
        attribute glow string optional
        relationship rival -> Guest
        index (rank, fame)
    }
    create entity Place {
        attribute key int optional
        attribute size double optional
        relationship next -> Place
    }
    create entity Office : Place {
        attribute desks int32 optional
        relationship head -> Person
        relationship marks -> Tag many inverse Tag.offices
        relationship pages -> Note many inverse Note.office
    }
    create entity Shed : Office {
        attribute tools string default "saw"
        relationship near -> Office
    }
    create entity Tag {
        attribute key int optional
        attribute word string optional
        relationship staff -> Employee many inverse Employee.tags
        relationship guests -> Guest many inverse Guest.labels
        relationship offices -> Office many inverse Office.marks
        relationship firms -> Firm many inverse Firm.signs
    }
    create entity Note {
        attribute key int optional
        attribute text string optional
        relationship boss -> Boss inverse Boss.notes
        relationship guest -> Guest inverse Guest.lines
        relationship office -> Office inverse Office.pages
        relationship by -> Employee
        relationship about -> Person
        relationship seen -> Guest many
    }
    create entity Firm {
        attribute key int optional
        attribute title string optional
        attribute rank int32 optional
        relationship chief -> Person
        relationship next -> Firm
        relationship signs -> Tag many inverse Tag.firms
        relationship sites -> Office many
    }
    create entity Record {
        attribute key int optional
    }
    create entity Membership : Record {
        attribute since int32 default 2
        relationship who -> Employee
        relationship what -> Place
    }
    create entity Honour : Membership {
        attribute grade int32 optional
    }
    """
  static let operations = [
    // A child into an ancestor.
    "merge entity Employee into Person with Employee.badge -> Person.nick, Employee.boss -> Person.spare",
    "merge entity Boss into Employee with Boss.level -> Employee.salary", "merge entity Boss into Person",
    "merge entity Employee into Person with Employee.tags -> Person.liked",
    "merge entity Guest into Person with Guest.host -> Person.name, Guest.inviter -> Person.mentor",
    "merge entity Shed into Office", "merge entity Office into Place with Office.desks -> Place.size",
    // Between branches of one table.
    "merge entity Guest into Employee with Guest.host -> Employee.badge, Guest.labels -> Employee.tags",
    "merge entity Guest into Boss with Guest.lines -> Boss.notes, Guest.labels -> Boss.tags",
    "merge entity Employee into Guest with Employee.badge -> Guest.host, Employee.tags -> Guest.labels",
    "merge entity Boss into Guest with Boss.badge -> Guest.host, Boss.tags -> Guest.labels, Boss.notes -> Guest.lines",
    "merge entity Star into Employee with Star.fame -> Employee.salary, Star.labels -> Employee.tags",
    "merge entity Boss into Star with Boss.salary -> Star.fame, Boss.boss -> Star.rival",
    // Between two tables.
    "merge entity Firm into Person with Firm.title -> Person.name, Firm.chief -> Person.mentor",
    "merge entity Firm into Boss with Firm.title -> Boss.badge, Firm.signs -> Boss.tags",
    "merge entity Firm into Office with Firm.rank -> Office.size, Firm.chief -> Office.head, Firm.signs -> Office.marks",
    "merge entity Guest into Firm with Guest.host -> Firm.title, Guest.labels -> Firm.signs",
    "merge entity Employee into Office with Employee.salary -> Office.desks, Employee.tags -> Office.marks",
    "merge entity Boss into Shed with Boss.badge -> Shed.tools, Boss.mentor -> Shed.head, Boss.notes -> Shed.pages",
    "merge entity Office into Guest with Office.marks -> Guest.labels, Office.pages -> Guest.lines",
    "merge entity Shed into Boss with Shed.tools -> Boss.badge",
    "merge entity Place into Firm", "merge entity Person into Place with Person.rank -> Place.size",
    "merge entity Place into Guest", "merge entity Person into Firm with Person.name -> Firm.title",
    "merge entity Tag into Star with Tag.word -> Star.host", "merge entity Note into Place",
    "merge entity Note into Shed with Note.text -> Shed.tools, Note.about -> Shed.head",
    "merge entity Firm into Note with Firm.title -> Note.text",
    // Along a to-one.
    "move attribute Employee.badge, Employee.salary -> Boss.badge, Boss.pay by Employee.boss",
    "move attribute Person.name -> Place.title by Person.home",
    "move attribute Guest.host -> Place.key2 by Guest.home",
    "move attribute Guest.host -> Office.sign by Guest.home",
    "move attribute Place.size -> Guest.room by Guest.home",
    "move attribute Office.desks -> Person.desks by Person.home",
    "move attribute Boss.level -> Employee.level by Employee.boss",
    "move attribute Note.text -> Guest.said by Note.guest",
    "move attribute Star.glow -> Guest.glow by Star.rival",
    "move attribute Shed.tools -> Office.tools by Shed.near",
    "move attribute Guest.host -> Employee.host by Guest.inviter",
    // Links.
    "make relationship Person.friends an entity Link (a, b)",
    "make relationship Guest.labels an entity Link (who, tag)",
    "make relationship Note.seen an entity Link (note, guest)",
    "make relationship Tag.staff an entity Link (tag, who)",
    "make entity Membership a relationship Employee.works -> Place",
    "make entity Membership a relationship Person.works -> Place inverse Place.workers",
    "make entity Honour a relationship Place.honoured -> Employee from what",
  ]

  /// Rows for all entities, with few values for some seeds.
  private static func rows(_ model: Schema, _ random: inout SeededGenerator) -> [String] {
    var keys: [String: [Int]] = [:]
    var next = 1
    for entity in model.entities {
      let count = Int.random(in: 1...4, using: &random)
      keys[entity.name] = (0..<count).map { next + $0 }
      next += count
    }
    func places(_ entity: String) -> [Int] {
      model.entity(named: entity).map { [$0] + model.descendants(of: $0) }?.flatMap { keys[$0.name] ?? [] }
        ?? []
    }
    let isSparse = Bool.random(using: &random)
    // Rows reference later ones.
    var statements = ["PRAGMA foreign_keys = OFF"]
    for entity in model.entities {
      let all = model.flattened(entity)
      for key in keys[entity.name] ?? [] {
        var columns = ["id": "\(key)", "key": "\(key)"]
        if model.isInHierarchy(entity) { columns["_entity"] = "'\(entity.name)'" }
        for attribute in all.attributes where !["key", "nick"].contains(attribute.name) {
          guard !attribute.isOptional || Int.random(in: 0..<(isSparse ? 4 : 2), using: &random) == 0 else {
            continue
          }
          let number = Int.random(in: 0...9, using: &random)
          columns[attribute.name] =
            attribute.type == .string
            ? "'\(attribute.name)\(number)'" : attribute.type == .double ? "\(number).5" : "\(number)"
        }
        for toOne in all.relationships where !toOne.isToMany && toOne.name != "spare" {
          guard let other = places(toOne.destination).randomElement(using: &random),
            Int.random(in: 0..<(isSparse ? 4 : 2), using: &random) == 0 || entity.name == "Membership"
              || entity.name == "Honour"
          else { continue }
          columns["\(toOne.name)_id"] = "\(other)"
        }
        let names = columns.keys.sorted()
        statements.append(
          "INSERT INTO \"\(model.root(of: entity.name))\" (\(names.map { "\"\($0)\"" }.joined(separator: ", "))) "
            + "VALUES (\(names.compactMap { columns[$0] }.joined(separator: ", ")))")
      }
    }
    for (name, relationship, owner) in PlainObjects.manyToMany(model) {
      let table = name.replacing(".", with: "_")
      guard relationship.inverse.map({ table < "\(relationship.destination)_\($0)" }) ?? true else {
        continue
      }
      for own in places(owner) {
        for other in places(relationship.destination) where Int.random(in: 0..<4, using: &random) == 0 {
          statements.append("INSERT INTO \"\(table)\" VALUES (\(own), \(other))")
        }
      }
    }
    return statements
  }

  @Test(arguments: Rotation.part(of: operations, oneIn: 2))
  func `an operation changes rows of a hierarchy as it changes plain values`(_ line: String) async throws {
    var migrated = 0
    let rounds = isTorture ? 20 : 3
    for seed in 1...rounds where isTorture || migrated == 0 {
      var random = SeededGenerator(seed: UInt64(seed * 7919))
      let model = try DowngradeLab.set([Self.base]).model(at: 1)
      let lab = try await DowngradeLab([Self.base, line], fill: Self.rows(model, &random))
      let (before, image) = (try Self.objects(lab, 1), try lab.image)
      let losses = try Set(lab.set.losses(ofStep: 2))
      do { try await lab.up(allowing: losses) } catch StoreError.rowsRefused(_, _, let operation, let reason)
      {
        // A check of the library names the rows. A refusal of the engine names none.
        #expect(operation == line && reason.contains(#/ \(rows? [^)]+\)$/#), "\(reason)")
        #expect(try lab.image == image)
        continue
      }
      var expected = before
      expected.apply(lab.set.steps[1].operations[0], model, try lab.set.model(at: 2))
      let found = try Self.objects(lab, 2)
      for (key, object) in expected.objects { #expect(found.objects[key] == object, "\(seed): \(line)") }
      #expect(found.objects.count == expected.objects.count, "\(seed): \(line)")
      #expect(found.links == expected.links, "\(seed): \(line)")
      guard found == expected else { return }
      // Sound, too, and with the tables of a new store.
      #expect(try await DowngradeLab([Self.base, line], at: 2).image.physicalHash == lab.image.physicalHash)
      migrated += 1
      guard case .operations = try lab.set.steps[1].rollback(from: model) else { continue }
      try await lab.down(1)
      #expect(try lab.image == image, "\(seed): \(line)")
    }
    #expect(migrated > 0, "\(line)")
  }

  private static func objects(_ lab: DowngradeLab, _ version: Int) throws -> PlainObjects {
    let connection = try lab.open()
    defer { connection.close() }
    return try PlainObjects(connection, lab.set.model(at: version))
  }
}
