// Stopped at every statement: what is left is the old store or the new one.

package import CipherSQLite
package import Foundation
internal import ObjectVault

extension MigrationLab {
  /// Stops a migration at each of its statements, and looks at what is left: the store as it was, or migrated whole.
  ///
  /// Once with the files copied behind statements, as a process would leave them that is killed there, pages being written
  /// before the commit; then with each statement ended by the engine, with writes and syncs of files that fail, and
  /// with a disk that is full. Every time the store is opened, compared, and migrated to the end.
  ///
  /// Not tried is a power loss that keeps some writes and loses others.
  /// - Parameters:
  ///   - version: Where the store begins.
  ///   - moments: At how many statements, and at how many writes of files, it is stopped at most, spread evenly.
  /// - Throws: ``CheckFailure`` with the moment.
  public func checkKilledAnywhere(from version: LabVersion = 1, moments: Int = 16) async throws {
    try await checkKilledAnywhere(from: version, moments: moments) { url, prepare in
      _ = try Store.rehearseMigration(at: url, key: key, migrations: migrations, prepare: prepare)
    }
  }

  /// Migrates a file to the last version, on connections that were handed to `prepare`.
  package typealias FileMigration = (
    _ url: URL, _ prepare: (Connection) throws -> Void
  ) throws -> Void

  /// The same of another way to migrate, such as one that tests want to be found out.
  package func checkKilledAnywhere(
    from version: LabVersion = 1, moments: Int = 16, migrating: @escaping FileMigration
  ) async throws {
    let number = try number(of: version)
    let check = "checkKilledAnywhere"
    guard number < migrations.version else { return }
    try await run(check, "version \(number) to \(migrations.version)") {
      let old = try await filledStore(at: version)
      let before = try old.content()
      let start = try await old.copied().withFile(LabStore.fileName)
      try MigrationTrial(lab: self, start: start, before: before, migrating: migrating).run(moments)
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

/// Migrations of one store, each from the same beginning and each stopped elsewhere.
private struct MigrationTrial {
  let lab: MigrationLab
  let start: FolderFile
  let before: StoreContent
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
    try copyAsItLies(start.url, to: copy.url)
    return copy
  }

  private func migrate(_ file: FolderFile, _ prepare: (Connection) throws -> Void) throws {
    try migrating(file.url, prepare)
  }

  private func content(_ url: URL) throws -> StoreContent { try StoreContent(at: url, key: lab.key) }

  /// What becomes of the store when nobody stops it, and in how many statements.
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
      try require(crash.url, after, "killed behind statement \(crash.statement)")
    }
  }

  private func check(_ fault: SaveFault, _ after: StoreContent) throws {
    let file = try copy()
    var failure: (any Error)?
    do { try migrate(file) { try fault.arm($0) } } catch { failure = error }
    let found = try content(file.url)
    if failure == nil, !found.isLike(after) {
      throw CheckFailure(
        "", "\(fault)", ["no error was thrown"] + found.differences(from: after),
        advice:
          "Who calls the migration has to pass its error on, and so has a function of the app that a step calls."
      )
    }
    try require(file.url, after, "\(fault)")
  }

  /// Whom to look at: SQL of a step cannot leave its transaction, a function of the app can.
  private var calls: String {
    let calls = lab.calls(after: before.version)
    return calls.isEmpty ? "." : "; look at what is called by \(calls.joined(separator: ", "))."
  }

  /// The store is old or new, and what is left of the way leads to its end.
  private func require(_ url: URL, _ after: StoreContent, _ place: String) throws {
    let found: StoreContent
    do { found = try content(url) } catch {
      throw CheckFailure("", place, ["the store cannot be read: \(error)"])
    }
    guard found == before || found.isLike(after) else {
      throw CheckFailure(
        "", place,
        [
          "the store is neither as it was (version \(before.version)) nor migrated, but at version \(found.version)"
        ]
          + found.differences(from: found.version == before.version ? before : after),
        advice: "Steps that belong together run in one transaction" + calls)
    }
    try migrating(url) { _ in }
    let end = try content(url)
    guard end.isLike(after) else {
      throw CheckFailure(
        "", place, ["migrated again, the store is another one"] + end.differences(from: after),
        advice: "After a stop the steps run again, and have to do the same" + calls)
    }
  }
}

extension StoreContent {
  /// Whether both have the same objects at the same version. A step may compute values that differ from run to run, such as
  /// times.
  fileprivate func isLike(_ other: StoreContent) -> Bool {
    version == other.version && objects.mapValues { Set($0.keys) } == other.objects.mapValues { Set($0.keys) }
      && links == other.links
  }
}
