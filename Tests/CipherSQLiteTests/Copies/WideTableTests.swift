// Tables with more columns than a statement has parameters, up to the most columns that the engine allows.
// Copies and exports contain their rows. The inserted values are the witness.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct WideTables {
  private let folder: TemporaryFolder
  private var path: String { folder.path("a.store") }
  private var out: String { folder.path("out.store") }

  init() throws { folder = try TemporaryFolder() }

  /// Column counts around the 999 parameters of a statement on the older engine, of which the row id uses
  /// one, and around the largest number of columns of a table.
  static let counts = [998, 999, 1000, 1999, 2000]

  /// A value of a column in a row: each storage class, a text that is not UTF-8, or NULL.
  private static func value(column index: Int, row: Int) -> String {
    switch (index + row) % 6 {
    case 0: "\(index * 1000 + row)"
    case 1: "\(index).25"
    case 2: "'text \(row) 北京'"
    case 3: "x'00ff\(String(format: "%04x", index))'"
    case 4: "CAST(x'ff41' AS TEXT)"
    default: "NULL"
    }
  }

  private func make(_ count: Int, _ tail: String = "") throws {
    let names = (0..<count).map { "c\($0)" }
    // `c0` is not null, so that it can be a key and the sort order.
    let columns = (["c0 INTEGER NOT NULL"] + names.dropFirst()).joined(separator: ", ")
    _ = try Connection.create(path, key: testKey) { connection in
      try connection.executeScript("CREATE TABLE t(\(columns)\(tail))")
      for row in 1...3 {
        let values = (["\(row * 7)"] + (1..<count).map { Self.value(column: $0, row: row) }).joined(
          separator: ", ")
        try connection.executeScript("INSERT INTO t VALUES (\(values))")
      }
      // Row ids that are in no column, and that are not 1, 2, 3.
      if tail.isEmpty { try connection.executeScript("DELETE FROM t WHERE c0 = 7") }
    }
  }

  /// Every value with its type, as the engine writes both. Each query reads one column, as no query can have
  /// all.
  private func content(_ connection: Connection, _ count: Int, hasIDs: Bool) throws -> [[SQLValue]] {
    let ids = hasIDs ? try connection.rows("SELECT rowid FROM t ORDER BY c0") : []
    return try ids
      + (0..<count).flatMap { index in
        try connection.rows(sql: "SELECT typeof(c\(index)), quote(c\(index)) FROM t ORDER BY c0")
      }
  }

  private func check(_ copy: Connection, _ count: Int, hasIDs: Bool) throws {
    defer { copy.close() }
    let original = try Connection.open(path, key: testKey)
    defer { original.close() }
    #expect(try content(copy, count, hasIDs: hasIDs) == content(original, count, hasIDs: hasIDs))
    #expect(try copy.integrityErrors().isEmpty)
  }

  @Test(arguments: counts)
  func `a wide table is copied under another key`(_ count: Int) throws {
    try make(count)
    let original = try Connection.open(path, key: testKey)
    try original.copy(to: out, key: .passphrase("pony"))
    original.close()
    try check(try Connection.open(out, key: .passphrase("pony")), count, hasIDs: true)
  }

  @Test(arguments: counts)
  func `a wide table is exported in clear and encrypted again`(_ count: Int) throws {
    try make(count)
    let original = try Connection.open(path, key: testKey)
    try original.exportPlaintext(to: folder.path("plain.db"))
    original.close()
    if let cipherShell {
      let found = try runTool(
        cipherShell, [folder.path("plain.db")],
        input: "SELECT count(*), max(rowid), sum(typeof(c\(count - 1)) = 'null') FROM t;\n")
      #expect(found.output.hasPrefix("2|3|"), "\(found)")
    }
    try Connection.encrypt(plaintext: folder.path("plain.db"), to: out, key: testKey)
    try check(try Connection.open(out, key: testKey), count, hasIDs: true)
  }

  @Test func `a wide table without row ids is copied`() throws {
    try make(1200, ", PRIMARY KEY (c0)) WITHOUT ROWID --")
    let original = try Connection.open(path, key: testKey)
    try original.copy(to: out, key: testKey)
    original.close()
    try check(try Connection.open(out, key: testKey), 1200, hasIDs: false)
  }

  @Test func `a wide table is encrypted again in place under a new key`() throws {
    try make(1200)
    let before = try Connection.open(path, key: testKey)
    let rows = try content(before, 1200, hasIDs: true)
    before.close()
    _ = try Connection.upgradeCipher(path, key: testKey, newKey: .passphrase("pony"))
    let after = try Connection.open(path, key: .passphrase("pony"))
    defer { after.close() }
    #expect(try content(after, 1200, hasIDs: true) == rows)
  }
}
