// Repeated or meaningless parts of a step's text are errors with their place. They are never accepted in
// part.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct StepTexts {
  @Test(arguments: [
    (#"add attribute U.a string default "\d+""#, 5, 35, #"\d has no meaning in a text"#),
    (#"add attribute U.a string default "C:\path""#, 5, 37, #"\p has no meaning"#),
    (#"require "50 \%" { SELECT 1 }"#, 5, 13, #"\% has no meaning"#),
    (#"add attribute U.a string default "x" default "y""#, 5, 38, "\"default\" occurs here twice"),
    ("add attribute U.a string optional optional", 5, 35, "\"optional\" occurs here twice"),
    ("add relationship U.r -> U on delete deny on delete cascade", 5, 42, "\"on\" occurs here twice"),
    ("add index U(s, t, s)", 5, 19, "s occurs here twice"),
    ("drop attribute U.s\n\n[up]\ndrop attribute U.t", 7, 1, "this is a second [up] section"),
    (
      "drop attribute U.s\n[down]\n[down]\nadd attribute U.s string", 7, 1, "this is a second [down] section"
    ),
  ])
  func `a repeated or meaningless part of a step is refused with line and column`(
    _ up: String, _ line: Int, _ column: Int, _ reason: String
  ) throws {
    #expect {
      _ = try MigrationStep(number: 1, name: "a", text: "format: 1\nname: a\n\n[up]\n\(up)\n")
    } throws: { error in
      guard case StoreError.migrationSyntax(let fault) = error else { return false }
      return fault.line == line && fault.column == column && fault.reason.contains(reason)
    }
  }

  @Test func `a text has the characters that its escapes denote`() throws {
    let step = try MigrationStep(
      number: 1, name: "a",
      text: #"format: 1"# + "\n[up]\n" + #"add attribute U.a string default "\\d \"q\" \n\r""#)
    guard case .addAttribute(_, let attribute)? = step.operations.first else {
      Issue.record("\(step.operations)")
      return
    }
    #expect(attribute.defaultValue == .text("\\d \"q\" \n\r"))
    #expect(try MigrationStep(number: 1, name: "a", text: step.text).operations == step.operations)
  }

  @Test func `parameter signs in texts, comments, names and plain SQL are no parameters`() throws {
    for sql in [
      "SELECT ':a @b ?1 $$c', \"a:b\", [x?] -- :a ?", "SELECT a$$b FROM $User", "SELECT $User.name /* @x */",
      "SELECT 'a' || ':' || 'b'",
    ] { #expect(SQLTemplate.parameter(sql) == nil, "\(sql)") }
    #expect(SQLTemplate.parameter("SELECT $User.name, :größe") == ":größe")
    let view = "create entity A {\n}\ncreate raw view Old { SELECT id FROM $A WHERE id = ?2 }"
    let set = try MigrationSet([MigrationStep(number: 1, name: "a", text: "format: 1\n[up]\n\(view)\n")])
    #expect { _ = try set.model(at: 1) } throws: { "\($0)".contains("?2 is a parameter") }
  }
}

@Suite struct MovedTexts {
  @Test func `a move refuses texts that differ only after a NUL, as they are different values`() async throws
  {
    let lab = try await MigrationLab(
      """
      create entity Home {
          attribute street string optional
      }
      create entity User {
          attribute town string optional
          relationship home -> Home
      }
      """,
      fill: [
        "INSERT INTO Home(id) VALUES (1)",
        "INSERT INTO User(id, town, home_id) VALUES (1, 'a' || char(0) || 'x', 1), (2, 'a' || char(0) || 'y', 1)",
      ])
    let before = try lab.rows("SELECT id, hex(town) FROM User")
    await #expect {
      try await lab.migrate("move attribute User.town -> Home.town by User.home")
    } throws: {
      StoppedStep($0)?.reason.contains("different") == true
    }
    #expect(try lab.rows("SELECT id, hex(town) FROM User") == before)
    try lab.open().execute("UPDATE User SET town = 'a' || char(0) || 'x'")
    try await lab.migrate("move attribute User.town -> Home.town by User.home")
    #expect(try lab.rows("SELECT hex(town) FROM Home") == [["610078"]])
  }
}
