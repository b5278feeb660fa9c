// The engine's own rekey loses files under contention. The rekey of this library must not.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Rekey {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
    _ = try Connection.create(path, key: .passphrase("old")) { connection in
      try connection.execute("CREATE TABLE t(x)")
      for number in 0..<200 { try connection.execute("INSERT INTO t VALUES (?)", [.integer(Int64(number))]) }
    }
  }

  func pool(_ key: Key, timeout: Double = 0.3) throws -> ConnectionPool {
    var configuration = ConnectionPool.Configuration()
    configuration.connection.busyTimeout = timeout
    return try ConnectionPool(path: path, key: key, configuration: configuration)
  }

  @Test func `a pool reads and writes under the new key after a rekey`() async throws {
    let pool = try pool(.passphrase("old"))
    _ = try await pool.read { try $0.value("SELECT count(*) FROM t") }
    try pool.rekey(to: .passphrase("new"))
    try await pool.write { _ = try $0.execute("INSERT INTO t VALUES (200)") }
    let count = try await pool.read { try $0.value("SELECT count(*) FROM t") }
    #expect(count == 201)
    pool.close()
    #expect(throws: SQLError.wrongKey(file: path)) { try self.pool(.passphrase("old")) }
    #expect(try Connection.open(path, key: .passphrase("new")).value("SELECT count(*) FROM t") == 201)
  }

  /// PBKDF2 pads a passphrase with zeros to a block of its hash: 64 bytes of SHA-1, 128 of SHA-512.
  @Test func `a rekey to the present key, or to a key that ends in a zero, is refused`() throws {
    let bytes = Array("old".utf8)
    let other = Array("other".utf8)
    try Connection.open(path, key: .passphrase("old")).rekey(to: .passphrase(bytes: other))
    try Connection.open(path, key: .passphrase(bytes: other)).rekey(to: .passphrase("old"))
    let connection = try Connection.open(path, key: .passphrase("old"))
    #expect(throws: SQLError.sameKey(file: path)) { try connection.rekey(to: .passphrase("old")) }
    #expect(throws: SQLError.keyEndsInZero) { try connection.rekey(to: .passphrase(bytes: bytes + [0])) }
    // The connection stays usable.
    #expect(try connection.value("SELECT count(*) FROM t") == 200)
    connection.close()
    let pool = try pool(.passphrase("old"))
    #expect(throws: SQLError.sameKey(file: path)) { try pool.rekey(to: .passphrase("old")) }
    #expect(throws: SQLError.keyEndsInZero) { try pool.rekey(to: .passphrase(bytes: bytes + [0, 0])) }
    #expect(throws: SQLError.sameKey(file: path)) {
      try pool.rekey(to: .passphrase("old"), profile: pool.profile)
    }
    #expect(try pool.withWriter { try $0.value("SELECT count(*) FROM t") } == 200)
    pool.close()
    #expect(throws: SQLError.sameKey(file: path)) {
      _ = try Connection.upgradeCipher(path, key: .passphrase("old"), newKey: .passphrase("old"))
    }
    #expect(try Connection.open(path, key: .passphrase("old")).value("SELECT count(*) FROM t") == 200)
    // The same key is allowed if the settings differ.
    var slow = CipherProfile.engineDefault
    slow.rounds += 1
    try self.pool(.passphrase("old")).rekey(to: .passphrase("old"), profile: slow)
    var configuration = Connection.Configuration()
    configuration.profile = slow
    #expect(
      try Connection.open(path, key: .passphrase("old"), configuration: configuration)
        .value("SELECT count(*) FROM t") == 200)
  }

  @Test func `no new file gets a passphrase that ends in a zero, and an existing one still opens`() throws {
    let zero = Key.passphrase(bytes: Array("old".utf8) + [0])
    // Other programs may have created such a file.
    #expect(try Connection.open(path, key: zero).value("SELECT count(*) FROM t") == 200)
    let connection = try Connection.open(path, key: .passphrase("old"))
    #expect(throws: SQLError.keyEndsInZero) {
      _ = try Connection.create(folder.path("b"), key: zero) { _ in }
    }
    #expect(throws: SQLError.keyEndsInZero) { try connection.backup(to: folder.path("b"), key: zero) }
    #expect(throws: SQLError.keyEndsInZero) { try connection.copy(to: folder.path("b"), key: zero) }
    #expect(throws: SQLError.keyEndsInZero) {
      _ = try KeyFile.create(at: folder.path("b"), slot: "Ann", unlock: .passphrase(bytes: [65, 0]))
    }
    #expect(!folder.names.contains("b"))
  }

  @Test func `a rekey fails under a held write lock, and only the old key opens the file`() throws {
    let other = try Connection.open(path, key: .passphrase("old"))
    let pool = try pool(.passphrase("old"))
    try other.execute("BEGIN IMMEDIATE")
    #expect(isBusy(path, after: 0.3...60) { try pool.rekey(to: .passphrase("new")) })
    try other.execute("COMMIT")
    // This write destroys the file if the engine's return code is trusted.
    try pool.withWriter { _ = try $0.execute("INSERT INTO t VALUES (1)") }
    pool.close()
    other.close()
    #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .passphrase("new")) }
    let again = try Connection.open(path, key: .passphrase("old"))
    #expect(try again.value("SELECT count(*) FROM t") == 201)
    #expect(try again.integrityErrors().isEmpty)
  }

  @Test func `a read transaction of another connection does not prevent a rekey`() throws {
    let pool = try pool(.passphrase("old"))
    let other = try Connection.open(path, key: .passphrase("old"))
    try other.execute("BEGIN")
    _ = try other.value("SELECT count(*) FROM t")
    try pool.rekey(to: .passphrase("new"))
    other.rollback()
    other.close()
    pool.close()
    #expect(try Connection.open(path, key: .passphrase("new")).value("SELECT count(*) FROM t") == 200)
  }

  @Test func `another connection gets the error keyChanged after a rekey`() throws {
    let pool = try pool(.passphrase("old"))
    let other = try Connection.open(path, key: .passphrase("old"))
    #expect(try other.value("SELECT count(*) FROM t") == 200)
    try pool.rekey(to: .passphrase("new"))
    #expect(throws: SQLError.keyChanged(file: path)) { try other.value("SELECT count(*) FROM t") }
    #expect(throws: SQLError.keyChanged(file: path)) { try other.execute("INSERT INTO t VALUES (1)") }
  }

  @Test func `a page that is damaged during the verification of a rekey is reported`() throws {
    let connection = try Connection.open(path, key: .passphrase("old"))
    try connection.execute("INSERT INTO t SELECT zeroblob(3000) FROM t, (SELECT 1 FROM t LIMIT 15)")
    try connection.checkpoint(.truncate)
    let pages = Int(try connection.value("PRAGMA page_count")?.int64 ?? 0)
    let size = 4096
    #expect(pages > 1024)
    var (isDamaged, last) = (false, 0)
    let folder = folder
    #expect(throws: SQLError.rekeyDamaged(file: path, pages: [pages])) {
      try connection.rekey(to: .passphrase("new")) { done, total in
        #expect(total == pages * 2 && done >= last, "progress does not go back")
        last = done
        // The first pages are verified. Once the log is copied, nothing would repair the last page.
        guard done > pages, !isDamaged else { return }
        let deadline = Date(timeIntervalSinceNow: 300)
        while (try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int) ?? 0 > 0 {
          try #require(Date() < deadline, "the log was not copied")
          usleep(1000)
        }
        #expect(throws: Never.self) { try folder.flip("a.store", at: (pages - 1) * size + 100) }
        isDamaged = true
      }
    }
    #expect(isDamaged)
  }

  @Test func `invalid new keys are refused and nothing changes`() throws {
    let pool = try pool(.passphrase("old"))
    #expect(throws: SQLError.emptyKey) { try pool.rekey(to: .passphrase("")) }
    #expect(throws: SQLError.keyLength(expected: 32, found: 3)) { try pool.rekey(to: .raw([1, 2, 3])) }
    #expect(try pool.withReader { try $0.value("SELECT count(*) FROM t") } == 200)
  }
}
