// Creating, opening, planning and migrating a store, cancelled while the work runs: by its task, and by
// its progress. The store is as it was and can be used, and the app's own handler of the progress stays.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// The classes after the last step.
private enum Rebuilt {
  final class Lone: ManagedObject {
    @Attribute var name: String
    @Attribute var old: Int
  }
  static let schema = Schema { Entity(Lone.self) }
}

/// A progress that blocks its worker when some of the rows are done, but not all. So the work has begun,
/// and is not over before it is cancelled.
private final class HeldProgress: Progress, @unchecked Sendable {
  // Safe to share: written under the lock. The rest belongs to Progress.
  private let held = Locked<String?>(nil)
  private let gate = DispatchSemaphore(value: 0)

  /// The statement that ran when the progress blocked; nil before.
  var statement: String? { held.withLock { $0 } }
  func release() { gate.signal() }

  override var completedUnitCount: Int64 {
    didSet {
      guard completedUnitCount > 0, completedUnitCount < totalUnitCount - 1 else { return }
      let running = userInfo[.storeRunsStatement] as? String
      let isFirst = held.withLock { held in
        guard held == nil, let running else { return false }
        held = running
        return true
      }
      if isFirst { gate.wait() }
    }
  }
}

/// Calls `body` once `isTime` returns true, or after 20 minutes. It runs on a thread, because on a busy
/// machine tasks may get no turn for minutes.
/// - Parameter begun: Signalled by the watched task when it begins. `isTime` is not called before: it may
///   read all open files of the process, and calling it for minutes would keep a processor from all other
///   tests.
func watch(
  after begun: DispatchSemaphore, _ isTime: @escaping @Sendable () -> Bool,
  _ body: @escaping @Sendable () -> Void
) {
  Thread {
    begun.wait()
    let end = Date(timeIntervalSinceNow: 1200)
    while !isTime(), Date() < end { usleep(10_000) }
    body()
  }.start()
}

/// Starts a task, and returns it with a semaphore that it signals when it begins.
func begin<Result: Sendable>(
  _ body: @escaping @Sendable () async throws -> Result
) -> (task: Task<Result, any Error>, begun: DispatchSemaphore) {
  let begun = DispatchSemaphore(value: 0)
  let task = Task {
    begun.signal()
    return try await body()
  }
  return (task, begun)
}

/// Returns how often this process has a file open; the highest integer if the system does not show it.
func openings(of url: URL) -> Int {
  let folder = "/proc/self/fd"
  guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return .max }
  return names.count { name in
    let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
    return file?.hasSuffix(url.path) == true
  }
}

@Suite(.tags(.slow)) struct Cancellations {
  enum Way: CaseIterable, Sendable { case task, progress }
  enum Work: CaseIterable, Sendable { case open, migrate, downgrade, redo }

  private static let rows = 100_000
  private static let texts = [
    MigrationWaiting.base,
    "[up]\nmake Lone.old required filling 7\n[down]\nmake Lone.old optional",
  ]
  private static let fill =
    "INSERT INTO Lone(id, name, old) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(rows)) SELECT i, 'name ' || i, i * 3 FROM n"
  /// The high-water mark for the ids of these rows.
  private static let mark = "INSERT OR REPLACE INTO vault_ids VALUES ('Lone', \(rows))"

  private func until(_ isSo: () -> Bool) async {
    let end = Date(timeIntervalSinceNow: 1200)
    while !isSo(), Date() < end { await Task.yield() }
    #expect(isSo())
  }

  /// Waits until the work that Foundation has put onto its queue is done.
  private func settle() async {
    for _ in 0..<8 {
      await withCheckedContinuation { done in DispatchQueue.global().async { done.resume() } }
    }
  }

  /// Cancels some work while a table is rebuilt.
  private func cancel(
    by way: Way, _ work: @escaping @Sendable (HeldProgress) async throws -> Void
  ) async throws {
    let (progress, calls, isOver) = (HeldProgress(totalUnitCount: 0), Locked(0), Locked(false))
    progress.cancellationHandler = { calls.withLock { $0 += 1 } }
    // Also on an error, so that nothing waits forever.
    defer { progress.release() }
    let task = Task {
      defer { isOver.withLock { $0 = true } }
      try await work(progress)
    }
    await until { progress.statement != nil || isOver.withLock { $0 } }
    #expect(progress.statement?.contains("Lone") == true, "\(progress.statement ?? "nothing ran")")
    switch way {
    case .task: task.cancel()
    case .progress: progress.cancel()
    }
    // The app's own handler, which is called after ours.
    await until { calls.withLock { $0 } > 0 }
    progress.release()
    await #expect(throws: CancellationError.self) { try await task.value }
    await settle()
    #expect(calls.withLock { $0 } == 1)
    #expect(progress.isCancelled && progress.cancellationHandler != nil)
  }

  private func content(_ lab: DowngradeLab) throws -> [[SQLValue]] {
    try lab.rows("SELECT count(*), count(old), sum(old), min(name), max(name), sum(id) FROM Lone")
  }

  @Test(arguments: Work.allCases, Way.allCases)
  func `work that is cancelled during the rebuild of a table changes nothing and can be repeated`(
    _ work: Work, _ way: Way
  ) async throws {
    let before = work == .open || work == .migrate ? 1 : 2
    let lab = try await DowngradeLab(Self.texts, at: before, fill: [Self.fill, Self.mark])
    let (url, set, former) = (lab.url, lab.set, try content(lab))
    var configuration = Store.Configuration()
    configuration.makesBackups = false
    let settings = configuration
    @Sendable func run(_ progress: Progress?) async throws {
      switch work {
      case .open:
        try await Store.open(
          at: url, key: testKey, schema: Rebuilt.schema, migrations: .set(set), configuration: settings,
          progress: progress
        ).close()
      case .migrate:
        try await Store.migrate(
          at: url, key: testKey, migrations: set, makesBackups: false, progress: progress)
      case .downgrade:
        try await Store.downgrade(
          at: url, key: testKey, to: 1, migrations: set, makesBackups: false, progress: progress)
      case .redo:
        try await Store.redo(
          at: url, key: testKey, migrations: set, makesBackups: false, progress: progress)
      }
    }
    try await cancel(by: way) { try await run($0) }
    #expect(try lab.version == before && content(lab) == former)
    #expect(!lab.folder.names.contains { $0.hasSuffix(".migrating") || $0.hasSuffix(".backup") })
    // The store opens with its own model, and the work can be repeated.
    let store = try await Store.open(at: url, key: testKey)
    #expect(store.opening.version == before)
    #expect(try await store.verify() == [])
    #expect(try await store.read { try $0.fetch(entity: "Lone").count() } == Self.rows)
    store.close()
    try await run(nil)
    #expect(try lab.version == (work == .downgrade ? 1 : 2) && content(lab) == former)
  }

  /// A query that takes some seconds.
  private static let long =
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000000) SELECT count(*) FROM n)"

  @Test(arguments: Way.allCases)
  func `creating a store leaves no file when it is cancelled`(_ way: Way) async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("lab.store")
    let set = try DowngradeLab.set([
      "\(MigrationWaiting.base)\nseed { INSERT INTO $Lone($Lone.name, $Lone.old) SELECT 'a', \(Self.long) }"
    ])
    let (progress, calls) = (Progress(totalUnitCount: 0), Locked(0))
    progress.cancellationHandler = { calls.withLock { $0 += 1 } }
    let (task, begun) = begin {
      try await Store.create(at: url, key: testKey, migrations: set, progress: progress)
    }
    // The file has another name until it is complete.
    watch(after: begun, { !folder.names.isEmpty }) {
      if way == .task { task.cancel() } else { progress.cancel() }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    await settle()
    #expect(folder.names.isEmpty && calls.withLock { $0 } == 1)
  }

  @Test func `a plan throws when its task is cancelled while it checks rows`() async throws {
    let lab = try await DowngradeLab([
      MigrationWaiting.base, "require \"there is time\" { SELECT \(Self.long) > 0 }",
    ])
    let (url, set) = (lab.url, lab.set)
    let (task, begun) = begin { try await Store.plan(at: url, key: testKey, migrations: set) }
    watch(after: begun, { openings(of: url) > 0 }) { task.cancel() }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(lab.folder.names == ["lab.store"])
    let late = Task {
      withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await Store.planDowngrade(at: url, key: testKey, to: 0, migrations: set)
    }
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  @Test(arguments: Way.allCases)
  func `a migration that waits for a lock ends when it is cancelled`(_ way: Way) async throws {
    let lab = try await DowngradeLab(Self.texts, fill: [])
    let (url, set, waits, progress) = (lab.url, lab.set, Locked(false), Progress(totalUnitCount: 0))
    let other = try lab.open()
    try other.execute("BEGIN IMMEDIATE")
    let task = Task {
      let settings = Store.RunSettings(
        profile: nil, busyTimeout: 600, makesBackups: false, losses: [], progress: progress
      ) { _ in waits.withLock { $0 = true } }
      return try await Store.run(.latest, at: url, key: testKey, migrations: set, settings: settings)
    }
    await until { waits.withLock { $0 } }
    if way == .task { task.cancel() } else { progress.cancel() }
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    other.rollback()
    other.close()
    #expect(try lab.version == 1)
  }

  // MARK: The app's own handler

  @Test func `the app's own handler is restored after each run, and called by a later cancellation`()
    async throws
  {
    let lab = try await DowngradeLab(Self.texts, fill: [])
    let (progress, calls) = (Progress(totalUnitCount: 0), Locked(0))
    progress.cancellationHandler = { calls.withLock { $0 += 1 } }
    try await Store.migrate(
      at: lab.url, key: testKey, migrations: lab.set, makesBackups: false, progress: progress)
    try await Store.open(
      at: lab.url, key: testKey, schema: Rebuilt.schema, migrations: .set(lab.set), progress: progress
    ).close()
    try await Store.create(
      at: lab.folder.url.appendingPathComponent("b.store"), key: testKey, migrations: lab.set,
      progress: progress)
    await #expect(throws: SQLError.self) {
      try await Store.migrate(
        at: lab.folder.url.appendingPathComponent("c.store"), key: testKey, migrations: lab.set,
        progress: progress)
    }
    #expect(calls.withLock { $0 } == 0)
    progress.cancel()
    await until { calls.withLock { $0 } > 0 }
    await settle()
    #expect(calls.withLock { $0 } == 1)
  }

  @Test func `work with a progress that is cancelled already does nothing and calls no handler again`()
    async throws
  {
    let lab = try await DowngradeLab(Self.texts, fill: [])
    let (progress, calls) = (Progress(totalUnitCount: 0), Locked(0))
    progress.cancellationHandler = { calls.withLock { $0 += 1 } }
    progress.cancel()
    await until { calls.withLock { $0 } > 0 }
    await #expect(throws: CancellationError.self) {
      try await Store.migrate(at: lab.url, key: testKey, migrations: lab.set, progress: progress)
    }
    await settle()
    #expect(try calls.withLock { $0 } == 1 && lab.version == 1)
    #expect(progress.cancellationHandler != nil)
  }

  @Test func `a progress without a handler has none after a migration`() async throws {
    let lab = try await DowngradeLab(Self.texts, fill: [])
    let progress = Progress(totalUnitCount: 0)
    try await Store.migrate(
      at: lab.url, key: testKey, migrations: lab.set, makesBackups: false, progress: progress)
    #expect(progress.cancellationHandler == nil)
  }
}
