// The lab with faulty steps: each check detects its own kind of fault, and describes it.

import CipherSQLite
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import Testing

/// Steps from their `[up]` sections.
enum Steps {
  static func set(_ texts: [String]) throws -> MigrationSet {
    try MigrationSet(
      texts.enumerated().map { index, text in
        try MigrationStep(number: index + 1, name: "step\(index + 1)", text: "format: 1\n[up]\n\(text)\n")
      })
  }

  static func lab(_ texts: [String]) throws -> MigrationLab { try MigrationLab(set(texts)) }

  static let blog = """
    create entity User {
        attribute name string
        attribute age int
        relationship statuses -> Status many inverse Status.user on delete cascade
    }
    create entity Status {
        attribute text string
        relationship user -> User inverse User.statuses
    }
    """
}

@Suite(.tags(.slow)) struct BrokenSteps {
  private func failure(_ check: () async throws -> Void) async throws -> CheckFailure {
    try #require(await #expect(throws: CheckFailure.self) { try await check() })
  }

  @Test func `steps whose model differs from the classes are refused with the missing lines`() throws {
    let error = #expect(throws: StoreError.self) {
      try MigrationLab(.set(Steps.set([Steps.blog])), model: microblog)
    }
    #expect("\(try #require(error))".contains("create entity Tag"))
  }

  @Test func `steps that cannot run on any store are refused at once`() throws {
    let error = #expect(throws: StoreError.self) {
      try Steps.lab([Steps.blog, "retype User.age to double"])
    }
    #expect("\(try #require(error))".contains("state how: using (SQL)"))
    let fault = #expect(throws: CheckFailure.self) {
      try Steps.lab([Steps.blog, "transform sql { DELETE FROM $Nobody }"])
    }
    #expect("\(try #require(fault))".contains("0002_step2.migration"))
  }

  @Test func `a transform that loses rows is detected, and can be declared as intended`() async throws {
    var lab = try Steps.lab([
      Steps.blog, "transform sql { DELETE FROM $Status WHERE $Status.user IS NOT NULL }",
    ])
    let error = try await failure { try await lab.checkEveryPath() }
    #expect(error.check == "checkEveryPath" && error.place == "version 1 to 2")
    #expect(error.findings.contains { $0.hasPrefix("Status: ") && $0.contains("of 12 rows are missing") })
    #expect("\(error)".contains("lab.mayLoseRows"))
    lab.mayLoseRows = ["Status"]
    try await lab.checkEveryPath()
  }

  @Test func `unintended changes of values are detected`() async throws {
    // The step writes whole rows, and so names no column.
    let lab = try Steps.lab([
      Steps.blog,
      """
      create entity Copy {
          attribute number int
      }
      transform sql {
          INSERT OR REPLACE INTO $User SELECT * FROM (SELECT a."id", a."_version", b.*
          FROM $User a JOIN (SELECT 'same', 7) b)
      }
      """,
    ])
    let error = try await failure { try await lab.checkEveryPath() }
    #expect("\(error)".contains("\"same\""), "\(error)")
  }

  @Test func `values that a step computes anew are not reported`() async throws {
    try await Steps.lab([
      Steps.blog,
      """
      transform sql { UPDATE $User SET $User.name = 'x' || $User.name }
      retype User.age to double using ($User.age)
      rename attribute User.age -> years
      rename entity Status -> Note
      """,
    ]).checkEveryPath()
  }

  @Test func `rows that steps insert are also in new stores`() async throws {
    let insert = "INSERT INTO $User($User.name, $User.age) VALUES ('admin', 1)"
    try await Steps.lab([Steps.blog, "transform sql { \(insert) }"]).checkCreatedEqualsMigrated()
    try await Steps.lab([Steps.blog, "seed { \(insert) }"]).checkCreatedEqualsMigrated()
  }

  @Test func `rows that refer to a rebuilt table are reported if they are deleted`() async throws {
    let rebuild = "retype User.age to string using (CAST($User.age AS TEXT))"
    try await Steps.lab([Steps.blog, rebuild]).checkCascades()
    let error = try await failure {
      try await Steps.lab([
        Steps.blog,
        "\(rebuild)\ntransform sql { DELETE FROM $Status WHERE $Status.user IN (SELECT \"id\" FROM $User) }",
      ]).checkCascades()
    }
    #expect(error.place == "step 2 step2")
    #expect(error.findings.contains("Status: 12 of 12 rows are missing (rows 1, 2, 3, 4, 5 and more)"))
    #expect(error.advice?.hasPrefix("The step rebuilds User.") == true)
  }

  @Test func `a rollback that loses rows is detected`() async throws {
    let step = try MigrationStep(
      number: 2, name: "nick",
      text: """
        format: 1
        [up]
        add attribute User.nick string optional
        [down]
        transform sql {
            DELETE FROM $Status
        }
        drop attribute User.nick
        """)
    let lab = try MigrationLab(MigrationSet(Steps.set([Steps.blog]).steps + [step]))
    let error = try await failure { try await lab.checkUpDownUp() }
    #expect(
      error.place == "step 2 nick, down"
        && error.findings.contains("Status: 12 of 12 rows are missing (rows 1, 2, 3, 4, 5 and more)"))
  }

  @Test func `a rollback that overwrites a value which its step only read is detected`() async throws {
    let step = try MigrationStep(
      number: 2, name: "nick",
      text: """
        format: 1
        [up]
        add attribute User.nick string optional
        transform sql { UPDATE $User SET $User.nick = $User.name }
        [down]
        transform sql { UPDATE $User SET $User.name = 'nobody' }
        drop attribute User.nick
        """)
    let lab = try MigrationLab(MigrationSet(Steps.set([Steps.blog]).steps + [step]))
    let error = try await failure { try await lab.checkUpDownUp() }
    #expect(
      error.findings.contains { $0.hasPrefix("User.name: ") && $0.contains("values differ") }, "\(error)")
  }

  @Test func `values that a block only reads must stay, and values that it writes may change`() async throws {
    let good =
      "add attribute User.nick string optional\ntransform sql { UPDATE $User SET $User.nick = upper($User.name) }"
    try await Steps.lab([Steps.blog, good, "transform sql { UPDATE $User SET $User.age = 7 }"])
      .checkAll()
    try await Steps.lab([Steps.blog, good, "retype User.age to string using ($User.age || '')"]).checkAll()
  }

  @Test func `a rollback that deletes objects created after the step is detected`() async throws {
    let step = try MigrationStep(
      number: 2, name: "nick",
      text: """
        format: 1
        [up]
        add attribute User.nick string optional
        [down]
        transform sql {
            DELETE FROM $User WHERE $User.nick IS NOT NULL
        }
        drop attribute User.nick
        """)
    let steps = try Steps.set(["create entity User {\n attribute name string\n}"]).steps
    let lab = try MigrationLab(MigrationSet(steps + [step]))
    let error = try await failure { try await lab.checkUpDownUp() }
    #expect("\(error)".contains("rows that were created after the step remain"))
  }

  @Test func `a narrowing that generated values break names the setting for other values`() async throws {
    var lab = try Steps.lab([Steps.blog, "retype User.age to int8 using ($User.age)"])
    let error = try await failure { try await lab.checkEveryPath() }
    #expect("\(error)".contains("Step 0002 step2 failed") && "\(error)".contains("lab.values"))
    lab.values["User.age"] = [1, 2, 120]
    try await lab.checkEveryPath()
  }

  @Test func `a loss that is not allowed is refused as in the app`() async throws {
    let error = try await failure {
      try await Steps.lab([Steps.blog, "drop attribute User.age"]).checkEveryPath()
    }
    #expect("\(error)".contains("allow: lossy:User.age"))
  }

  @Test func `a description has a line for each finding, up to a limit`() async throws {
    let entities = (1...30).map { "create entity E\($0) {\n attribute a int\n}" }.joined(separator: "\n")
    let deletions = (1...30).map { "DELETE FROM $E\($0);" }.joined(separator: "\n")
    let error = try await failure {
      try await Steps.lab([entities, "transform sql {\n\(deletions)\n}"]).checkEveryPath()
    }
    let lines = "\(error)".split(separator: "\n")
    #expect(error.findings.count == 30 && lines.count == 23)
    #expect(lines[0] == "checkEveryPath, version 1 to 2:" && lines[21] == "- and 10 more")
  }
}
