// A plan counts the rows that a move of attributes would reject, before any row is written.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PlanMoves {
  static let (pair, outward, inward) = (
    CompositeOperations.pair, CompositeOperations.outward, CompositeOperations.inward
  )
  static let homes = "INSERT INTO Home(id, number) VALUES (3, 1), (4, 2)"

  struct Case: Sendable {
    /// Follows the pair's model in the first step.
    var base = ""
    let fill: [String]
    let move: String
    let text: String
    var rule = RefusalRule.other
    let rows: [Int64]
    /// Whether it concerns values that the move itself makes, which a plan does not know.
    var isLate = false
  }

  private static let unfilled = "set default of Home.number to none"
  private static let required = "make User.city required"
  private static let defaulted = "make User.city required\nset default of User.city to \"?\""
  private static let leads = "INSERT INTO User(id, city, home_id) VALUES (1, 'Bonn', 3)"

  static let cases: [Case] = [
    Case(
      fill: [homes, leads, "INSERT INTO User(id, city, home_id) VALUES (2, 'bonn', 3)"], move: outward,
      text: "1 object of Home is referenced by several User with different values", rows: [3]),
    Case(
      base: unfilled, fill: ["INSERT INTO User(id, city) VALUES (8, 'Bonn')"], move: outward,
      text: "1 object of User has no home, and none can be created", rows: [8]),
    Case(
      base: required, fill: [homes, leads], move: outward, text: "1 object of Home would have no city",
      rule: .required, rows: [4]),
    Case(
      base: "\(defaulted)\nadd index User(city) unique",
      fill: [homes, "INSERT INTO User(id, city) VALUES (1, '?')"], move: outward,
      text:
        "1 value of Home(city) would occur more than once, but must be unique: each Home without a value "
        + "gets the default",
      rule: .unique, rows: [4], isLate: true),
    Case(
      fill: [homes, leads], move: inward, text: "1 object of Home has values, but no User refers to them",
      rows: [4], isLate: true),
    Case(
      base: unfilled,
      fill: ["INSERT INTO Home(id, number) VALUES (3, 1)", leads, "INSERT INTO User(id) VALUES (2)"],
      move: inward, text: "1 object of User would have no number", rule: .required, rows: [2], isLate: true),
    Case(
      base: "\(unfilled)\nadd index Home(number) unique",
      fill: [
        "INSERT INTO Home(id, number) VALUES (3, 1)", leads, "INSERT INTO User(id, home_id) VALUES (2, 3)",
      ],
      move: inward,
      text:
        "1 value of User(number) would occur more than once, but must be unique: several User refer to "
        + "one Home",
      rule: .unique, rows: [2], isLate: true),
    Case(
      base: "add index Home(number) unique",
      fill: [
        "INSERT INTO Home(id, number) VALUES (3, 1)", leads, "INSERT INTO User(id) VALUES (2), (5)",
      ],
      move: inward, text: "or each User without a value gets the default", rule: .unique, rows: [5],
      isLate: true),
  ]

  private func lab(_ each: Case, _ steps: [String]) async throws -> DowngradeLab {
    try await DowngradeLab(["\(Self.pair)\n\(each.base)"] + steps, fill: each.fill)
  }

  @Test(arguments: cases.indices)
  func `a plan counts the rows that a move rejects, and names them as the step does`(_ index: Int)
    async throws
  {
    let each = Self.cases[index]
    let lab = try await lab(each, [each.move])
    let before = try lab.image
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.steps[0].unasked.isEmpty == !each.isLate, "\(plan.steps[0].unasked)")
    #expect(each.isLate || plan.refusals.count == 1, "\(plan.refusals)")
    for refusal in plan.refusals {
      #expect(refusal.operation == each.move && refusal.rule == each.rule && refusal.rows == each.rows)
      #expect("\(refusal)".contains(each.text), "\(refusal)")
    }
    let rehearsal = try await Store.rehearse(at: lab.url, key: testKey, migrations: lab.set)
    await #expect {
      try await lab.up()
    } throws: { error in
      guard case StoreError.rowsRefused(2, _, each.move, let reason) = error else { return false }
      return reason.contains(each.text) && error as? StoreError == rehearsal.failure as? StoreError
    }
    #expect(try lab.image == before)
  }

  @Test func `a plan lists a move as unknown before the run when a block writes its rows first`() async throws
  {
    let each = Self.cases[0]
    let block = "transform sql { UPDATE $User SET $User.city = 'Bonn' }"
    let lab = try await lab(each, [block + "\n" + each.move])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.isEmpty && plan.steps[0].unasked.count == 2, "\(plan.steps[0].unasked)")
    #expect(plan.steps[0].unasked.first?.hasPrefix("\(each.move): not known before the run") == true)
    try await lab.up()
    #expect(try lab.rows("SELECT id, city FROM Home ORDER BY id") == [[3, "Bonn"], [4, .null]])
  }

  @Test(arguments: [
    (
      "\(defaulted)\nadd index User(city) unique", outward,
      ["INSERT INTO Home(id) VALUES (3), (4)", leads, "INSERT INTO User(id, city) VALUES (2, 'Rom')"]
    ),
    (
      "add index Home(number) unique", inward,
      [homes, leads, "INSERT INTO User(id, home_id) VALUES (2, 4)", "INSERT INTO User(id) VALUES (5)"]
    ),
    (required, outward, ["INSERT INTO Home(id) VALUES (3)", leads]),
  ])
  func `a plan reports no rejected row for a move that succeeds`(
    _ base: String, _ move: String, _ fill: [String]
  ) async throws {
    let lab = try await DowngradeLab(["\(Self.pair)\n\(base)", move], fill: fill)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: lab.set)
    #expect(plan.refusals.isEmpty, "\(plan.refusals)")
    let rehearsal = try await Store.rehearse(at: lab.url, key: testKey, migrations: lab.set)
    #expect(rehearsal.failure == nil)
    try await lab.up()
  }
}
