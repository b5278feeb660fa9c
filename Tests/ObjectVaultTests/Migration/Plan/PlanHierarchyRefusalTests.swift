// A plan counts the rows that a step would reject: of hierarchies, of links, and with values that a
// backfill value or a default makes equal.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PlanHierarchyRefusals {
  static let pair = """
    create entity Person {
        attribute name string unique
        attribute code int optional unique
        attribute mail string optional
    }
    create entity Employee {
        attribute name string
        attribute salary int optional
    }
    """
  static let fillPair = [
    "INSERT INTO Person(id, name, code) VALUES (1, 'Ann', NULL), (2, 'Bob', 2), (3, 'Cid', NULL)",
    "INSERT INTO Employee(id, name) VALUES (1, 'Ann'), (2, 'Dan'), (3, 'Dan'), (4, 'Eve')",
  ]

  struct Case: Sendable {
    var base = HierarchyStore.base
    var fill = HierarchyStore.fill + PlanHierarchyRefusals.more
    let step: String
    let operation: String
    let entity: String
    let properties: [String]
    let rule: String
    let count: Int
    let rows: [Int64]
  }

  static func parent(
    _ step: String, operation: String, entity: String, property: String, rule: String, count: Int,
    rows: [Int64]
  ) -> Case {
    Case(
      base: pair, fill: fillPair, step: step, operation: operation, entity: entity, properties: [property],
      rule: rule, count: count, rows: rows)
  }

  static func hierarchy(
    _ step: String, operation: String? = nil, entity: String, properties: [String], rule: String, count: Int,
    rows: [Int64]
  ) -> Case {
    Case(
      step: step, operation: operation ?? step, entity: entity, properties: properties, rule: rule,
      count: count, rows: rows)
  }

  /// A step on a model where every note requires a person.
  static func required(_ step: String, rows: [Int64]) -> Case {
    Case(
      base: HierarchyStore.base.replacing("about -> Person inverse", with: "about -> Person required inverse")
        .replacing("inverse Note.about", with: "inverse Note.about on delete cascade"),
      fill: HierarchyStore.fill + ["UPDATE Note SET about_id = 1 WHERE id = 1"], step: step, operation: step,
      entity: "Note", properties: ["about"], rule: "leading", count: rows.count, rows: rows)
  }

  static let cases: [Case] = [
    parent(
      "set parent of Employee to Person", operation: "set parent of Employee to Person", entity: "Person",
      property: "name", rule: "unique", count: 2, rows: [1, 3]),
    parent(
      "add attribute Person.town string default \"x\"\nset default of Person.town to none\n"
        + "drop index Person(name)\nset parent of Employee to Person",
      operation: "set parent of Employee to Person", entity: "Employee", property: "town", rule: "required",
      count: 4, rows: [1, 2, 3, 4]),
    required("set parent of Employee to none", rows: [3]), required("drop entity Guest", rows: [2]),
    hierarchy(
      "make Boss.reports one", entity: "Boss", properties: ["reports"], rule: "single", count: 1, rows: [4]),
    hierarchy(
      "add attribute Employee.code int default 7 unique",
      operation: "add attribute Employee.code int unique default 7",
      entity: "Employee", properties: ["code"], rule: "unique", count: 4, rows: [2, 3, 4, 6]),
    hierarchy(
      "make Boss.level required", entity: "Boss", properties: ["level"], rule: "required", count: 1, rows: [6]
    ),
  ]
  /// Steps that a plan cannot judge, because they make the values themselves or change the table before.
  static let laterCases: [Case] = [
    parent(
      "rename entity Person -> Human\nrename attribute Human.name -> called\n"
        + "rename attribute Employee.name -> called\nset parent of Employee to Human",
      operation: "set parent of Employee to Human", entity: "Human", property: "called", rule: "unique",
      count: 2, rows: [1, 3]),
    parent(
      "make Person.code required filling 9", operation: "make Person.code required filling 9",
      entity: "Person", property: "code", rule: "unique", count: 1, rows: [3]),
    parent(
      "drop index Person(code)\nmake Person.code required filling 9\nadd attribute Person.x int optional\n"
        + "add index Person(code) unique", operation: "add index Person(code) unique", entity: "Person",
      property: "code", rule: "unique", count: 1, rows: [3]
    ),
    hierarchy(
      "rename entity Person -> Human\nmake Human.friends one", operation: "make Human.friends one",
      entity: "Human", properties: ["friends"], rule: "single", count: 1, rows: [2]),
    hierarchy(
      "add attribute Employee.code int default 7\nadd index Employee(code, salary) unique",
      operation: "add index Employee(code, salary) unique", entity: "Employee",
      properties: ["code", "salary"], rule: "unique", count: 1, rows: [6]),
    hierarchy(
      "rename entity Employee -> Worker\nrename entity Boss -> Employee\nmake Worker.badge required filling \"b\"",
      operation: "make Worker.badge required filling \"b\"", entity: "Worker", properties: ["badge"],
      rule: "unique", count: 1, rows: [6]),
  ]
  static let more = [
    "INSERT INTO Person(id, _entity, name, salary) VALUES (6, 'Boss', 'Fay', 30)",
    "INSERT INTO Person_friends(Person_id, friends_id) VALUES (2, 5)",
    "UPDATE Person SET boss_id = 4 WHERE id = 3",
  ]

  @Test(arguments: cases.indices)
  func `a plan counts the hierarchy rows that a step rejects, and names them as the step does`(_ index: Int)
    async throws
  {
    let each = Self.cases[index]
    let lab = try await MigrationLab(each.base, fill: each.fill)
    let before = try lab.folder.bytes("lab.store")
    let set = try lab.set([each.base, each.step])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(try lab.folder.bytes("lab.store") == before && lab.folder.names == ["lab.store"])
    let refusal = try #require(plan.refusals.first, "\(plan.steps[0].unasked)")
    #expect(
      plan.refusals.count == 1 && plan.steps[0].unasked.isEmpty, "\(plan.refusals) \(plan.steps[0].unasked)")
    #expect(refusal.operation == each.operation)
    #expect(refusal.entity == each.entity && refusal.properties == each.properties)
    #expect(refusal.rule.rawValue == each.rule && refusal.count == each.count && refusal.rows == each.rows)
    await #expect {
      try await lab.migrate(each.step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, _) = error else { return false }
      return operation == refusal.operation
    }
  }

  @Test(arguments: [
    "drop index Person(name)\nset parent of Employee to Person",
    "make Person.mail required filling \"\"",
  ])
  func `a plan reports no rejected row for a hierarchy step that succeeds`(_ step: String) async throws {
    let lab = try await MigrationLab(Self.pair, fill: Self.fillPair)
    let plan = try await Store.plan(
      at: lab.url, key: testKey, migrations: try lab.set([Self.pair, step]))
    #expect(plan.refusals.isEmpty && plan.steps[0].unasked.isEmpty)
    try await lab.migrate(step)
    #expect(try lab.isSound())
  }

  @Test func `a plan counts duplicates that arise when moved rows get a default`() async throws {
    let base = """
      create entity Person {
          attribute name string default "x"
      }
      create entity Employee {
          attribute name string optional
          attribute salary int
          index (name, salary) unique
      }
      """
    let lab = try await MigrationLab(
      base, fill: ["INSERT INTO Employee(id, name, salary) VALUES (1, NULL, 1), (2, NULL, 1), (3, 'x', 1)"])
    let step = "set parent of Employee to Person"
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: try lab.set([base, step]))
    #expect(plan.refusals.map(\.rows) == [[3]] && plan.refusals.map(\.entity) == ["Employee"])
    await #expect {
      try await lab.migrate(step)
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, step, let reason) = error else { return false }
      return reason.contains("1 value of Employee(name, salary) would occur more than once")
    }
  }

  @Test func `a default for a unique attribute of a child is refused, with the count and advice`()
    async throws
  {
    let lab = try await HierarchyStore.lab()
    await #expect {
      try await lab.migrate("add attribute Employee.code int default 7 unique")
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, _, let reason) = error else { return false }
      return reason.hasPrefix("3 objects of Employee would all have the default of code")
        && reason.contains("add index Employee(code) unique (rows 2, 3, 4)")
    }
    try await lab.migrate("add attribute Boss.code int default 7 unique")
    #expect(
      try lab.rows("SELECT code FROM Person ORDER BY id").map { $0[0] } == [.null, .null, .null, 7, .null])
    #expect(try lab.isSound())
  }

  @Test func `a plan lists a unique raw index as a check that only the run can do`() async throws {
    let lab = try await HierarchyStore.lab()
    let step = "create raw index Once unique { ON $Person (lower($Person.name)) }"
    let plan = try await Store.plan(
      at: lab.url, key: testKey, migrations: try lab.set([HierarchyStore.base, step]))
    #expect(
      plan.steps[0].unasked == [
        "create raw index Once unique: the rows that it rejects are only known when the step runs"
      ])
  }
}
