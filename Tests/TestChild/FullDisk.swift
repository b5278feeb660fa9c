// All kinds of writes while no file may grow beyond a limit, as on a full disk.

import CipherSQLite
import Foundation
import TestSupport

/// Creates, saves, restores and changes slots under limits from no space to all the space that is needed.
/// Prints a line for each outcome, `NAME done` or `NAME full`, and another line if the state afterwards is
/// neither the former nor the requested one.
func workOnFullDisk(_ path: String) throws {
  // Otherwise the first write beyond the limit would kill the process.
  signal(SIGXFSZ, SIG_IGN)
  for attempt in 0...39 {
    let limit = attempt * 8192
    let new = path + ".new"
    try report("create", limit) {
      _ = try Connection.create(new, key: childKeys.first) { connection in
        try connection.executeScript("CREATE TABLE t(x)")
        for _ in 0..<30 { try connection.execute("INSERT INTO t VALUES (zeroblob(4000))") }
      }
    } isDone: {
      guard FileManager.default.fileExists(atPath: new) else { return false }
      return try Connection.open(new, key: childKeys.first).value("SELECT count(*) FROM t") == 30
    }
    for suffix in [""] + DatabasePath.companionSuffixes { unlink(new + suffix) }

    let before = try count(path)
    let connection = try Connection.open(path, key: childKeys.first)
    try report("save", limit) {
      try connection.transaction {
        for _ in 0..<30 { try connection.execute("INSERT INTO t VALUES (zeroblob(4000))") }
      }
    } isDone: {
      connection.close()
      let found = try count(path)
      guard found == before || found == before + 30 else { throw SQLError.corrupted(file: path, pages: []) }
      return found > before
    }

    // A row that the backup does not have.
    try Connection.open(path, key: childKeys.first).execute("INSERT INTO t VALUES (1)")
    try report("restore", limit) {
      try Connection.restore(path + ".backup", to: path, key: childKeys.first, replacesExisting: true)
    } isDone: {
      try count(path) == 30
    }

    let keys = try KeyFile.open(at: path + ".keys", unlock: childKeys.token)
    try report("slots", attempt * 40) {
      try keys.addSlot("slot \(attempt)", unlock: .rawKey([UInt8](repeating: 9, count: 32)))
    } isDone: {
      _ = try KeyFile.open(at: path + ".keys", unlock: childKeys.token)
      return try KeyFile.slots(at: path + ".keys").contains { $0.name == "slot \(attempt)" }
    }
  }
}

private func count(_ path: String) throws -> Int64 {
  try Connection.open(path, key: childKeys.first).value("SELECT count(*) FROM t")?.int64 ?? -1
}

private func report(
  _ name: String, _ limit: Int, _ body: () throws -> Void, isDone: () throws -> Bool
) throws {
  limitFiles(to: limit)
  var outcome = "done"
  do { try body() } catch SQLError.diskFull { outcome = "full" } catch { outcome = "error \(error)" }
  limitFiles(to: nil)
  let state = try isDone() ? "done" : "full"
  acknowledge(state == outcome ? "\(name) \(outcome)" : "\(name) at \(limit): \(outcome), but \(state)")
}
