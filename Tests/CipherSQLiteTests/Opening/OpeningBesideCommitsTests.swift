// Opening a file with a rollback journal while others commit to it: they do not block each other.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct OpeningBesideCommits {
  @Test func `opening a file with a rollback journal does not block commits of other connections`()
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder.path("many.db")
    let key = Key.raw([UInt8](repeating: 7, count: 32))
    _ = try Connection.create(path, key: key) { try $0.execute("CREATE TABLE t (a INTEGER)") }
    var configuration = Connection.Configuration()
    // Far more than the commits take. A deadlock would last for the whole timeout.
    configuration.busyTimeout = 30
    let settings = configuration
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          try await onThread {
            for round in 0..<40 {
              let connection = try Connection.open(path, key: key, configuration: settings)
              defer { connection.close() }
              try connection.execute("INSERT INTO t VALUES (\(number * 1000 + round))")
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try Connection.open(path, key: key).value("SELECT count(*) FROM t")?.int64 == 160)
  }
}
