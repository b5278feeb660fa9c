// The text of each check that fails: the step, the entity, the attribute, the row, the expected and the
// found value, and the remedy. Each history has a single fault.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FailureTexts {
  /// The lines of a check's failure.
  private func text(_ check: () async throws -> Void) async throws -> [String] {
    let error = try await #require(
      #expect(throws: CheckFailure.self) { try await check() })
    return "\(error)".split(separator: "\n").map(String.init)
  }

  private func expect(
    _ text: [String], _ head: String, has lines: [String], advice: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let whole = text.joined(separator: "\n")
    #expect(text.first == head, "\(whole)", sourceLocation: sourceLocation)
    for line in lines { #expect(text.contains("- \(line)"), "\(whole)", sourceLocation: sourceLocation) }
    #expect(text.last?.contains(advice) == true, "\(whole)", sourceLocation: sourceLocation)
  }

  private static func step(_ number: Int, name: String, up: String, down: String = "") throws
    -> MigrationStep
  {
    try MigrationStep(
      number: number, name: name,
      text: "format: 1\n[up]\n\(up)\n" + (down.isEmpty ? "" : "[down]\n\(down)\n"))
  }

  private static func lab(_ steps: MigrationStep...) throws -> MigrationLab {
    var lab = try MigrationLab(MigrationSet([step(1, name: "blog", up: Steps.blog)] + steps))
    lab.objectsPerEntity = 4
    return lab
  }

  private static let nick = "add attribute User.nick string optional"

  // MARK: Every path

  @Test func `of several steps the one that loses rows is named`() async throws {
    let lab = try Self.lab(
      Self.step(2, name: "nick", up: Self.nick),
      Self.step(3, name: "tidy", up: "transform sql { DELETE FROM $Status WHERE \"id\" IN (2, 3) }"),
      Self.step(4, name: "mail", up: "add attribute User.mail string optional"))
    expect(
      try await text { try await lab.checkEveryPath() }, "checkEveryPath, version 1 to 4:",
      has: ["Status: 2 of 4 rows are missing (rows 2, 3)"],
      advice:
        "The difference begins after step 3 tidy, 0003_tidy.migration. If a step deletes rows on purpose, "
        + "allow that with lab.mayLoseRows."
    )
  }

  @Test func `an edge value that a transform changes is reported with its former value`() async throws {
    var lab = try Self.lab(
      Self.step(
        2, name: "tidy",
        up: """
          create entity Copy {
              attribute number int
          }
          transform sql {
              INSERT OR REPLACE INTO $User
              SELECT i, v, trim(n), a FROM (WITH w(i, v, n, a) AS (SELECT * FROM $User) SELECT * FROM w)
          }
          """))
    lab.values["User.name"] = ["Ada", " Bo "]
    expect(
      try await text { try await lab.checkEveryPath() }, "checkEveryPath, version 1 to 2:",
      has: ["User.name: 1 of 4 values differs, the first in row 4: \" Bo \" is now \"Bo\""],
      advice: "The difference begins after step 2 tidy")
  }

  // MARK: Created against migrated

  @Test func `a step that inserts different rows each time is named`() async throws {
    let count = Locked(0)
    let steps = try MigrationSet([
      Self.step(1, name: "blog", up: Steps.blog), Self.step(2, name: "nick", up: Self.nick),
      Self.step(
        3, name: "admin",
        up: "transform sql { INSERT INTO $User($User.name, $User.age) VALUES ('admin', 1) }\n"
          + "transform swift once on User"),
    ]).transforming(by: [
      .objects("once") { user, context in
        let isFirst = count.withLock {
          $0 += 1; return $0 == 1
        }
        if isFirst { context.delete(user) }
      }
    ])
    let lab = try MigrationLab(steps)
    expect(
      try await text { try await lab.checkCreatedEqualsMigrated() }, "checkCreatedEqualsMigrated, version 3:",
      has: ["User: 0 rows in a created store, 1 in a migrated one (row 1 only in one of them)"],
      advice: "everything that they call must return the same each time")
  }

  // MARK: Up, down, up

  @Test func `a rollback that changes a value is reported with both values and the file`() async throws {
    let lab = try Self.lab(
      Self.step(
        2, name: "nick", up: "\(Self.nick)\ntransform sql { UPDATE $User SET $User.nick = $User.name }",
        down:
          "transform sql { UPDATE $User SET $User.name = 'nobody' WHERE \"id\" = 2 }\ndrop attribute User.nick"
      ))
    expect(
      try await text { try await lab.checkUpDownUp() }, "checkUpDownUp, step 2 nick, down:",
      has: ["User.name: 1 of 4 values differs, the first in row 2: \"Ada Lovelace\" is now \"nobody\""],
      advice: "The [down] of 0002_nick.migration must undo its [up]")
  }

  @Test func `rows that a rollback loses are reported by id, both former and new ones`() async throws {
    let before = try Self.lab(
      Self.step(
        2, name: "nick", up: Self.nick,
        down: "transform sql { DELETE FROM $Status WHERE \"id\" = 3 }\ndrop attribute User.nick"))
    expect(
      try await text { try await before.checkUpDownUp() }, "checkUpDownUp, step 2 nick, down:",
      has: ["Status: 1 of 4 rows is missing (row 3)"], advice: "allow that with lab.mayLoseRows")
    let since = try Self.lab(
      Self.step(
        2, name: "nick", up: "add attribute Status.note string optional",
        down:
          "transform sql { DELETE FROM $Status WHERE $Status.note = 'Ada Lovelace' }\ndrop attribute Status.note"
      ))
    expect(
      try await text { try await since.checkUpDownUp() },
      "checkUpDownUp, step 2 nick, down, with objects created after the step:",
      has: ["Status: 3 of 4 rows that were created after the step remain; row 2 is missing"],
      advice: "0002_nick.migration")
  }

  // MARK: Cascades

  @Test func `rows that are deleted with a rebuilt table are reported with that table`() async throws {
    let lab = try Self.lab(
      Self.step(2, name: "nick", up: Self.nick),
      Self.step(
        3, name: "age",
        up: "retype User.age to string using (CAST($User.age AS TEXT))\n"
          + "transform sql { DELETE FROM $Status WHERE $Status.user = 2 }"))
    let found = try await text { try await lab.checkCascades() }
    expect(
      found, "checkCascades, step 3 age:", has: [],
      advice: "The step rebuilds User. The difference begins after step 3 age, 0003_age.migration.")
    #expect(found.contains { $0.hasPrefix("- Status: ") && $0.contains("missing (row") }, "\(found)")
  }

  // MARK: Killed anywhere

  @Test func `a function that acts only once is named, with the moment of the stop`() async throws {
    let runs = Locked(0)
    let steps = try MigrationSet([
      Self.step(1, name: "blog", up: Steps.blog),
      Self.step(2, name: "tidy", up: "transform swift tidy on User"),
    ]).transforming(by: [
      .objects("tidy") { user, context in
        let isFirst = runs.withLock {
          $0 += 1; return $0 == 1
        }
        if isFirst { context.delete(user) }
      }
    ])
    let found = try await text { try await MigrationLab(steps).checkKilledAnywhere() }
    #expect(found[0].hasPrefix("checkKilledAnywhere, version 1 to 2, "), "\(found)")
    #expect(found.contains { $0.hasPrefix("- User: 1 row is new (row ") }, "\(found)")
    #expect(
      found.last?.contains("check the functions that are called by step 2 tidy: transform swift tidy on User")
        == true,
      "\(found)")
  }

  // MARK: Others

  @Test func `rows that are lost beside another process are reported with the step`() async throws {
    let lab = try Self.lab(
      Self.step(2, name: "nick", up: Self.nick),
      Self.step(3, name: "tidy", up: "transform sql { DELETE FROM $Status WHERE \"id\" = 4 }"))
    expect(
      try await text { try await lab.checkOtherProcess() },
      "checkOtherProcess, version 1 to 3, two at once:", has: ["Status: 1 of 4 rows is missing (row 4)"],
      advice: "The difference begins after step 3 tidy")
  }

  // MARK: Shipped stores

  @Test func `a shipped store that loses a row is reported with the step, and without values`() async throws {
    let folder = packageRoot.appendingPathComponent("Tests/Fixtures/stores/0.1.0")
    let steps = try MigrationSet.directory(folder.appendingPathComponent("Steps")).steps
    let sql = try MigrationSet(steps).sql(ofStep: 2).joined()
    let join = try #require(["Painting_motifs", "Motif_paintings"].first { sql.contains("\"\($0)\"") })
    let losing = try Self.step(
      3, name: "losing",
      up: "transform sql { DELETE FROM \"\(join)\"; DELETE FROM $Painting WHERE \"id\" = 1 }")
    let later = try Self.step(4, name: "later", up: "retype Painting.int16 to int32")
    let lab = try MigrationLab(MigrationSet(steps + [losing, later]))
    let file = folder.appendingPathComponent("sqlcipher3.sqlcipher")
    let found = try await text { try await lab.checkGolden(file, key: .passphrase("an old brush")) }
    #expect(found[0].hasPrefix("checkGolden, sqlcipher3.sqlcipher, version "), "\(found)")
    #expect(
      found.contains { $0.hasPrefix("- Painting: 1 of ") && $0.hasSuffix(" is missing (row 1)") }, "\(found)")
    #expect(found.last?.contains("The difference begins after step 3 losing") == true, "\(found)")
  }

  @Test func `a file that is not a store, or not one of the steps, is reported by the given path`()
    async throws
  {
    let lab = try MicroblogLab.lab()
    let folder = try TemporaryFolder()
    let other = folder.url.appendingPathComponent("other.store")
    let step = try Self.step(1, name: "other", up: "create entity Other {\n attribute n int\n}")
    try await Store.create(at: other, key: testKey, migrations: MigrationSet([step]))
    for file in ["/etc/passwd", other.path] {
      let found = try await text { try await lab.checkGolden(file, key: testKey) }
      #expect(found[0] == "checkGolden, \(URL(fileURLWithPath: file).lastPathComponent):", "\(found)")
      #expect(file == other.path || found.contains { $0.contains(file) }, "\(found)")
      #expect(!found.contains { $0.contains("lab.store") }, "\(found)")
    }
  }

  @Test func `a shipped store without a key or with a wrong key is reported with a remedy`() async throws {
    let file = packageRoot.appendingPathComponent("Tests/Fixtures/stores/0.1.0/sqlcipher3.sqlcipher")
    let lab = try MicroblogLab.lab()
    expect(
      try await text { try await lab.checkGolden(file) }, "checkGolden, sqlcipher3.sqlcipher:",
      has: ["\(file.path) cannot be decrypted with the given key"],
      advice: "Pass the key of the file: checkGolden(url, key: .passphrase(…)).")
    expect(
      try await text { try await lab.checkGolden(file, key: .passphrase("no")) },
      "checkGolden, sqlcipher3.sqlcipher:", has: [], advice: "Check the key")
  }
}
