// A journal that its writer truncates while the file is copied for an inspection.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct JournalRaces {
  private let folder: TemporaryFolder
  private var died: String { folder.path("died.store") }

  /// A store of 16 MB in the state before a transaction, and the journal of that transaction: the rows are
  /// the same with the journal and without it.
  init() throws {
    folder = try TemporaryFolder()
    let path = folder.path("a.store")
    _ = try Connection.create(path, key: testKey) { connection in
      try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x INTEGER, body BLOB)")
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
        INSERT INTO t SELECT i, 0, zeroblob(4000) FROM n
        """)
    }
    try FileManager.default.copyItem(atPath: path, toPath: died)
    var small = Connection.Configuration()
    small.cacheBytes = 64 << 10
    let writer = try Connection.open(path, key: testKey, configuration: small)
    try writer.begin()
    try writer.execute("UPDATE t SET x = 1, body = zeroblob(4001)")
    try FileManager.default.copyItem(atPath: path + "-journal", toPath: folder.path("journal"))
    writer.rollback()
  }

  /// Truncates the journal as soon as a copy of the file has begun.
  private func cutWhileCopying(_ isOver: @escaping @Sendable () -> Bool) throws -> ThreadWork<Bool> {
    let (journal, former, salt) = (died + "-journal", Self.copies(), try Self.salt(died))
    return ThreadWork {
      while !isOver() {
        for name in Self.copies().subtracting(former) {
          // Another process may make a copy of its own there.
          let path = NSTemporaryDirectory() + "/" + name + "/copy.store"
          if try Self.salt(path) == salt { return truncate(journal, 0) == 0 }
        }
      }
      return false
    }
  }

  /// The first bytes of a database, which are unique to it; nil if there are none yet.
  private static func salt(_ path: String) throws -> Data? {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }
    return try file.read(upToCount: 16).flatMap { $0.count == 16 ? $0 : nil }
  }

  private static func copies() -> Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory())) ?? []
    return Set(names.filter { $0.hasPrefix("vault-inspect-") })
  }

  @Test func `a journal that is truncated during the copy of an inspection is no error`() async throws {
    var wasCut = false
    for _ in 0..<5 {
      try? FileManager.default.removeItem(atPath: died + "-journal")
      try FileManager.default.copyItem(atPath: folder.path("journal"), toPath: died + "-journal")
      let isOver = Locked(false)
      let cutting = try cutWhileCopying { isOver.withLock { $0 } }
      let rows = Result {
        let inspection = try Inspection(path: died, key: testKey)
        return try inspection.connection.rows("SELECT DISTINCT x FROM t")
      }
      isOver.withLock { $0 = true }
      wasCut = try await cutting.value || wasCut
      #expect(try rows.get() == [[0]])
    }
    #expect(wasCut)
  }
}
