// Messages that help to correct a step: the form of a value, the limit of a name's length, reserved names.
// Losses are reported only where something is lost.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct LeadingMessages {
  private func problem(_ line: String) -> String {
    do {
      let base = "create entity User {\n attribute name string\n}"
      let steps = try [base, line].enumerated().map { index, text in
        try MigrationStep(number: index + 1, name: "s", text: "format: 1\n[up]\n\(text)\n")
      }
      _ = try MigrationSet(steps).model(at: 2)
      return ""
    } catch { return "\(error)" }
  }

  @Test(arguments: [
    ("date", "\"2026-01-01\"", "788918400 for 2026-01-01"),
    ("uuid", "\"6f9619ff-8b86-d011-b42d-00c04fc964ff\"", "\"6F9619FF-8B86-D011-B42D-00C04FC964FF\""),
    ("url", "\"\"", "\"https://example.com/a%20b\""),
    ("json", "\"{ }\"", "\"{\\\"a\\\":1}\""),
    ("data", "\"x\"", "data has no constant"),
    ("decimal", "1.5", "\"1.50\""),
    ("bool", "2", "true or false"),
    ("int8", "300", "from -128 to 127"),
  ])
  func `the error for a default of the wrong type shows the correct form`(
    _ type: String, _ value: String, _ form: String
  ) {
    for word in ["default", "filling"] {
      let text = problem("add attribute User.a \(type) \(word) \(value)")
      #expect(text.contains(form), "\(text)")
    }
  }

  @Test(arguments: [
    ("uuid", "\"6F9619FF-8B86-D011-B42D-00C04FC964FF\""), ("url", "\"https://example.com/a%20b\""),
    ("json", "\"{\\\"a\\\":1}\""), ("decimal", "\"1.50\""), ("date", "0"), ("bool", "true"), ("int8", "-128"),
  ])
  func `a default in the form that the error shows is accepted`(_ type: String, _ value: String) {
    #expect(problem("add attribute User.a \(type) default \(value)") == "")
  }

  @Test func `the error for a name that is too long or reserved states the rule`() {
    let long = String(repeating: "n", count: 121)
    #expect(problem("add attribute User.\(long) int optional").contains("120 bytes"))
    #expect(problem("create entity \(long) {\n}").contains("120 bytes"))
    #expect(problem("add attribute User.\(long.dropLast()) int optional") == "")
    for name in ["rowid", "self", "id", "x_id", "_x"] {
      let text = problem("add attribute User.\(name) int optional")
      #expect(["'id'", "'rowid'", "'self'", "'_id'", "underscore"].allSatisfy(text.contains), "\(text)")
    }
  }

  // MARK: Losses

  private static let pair = """
    create entity User {
        attribute name string
        relationship leads -> Team inverse Team.captain
    }
    create entity Team {
        attribute name string
        relationship captain -> User inverse User.leads
    }
    """

  private func losses(_ step: String) throws -> [String] {
    let steps = try [Self.pair, step].enumerated().map { index, text in
      try MigrationStep(number: index + 1, name: "s", text: "format: 1\n[up]\n\(text)\n")
    }
    return try MigrationSet(steps).losses(ofStep: 2)
  }

  @Test func `dropping one end of a one-to-one is no loss while the other end keeps the links`() async throws
  {
    #expect(try losses("drop relationship Team.captain") == [])
    #expect(try losses("drop relationship User.leads\nrename relationship Team.captain -> head") == [])
    #expect(
      try losses("drop relationship Team.captain\ndrop relationship User.leads") == ["Team.captain"])
    #expect(try losses("drop relationship User.leads\ndrop entity Team") == ["Team"])
    let lab = try await MigrationLab(
      Self.pair,
      fill: [
        "INSERT INTO User(id, name) VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO Team(id, name, captain_id) VALUES (4, 'x', 1)",
      ])
    try await lab.migrate("drop relationship Team.captain")
    #expect(try lab.rows("SELECT id, leads_id FROM User ORDER BY id") == [[1, 4], [2, .null]])
    #expect(try lab.isSound())
  }

  @Test func `a table whose columns hide its row ids is not reported as WITHOUT ROWID`() async throws {
    let lab = try AdoptionLab(
      """
      CREATE TABLE hidden (rowid TEXT, oid TEXT, _rowid_ TEXT); INSERT INTO hidden VALUES ('a', 'b', 'c');
      CREATE TABLE without (k TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE TABLE both (rowid TEXT PRIMARY KEY, oid TEXT, _rowid_ TEXT) WITHOUT ROWID;
      """)
    let losses = try await lab.plan().losses
    let reasons = Dictionary(losses.map { ($0.name, $0.reason) }) { first, _ in first }
    // Renaming a column of `both` gives its rows no ids either.
    for name in ["without", "both"] {
      #expect(reasons[name]?.contains("WITHOUT ROWID") == true, "\(losses)")
    }
    #expect(
      reasons["hidden"]?.contains("WITHOUT ROWID") == false
        && reasons["hidden"]?.contains("rowid, oid and _rowid_") == true, "\(losses)")
  }
}
