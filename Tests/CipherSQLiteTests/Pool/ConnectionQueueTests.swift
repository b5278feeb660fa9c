// A queue: one connection, and its calls in order.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Queue {
  let folder: TemporaryFolder
  let path: String
  let queue: ConnectionQueue

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("q.store")
    _ = try Connection.create(path, key: .passphrase("k")) { try $0.execute("CREATE TABLE t(x)") }
    var configuration = Connection.Configuration()
    configuration.busyTimeout = 0.2
    queue = try ConnectionQueue(path: path, key: .passphrase("k"), configuration: configuration)
  }

  @Test func `calls of a queue run one after another in the order in which they were made`() throws {
    let order = DispatchQueue(label: "order")
    let group = DispatchGroup()
    nonisolated(unsafe) var seen: [Int] = []
    for number in 0..<50 {
      // The serial dispatch queue makes the calls in order. Each call waits for the one before.
      order.async(group: group) { [queue] in try? queue.withConnection { _ in seen.append(number) } }
    }
    group.wait()
    #expect(seen == Array(0..<50))
  }

  @Test func `a hundred tasks increment one number, and no update is lost`() async throws {
    try await queue.run { _ = try $0.execute("INSERT INTO t VALUES (0)") }
    try await withThrowingTaskGroup(of: Void.self) { [queue] group in
      for _ in 0..<100 {
        group.addTask {
          try await queue.transaction { connection in
            let number = try connection.value("SELECT x FROM t")?.int64 ?? 0
            try connection.execute("UPDATE t SET x = \(number + 1)")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try queue.withConnection { try $0.value("SELECT x FROM t") } == 100)
  }

  @Test func `a blocking call within a call is an error and not a deadlock`() async throws {
    #expect(throws: SQLError.nestedWrite(file: path)) {
      try queue.withConnection { (_: Connection) -> Void in
        try queue.withConnection { (_: Connection) -> Void in }
      }
    }
    await #expect(throws: SQLError.nestedWrite(file: path)) {
      try await queue.run { [queue] (_: Connection) -> Void in
        try queue.withTransaction { (_: Connection) -> Void in }
      }
    }
    #expect(!queue.isInsideCall)
    #expect(try queue.withConnection { _ in queue.isInsideCall })
  }

  @Test func `a task created within a call runs after it`() async throws {
    let inner = try await queue.run { [queue] connection in
      _ = try connection.execute("INSERT INTO t VALUES (1)")
      return Task { try await queue.run { try $0.value("SELECT count(*) FROM t")?.int64 } }
    }
    #expect(try await inner.value == 1)
  }

  @Test func `a throwing transaction is rolled back, and an open one does not reach the next call`()
    async throws
  {
    struct Stop: Error {}
    await #expect(throws: Stop.self) {
      try await queue.transaction { (connection: Connection) -> Void in
        _ = try connection.execute("INSERT INTO t VALUES (1)")
        throw Stop()
      }
    }
    try queue.withConnection { connection in
      try connection.begin()
      _ = try connection.execute("INSERT INTO t VALUES (2)")
    }
    #expect(try queue.withConnection { $0.isInTransaction } == false)
    #expect(try queue.withConnection { try $0.value("SELECT count(*) FROM t") } == 0)
  }

  @Test func `cancelling a task interrupts its statement and leaves the queue usable`() async throws {
    let started = DispatchSemaphore(value: 0)
    let task = Task { [queue] in
      // Also if it fails before, so that the test does not wait forever.
      defer { started.signal() }
      try await queue.transaction { connection -> Void in
        _ = try connection.execute("INSERT INTO t VALUES (1)")
        started.signal()
        _ = try connection.value(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
      }
    }
    cancel(task, when: started)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try queue.withConnection { try $0.value("SELECT count(*) FROM t") } == 0)
  }

  @Test func `interrupt stops a running statement from another thread`() throws {
    let queue = queue
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      while hasEnded.wait(timeout: .now() + 0.02) == .timedOut { queue.interrupt() }
    }
    defer { hasEnded.signal() }
    #expect(throws: SQLError.interrupted) {
      try queue.withConnection {
        try $0.value("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
      }
    }
  }

  @Test func `every call on a closed queue throws the error closed`() async throws {
    queue.close()
    queue.close()
    #expect(throws: SQLError.closed(file: path)) { try queue.withConnection { (_: Connection) -> Void in } }
    await #expect(throws: SQLError.closed(file: path)) {
      try await queue.run { (_: Connection) -> Void in }
    }
  }

  @Test func `a queue can be rekeyed in both journal modes`() throws {
    for mode in [Connection.JournalMode.delete, .wal] {
      try queue.withConnection { connection in
        try connection.setJournalMode(mode)
        try connection.transaction {
          for number in 0..<3000 { _ = try connection.execute("INSERT INTO t VALUES (\(number))") }
        }
      }
      var last = (0, 1)
      try queue.rekey(to: .passphrase("new \(mode)")) { done, total in
        #expect(done >= last.0 && done <= total)
        last = (done, total)
      }
      #expect(last.0 == last.1)
      #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .passphrase("k")) }
      let other = try Connection.open(path, key: .passphrase("new \(mode)"))
      #expect(try other.value("SELECT count(*) FROM t") == (mode == .delete ? 3000 : 6000))
      // The queue's own connection stays usable.
      #expect(
        try queue.withConnection { try $0.execute("UPDATE t SET x = x + 1") }
          == (mode == .delete ? 3000 : 6000))
    }
  }

  @Test func `a rekey of a queue fails under another lock and keeps the old key and the queue`() throws {
    let other = try Connection.open(path, key: .passphrase("k"))
    try other.begin()
    #expect(isBusy(path, after: 0.2...60) { try queue.rekey(to: .passphrase("new")) })
    try other.commit()
    #expect(try queue.withConnection { try $0.execute("INSERT INTO t VALUES (1)") } == 1)
    #expect(try Connection.open(path, key: .passphrase("k")).integrityErrors().isEmpty)
    #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .passphrase("new")) }
  }
}

@Suite struct Snapshots {
  let folder: TemporaryFolder
  let pool: ConnectionPool

  init() throws {
    folder = try TemporaryFolder()
    _ = try Connection.create(folder.path("s.store"), key: .passphrase("k")) {
      try $0.execute("CREATE TABLE t(x)")
    }
    var configuration = ConnectionPool.Configuration()
    configuration.readers = 2
    configuration.connection.busyTimeout = 0.2
    pool = try ConnectionPool(
      path: folder.path("s.store"), key: .passphrase("k"), configuration: configuration)
  }

  func count(_ connection: Connection) throws -> Int64? {
    try connection.value("SELECT count(*) FROM t")?.int64
  }

  @Test func `a snapshot sees one state while others write`() async throws {
    let snapshot = try pool.snapshot()
    try await pool.write { _ = try $0.execute("INSERT INTO t VALUES (1)") }
    #expect(try await snapshot.read { try $0.value("SELECT count(*) FROM t") } == 0)
    try await pool.write { _ = try $0.execute("CREATE TABLE later(y)") }
    #expect(try snapshot.withConnection { try $0.tableExists("later") } == false)
    #expect(try pool.withReader(count) == 1)
    snapshot.close()
    #expect(throws: SQLError.closed(file: pool.path)) { try snapshot.withConnection(count) }
    #expect(try pool.snapshot().withConnection(count) == 1)
  }

  @Test func `more snapshots than readers can be open, and reads continue beside them`() async throws {
    var snapshots: [Snapshot] = []
    for number in 0..<8 {
      snapshots.append(try pool.snapshot())
      try await pool.write { _ = try $0.execute("INSERT INTO t VALUES (\(number))") }
    }
    for (number, snapshot) in snapshots.enumerated() {
      #expect(try snapshot.withConnection(count) == Int64(number))
    }
    #expect(try await pool.read { try $0.value("SELECT count(*) FROM t") } == 8)
  }

  @Test func `a read within a read of the same snapshot is an error and not a deadlock`() throws {
    let snapshot = try pool.snapshot()
    #expect(throws: SQLError.nestedWrite(file: pool.path)) {
      try snapshot.withConnection { _ in try snapshot.withConnection(count) }
    }
    // Closing is not a read: it does not wait for itself.
    try snapshot.withConnection { _ in snapshot.close() }
    #expect(throws: SQLError.closed(file: pool.path)) { try snapshot.withConnection(count) }
  }

  @Test func `a rekey waits for a snapshot, and succeeds once the snapshot is released`() throws {
    var snapshot: Snapshot? = try pool.snapshot()
    #expect(
      isBusy(pool.path, after: 0.2...60) {
        try pool.rekey(to: .passphrase("n"))
      })
    #expect(try snapshot?.withConnection(count) == 0)
    snapshot = nil
    try pool.rekey(to: .passphrase("n"))
    #expect(try pool.withReader(count) == 0)
  }

  @Test func `readers see a new schema at once`() async throws {
    // All readers are open and have cached the former schema.
    try pool.withReader { _ in _ = try pool.withReader(count) }
    for step in 0..<5 {
      try await pool.write { connection in
        try connection.execute(sql: "ALTER TABLE t ADD COLUMN c\(step) DEFAULT \(step)")
        _ = try connection.execute("INSERT INTO t(x) VALUES (\(step))")
      }
      try pool.withReader { (first: Connection) throws -> Void in
        try pool.withReader { (second: Connection) throws -> Void in
          for reader in [first, second] {
            #expect(try reader.columnExists("c\(step)", in: "t"))
            #expect(try reader.value(sql: "SELECT c\(step) FROM t LIMIT 1") == .integer(Int64(step)))
            #expect(try reader.rows("SELECT * FROM t").first?.count == step + 2)
          }
        }
      }
    }
  }
}
