// Migrations of a store to another version, and uses of the store meanwhile.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport

/// Migrates a store to a version, up or down, by the steps in the folder `Steps` beside it.
/// - Parameter copies: Whether a backup is made before.
func lead(_ url: URL, to version: Int, copies: Bool) async throws {
  let steps = try MigrationSet.directory(url.deletingLastPathComponent().appendingPathComponent("Steps"))
    .transforming(by: childTransforms)
  let present = try Connection.open(url.path, key: testKey).userVersion()
  acknowledge("begin")
  if present < version {
    try await Store.migrate(at: url, key: testKey, migrations: steps.upTo(version), makesBackups: copies)
  } else {
    try await Store.downgrade(
      at: url, key: testKey, to: version, migrations: steps, makesBackups: copies,
      allowing: ["User.town", "Town"])
  }
  acknowledge("there")
}

/// Migrates a store to the last version of the steps in the folder `Steps` beside it, and prints the peak
/// memory of this process in bytes before and after.
func leadAndMeasure(_ url: URL) async throws {
  let steps = try MigrationSet.directory(url.deletingLastPathComponent().appendingPathComponent("Steps"))
    .transforming(by: childTransforms)
  acknowledge("\(try peakMemory())")
  try await Store.migrate(at: url, key: testKey, migrations: steps, makesBackups: false)
  acknowledge("\(try peakMemory())")
}

/// The peak memory of this process in bytes, from Linux; 0 elsewhere.
private func peakMemory() throws -> Int {
  guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return 1024 * (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0)
}

/// Migrates a store up to a version by the steps in the folder `Steps` beside it, each committed by itself.
func leadByStep(_ url: URL, to version: Int) async throws {
  let steps = try MigrationSet.directory(url.deletingLastPathComponent().appendingPathComponent("Steps"))
    .transforming(by: childTransforms)
  acknowledge("begin")
  try await Store.migrate(at: url, key: testKey, migrations: steps.upTo(version), commitsEachStep: true)
  acknowledge("there")
}

/// The microblog's classes as its first version had them.
enum FirstMicroblog {
  final class User: ManagedObject {
    @Attribute(.unique) var name: String
    @ToMany(inverse: \Status.user, onDelete: .cascade) var statuses: Set<Status>
  }
  final class Status: ManagedObject {
    @Attribute var text: String
    @Attribute(.indexed) var createdAt: Date
    @ToOne var user: User?
  }
  static let schema = Schema {
    Entity(User.self)
    Entity(Status.self)
  }
}

/// The progress of an opening that pauses during its steps, with the store locked: it prints a line, and
/// continues with the line that it is sent. If another process runs the steps, it prints that it waits.
final class HeldRun: Progress, @unchecked Sendable {
  // Written under the lock. The rest is Progress's own.
  private let said = Locked<Set<String>>([])

  private func isFirst(_ word: String) -> Bool { said.withLock { $0.insert(word).inserted } }

  override var completedUnitCount: Int64 {
    didSet {
      guard completedUnitCount > 0, completedUnitCount < totalUnitCount - 1, isFirst("migrating") else {
        return
      }
      acknowledge("migrating")
      _ = readLine()
    }
  }

  override func setUserInfoObject(_ object: Any?, forKey key: ProgressUserInfoKey) {
    super.setUserInfoObject(object, forKey: key)
    if key == .storeIsWaitingFor, object != nil, isFirst("waiting") { acknowledge("waiting") }
  }
}

/// Opens a microblog as the present app or as that of the first version, prints which steps ran, inserts a
/// user, and prints the number of users. The old app continues with each line that it is sent, until it is
/// refused.
/// - Parameter progress: The progress with which the present app opens the store.
func useStore(_ url: URL, isOld: Bool, progress: Progress? = nil) async throws {
  var configuration = Store.Configuration()
  // A process that waits for a migration reports that after this time.
  configuration.busyTimeout = progress == nil ? 60 : 3
  let name = "user of \(ProcessInfo.processInfo.processIdentifier)"
  guard isOld else {
    let store = try await Store.open(
      at: url, key: testKey, schema: microblog, migrations: MicroblogMigrations.all,
      configuration: configuration, progress: progress)
    acknowledge("steps \(store.opening.migratedSteps)")
    try await store.write { context in
      _ = context.insert(User.self) {
        $0.name = name
        $0.screenName = name
      }
    }
    acknowledge("users \(try await store.read { try $0.fetch(User.self).count() })")
    return
  }
  let steps = try MigrationSet.embedded(MicroblogMigrations.steps).upTo(1)
  do {
    let store = try await Store.open(
      at: url, key: testKey, schema: FirstMicroblog.schema, migrations: .set(steps),
      configuration: configuration)
    for turn in 0..<100 {
      try await store.write { context in
        _ = context.insert(FirstMicroblog.User.self) { $0.name = "\(name), \(turn)" }
      }
      acknowledge("wrote")
      _ = readLine()
      _ = try await store.read { try $0.fetch(FirstMicroblog.User.self).count() }
      acknowledge("read")
    }
  } catch let error as StoreError { acknowledge("refused \(error)") }
}
