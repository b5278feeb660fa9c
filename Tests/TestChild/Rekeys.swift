// Changes of the key under conditions that would harm the other tests of a process.

import CipherSQLite
import Foundation
import TestSupport

/// Changes the key back and forth by a single connection, in the journal mode of the file, until the process
/// is killed.
func rekeyAlone(_ path: String) throws {
  let keys = [childKeys.first, childKeys.second]
  var index = (try? Connection.open(path, key: keys[0])) == nil ? 1 : 0
  let connection = try Connection.open(path, key: keys[index])
  acknowledge("begin")
  for _ in 0..<1_000_000 {
    index = 1 - index
    try connection.rekey(to: keys[index])
    acknowledge("rekeyed")
  }
}

/// Changes the key while no file may grow beyond a share of the store's size, as on a full disk, by a
/// connection and a pool in turn. Prints a line for each attempt: whether it threw, which keys open the file
/// afterwards, and whether the connection or the pool still reads and writes.
func rekeyOnFullDisk(_ path: String) throws {
  // Otherwise the first write beyond the limit would kill the process.
  signal(SIGXFSZ, SIG_IGN)
  let keys = [childKeys.first, childKeys.second]
  for attempt in 0..<40 {
    let current = (try? Connection.open(path, key: keys[0])) == nil ? 1 : 0
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    let limit = size * (attempt / 2 + 1) / 10
    var outcome = "rekeyed"
    var proceeds = true
    if attempt.isMultiple(of: 2) {
      let connection = try Connection.open(path, key: keys[current])
      limitFiles(to: limit)
      do { try connection.rekey(to: keys[1 - current]) } catch is SQLError {
        outcome = "failed"
      }
      limitFiles(to: nil)
      do { try connection.execute("UPDATE t SET id = id WHERE id < 50") } catch SQLError.closed {
        // The documented state after an error.
        proceeds = outcome == "failed"
      } catch { proceeds = false }
      connection.close()
    } else {
      let pool = try ConnectionPool(path: path, key: keys[current])
      limitFiles(to: limit)
      do { try pool.rekey(to: keys[1 - current]) } catch is SQLError {
        outcome = "failed"
      }
      limitFiles(to: nil)
      do {
        try pool.withWriter { _ = try $0.execute("UPDATE t SET id = id WHERE id < 50") }
        proceeds = try pool.withReader { try $0.value("SELECT count(*) FROM t") } == 5000
      } catch { proceeds = false }
      pool.close()
    }
    let opening = keys.indices.filter { (try? Connection.open(path, key: keys[$0])) != nil }
    let found = opening.map { $0 == current ? "old" : "new" }.joined(separator: "+")
    acknowledge("\(outcome) \(found) \(proceeds ? "goes on" : "is of no use")")
  }
}

func limitFiles(to bytes: Int?) {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
  limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
  setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
}
