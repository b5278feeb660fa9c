// Tables of more columns than a statement takes parameters, and of as many as the engine allows: their rows go into other
// files as those of any table. The witness is what went in.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct WideTables {
  private let folder: TemporaryFolder
  private var path: String { folder.path("a.store") }
  private var out: String { folder.path("out.store") }

  init() throws { folder = try TemporaryFolder() }

  /// The parameters of a statement on the older engine with the row's id among them, one more, and the most columns of a table.
  static let counts = [998, 999, 1000, 1999, 2000]

  /// A value of column `index` in a row: each storage class, a text that is no UTF-8, nothing.
  private static func value(_ index: Int, _ row: Int) -> String {
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
    // A key without NULL, by which the table may be sorted.
    let columns = (["c0 INTEGER NOT NULL"] + names.dropFirst()).joined(separator: ", ")
    _ = try Connection.create(path, key: testKey) { connection in
      try connection.executeScript("CREATE TABLE t(\(columns)\(tail))")
      for row in 1...3 {
        let values = (["\(row * 7)"] + (1..<count).map { Self.value($0, row) }).joined(separator: ", ")
        try connection.executeScript("INSERT INTO t VALUES (\(values))")
      }
      // Ids that no column holds, and that are not 1, 2, 3.
      if tail.isEmpty { try connection.executeScript("DELETE FROM t WHERE c0 = 7") }
    }
  }

  /// Every value of the rows with its type, as the engine writes both: a column at a time, as no query has all of them.
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
  func `a wide table is copied under other settings`(_ count: Int) throws {
    try make(count)
    let original = try Connection.open(path, key: testKey)
    try original.copy(to: out, key: .passphrase("pony"))
    original.close()
    try check(try Connection.open(out, key: .passphrase("pony")), count, hasIDs: true)
  }

  @Test(arguments: counts)
  func `a wide table is exported and encrypted again`(_ count: Int) throws {
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

  @Test func `a wide table whose rows have no ids is copied`() throws {
    try make(1200, ", PRIMARY KEY (c0)) WITHOUT ROWID --")
    let original = try Connection.open(path, key: testKey)
    try original.copy(to: out, key: testKey)
    original.close()
    try check(try Connection.open(out, key: testKey), 1200, hasIDs: false)
  }

  @Test func `a wide table is given other settings in place`() throws {
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
