// Steps that are committed one by one, with another process that acts between two of them. A run that
// waited reports what it did before the wait. An error after committed steps states the store's version.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct EachStepGaps {
  private static let texts =
    ["create entity User {\n attribute name string\n}"]
    + (2...5).map { "add attribute User.a\($0) int default \($0)" }

  /// Another process, which acts once, at a given version of the store.
  private final class Other {
    var hasRun = false
    var lock: Connection?
    var mark: MigrationMark?

    /// Runs `body` after the commit of the version, before the run requests the lock again.
    func act(_ lab: DowngradeLab, at version: Int, in run: Connection, _ body: @escaping () throws -> Void) {
      run.onStatement { [self] event in
        guard event.sql == "COMMIT", !hasRun, (try? lab.version) == version else { return }
        hasRun = true
        do { try body() } catch { Issue.record(error) }
      }
    }

    /// Takes the write lock, as a process that writes does.
    func hold(_ lab: DowngradeLab) throws {
      lock = try lab.open()
      try lock?.execute("BEGIN IMMEDIATE")
    }

    func release() {
      lock?.rollback()
      lock?.close()
      (lock, mark) = (nil, nil)
    }
  }

  private func lab(at version: Int = 1) async throws -> DowngradeLab {
    try await DowngradeLab(Self.texts, at: version, fill: ["INSERT INTO User(name) VALUES ('Ann')"])
  }

  /// Brings the store to a goal in one transaction.
  private func bring(_ lab: DowngradeLab, to goal: MigrationGoal, by set: MigrationSet? = nil) throws {
    _ = try Store.migrateWatched(at: lab.url, key: testKey, migrations: set ?? lab.set, goal) { _ in }
  }

  private func stopped(_ body: () throws -> Void) -> (version: Int, cause: StoreError.Cause, text: String)? {
    do { try body() } catch let error as StoreError {
      if case .stopped(let version, let cause) = error { return (version, cause, "\(error)") }
      Issue.record(error)
    } catch { Issue.record(error) }
    return nil
  }

  @Test func `a lock that is unavailable between two steps is reported with the store's version`()
    async throws
  {
    let (lab, other) = (try await lab(), Other())
    let found = stopped {
      _ = try Store.migrateWatched(at: lab.url, key: testKey, migrations: lab.set, commitsEachStep: true) {
        $0.onBusy { _ in false }
        other.act(lab, at: 2, in: $0) { try other.hold(lab) }
      }
    }
    other.release()
    let error = try #require(found)
    guard case .engine(.busy) = error.cause, error.version == 2 else {
      Issue.record("\(error)")
      return
    }
    #expect(
      error.text.hasSuffix(" The earlier steps are committed: the store was last seen at version 2."),
      "\(error)")
    #expect(try lab.version == 2)
  }

  @Test func `a run that waited for another migration between steps reports all its steps and its copy`()
    async throws
  {
    let set = try MigrationSet(
      DowngradeLab.set(Self.texts).steps.map {
        $0.number == 4
          ? try MigrationStep(
            number: 4, name: "s4", text: "format: 1\nbackup: always\n[up]\n\(Self.texts[3])\n") : $0
      })
    let (lab, other) = (try await DowngradeLab(set, at: 1), Other())
    var attempts = 0
    let outcome = try Store.migrateWatched(
      at: lab.url, key: testKey, migrations: set, makesBackups: true, commitsEachStep: true
    ) { connection in
      attempts += 1
      other.release()
      guard attempts == 1 else { return }
      connection.onBusy { _ in
        // From now on the lock is that of a migration.
        other.mark = other.mark ?? MigrationMark(lab.url.path)
        return false
      }
      other.act(lab, at: 3, in: connection) { try other.hold(lab) }
    }
    #expect(attempts == 2 && outcome.startVersion == 1 && outcome.version == 5)
    #expect(outcome.steps == [2, 3, 4, 5])
    let copies = lab.folder.names.filter { $0.hasSuffix(".backup") }
    #expect(copies.count == 1 && outcome.backup?.lastPathComponent == copies.first, "\(copies)")
  }

  @Test func `values from steps before a wait are checked against the classes after the last step`()
    async throws
  {
    let texts = [
      "create entity User {\n attribute mood string default \"calm\"\n}",
      "transform sql { UPDATE $User SET $User.mood = 'furious' }", "add attribute User.b int optional",
    ]
    let lab = try await DowngradeLab(texts, at: 1, fill: ["INSERT INTO User(id) VALUES (1)"])
    let (other, schema) = (Other(), Schema { Entity(MoodyClasses.User.self) })
    var attempts = 0
    let found = stopped {
      _ = try Store.migrateWatched(
        at: lab.url, key: testKey, migrations: lab.set, reading: schema, commitsEachStep: true
      ) { connection in
        attempts += 1
        other.release()
        guard attempts == 1 else { return }
        connection.onBusy { _ in
          other.mark = other.mark ?? MigrationMark(lab.url.path)
          return false
        }
        other.act(lab, at: 2, in: connection) { try other.hold(lab) }
      }
    }
    guard let found, case .store(.migrationFailed(step: 2, _, _, _)) = found.cause else {
      Issue.record("\(String(describing: found))")
      return
    }
    #expect(attempts == 2 && found.version == 2)
  }

  @Test func `a written value is checked under the property's new name after another process renamed it`()
    async throws
  {
    let texts = [
      "create entity User {\n attribute humour string default \"calm\"\n}",
      "transform sql { UPDATE $User SET $User.humour = 'furious' }",
      "rename attribute User.humour -> mood", "add attribute User.b int optional",
    ]
    let lab = try await DowngradeLab(texts, at: 1, fill: ["INSERT INTO User(id) VALUES (1)"])
    let (other, schema, set) = (Other(), Schema { Entity(MoodyClasses.User.self) }, try lab.set.upTo(3))
    let found = stopped {
      _ = try Store.migrateWatched(
        at: lab.url, key: testKey, migrations: lab.set, reading: schema, commitsEachStep: true
      ) { connection in
        other.act(lab, at: 2, in: connection) { try bring(lab, to: .latest, by: set) }
      }
    }
    guard let found, case .store(.migrationFailed(step: 2, _, _, let reason)) = found.cause else {
      Issue.record("\(String(describing: found))")
      return
    }
    #expect(found.version == 3 && reason.contains("User.mood"), "\(reason)")
  }

  @Test func `progress does not go back after a wait, and counts each step once`() async throws {
    let (lab, other) = (try await lab(), Other())
    let progress = Progress(totalUnitCount: 0)
    var (attempts, atWait) = (0, Int64(0))
    _ = try Store.migrateWatched(
      at: lab.url, key: testKey, migrations: lab.set, commitsEachStep: true, progress: progress
    ) { connection in
      attempts += 1
      other.release()
      guard attempts == 1 else { return }
      connection.onBusy { _ in
        other.mark = other.mark ?? MigrationMark(lab.url.path)
        atWait = progress.completedUnitCount
        return false
      }
      other.act(lab, at: 3, in: connection) { try other.hold(lab) }
    }
    #expect(attempts == 2 && atWait == 2)
    #expect(progress.completedUnitCount == 4 && progress.totalUnitCount == 4, "\(progress)")
  }

  @Test func `progress reaches its end when another process ran a step in between`() async throws {
    let (lab, other) = (try await lab(), Other())
    let set = try lab.set.upTo(4)
    let progress = Progress(totalUnitCount: 0)
    _ = try Store.migrateWatched(
      at: lab.url, key: testKey, migrations: lab.set, commitsEachStep: true, progress: progress
    ) { connection in
      other.act(lab, at: 2, in: connection) { try bring(lab, to: .latest, by: set) }
    }
    #expect(try lab.version == 5)
    #expect(
      progress.completedUnitCount == progress.totalUnitCount && progress.totalUnitCount > 0, "\(progress)")
  }

  @Test func `a store that another process migrated beyond the steps is reported as newer`() async throws {
    let (lab, other) = (try await lab(), Other())
    let set = try lab.set.upTo(3)
    let found = stopped {
      _ = try Store.migrateWatched(at: lab.url, key: testKey, migrations: set, commitsEachStep: true) {
        other.act(lab, at: 2, in: $0) { try bring(lab, to: .latest) }
      }
    }
    let error = try #require(found)
    guard case .store(.storeIsNewer(_, found: 5, supported: 3, _, _)) = error.cause else {
      Issue.record("\(error)")
      return
    }
    #expect(try error.version == 5 && lab.version == 5)
  }

  @Test(arguments: [true, false])
  func `steps that another process ran before a run are not reported as its own`(_ each: Bool) async throws {
    let (lab, other) = (try await lab(), Other())
    let set = try lab.set.upTo(3)
    let outcome = try Store.migrateWatched(
      at: lab.url, key: testKey, migrations: lab.set, commitsEachStep: each
    ) {
      other.act(lab, at: 1, in: $0) { try bring(lab, to: .latest, by: set) }
    }
    #expect(outcome.startVersion == 3 && outcome.steps == [4, 5] && outcome.version == 5)
    let nothing = try Store.migrateWatched(at: lab.url, key: testKey, migrations: lab.set) { _ in }
    #expect(nothing.startVersion == 5 && nothing.steps.isEmpty && nothing.version == 5)
  }

  @Test func `steps that another process ran during a run are not reported as its own, up and down`()
    async throws
  {
    let (lab, up, down) = (try await lab(), Other(), Other())
    let set = try lab.set.upTo(4)
    let ahead = try Store.migrateWatched(
      at: lab.url, key: testKey, migrations: lab.set, commitsEachStep: true
    ) {
      up.act(lab, at: 2, in: $0) { try bring(lab, to: .latest, by: set) }
    }
    #expect(ahead.startVersion == 1 && ahead.steps == [2, 5] && ahead.version == 5)
    let plan = try await Store.planDowngrade(at: lab.url, key: testKey, to: 1, migrations: lab.set)
    let losses = Set(plan.unallowedLosses)
    let back = try Store.migrateWatched(
      at: lab.url, key: testKey, migrations: lab.set, .back(to: 1), allowing: losses, commitsEachStep: true
    ) { connection in
      down.act(lab, at: 4, in: connection) {
        _ = try Store.migrateWatched(
          at: lab.url, key: testKey, migrations: lab.set, .back(to: 2), allowing: losses
        ) { _ in }
      }
    }
    #expect(back.startVersion == 5 && back.takenBack == [5, 2] && back.version == 1)
  }

  @Test func `two runs with opposite goals fail instead of repeating forever`() async throws {
    let (lab, up, down) = (try await lab(), Other(), Other())
    let losses = Set((2...5).map { "User.a\($0)" })
    let ahead = stopped {
      _ = try Store.migrateWatched(at: lab.url, key: testKey, migrations: lab.set, commitsEachStep: true) {
        up.act(lab, at: 3, in: $0) {
          _ = try Store.migrateWatched(
            at: lab.url, key: testKey, migrations: lab.set, .back(to: 1), allowing: losses
          ) { _ in }
        }
      }
    }
    #expect(
      ahead?.version == 1 && ahead?.cause == .store(.steppedBack(file: lab.url.path, left: 3, found: 1)))
    #expect(ahead?.text.contains("is at version 1 now") == true && ahead?.text.contains("committed") == false)
    try bring(lab, to: .latest)
    let back = stopped {
      _ = try Store.migrateWatched(
        at: lab.url, key: testKey, migrations: lab.set, .back(to: 1), allowing: losses, commitsEachStep: true
      ) {
        down.act(lab, at: 3, in: $0) { try bring(lab, to: .latest) }
      }
    }
    #expect(back?.version == 5 && back?.cause == .store(.steppedBack(file: lab.url.path, left: 3, found: 5)))
    #expect(try lab.version == 5)
  }
}

/// Classes whose enum has two moods only.
enum MoodyClasses {
  enum Mood: String, AttributeValue {
    case calm, cross
    static var placeholder: Mood { .calm }
  }
  final class User: ManagedObject {
    @Attribute var mood: Mood = .calm
    @Attribute var b: Int?
  }
}
