// The lab with ways to migrate that are wrong: what is stopped anywhere, and what others meet meanwhile, is found out.

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
  func `a migrated store with other tables than a created one is found, with the step`(
    _ sql: String, _ name: String, _ step: String
  ) async throws {
    let lab = try Steps.lab(Self.steps + ["add index User(nick)"])
    let error = try await failure {
      try await lab.checkCreatedEqualsMigrated { store in
        let connection = try Connection.open(store.url.path, key: lab.key)
        defer { connection.close() }
        // Of versions that have it.
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

  @Test func `a migration that commits step by step is neither the old store nor the new one`() async throws {
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
    // All in one transaction, it is whole.
    try await lab.checkKilledAnywhere(from: 1, moments: 20) { url, prepare in
      _ = try Store.migrateWatched(at: url, key: lab.key, migrations: lab.migrations, prepare: prepare)
    }
  }

  @Test func `a migration that keeps its error to itself is found`() async throws {
    let lab = try Steps.lab(Self.steps)
    let error = try await failure {
      try await lab.checkKilledAnywhere(from: 1, moments: 4) { url, prepare in
        _ = try? Store.migrateWatched(at: url, key: lab.key, migrations: lab.migrations, prepare: prepare)
      }
    }
    #expect(error.findings.first == "no error was thrown", "\(error)")
  }

  @Test func `a function of the app that does it only once makes another store the second time`() async throws
  {
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
    // What a step computes may be of the moment, and so may what is in objects that it makes.
    ("UPDATE User SET age = age + 1, nick = 'x'", nil), ("UPDATE User SET name = 'x' WHERE id > 12", nil),
  ])
  func
    `a migration that leaves another value or another order behind a stop is found, and computed values are not`(
      _ sql: String, _ finding: String?
    ) async throws
  {
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
      // That is the one which nobody stops.
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

  @Test func `a store that a stop leaves migrated, and with another value, is not taken for migrated`()
    async throws
  {
    let lab = try Steps.lab(Self.steps)
    @Sendable func migrate(_ url: URL, _ prepare: (Connection) throws -> Void) throws {
      _ = try Store.migrateWatched(at: url, key: lab.key, migrations: lab.migrations, prepare: prepare)
    }
    let error = try await failure {
      try await lab.checkKilledAnywhere(from: 1, moments: 4) { url, prepare in
        do { try migrate(url, prepare) } catch {
          // It tells of its error, and goes on in its own way.
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

  @Test func `a step that takes rows away is found beside others, too`() async throws {
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

  @Test func `one who goes on writing by the old model is found`() async throws {
    let lab = try Steps.lab(Self.steps)
    // Nobody has migrated it.
    let (file, _) = try await file(lab, at: 1)
    let bystander = try await Store.open(at: file.url, key: lab.key)
    defer { bystander.close() }
    let error = try await failure { try await lab.checkBystander(bystander, on: file, at: "here") }
    #expect(error.findings == ["a program that had the store open with the old model could still write"])
  }

  @Test func `an older app that is let in, or shut out, against what the steps say is found`() async throws {
    let lab = try Steps.lab(Self.steps)
    let (old, _) = try await file(lab, at: 1)
    let letIn = try await failure { try await lab.checkOlderApp(old, version: 1, at: "here") }
    #expect(
      letIn.findings.first?.contains("was not refused, but version 3 is the oldest") == true, "\(letIn)")
    // The file was migrated by steps that say nothing of older apps, and these say that they may read it.
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

  @Test func `two at once of whom none, or both, ran the steps are found`() async throws {
    let lab = try Steps.lab(Self.steps)
    // It is migrated already, whatever its content says.
    let (file, _) = try await file(lab, at: .latest)
    let (_, before) = try await self.file(lab, at: 1)
    let error = try await failure { try await lab.checkTwoAtOnce(file, before) }
    #expect(error.findings == ["two programs opened the store at once, and 0 of them ran the steps"])
  }

  @Test func `a migration that does not wait for who is writing is found`() async throws {
    let lab = try Steps.lab(Self.steps)
    // With nothing to do nobody waits.
    let old = try await lab.filledStore(at: .latest)
    let error = try await failure { try await lab.checkBusy(old, "here") }
    #expect(error.findings == ["the store was migrated while another connection was writing"])
  }
}
