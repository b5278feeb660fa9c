// Creates or replaces whole files repeatedly, until the process is killed.

import CipherSQLite
import Foundation
import TestSupport

/// Repeats one operation on the store at `path`; its result goes to `path.out`.
func repeatCopies(_ mode: String, _ path: String) throws {
  let out = path + ".out"
  let connection = try Connection.open(path, key: childKeys.first)
  acknowledge("begin")
  for _ in 0..<1_000_000 {
    if mode != "restore" { unlink(out) }
    switch mode {
    case "encrypt": try Connection.encrypt(plaintext: path + ".plain", to: out, key: childKeys.first)
    case "export": try connection.exportPlaintext(to: out)
    case "backup": try connection.backup(to: out)
    default:
      try Connection.restore(path + ".backup", to: out, key: childKeys.first, replacesExisting: true)
    }
    acknowledge("made")
  }
}

/// Adds, renames, changes and removes a slot repeatedly.
func repeatSlotChanges(_ path: String) throws {
  let keys = try KeyFile.open(at: path, unlock: childKeys.token)
  let spare = KeyFile.Unlock.rawKey([UInt8](repeating: 0x33, count: 32))
  for name in try KeyFile.slots(at: path).map(\.name) where name != "token" { try keys.removeSlot(name) }
  acknowledge("begin")
  for _ in 0..<1_000_000 {
    try keys.addSlot("spare", unlock: spare)
    try keys.renameSlot("spare", to: "other")
    try keys.changeSlot("other", unlock: spare)
    try keys.removeSlot("other")
    acknowledge("changed")
  }
}

/// Moves one unit from an account to the other and counts the moves, for the given seconds.
/// - Returns: The moves that were committed.
@discardableResult
func moveBetweenAccounts(_ path: String, seconds: Double, moved: () -> Void = {}) throws -> Int {
  let pool = try ConnectionPool(path: path, key: childKeys.first)
  let end = Date().addingTimeInterval(seconds)
  var count = 0
  repeat {
    try pool.withWriter { connection in
      try connection.transaction {
        // Read and written back, so that a lost update is visible.
        let moves = try connection.value("SELECT moves FROM account WHERE id = 1")?.int64 ?? 0
        try connection.execute("UPDATE account SET amount = amount - 1, moves = \(moves + 1) WHERE id = 1")
        try connection.execute("UPDATE account SET amount = amount + 1 WHERE id = 2")
      }
    }
    count += 1
    moved()
  } while Date() < end
  return count
}

/// Reads both accounts for the given seconds.
/// - Returns: The number of reads, or nil if the sum was ever wrong.
func readAccounts(_ path: String, seconds: Double) throws -> Int? {
  let pool = try ConnectionPool(path: path, key: childKeys.first)
  let end = Date().addingTimeInterval(seconds)
  var count = 0
  repeat {
    guard try pool.withReader({ try $0.value("SELECT sum(amount) FROM account") }) == 2000 else { return nil }
    count += 1
  } while Date() < end
  return count
}
