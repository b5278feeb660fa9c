// Messages about one row and about several: one test for each kind of sentence that contains a number.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct CountedTexts {
  @Test(arguments: [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
  func `a counted noun is singular for one and plural otherwise`(_ number: Int, _ text: String) {
    #expect(counted(number, "row") == text)
    #expect(
      counted(number, "query was", plural: "queries were")
        == (number == 1 ? "1 query was" : "\(number) queries were")
    )
  }

  private static let base = """
    create entity Thing {
      attribute name string
      attribute code string optional
      relationship owner -> Thing
    }
    """

  /// Steps that existing rows prevent: with one such row, and with two.
  @Test(arguments: [
    (
      "add index Thing(name) unique", "UPDATE Thing SET name = 'x' WHERE id <= 2",
      "1 value of Thing(name) occurs more than once", "(row 2)"
    ),
    (
      "make Thing.code required", "UPDATE Thing SET code = 'x' WHERE id > 1", "1 object has no code",
      "(row 1)"
    ),
    (
      "make Thing.code required", "UPDATE Thing SET code = 'x' WHERE id > 2", "2 objects have no code",
      "(rows 1, 2)"
    ),
  ])
  func `a refused step states how many rows prevent it`(
    _ step: String, _ fill: String, _ text: String, _ rows: String
  ) async throws {
    let lab = try await MigrationLab(
      Self.base, fill: ["INSERT INTO Thing(id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')", fill])
    let reason = try #require(try await lab.refusal(step)?.reason)
    #expect(reason.contains(text) && reason.hasSuffix(rows), "\(reason)")
  }

  @Test func `a check states the number of wrong values and of dangling references`() async throws {
    let lab = try await MigrationLab(Self.base, fill: ["INSERT INTO Thing(id, name) VALUES (1, 'a')"])
    let connection = try lab.open()
    try connection.executeScript("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
    try connection.execute("UPDATE Thing SET name = x'00', owner_id = 9")
    let findings = try StoreInfo(connection).valueFindings(connection)
    #expect(findings.first?.hasPrefix("1 of 1 value of Thing.name is invalid ") == true, "\(findings)")
    #expect(
      try connection.findings().contains("1 reference to a missing row, in table Thing"),
      "\(findings)")
  }
}
