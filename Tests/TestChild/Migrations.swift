// What leads a store to another version, and what uses one meanwhile.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport

/// Leads a store to a version, up or down, by the steps in the folder `Steps` beside it.
/// - Parameter copies: Whether the store is copied before.
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

/// Leads a store to the last version of the steps in the folder `Steps` beside it, and says how many bytes of memory this
/// process had at most before and after.
func leadAndMeasure(_ url: URL) async throws {
  let steps = try MigrationSet.directory(url.deletingLastPathComponent().appendingPathComponent("Steps"))
    .transforming(by: childTransforms)
  acknowledge("\(try peakMemory())")
  try await Store.migrate(at: url, key: testKey, migrations: steps, makesBackups: false)
  acknowledge("\(try peakMemory())")
}

/// The most memory that this process had at once, in bytes, as Linux says; 0 elsewhere.
private func peakMemory() throws -> Int {
  guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return 1024 * (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0)
}

/// Leads a store up to a version by the steps in the folder `Steps` beside it, each committed by itself.
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

/// The progress of an opening that stops amid its steps, with the store locked, says so, and goes on with the line that it is
/// sent. Where another process runs the steps, it says that it waits.
final class HeldRun: Progress, @unchecked Sendable {
  // Written under the lock; the rest is Progress's own.
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

/// Opens a microblog as the app of today or as that of the first version, says which steps ran, inserts a user, and says how
/// many there are. The old one goes on with each line that it is sent, until it is refused.
/// - Parameter progress: What the app of today opens it with.
func useStore(_ url: URL, isOld: Bool, progress: Progress? = nil) async throws {
  var configuration = Store.Configuration()
  // Who waits for a migration says so when this is over.
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
