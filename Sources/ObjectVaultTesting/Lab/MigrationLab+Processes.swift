// Checks a migration while other connections have the store open.

internal import CipherSQLite
internal import Foundation
package import ObjectVault

extension MigrationLab {
  /// Checks what a migration does to other processes that use the store.
  ///
  /// - If two processes open an old store at the same time, both get it at the last version, and nothing
  ///   is lost.
  /// - A store that is open with the old model throws an error at its next write, and writes nothing.
  /// - An app with fewer steps is refused, unless the later steps permit it to read the store
  ///   (`reader:`).
  /// - While another connection writes, a migration fails with `SQLError.busy` after its time-out, and
  ///   the store stays as it was.
  ///
  /// Connections of this process act as the other processes: the engine separates connections as it does
  /// processes.
  /// - Parameter version: The version of the store before the migration.
  /// - Throws: ``CheckFailure``.
  public func checkOtherProcess(from version: LabVersion = 1) async throws {
    let number = try number(of: version)
    guard number < migrations.version else { return }
    let place = "version \(number) to \(migrations.version)"
    try await run("checkOtherProcess", at: place) {
      let old = try await filledStore(at: version)
      try await checkBusy(old, place)
      let file = try await old.copied().withFile(LabStore.fileName)
      let before = try old.content()
      let bystander = try await Store.open(at: file.url, key: key)
      defer { bystander.close() }
      do { try await checkTwoAtOnce(file, before) } catch let error as CheckFailure {
        throw error.at("two at once")
      }
      try await checkBystander(bystander, on: file, at: place)
      try await checkOlderApp(file, version: number, at: place)
    }
  }

  // The parts are also called by the library's own tests, with faults that they have to find.

  package func checkTwoAtOnce(_ file: FolderFile, _ before: StoreContent) async throws {
    async let one = opened(file)
    async let other = opened(file)
    let ran = try await [one, other].filter { !$0.isEmpty }
    guard ran == [Array(before.version + 1...migrations.version)] else {
      throw CheckFailure(
        "", at: "",
        findings: ["two programs opened the store at once, and \(ran.count) of them ran the steps"],
        advice: Self.ours)
    }
    try require(try await findings(at: file.url, version: migrations.version), by: "", at: "")
    let after = try StoreContent(at: file.url, key: key)
    try await requireKept(before: before, after: after, by: "checkOtherProcess") {
      // The store before the migration does not exist any more, so it is made again.
      try await filledStore(at: .number(before.version)).copiedFile()
    }
  }

  /// The advice for a failure that no step can cause.
  private static let ours =
    "No step of an app can cause this: it is a fault of ObjectVault. Report it with the steps."

  /// How long one of two processes waits for the other, in seconds. It is long, because a machine may be
  /// busy with other tests.
  private static let patience = 120.0

  /// Opens or migrates the store, and returns the steps that ran.
  private func opened(_ file: FolderFile) async throws -> [Int] {
    guard let model else {
      return try await Store.migrate(
        at: file.url, key: key, migrations: migrations, busyTimeout: Self.patience, makesBackups: false
      ).steps
    }
    var configuration = Store.Configuration()
    (configuration.makesBackups, configuration.busyTimeout) = (false, Self.patience)
    let store = try await Store.open(
      at: file.url, key: key, schema: model, migrations: .set(migrations), configuration: configuration)
    defer { store.close() }
    return store.opening.migratedSteps
  }

  package func checkBystander(_ bystander: Store, on file: FolderFile, at place: String) async throws {
    let before = try StoreContent(at: file.url, key: key)
    // Objects of the old model, as an app would write them that has not noticed the migration.
    let objects = try GeneratedObjects(of: bystander.schema, perEntity: 1, seed: seed &+ 1)
    do {
      try await objects.write(to: bystander)
      throw CheckFailure(
        "", at: place, findings: ["a program that had the store open with the old model could still write"],
        advice: Self.ours)
    } catch StoreError.storeMigratedElsewhere {
    } catch let error as CheckFailure {
      throw error
    } catch {
      throw CheckFailure(
        "", at: place,
        findings: [
          "a program that had the store open with the old model got the wrong error: \(error)"
        ],
        advice: Self.ours)
    }
    try require(
      StoreContent(at: file.url, key: key).differences(from: before), by: "",
      at: "the old model after the migration",
      advice: Self.ours)
  }

  package func checkOlderApp(_ file: FolderFile, version number: Int, at place: String) async throws {
    let older = try migrations.upTo(number)
    let strictest = migrations.steps.max { $0.reader < $1.reader }
    let reader = strictest?.reader ?? migrations.version
    let advice = strictest.map {
      "The line reader: in \($0.fileName) states the oldest version that may read the store."
    }
    do {
      let plan = try await Store.plan(at: file.url, key: key, migrations: older)
      guard reader > number || !plan.isUpToDate else { return }
      throw CheckFailure(
        "", at: place,
        findings: [
          "an app with \(counted(number, "step")) was not refused, but version \(reader) is the oldest "
            + "that may read the store"
        ], advice: advice)
    } catch StoreError.storeIsNewer {
      guard reader <= number else { return }
      throw CheckFailure(
        "", at: place,
        findings: [
          "an app with \(counted(number, "step")) was refused, but the steps allow it to read the store"
        ], advice: advice)
    }
  }

  package func checkBusy(_ old: LabStore, _ place: String) async throws {
    let file = try await old.copied().withFile(LabStore.fileName)
    let holder = try Connection.open(file.url.path, key: key)
    defer { holder.close() }
    try holder.begin(.immediate)
    do {
      _ = try await Store.migrate(
        at: file.url, key: key, migrations: migrations, busyTimeout: 0.05, makesBackups: false)
      throw CheckFailure(
        "", at: place, findings: ["the store was migrated while another connection was writing"],
        advice: Self.ours
      )
    } catch SQLError.busy {}
    try holder.commit()
    try require(
      StoreContent(at: file.url, key: key).differences(from: old.content()), by: "",
      at: "while another connection writes", advice: Self.ours)
  }
}
