// Lists in one parameter, which the engine reads as a table.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct ValueLists {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)")
    try connection.registerValueLists()
    // A second time, as a store does when it opens again after a migration.
    try connection.registerValueLists()
  }

  private func values(_ packed: Data) throws -> [SQLValue] {
    try connection.query(sql: "SELECT value FROM vault_list(?)", [.blob(packed)]) { $0.value(0) }
  }

  @Test func `the values come back as they were, in their order`() throws {
    let all: [SQLValue] = [
      .integer(0), .integer(.min), .integer(.max), .integer(-1), .real(0.5), .real(-.infinity), .real(1e300),
      .text(""), .text("a\0b"), .text("Grüße 🎈"), .blob(Data()), .blob(Data([0, 255])),
      .text(String(repeating: "x", count: 100_000)), .integer(7),
    ]
    #expect(try values(ValueList.packed(all)) == all)
    #expect(try values(ValueList.packed([])) == [])
    #expect(try values(ValueList.packed([.null, .integer(1), .null])) == [.integer(1)])
  }

  @Test func `many values are read, searched and aggregated`() throws {
    let numbers = (0..<50_000).map { SQLValue.integer(Int64($0 * 3)) }
    let packed = SQLValue.blob(ValueList.packed(numbers))
    #expect(try connection.value(sql: "SELECT count(*) FROM vault_list(?)", [packed])?.int64 == 50_000)
    #expect(
      try connection.value(sql: "SELECT sum(value) FROM vault_list(?)", [packed])?.int64 == 3 * 49_999
        * 25_000)
    for number in 0..<100 {
      try connection.execute(
        sql: "INSERT INTO t VALUES (?, ?)", [.integer(Int64(number)), .text("n\(number)")])
    }
    #expect(
      try connection.query(sql: "SELECT id FROM t WHERE id IN (SELECT value FROM vault_list(?))", [packed]) {
        $0.int64(0)
      }
        == stride(from: Int64(0), to: 100, by: 3).map { $0 })
    // The engine keeps the greatest text after the list was read.
    let texts = SQLValue.blob(ValueList.packed((0..<1000).map { .text("n\($0)") }))
    #expect(
      try connection.value(
        sql: "SELECT (SELECT max(value) FROM vault_list(?)) || (SELECT min(value) FROM vault_list(?))",
        [texts, texts])?
        .string == "n999n0")
    #expect(
      try connection.value(
        sql:
          "SELECT count(*) FROM t WHERE name IN (SELECT value FROM vault_list(?)) AND id IN (SELECT value FROM vault_list(?))",
        [texts, packed])?.int64 == 34)
    // Once for each row of another table.
    #expect(
      try connection.value(
        sql: "SELECT sum((SELECT count(*) FROM vault_list(?) l WHERE l.value = t.name)) FROM t", [texts])?
        .int64 == 100)
  }

  @Test func `bytes that are no list are read as far as they are one`() throws {
    let list = ValueList.packed([.integer(1), .text("abc"), .blob(Data([1, 2]))])
    for length in 0...list.count {
      let count = try values(list.prefix(length)).count
      #expect(count == (length < 9 ? 0 : length < 21 ? 1 : length < 32 ? 2 : 3))
    }
    #expect(try values(Data([9]) + Data(count: 8)) == [])
    #expect(try values(Data([3]) + Data(repeating: 255, count: 8)) == [])
    #expect(try values(Data([3]) + Data(repeating: 255, count: 7) + Data([127])) == [])
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      var bytes = Data(
        (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...5, using: &random) })
      if Bool.random(using: &random), !bytes.isEmpty { bytes[0] = .random(in: 0...255, using: &random) }
      let found = try values(bytes).count
      #expect(found <= bytes.count / 9)
    }
    for value in [SQLValue.null, .integer(5), .text("abc"), .real(1)] {
      #expect(try connection.query(sql: "SELECT value FROM vault_list(?)", [value]) { $0.value(0) } == [])
    }
    #expect(try connection.rows(sql: "SELECT * FROM vault_list").isEmpty)
  }

  @Test func `no statement can change the table or make one like it`() throws {
    #expect(throws: SQLError.self) { try connection.execute(sql: "INSERT INTO vault_list VALUES (1)") }
    #expect(throws: SQLError.self) { try connection.execute(sql: "CREATE VIRTUAL TABLE x USING vault_list") }
  }
}
