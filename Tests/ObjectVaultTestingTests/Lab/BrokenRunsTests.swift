// The lab with faulty ways to migrate: it detects errors of migrations that are stopped, or that run beside
// other processes.

import CipherSQLite
import Foundation
import ObjectVault
import ObjectVaultTesting
import Synchronization
import Testing

@Suite(.tags(.slow)) struct BrokenRuns {
  private static let steps = [
    Steps.blog, "retype User.age to double using ($User.age)", "add attribute User.nick string optional",
  ]

  private func failure(_ check: () async throws -> Void) async throws -> CheckFailure {
    try #require(await #expect(throws: CheckFailure.self) { try await check() })
  }

  // MARK: Created and migrated

  @Test(arguments: [
    ("DROP INDEX ix_User_nick", "ix_User_nick", ", 0004_step4.migration"),
    ("CREATE INDEX more ON User (age)", "more", ", 0002_step2.migration"),
    ("CREATE VIEW more AS SELECT 1", "more", ", 0002_step2.migration"),
  ])
  func `a migrated store whose tables differ from a created one is detected, with the step`(
    _ sql: String, _ name: String, _ step: String
  ) async throws {
    let lab = try Steps.lab(Self.steps + ["add index User(nick)"])
    let error = try await failure {
      try await lab.checkCreatedEqualsMigrated { store in
        let connection = try Connection.open(store.url.path, key: lab.key)
        defer { connection.close() }
        // Fails in versions that do not have the object.
        _ = try? connection.execute(sql: sql)
      }
    }
    #expect(
      error.check == "checkCreatedEqualsMigrated" && error.findings.contains { $0.contains(name) }, "\(error)"
    )
    #expect("\(error)".contains("The difference begins after ") && "\(error)".contains(step), "\(error)")
    try await lab.checkCreatedEqualsMigrated()
  }

  // MARK: Killed anywhere

  @Test func `a migration that commits step by step is detected as neither old nor new`() async throws {
    let lab = try Steps.lab(Self.steps)
    let error = try await failure {
      try await lab.checkKilledAnywhere(from: 1, moments: 500) { url, prepare in
        for version in 2...3 {
          _ = try Store.migrateWatched(
            at: url, key: lab.key, migrations: lab.migrations.upTo(version), prepare: prepare)
        }
      }
    }
    #expect(error.check == "checkKilledAnywhere")
    #expect(error.place.hasPrefix("version 1 to 3, killed after statement "), "\(error)")
    #expect("\(error)".contains("neither unchanged (version 1) nor migrated, but at version 2"), "\(error)")
    // In a single transaction the migration is complete.
    try await lab.checkKilledAnywhere(from: 1, moments: 20) { url, prepare in
      _ = try Store.migrateWatched(at: url, key: lab.key, migrations: lab.migrations, prepare: prepare)
    }
  }

  @Test func `a migration that swallows its error is detected`() async throws {
    let lab = try Steps.lab(Self.steps)
    let error = try await failure {
      try await lab.checkKilledAnywhere(from: 1, moments: 4) { url, prepare in
        _ = try? Store.migrateWatched(at: url, key: lab.key, migrations: lab.migrations, prepare: prepare)
      }
    }
    #expect(error.findings.first == "no error was thrown", "\(error)")
  }

  @Test func `an app function that acts only once is detected by the second migration`() async throws {
    let runs = Mutex(0)
    let steps = try Steps.set([Steps.blog, "transform swift tidy on User"]).transforming(by: [
      .objects("tidy") { user, context in
        if runs.withLock({
          $0 += 1
          return $0 == 1
        }) {
          context.delete(user)
        }
      }
    ])
    let lab = try MigrationLab(steps)
    let error = try await failure { try await lab.checkKilledAnywhere() }
    #expect(error.check == "checkKilledAnywhere" && error.place.hasPrefix("version 1 to 2, "))
    #expect("\(error)".contains("User: "), "\(error)")
  }

  @Test(arguments: [
    (
      "UPDATE User SET name = name || 'x' WHERE id = 3",
      "User.name: 1 of 13 values differs, the first in row 3"
    ),
    (
      "UPDATE Status SET user_id = NULL WHERE id = (SELECT min(id) FROM Status WHERE user_id NOT NULL)",
      "Status.user: 1 of "
    ),
    ("UPDATE Status SET \"_user_position\" = -\"_user_position\"", "User.statuses: the members of "),
    // Values that a step computes may depend on the moment, and so may the values of objects that it
    // creates.
    ("UPDATE User SET age = age + 1, nick = 'x'", nil), ("UPDATE User SET name = 'x' WHERE id > 12", nil),
  ])
  func `changed values and orders after a stop are detected, and computed values are not`(
    _ sql: String, _ finding: String?
  ) async throws {
    let blog = Steps.blog.replacing("Status many inverse", with: "Status many ordered inverse")
    let seed = "seed { INSERT INTO $User($User.name, $User.age) VALUES ('new', 1) }"
    let lab = try Steps.lab([blog] + Self.steps.dropFirst() + [seed])
    let runs = Mutex(0)
    let migrating: MigrationLab.FileMigration = { url, prepare in
      _ = try Store.migrateWatched(at: url, key: lab.key, migrations: lab.migrations, prepare: prepare)
      let isFirst = runs.withLock {
        $0 += 1
        return $0 == 1
      }
      // The first migration is the one that is not stopped.
      if isFirst { return }
      let connection = try Connection.open(url.path, key: lab.key)
      defer { connection.close() }
      try StoreInfo.prepare(connection)
      try connection.execute(sql: sql)
    }
    guard let finding else {
      return try await lab.checkKilledAnywhere(from: 1, moments: 4, migrating: migrating)
    }
    let error = try await failure {
      try await lab.checkKilledAnywhere(from: 1, moments: 4, migrating: migrating)
    }
    #expect(error.findings.first == "after a second migration, the store differs", "\(error)")
    #expect(error.findings.count == 2 && error.findings[1].hasPrefix(finding), "\(error)")
  }

  @Test func `a stop that leaves a migrated store with another value is detected`() async throws {
    let lab = try Steps.lab(Self.steps)
    @Sendable func migrate(_ url: URL, _ prepare: (Connection) throws -> Void) throws {
      _ = try Store.migrateWatched(at: url, key: lab.key, migrations: lab.migrations, prepare: prepare)
    }
    let error = try await failure {
      try await lab.checkKilledAnywhere(from: 1, moments: 4) { url, prepare in
        do { try migrate(url, prepare) } catch {
          // This migration throws its error, but continues in its own way.
          try migrate(url) { _ in }
          let connection = try Connection.open(url.path, key: lab.key)
          defer { connection.close() }
          try StoreInfo.prepare(connection)
          try connection.execute("UPDATE User SET name = 'other' WHERE id = 5")
          throw error
        }
      }
    }
    #expect(
      error.findings.first
        == "the store is at version 3, but differs from one that was migrated without a stop", "\(error)")
    #expect(
      error.findings.dropFirst().allSatisfy { $0.hasPrefix("User.name: 1 of 12 values differs") }
        && error.findings.count == 2, "\(error)")
  }

  // MARK: Others

  @Test func `a step that deletes rows is detected beside another process as well`() async throws {
    let lab = try Steps.lab([Steps.blog, "transform sql { DELETE FROM $Status }"])
    let error = try await failure { try await lab.checkOtherProcess() }
    #expect(error.check == "checkOtherProcess" && error.place == "version 1 to 2, two at once")
    #expect(error.findings.contains { $0.hasPrefix("Status: 12 of 12 rows are missing") }, "\(error)")
  }

  /// A file at a version, with its content.
  private func file(_ lab: MigrationLab, at version: LabVersion) async throws -> (FolderFile, StoreContent) {
    let store = try await lab.filledStore(at: version)
    return (try await store.copied().withFile(LabStore.fileName), try store.content())
  }

  @Test func `a process that continues to write by the old model is detected`() async throws {
    let lab = try Steps.lab(Self.steps)
    // The file was not migrated.
    let (file, _) = try await file(lab, at: 1)
    let bystander = try await Store.open(at: file.url, key: lab.key)
    defer { bystander.close() }
    let error = try await failure { try await lab.checkBystander(bystander, on: file, at: "here") }
    #expect(error.findings == ["a program that had the store open with the old model could still write"])
  }

  @Test func `an older app that is admitted or refused in contradiction to the steps is detected`()
    async throws
  {
    let lab = try Steps.lab(Self.steps)
    let (old, _) = try await file(lab, at: 1)
    let letIn = try await failure { try await lab.checkOlderApp(old, version: 1, at: "here") }
    #expect(
      letIn.findings.first?.contains("was not refused, but version 3 is the oldest") == true, "\(letIn)")
    // The file was migrated by steps that do not admit older apps, and these steps admit them.
    let generous = try MigrationLab(
      MigrationSet(
        [
          lab.migrations.steps[0],
          MigrationStep(
            number: 2, name: "nick",
            text: "format: 1\nreader: 1\n[up]\nadd attribute User.nick string optional\n"),
        ]))
    let strict = try Steps.lab([Steps.blog, "add attribute User.nick string optional"])
    let (new, _) = try await file(strict, at: 2)
    let shutOut = try await failure {
      try await MigrationLab(generous, key: strict.key).checkOlderApp(new, version: 1, at: "here")
    }
    #expect(
      shutOut.findings.first?.contains("the steps allow it to read the store") == true, "\(shutOut)")
  }

  @Test func `two concurrent migrations of which none ran the steps are detected`() async throws {
    let lab = try Steps.lab(Self.steps)
    // The file is migrated already, whatever its content states.
    let (file, _) = try await file(lab, at: .latest)
    let (_, before) = try await self.file(lab, at: 1)
    let error = try await failure { try await lab.checkTwoAtOnce(file, before) }
    #expect(error.findings == ["two programs opened the store at once, and 0 of them ran the steps"])
  }

  @Test func `a migration that does not wait for a writer is detected`() async throws {
    let lab = try Steps.lab(Self.steps)
    // A migration with nothing to do does not wait.
    let old = try await lab.filledStore(at: .latest)
    let error = try await failure { try await lab.checkBusy(old, "here") }
    #expect(error.findings == ["the store was migrated while another connection was writing"])
  }
}
