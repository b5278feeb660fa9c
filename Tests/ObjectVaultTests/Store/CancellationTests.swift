// Whatever makes, opens, plans or migrates a store, cancelled while it works: by its task, and by its progress. The store is
// as it was, and goes on being one; and the app's own handler of the progress stays the app's.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// The classes behind the last step.
private enum Rebuilt {
  final class Lone: ManagedObject {
    @Attribute var name: String
    @Attribute var old: Int
  }
  static let schema = Schema { Entity(Lone.self) }
}

/// A progress that holds whoever counts on it when some of the rows are done, and not all: so the work is seen under way,
/// and is not over before it is cancelled.
private final class HeldProgress: Progress, @unchecked Sendable {
  // Written under the lock; the rest is Progress's own.
  private let held = Locked<String?>(nil)
  private let gate = DispatchSemaphore(value: 0)

  /// What ran when it was held; nil before.
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

/// Does something once it is time for it. A thread, because tasks of a busy machine may get no turn meanwhile: for minutes, so
/// that the end is far away.
/// - Parameter begun: Signalled by the task that is watched when it gets its turn. Nobody asks before: what is asked may go through
///   all files of the process, and some who asked for minutes kept a processor from all other tests.
func watch(
  behind begun: DispatchSemaphore, _ isTime: @escaping @Sendable () -> Bool,
  _ body: @escaping @Sendable () -> Void
) {
  Thread {
    begun.wait()
    let end = Date(timeIntervalSinceNow: 1200)
    while !isTime(), Date() < end { usleep(10_000) }
    body()
  }.start()
}

/// A task, and what it signals when it gets its turn.
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

/// How often this process has a file open; where the system does not tell, as often as anybody may ask for.
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
  /// What was given out with them.
  private static let mark = "INSERT OR REPLACE INTO vault_ids VALUES ('Lone', \(rows))"

  private func until(_ isSo: () -> Bool) async {
    let end = Date(timeIntervalSinceNow: 1200)
    while !isSo(), Date() < end { await Task.yield() }
    #expect(isSo())
  }

  /// Lets what Foundation has put onto its queue come to its end.
  private func settle() async {
    for _ in 0..<8 {
      await withCheckedContinuation { done in DispatchQueue.global().async { done.resume() } }
    }
  }

  /// Cancels some work while a rebuild is under way.
  private func cancel(
    by way: Way, _ work: @escaping @Sendable (HeldProgress) async throws -> Void
  ) async throws {
    let (progress, calls, isOver) = (HeldProgress(totalUnitCount: 0), Locked(0), Locked(false))
    progress.cancellationHandler = { calls.withLock { $0 += 1 } }
    // Whatever is wrong, nobody is to wait for ever.
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
    // The app's own, which is called behind ours.
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
  func `what is cancelled while it rebuilds a table leaves the store as it was, and it can be done again`(
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
    // It opens by its own model, and whoever tries again comes to the end.
    let store = try await Store.open(at: url, key: testKey)
    #expect(store.opening.version == before)
    #expect(try await store.verify() == [])
    #expect(try await store.read { try $0.fetch(entity: "Lone").count() } == Self.rows)
    store.close()
    try await run(nil)
    #expect(try lab.version == (work == .downgrade ? 1 : 2) && content(lab) == former)
  }

  /// A query of some seconds.
  private static let long =
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000000) SELECT count(*) FROM n)"

  @Test(arguments: Way.allCases)
  func `a store that is cancelled while it is made is not there`(_ way: Way) async throws {
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
    // The file has another name as long as it is not whole.
    watch(behind: begun, { !folder.names.isEmpty }) {
      if way == .task { task.cancel() } else { progress.cancel() }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    await settle()
    #expect(folder.names.isEmpty && calls.withLock { $0 } == 1)
  }

  @Test func `a plan whose task is cancelled while rows are asked is no plan`() async throws {
    let lab = try await DowngradeLab([
      MigrationWaiting.base, "require \"there is time\" { SELECT \(Self.long) > 0 }",
    ])
    let (url, set) = (lab.url, lab.set)
    let (task, begun) = begin { try await Store.plan(at: url, key: testKey, migrations: set) }
    watch(behind: begun, { openings(of: url) > 0 }) { task.cancel() }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(lab.folder.names == ["lab.store"])
    let late = Task {
      withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await Store.planDowngrade(at: url, key: testKey, to: 0, migrations: set)
    }
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  @Test(arguments: Way.allCases)
  func `a migration that waits for somebody's lock ends when it is cancelled`(_ way: Way) async throws {
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

  @Test func `an app's own handler is there again behind each run, and is called by what cancels later`()
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

  @Test func `what was cancelled before does nothing, and the app's handler is not called again`()
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

  @Test func `a progress without a handler has none afterwards`() async throws {
    let lab = try await DowngradeLab(Self.texts, fill: [])
    let progress = Progress(totalUnitCount: 0)
    try await Store.migrate(
      at: lab.url, key: testKey, migrations: lab.set, makesBackups: false, progress: progress)
    #expect(progress.cancellationHandler == nil)
  }
}
