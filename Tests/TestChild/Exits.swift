// A process that exits while its stores are at work.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

/// Reads, writes and opens stores in threads of its own, and exits in the middle of the work.
func exitAtWork(_ path: String) throws -> Never {
  _ = try Connection.create(path, key: childKeys.first) { try $0.execute("CREATE TABLE t(x)") }
  for _ in 0..<4 {
    Thread.detachNewThread {
      // Errors are ignored: they include the locks of the other threads.
      while true {
        guard let connection = try? Connection.open(path, key: childKeys.first) else { continue }
        _ = try? connection.execute("INSERT INTO t VALUES (randomblob(20000))")
        _ = try? connection.value("SELECT sum(length(x)) FROM t")
        _ = sha256([UInt8](repeating: 1, count: 10_000))
        _ = try? SecureBytes.random(count: 32)
      }
    }
  }
  usleep(.random(in: 20_000...60_000))
  exit(0)
}
