// A rekey that is stopped: before the commit the old key stays, after it the new key is in force, and the
// error states which.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.sampled, .slow)) struct RekeyStops {
  struct Stop: Error, Equatable {}

  let folder: TemporaryFolder
  let path: String
  static let modes: [Connection.JournalMode] = [.wal, .delete]

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  /// About 25 MB: enough for several reports of progress on a fast machine.
  func create(_ mode: Connection.JournalMode, rows: Int = 6000) throws {
    _ = try Connection.create(path, key: childKeys.first) {
      try $0.executeScript(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(rows))
        INSERT INTO t SELECT i, zeroblob(4000) FROM n;
        """)
    }
    let connection = try Connection.open(path, key: childKeys.first)
    try connection.setJournalMode(mode)
    connection.close()
  }

  /// A small cache: pages leave it while others are changed, as in a store that is larger than memory.
  func configuration() -> Connection.Configuration {
    var configuration = Connection.Configuration()
    configuration.cacheBytes = 1 << 20
    return configuration
  }

  /// Returns which of the two keys opens the store; exactly one must. Checks the content.
  func keyInForce(rows: Int = 6000) throws -> String {
    let opened = [("first", childKeys.first), ("second", childKeys.second)].compactMap { name, key in
      (try? Connection.open(path, key: key)).map { (name, $0) }
    }
    try #require(opened.count == 1, "\(opened.map(\.0))")
    let connection = opened[0].1
    #expect(try connection.value("SELECT count(*) FROM t WHERE length(x) = 4000") == .integer(Int64(rows)))
    #expect(try connection.integrityErrors().isEmpty)
    if try connection.checkpoint() { #expect(connection.auditPages().isEmpty) }
    return opened[0].0
  }

  @Test(arguments: modes)
  func `an error of progress while pages are written matches the key that is in force`(
    _ mode: Connection.JournalMode
  ) throws {
    try create(mode)
    let connection = try Connection.open(path, key: childKeys.first, configuration: configuration())
    // On a fast machine under load the first report may be one of the verification.
    let error = #expect(throws: (any Error).self) {
      try connection.rekey(to: childKeys.second) { done, _ in if done > 0 { throw Stop() } }
    }
    let isStopped = error is Stop
    #expect(isStopped || error as? SQLError == .notVerified(file: path), "\(String(describing: error))")
    connection.close()
    #expect(try keyInForce() == (isStopped ? "first" : "second"))
  }

  @Test(arguments: modes, Rotation.part(of: [1, 2, 7], oneIn: 3))
  func `an error of progress before pages are written keeps the old key and the connection`(
    _ mode: Connection.JournalMode, _ last: Int
  ) throws {
    try create(mode)
    let connection = try Connection.open(path, key: childKeys.first, configuration: configuration())
    let calls = Locked(0)
    // All pages are read first, and progress is called during that as well.
    #expect(throws: Stop()) {
      try connection.rekey(to: childKeys.second) { done, _ in
        if calls.withLock({
          $0 += 1; return $0 == last
        }) {
          throw Stop()
        }
        #expect(done == 0)
      }
    }
    #expect(calls.withLock { $0 } == last)
    #expect(
      try !connection.isInTransaction
        && connection.execute("UPDATE t SET x = zeroblob(4000) WHERE id = 1") == 1)
    connection.close()
    #expect(try keyInForce() == "first")
    // Without a stop the rekey succeeds.
    try Connection.open(path, key: childKeys.first).rekey(to: childKeys.second)
    #expect(try keyInForce() == "second")
  }

  @Test(arguments: modes)
  func `a connection whose rekey was stopped while pages are written is closed`(
    _ mode: Connection.JournalMode
  ) throws {
    try create(mode)
    let connection = try Connection.open(path, key: childKeys.first, configuration: configuration())
    #expect(throws: Stop()) {
      try connection.rekey(to: childKeys.second) { done, total in
        if done > 0, done < total / 2 { throw Stop() }
      }
    }
    #expect(try keyInForce() == "first")
    // One more write of this connection could leave a file that no key opens.
    #expect(throws: SQLError.closed(file: path)) { try connection.value("SELECT 1") }
    connection.close()
  }

  @Test func `a pool whose rekey was stopped stays usable under the old key`() async throws {
    try create(.wal)
    var settings = ConnectionPool.Configuration()
    settings.connection = configuration()
    let pool = try ConnectionPool(path: path, key: childKeys.first, configuration: settings)
    #expect(throws: Stop()) {
      try pool.rekey(to: childKeys.second) { done, total in if done <= total / 2 { throw Stop() } }
    }
    try await pool.write { _ = try $0.execute("UPDATE t SET x = zeroblob(4000) WHERE id = 1") }
    #expect(try await pool.read { try $0.value("SELECT count(*) FROM t") } == 6000)
    pool.close()
    #expect(try keyInForce() == "first")
  }

  @Test(arguments: modes)
  func `an error of progress during the verification reports that the new key is in force`(
    _ mode: Connection.JournalMode
  ) throws {
    try create(mode)
    let connection = try Connection.open(path, key: childKeys.first)
    #expect(throws: SQLError.notVerified(file: path)) {
      try connection.rekey(to: childKeys.second) { done, total in if done > total / 2 { throw Stop() } }
    }
    #expect(try connection.value("SELECT count(*) FROM t") == 6000)
    try connection.execute("UPDATE t SET x = zeroblob(4000) WHERE id = 1")
    connection.close()
    #expect(try keyInForce() == "second")
    let pool = try ConnectionPool(path: path, key: childKeys.second)
    #expect(throws: SQLError.notVerified(file: path)) {
      try pool.rekey(to: childKeys.first) { done, total in if done > total / 2 { throw Stop() } }
    }
    #expect(try pool.withReader { try $0.value("SELECT count(*) FROM t") } == 6000)
    pool.close()
    #expect(try keyInForce() == "first")
  }

  @Test(arguments: modes)
  func `whenever a gate is stopped, its answer matches the key of the file`(_ mode: Connection.JournalMode)
    throws
  {
    try create(mode)
    let whole = try ContinuousClock().measure {
      let connection = try Connection.open(path, key: childKeys.first, configuration: configuration())
      try connection.rekey(to: childKeys.second)
      try connection.rekey(to: childKeys.first)
    }
    var isFirst = true
    var answers: [CommitGate.Phase: Int] = [:]
    for round in 0..<killCount {
      let connection = try Connection.open(
        path, key: isFirst ? childKeys.first : childKeys.second, configuration: configuration())
      let gate = CommitGate()
      let answer = Locked<CommitGate.Phase?>(nil)
      let asked = DispatchSemaphore(value: 0)
      // From the start of the rekey to beyond its end.
      let delay = whole / .seconds(1) * 0.6 * Double(round) / Double(killCount)
      let isOver = DispatchSemaphore(value: 0)
      // Two rounds use no clock: the first is stopped while pages are written, the last after the end.
      let waitsForTheEnd = round == 0 || round == killCount - 1
      let progress: ((Int, Int) -> Void)? = round == 0 ? { _, _ in gate.stop() } : nil
      Thread.detachNewThread {
        _ = isOver.wait(timeout: waitsForTheEnd ? .distantFuture : .now() + delay)
        answer.withLock { $0 = gate.stop() }
        asked.signal()
      }
      var isDone = true
      do {
        try connection.rekey(
          to: isFirst ? childKeys.second : childKeys.first, gate: gate, progress: progress)
      } catch is CancellationError {
        isDone = false
      }
      isOver.signal()
      asked.wait()
      connection.close()
      let phase = try #require(answer.withLock { $0 })
      answers[phase, default: 0] += 1
      if isDone { isFirst.toggle() }
      #expect(try keyInForce() == (isFirst ? "first" : "second"))
      switch phase {
      case .stopped: #expect(!isDone)
      case .committing, .committed: #expect(isDone)
      case .working: Issue.record("a stopped gate reports that the rekey is working")
      }
    }
    #expect(answers[.stopped, default: 0] > 0 && answers[.committed, default: 0] > 0, "\(answers)")
  }

  @Test func `a rotation stopped after the commit is completed, and one stopped before is abandoned`() throws
  {
    let token = KeyFile.Unlock.rawKey([UInt8](repeating: 9, count: 32))
    let keys = try KeyFile.create(at: folder.path("a.keys"), slot: "token", unlock: token)
    try create(.delete)
    try Connection.open(path, key: childKeys.first).rekey(to: keys.key)
    let connection = try Connection.open(path, key: keys.key, configuration: configuration())
    #expect(throws: Stop()) {
      try keys.rotate(connection, keeping: ["token": token]) { done, total in
        if done <= total / 2 { throw Stop() }
      }
    }
    // The number of slots that are pending until a rotation ends.
    #expect(try folder.bytes("a.keys")[11] == 0)
    #expect(try Connection.open(path, key: keys.key).value("SELECT count(*) FROM t") == 6000)
    let again = try Connection.open(path, key: keys.key)
    #expect(throws: SQLError.notVerified(file: path)) {
      try keys.rotate(again, keeping: ["token": token]) { done, total in if done > total / 2 { throw Stop() }
      }
    }
    #expect(try folder.bytes("a.keys")[11] == 0)
    #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: keys.key) }
    let opened = try Connection.open(path, key: .keyFile(folder.path("a.keys"), unlock: token))
    #expect(try opened.value("SELECT count(*) FROM t") == 6000)
    #expect(try opened.value("PRAGMA journal_mode") == "delete")
  }

  @Test func `a rekey beside a reader waits for it once`() throws {
    try create(.delete)
    let reader = try Connection.open(path, key: childKeys.first)
    try reader.begin(.deferred)
    #expect(try reader.value("SELECT count(*) FROM t") == 6000)
    let connection = try Connection.open(path, key: childKeys.first, configuration: configuration())
    var waits = 0
    connection.onBusy { _ in
      waits += 1
      return false
    }
    #expect {
      try connection.rekey(to: childKeys.second, gate: CommitGate(), progress: nil)
    } throws: { error in
      if case SQLError.busy = error { true } else { false }
    }
    #expect(waits == 1)
    reader.rollback()
    #expect(try Connection.open(path, key: childKeys.first).value("SELECT count(*) FROM t") == 6000)
  }

  // Without the stop, the wait and the test would not end.
  @Test func `a stop ends the wait for a reader, and the old key stays`() throws {
    try create(.delete)
    let reader = try Connection.open(path, key: childKeys.first)
    try reader.begin(.deferred)
    #expect(try reader.value("SELECT count(*) FROM t") == 6000)
    let connection = try Connection.open(path, key: childKeys.first, configuration: configuration())
    let gate = CommitGate()
    connection.onBusy { _ in
      gate.stop()
      return true
    }
    #expect(throws: (any Error).self) {
      try connection.rekey(to: childKeys.second, gate: gate, progress: nil)
    }
    connection.close()
    reader.rollback()
    #expect(try Connection.open(path, key: childKeys.first).value("SELECT count(*) FROM t") == 6000)
  }
}
