// Obstacles to a rekey are reported before anything is changed: the engine itself reports success and
// changes nothing.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct Rewritable {
  let folder: TemporaryFolder
  let path: String
  static let modes: [Connection.JournalMode] = [.wal, .delete]

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  /// Creates a store of about a hundred pages.
  private func create(_ mode: Connection.JournalMode) throws {
    _ = try Connection.create(path, key: childKeys.first) {
      try $0.executeScript(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        INSERT INTO t SELECT i, zeroblob(4000) FROM n;
        """)
    }
    try Connection.open(path, key: childKeys.first).setJournalMode(mode)
  }

  private func opens(_ key: Key) -> Bool { (try? Connection.open(path, key: key)) != nil }

  @Test(arguments: modes)
  func `a rekey of a damaged file names the page and leaves the file unchanged`(
    _ mode: Connection.JournalMode
  ) throws {
    try create(mode)
    try folder.flip("a.store", at: 48 * 4096 + 1000)
    let before = try folder.bytes("a.store")
    let connection = try Connection.open(path, key: childKeys.first)
    #expect(throws: SQLError.corrupted(file: path, pages: [49])) {
      try connection.rekey(to: childKeys.second)
    }
    connection.close()
    #expect(try folder.bytes("a.store") == before)
    #expect(opens(childKeys.first) && !opens(childKeys.second))
  }

  @Test func `a pool whose file is damaged stays usable under its key`() async throws {
    try create(.wal)
    try folder.flip("a.store", at: 48 * 4096 + 1000)
    let pool = try ConnectionPool(path: path, key: childKeys.first)
    #expect(throws: SQLError.corrupted(file: path, pages: [49])) { try pool.rekey(to: childKeys.second) }
    try await pool.write { _ = try $0.execute("UPDATE t SET x = 7 WHERE id = 1") }
    #expect(try await pool.read { try $0.value("SELECT x FROM t WHERE id = 1") } == 7)
    pool.close()
    #expect(opens(childKeys.first) && !opens(childKeys.second))
  }

  @Test func `a damaged page with a newer version in the log does not prevent a rekey`() throws {
    try create(.wal)
    let (connection, other) = (
      try Connection.open(path, key: childKeys.first), try Connection.open(path, key: childKeys.first)
    )
    try connection.execute("UPDATE t SET x = randomblob(4000)")
    try folder.flip("a.store", at: 48 * 4096 + 1000)
    try connection.rekey(to: childKeys.second)
    other.close()
    connection.close()
    let opened = try Connection.open(path, key: childKeys.second)
    #expect(try opened.value("SELECT count(*) FROM t WHERE length(x) = 4000") == 100)
    #expect(opened.auditPages().isEmpty)
  }

  @Test(arguments: modes)
  func `a rekey keeps the user version of the file, though it writes it once more`(
    _ mode: Connection.JournalMode
  ) throws {
    try create(mode)
    let connection = try Connection.open(path, key: childKeys.first)
    try connection.setUserVersion(-7)
    try connection.rekey(to: childKeys.second)
    #expect(try connection.userVersion() == -7)
  }
}
