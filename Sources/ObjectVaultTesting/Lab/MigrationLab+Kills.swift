// Stops a migration at its statements and writes. What is left has to be the old store or the new one.

package import CipherSQLite
package import Foundation
internal import ObjectVault

extension MigrationLab {
  /// Stops a migration at its statements and writes, and checks that what is left is the store as it was,
  /// or completely migrated.
  ///
  /// In one run, the files are copied after statements: a process that is killed there would leave them
  /// so. A small cache makes the engine write pages before the commit in that run. In the other runs, the
  /// engine interrupts a statement, refuses the commit, makes a write or a sync of a file fail, or finds
  /// the disk full. After each stop, the store is opened, compared, and migrated to the end.
  ///
  /// The old store has to be exactly as it was. A migrated store is compared with one whose migration was
  /// not stopped: its version, objects and links; and, for objects that existed before, the values and
  /// the orders of members that no step computes anew. What a step computes, such as a time, may differ
  /// from run to run.
  ///
  /// A power loss that keeps some writes and loses others is not tested.
  /// - Parameters:
  ///   - version: The version of the store before the migration.
  ///   - moments: The largest number of statements, and of writes to files, at which the migration is
  ///     stopped. They are spread evenly.
  /// - Throws: ``CheckFailure`` with the moment.
  public func checkKilledAnywhere(from version: LabVersion = 1, moments: Int = 16) async throws {
    try await checkKilledAnywhere(from: version, moments: moments) { url, prepare in
      _ = try Store.migrateWatched(at: url, key: key, migrations: migrations, prepare: prepare)
    }
  }

  /// Migrates a file to the last version, on connections that it passes to `prepare`.
  package typealias FileMigration = (
    _ url: URL, _ prepare: (Connection) throws -> Void
  ) throws -> Void

  /// Checks another implementation of the migration, such as a faulty one in a test of this check.
  package func checkKilledAnywhere(
    from version: LabVersion = 1, moments: Int = 16, migrating: @escaping FileMigration
  ) async throws {
    let number = try number(of: version)
    let check = "checkKilledAnywhere"
    guard number < migrations.version else { return }
    try await run(check, at: "version \(number) to \(migrations.version)") {
      let old = try await filledStore(at: version)
      let before = try old.content()
      let start = try await old.copied().withFile(LabStore.fileName)
      let names = try NameHistory(migrations, from: number, to: migrations.version)
      try MigrationTrial(lab: self, start: start, before: before, names: names, migrating: migrating)
        .run(moments)
    }
  }
}

/// A file in a folder that is removed with the value.
package struct FolderFile: Sendable {
  let folder: TestFolder
  package let url: URL
}

extension TestFolder {
  package func withFile(_ name: String) -> FolderFile { FolderFile(folder: self, url: file(name)) }
}

/// Migrations of copies of one store, each stopped at another moment.
private struct MigrationTrial {
  let lab: MigrationLab
  let start: FolderFile
  let before: StoreContent
  /// How the steps change names, and which properties they keep.
  let names: NameHistory
  let migrating: MigrationLab.FileMigration

  func run(_ moments: Int) throws {
    let (after, statements, counts) = try whole()
    try checkCrashes(after, every: max(1, statements / max(1, moments)))
    let faults =
      CrashWatch.moments(of: statements, most: moments).map { SaveFault.interrupted(atStatement: $0) }
      + counts.moments(most: moments).map { .ioError(at: $0) }
      + CrashWatch.moments(of: counts.writes, most: 4).map { .noSpace(from: .write($0)) }
      + [.commitRefused, .diskFull(afterPages: 0), .diskFull(afterPages: 1)]
    for fault in faults { try check(fault, after) }
  }

  private func copy() throws -> FolderFile {
    let copy = try TestFolder(isInMemory: true).withFile(LabStore.fileName)
    try copyDatabaseFiles(start.url, to: copy.url)
    return copy
  }

  private func migrate(_ file: FolderFile, _ prepare: (Connection) throws -> Void) throws {
    try migrating(file.url, prepare)
  }

  private func content(_ url: URL) throws -> StoreContent { try StoreContent(at: url, key: lab.key) }

  /// Returns the content after a migration that is not stopped, with its numbers of statements and of
  /// calls to files.
  private func whole() throws -> (StoreContent, statements: Int, SaveCounts) {
    let file = try copy()
    let watch = try CrashWatch(file.url, every: 0)
    let counts = Locked(SaveCounts())
    try migrate(file) {
      try watch.watch($0)
      try $0.count(in: counts)
    }
    return (try content(file.url), watch.statements, counts.withLock { $0 })
  }

  private func checkCrashes(_ after: StoreContent, every stride: Int) throws {
    let file = try copy()
    let watch = try CrashWatch(file.url, every: stride)
    try migrate(file) { try watch.watch($0) }
    for crash in try watch.copies() {
      try require(crash.url, isOldStoreOr: after, at: "killed after statement \(crash.statement)")
    }
  }

  private func check(_ fault: SaveFault, _ after: StoreContent) throws {
    let file = try copy()
    var failure: (any Error)?
    do { try migrate(file) { try fault.arm($0) } } catch { failure = error }
    let found = try content(file.url)
    if failure == nil, !isMigrated(found, as: after) {
      throw CheckFailure(
        "", at: "\(fault)", findings: ["no error was thrown"] + differences(of: found, from: after),
        advice:
          "The caller of the migration must pass its error on, and so must a function of the app that a step "
          + "calls."
      )
    }
    try require(file.url, isOldStoreOr: after, at: "\(fault)")
  }

  /// The end of the advice, with the app's functions to examine: unlike a step's SQL, such a function can
  /// leave the transaction.
  private var calls: String {
    let calls = lab.calls(after: before.version)
    return calls.isEmpty ? "." : "; check the functions that are called by \(calls.joined(separator: ", "))."
  }

  /// Checks that a store is the old or the new one, and that the next migration completes it.
  private func require(_ url: URL, isOldStoreOr after: StoreContent, at place: String) throws {
    let found: StoreContent
    do { found = try content(url) } catch {
      throw CheckFailure("", at: place, findings: ["the store cannot be read: \(error)"])
    }
    guard found == before || isMigrated(found, as: after) else {
      let isAtEnd = found.version == after.version
      throw CheckFailure(
        "", at: place,
        findings: [
          isAtEnd
            ? "the store is at version \(found.version), but differs from one that was migrated without a "
              + "stop"
            : "the store is neither unchanged (version \(before.version)) nor migrated, but at version "
              + "\(found.version)"
        ]
          + (isAtEnd
            ? differences(of: found, from: after)
            : found.differences(from: found.version == before.version ? before : after)),
        advice: "Steps that belong together run in one transaction" + calls)
    }
    try migrating(url) { _ in }
    let end = try content(url)
    guard isMigrated(end, as: after) else {
      throw CheckFailure(
        "", at: place,
        findings: ["after a second migration, the store differs"] + differences(of: end, from: after),
        advice: "After a stop the steps run again, and must have the same result" + calls)
    }
  }

  /// Returns whether a store equals one whose migration was not stopped.
  private func isMigrated(_ found: StoreContent, as after: StoreContent) -> Bool {
    found.version == after.version && differences(of: found, from: after).isEmpty
  }

  private func differences(of found: StoreContent, from after: StoreContent) -> [String] {
    found.repeatable(before, names).differences(from: after.repeatable(before, names))
  }
}

extension StoreContent {
  /// Returns the part of the content that every run of the steps has to produce alike. Objects that the
  /// steps have made are included without their values, and without their positions among members: a step
  /// may compute these from the time.
  fileprivate func repeatable(_ before: StoreContent, _ names: NameHistory) -> StoreContent {
    var values = objects.mapValues { $0.mapValues { _ in Values() } }
    for (former, rows) in before.objects {
      guard let entity = names.entities[former] else { continue }
      let kept = Set(names.keptProperties(of: former).values)
      for id in rows.keys {
        guard let all = objects[entity]?[id] else { continue }
        values[entity]?[id] = all.filter { kept.contains($0.key) }
      }
    }
    return StoreContent(
      version: version, objects: values, links: links, orders: keptOrders(before, names),
      linkEntities: linkEntities)
  }

  private func keptOrders(_ before: StoreContent, _ names: NameHistory) -> [String: [Int64: [Int64]]] {
    var kept: [String: [Int64: [Int64]]] = [:]
    for (former, owners) in before.orders {
      let parts = former.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, let entity = names.entities[parts[0]],
        let property = names.keptProperties(of: parts[0])[parts[1]],
        let now = orders["\(entity).\(property)"]
      else { continue }
      kept["\(entity).\(property)"] = owners.reduce(into: [:]) { lists, owner in
        lists[owner.key] = (now[owner.key] ?? []).filter(owner.value.contains)
      }
    }
    return kept
  }
}
