// Copying and re-encrypting a store, and importing another program's file, cancelled by the task while
// the work runs. Existing files are as they were, incomplete files are removed, and the work can be
// repeated.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

/// A progress that blocks its worker at the first count, so that the work has begun and is not over.
private final class GatedProgress: Progress, @unchecked Sendable {
  // Safe to share: written under the lock. The rest belongs to Progress.
  private let held = Locked(false)
  private let gate = DispatchSemaphore(value: 0)

  var isHeld: Bool { held.withLock { $0 } }
  func release() { gate.signal() }

  override var completedUnitCount: Int64 {
    didSet {
      let isFirst = held.withLock { held in
        defer { held = true }
        return !held
      }
      if isFirst { gate.wait() }
    }
  }
}

@Suite(.tags(.slow)) struct CancelledCopies {
  enum Work: CaseIterable, Sendable { case backup, export, encrypt, upgrade, restore, rekey, rebuild }

  private static let otherKey = Key.raw([UInt8](repeating: 9, count: 32))
  private static let fill =
    "INSERT INTO Lone(id, name, old) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) SELECT i, hex(zeroblob(400)), i FROM n"

  /// Cancels the task of some work at its first count.
  private func cancel(_ work: @escaping @Sendable (Progress) async throws -> Void) async {
    let (progress, isOver) = (GatedProgress(totalUnitCount: 0), Locked(false))
    let (task, begun) = begin {
      defer { isOver.withLock { $0 = true } }
      try await work(progress)
    }
    watch(after: begun, { progress.isHeld || isOver.withLock { $0 } }) {
      task.cancel()
      progress.release()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(progress.isHeld && progress.isCancelled)
  }

  @Test(arguments: Work.allCases)
  func `a cancelled copy leaves the files that were there and no others, and can be repeated`(_ work: Work)
    async throws
  {
    let lab = try await DowngradeLab([MigrationWaiting.base], fill: [Self.fill])
    let (url, other) = (lab.url, lab.folder.url.appendingPathComponent("other"))
    let plain = lab.folder.url.appendingPathComponent("plain")
    let store = try await Store.open(at: url, key: testKey)
    try await store.exportPlaintext(to: plain)
    if work == .restore { try await store.backup(to: plain.appendingPathExtension("copy")) }
    let isClosed = work == .upgrade || work == .restore
    if isClosed { store.close() }
    let names = lab.folder.names.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    var profile = CipherProfile.engineDefault
    profile.rounds += 1
    let rounds = profile
    @Sendable func run(_ progress: Progress?) async throws {
      switch work {
      case .backup: try await store.backup(to: other, progress: progress)
      case .export: try await store.exportPlaintext(to: other, progress: progress)
      case .encrypt: try await Store.encrypt(plaintext: plain, to: other, key: testKey, progress: progress)
      case .upgrade: _ = try await Store.upgradeCipher(at: url, key: testKey, to: rounds, progress: progress)
      case .restore:
        try await Store.restore(
          plain.appendingPathExtension("copy"), to: url, key: testKey, replacesExisting: true,
          progress: progress)
      case .rekey: try await store.rekey(to: Self.otherKey, progress: progress)
      case .rebuild: try await store.rekey(to: Self.otherKey, profile: rounds, progress: progress)
      }
    }
    await cancel { try await run($0) }
    #expect(lab.folder.names.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") } == names)
    if !isClosed { #expect(try await store.read { try $0.fetch(entity: "Lone").count() } == 3000) }
    #expect(try lab.rows("SELECT count(*) FROM Lone") == [[3000]])
    try await run(nil)
    store.close()
  }

  // MARK: Files of other programs

  /// A plain file as another program may have made it, whose rows take a while to read.
  private func foreign(_ folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("legacy.db")
    let connection = try Connection.create(folder.path("made"), key: testKey) {
      try $0.executeScript(
        """
        CREATE TABLE Lone(id INTEGER PRIMARY KEY, name TEXT NOT NULL, old INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000)
        INSERT INTO Lone SELECT i, 'name ' || i, i FROM n;
        """)
    }
    _ = connection
    let made = try Connection.open(folder.path("made"), key: testKey)
    try made.exportPlaintext(to: url.path)
    made.close()
    try FileManager.default.removeItem(atPath: folder.path("made"))
    return url
  }

  @Test func `reading and importing another program's file end when the task is cancelled`() async throws {
    let folder = try TemporaryFolder()
    let file = try foreign(folder)
    let names = folder.names
    let (plan, begun) = begin { try await Store.planAdoption(of: file, key: nil) }
    watch(after: begun, { openings(of: file) > 0 }) { plan.cancel() }
    await #expect(throws: CancellationError.self) { try await plan.value }
    let steps = try MigrationSet([try await Store.planAdoption(of: file, key: nil).step])
    let url = folder.url.appendingPathComponent("lab.store")
    await cancel { progress in
      try await Store.adopt(
        file, fileKey: nil, into: url, key: testKey, migrations: steps, progress: progress)
    }
    #expect(folder.names == names)
    try await Store.adopt(file, fileKey: nil, into: url, key: testKey, migrations: steps)
    let store = try await Store.open(at: url, key: testKey)
    #expect(try await store.read { try $0.fetch(entity: "Lone").count() } == 300_000)
    store.close()
  }

  @Test func `a file that is being made a store in its place is none after a cancellation`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("lab.store")
    let plain = try foreign(folder)
    let steps = try MigrationSet([try await Store.planAdoption(of: plain, key: nil).step])
    try await Store.create(at: url, key: testKey, migrations: steps)
    let connection = try Connection.open(url.path, key: testKey)
    try connection.executeScript(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000)
      INSERT INTO Lone(id, name, old) SELECT i, 'name ' || i, i FROM n;
      """)
    let own = try connection.rows("SELECT name FROM sqlite_master WHERE name LIKE 'vault\\_%' ESCAPE '\\'")
    for name in own.compactMap({ $0[0].string }) { try connection.executeScript("DROP TABLE \(name)") }
    connection.close()
    let (task, begun) = begin { try await Store.adoptInPlace(url, key: testKey, migrations: steps) }
    watch(after: begun, { openings(of: url) > 0 }) { task.cancel() }
    await #expect(throws: CancellationError.self) { try await task.value }
    await #expect(throws: StoreError.notAStore(file: url.path)) {
      try await Store.open(at: url, key: testKey)
    }
    try await Store.adoptInPlace(url, key: testKey, migrations: steps)
    let store = try await Store.open(at: url, key: testKey)
    #expect(try await store.read { try $0.fetch(entity: "Lone").count() } == 300_000)
    store.close()
  }

  @Test func `a repair of the history that waits for a lock ends when the task is cancelled`() async throws {
    let lab = try await DowngradeLab([MigrationWaiting.base], fill: [])
    let (url, set) = (lab.url, lab.set)
    let other = try lab.open()
    try other.execute("BEGIN IMMEDIATE")
    let before = openings(of: url)
    let (task, begun) = begin {
      try await Store.repair(at: url, key: testKey, steps: [1], migrations: set, busyTimeout: 20)
    }
    watch(after: begun, { openings(of: url) > before }) { task.cancel() }
    await #expect(throws: CancellationError.self) { try await task.value }
    other.rollback()
    other.close()
    let late = Task {
      withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await Store.planRepair(at: url, key: testKey, steps: [1], migrations: set)
    }
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(try await Store.repair(at: url, key: testKey, steps: [1], migrations: set).steps.isEmpty)
  }
}
