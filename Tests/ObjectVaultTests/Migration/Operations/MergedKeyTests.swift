// Operations that bring rows to others with unique values. A duplicate is refused with entity, property,
// object and remedy, by the step and by the plan before it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct MergedKeys {
  struct Case: CustomTestStringConvertible, Sendable {
    let name: String
    let base: String
    let fill: [String]
    let step: String
    let entity: String
    let properties: [String]
    let rows: [Int64]
    /// The entity of the rows, where it is not `entity`.
    var source: String?
    /// Whether the plan cannot check, because an earlier part of the operation moves the rows.
    var isLate = false
    var testDescription: String { name }
  }

  private static let two = """
    create entity Person {
        attribute name string
        attribute mail string optional unique
        attribute code int optional
        relationship desk -> Desk
        relationship notes -> Note many inverse Note.person
        index (desk) unique
        index (code, desk) unique
    }
    create entity Company {
        attribute name string
        attribute mail string optional
        attribute number int optional
        relationship desk -> Desk
        relationship notes -> Note many inverse Note.company
    }
    create entity Note {
        attribute text string optional
        relationship person -> Person inverse Person.notes
        relationship company -> Company inverse Company.notes
        index (person, text) unique
    }
    create entity Desk {
        attribute t string optional
    }
    """
  private static let fill = [
    "INSERT INTO Desk(id, t) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO Person(id, name, mail, desk_id) VALUES (1, 'Ann', 'a', 1), (2, 'Bob', NULL, NULL)",
    "INSERT INTO Company(id, name, mail, desk_id) VALUES (1, 'Acme', 'c', 2), (4, 'Sub', NULL, NULL), (5, 'Co', NULL, 3)",
    "INSERT INTO Note(id, text, person_id, company_id) VALUES (1, 'x', 1, NULL), (2, 'x', NULL, 1), (3, 'x', NULL, 4), (4, NULL, NULL, 4)",
  ]
  private static let merge = "merge entity Company into Person"

  private static func merging(
    _ name: String, with more: String, entity: String, properties: [String], rows: [Int64]
  ) -> Case {
    Case(
      name: name, base: two, fill: fill + [more], step: merge, entity: entity, properties: properties,
      rows: rows)
  }

  private static let hierarchy = """
    create entity Person {
        attribute name string
        attribute pay int optional unique
        relationship desk -> Desk
        index (desk) unique
    }
    create entity Employee : Person {
        attribute salary int optional
        relationship seat -> Desk
    }
    create entity Firm {
        attribute name string
        relationship seat -> Desk
    }
    create entity Desk {
        attribute t string optional
    }
    """
  private static let hierarchyFill = [
    "INSERT INTO Desk(id, t) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO Person(id, _entity, name, pay, salary, desk_id, seat_id) VALUES (1, 'Person', 'Ann', 5, NULL, 1, NULL), "
      + "(2, 'Employee', 'Bo', NULL, 6, NULL, 2), (3, 'Employee', 'Cid', NULL, NULL, NULL, NULL)",
    "INSERT INTO Firm(id, name, seat_id) VALUES (1, 'Acme', 3), (7, 'Co', NULL)",
  ]

  static let cases = [
    merging(
      "an attribute, beside the others", with: "UPDATE Company SET mail = 'a' WHERE id = 4", entity: "Person",
      properties: ["mail"], rows: [4]
    ),
    merging(
      "an attribute, among their own", with: "UPDATE Company SET mail = 'd' WHERE id IN (4, 5)",
      entity: "Person", properties: ["mail"],
      rows: [5]),
    merging(
      "a to-one", with: "UPDATE Company SET desk_id = 1 WHERE id = 4", entity: "Person", properties: ["desk"],
      rows: [4]),
    merging(
      "who leads to them", with: "INSERT INTO Note(id, text, company_id) VALUES (9, 'x', 4)", entity: "Note",
      properties: ["person", "text"], rows: [9]),
    Case(
      name: "a default",
      base: two.replacing(
        "attribute code int optional", with: "attribute code int optional unique default 3"),
      fill: ["INSERT INTO Company(id, name) VALUES (1, 'Acme'), (2, 'Co')"], step: merge, entity: "Person",
      properties: ["code"], rows: [2]),
    Case(
      name: "several properties",
      base: two.replacing("    index (desk) unique\n", with: ""),
      fill: [
        "INSERT INTO Desk(id, t) VALUES (1, 'a')",
        "INSERT INTO Person(id, name, code, desk_id) VALUES (1, 'Ann', 4, 1)",
        "INSERT INTO Company(id, name, number, desk_id) VALUES (3, 'Acme', 4, 1), (4, 'Co', 5, 1)",
      ], step: merge + " with Company.number -> Person.code", entity: "Person", properties: ["code", "desk"],
      rows: [3]),
    Case(
      name: "an attribute of one table", base: hierarchy,
      fill: hierarchyFill + ["UPDATE Person SET salary = 5 WHERE id = 3"],
      step:
        "merge entity Employee into Person with Employee.salary -> Person.pay, Employee.seat -> Person.desk",
      entity: "Person", properties: ["pay"], rows: [3]),
    Case(
      name: "a to-one of one table", base: hierarchy,
      fill: hierarchyFill + ["UPDATE Person SET seat_id = 1 WHERE id = 3"],
      step:
        "merge entity Employee into Person with Employee.salary -> Person.pay, Employee.seat -> Person.desk",
      entity: "Person", properties: ["desk"], rows: [3]),
    Case(
      name: "a to-one that comes into the table of a family", base: hierarchy,
      fill: hierarchyFill + ["UPDATE Firm SET seat_id = 1 WHERE id = 7"],
      step: "merge entity Firm into Person with Firm.seat -> Person.desk", entity: "Person",
      properties: ["desk"], rows: [14], isLate: true),
    Case(
      name: "the default of an object that a move makes",
      base: """
        create entity Person {
            attribute city string optional
            relationship place -> Place
        }
        create entity Place {
            attribute code int optional unique default 3
        }
        """,
      fill: ["INSERT INTO Person(id, city) VALUES (1, 'Bonn'), (2, 'Ulm')"],
      step: "move attribute Person.city -> Place.city by Person.place", entity: "Place", properties: ["code"],
      rows: [2], source: "Person", isLate: true),
  ]

  @Test(arguments: cases)
  func `duplicates that a merge or move would make are refused with their rows, and counted before`(
    _ each: Case
  ) async throws {
    let lab = try await MigrationLab(each.base, fill: each.fill)
    let plan = try await Store.plan(
      at: lab.url, key: testKey, migrations: try lab.set([each.base, each.step]))
    if each.isLate {
      #expect(plan.refusals.isEmpty && !plan.steps[0].unasked.isEmpty)
    } else {
      let refusal = try #require(plan.refusals.first, "\(plan.steps[0].unasked)")
      #expect(plan.refusals.count == 1, "\(plan.refusals)")
      #expect(refusal.entity == each.entity && refusal.properties == each.properties, "\(refusal)")
      #expect(
        refusal.rule.rawValue == "unique" && refusal.count == 1 && refusal.rows == each.rows, "\(refusal)")
    }
    let name = "\(each.entity)(\(each.properties.joined(separator: ", ")))"
    let words = each.step.split(separator: " ").map(String.init)
    // Rows of a merge are still rows of the source, unless the duplicates are values of a third entity.
    let isMerged = words.starts(with: ["merge", "entity"]) && words[4] == each.entity
    let source = isMerged ? words[2] : each.source
    let rows =
      "(\(each.rows.count == 1 ? "row" : "rows") \(each.rows.map(String.init).joined(separator: ", "))"
      + "\(source.map { " of \($0)" } ?? ""))"
    await #expect {
      try await lab.migrate(each.step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation == each.step
        && [name, "must be unique", "with a transform", rows].allSatisfy(reason.contains)
    }
  }

  @Test func `a merge accepts different values and several NULLs`() async throws {
    let lab = try await MigrationLab(Self.two, fill: Self.fill)
    let plan = try await Store.plan(
      at: lab.url, key: testKey, migrations: try lab.set([Self.two, Self.merge]))
    #expect(plan.refusals.isEmpty)
    try await lab.migrate(Self.merge)
    let connection = try lab.open()
    #expect(
      try connection.rows(sql: "SELECT count(*), count(mail), count(desk_id) FROM Person") == [[5, 2, 3]])
    #expect(try lab.isWhole())
    let hierarchy = try await MigrationLab(Self.hierarchy, fill: Self.hierarchyFill)
    try await hierarchy.migrate(
      "merge entity Employee into Person with Employee.salary -> Person.pay, Employee.seat -> Person.desk")
    #expect(try hierarchy.isWhole())
  }
}
