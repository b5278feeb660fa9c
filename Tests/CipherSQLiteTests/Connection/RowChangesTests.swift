// New values for existing rows, which one statement reads from memory.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct FedRowChanges {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER NOT NULL, a UNIQUE, b NOT NULL);
      INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT i, 7, -i, i FROM n;
      """)
  }

  static let id = SQLName("id")
  static let update: String =
    ("""
  UPDATE OR FAIL t SET b = \(RowChanges.value(1, id: id)), v = v + 1, a = \(RowChanges.value(0, id: id)) \
  WHERE id BETWEEN ? AND ? AND v = \(RowChanges.version(id: id))
  """ as SQL).text

  /// Owns the draft of a row.
  private final class Owner {
    var draft: RowDraft

    init(_ values: [SQLValue]) {
      draft = RowDraft(slotCount: values.count)
      for (slot, value) in values.enumerated() {
        let fits = draft.set(value, slot)
        #expect(fits)
      }
    }
  }

  /// Sets a text and an integer of some rows, both computed from the id.
  private func run(
    _ ids: [Int64], from start: Int = 0, sql: String = update, versions: (Int64) -> Int64 = { _ in 7 },
    text: (Int64) -> SQLValue = { .text("a\($0)") }
  ) throws -> Int? {
    let owners = ids.map { Owner([.text("not asked for"), .integer($0 * 2), text($0)]) }
    let changes = RowChanges(slots: [2, 1], capacity: ids.count)
    for (id, owner) in zip(ids, owners) { changes.append(id, version: versions(id), owner.draft) }
    defer { withExtendedLifetime(owners) {} }
    let missed = try connection.run(changes, from: start, sql: sql)
    if missed == nil { #expect(changes.position == ids.count) }
    return missed
  }

  static let spreads: [[Int64]] = [
    Array(1...1000), [1], [1000], [], Array(stride(from: 1, through: 1000, by: 3)),
    Array(stride(from: 2, through: 1000, by: 4)), [1, 2, 3, 500, 503, 504, 999], [7, 11, 900],
  ]

  @Test(arguments: spreads)
  func `each row gets its new values, and no other row changes`(_ ids: [Int64]) throws {
    #expect(try run(ids) == nil)
    let rows = try connection.rows(
      "SELECT id, v, a, b FROM t WHERE v <> 7 OR typeof(a) <> 'integer' ORDER BY id")
    #expect(rows == ids.map { [.integer($0), .integer(8), .text("a\($0)"), .integer($0 * 2)] })
  }

  @Test(arguments: spreads.filter { $0.count > 1 })
  func `a row that is deleted or has another version is reported, wherever it is in the batch`(_ ids: [Int64])
    throws
  {
    for place in [0, ids.count / 2, ids.count - 1] {
      try connection.transaction {
        try connection.execute("SAVEPOINT before")
        #expect(try run(ids, versions: { $0 == ids[place] ? 6 : 7 }) == place)
        try connection.execute("ROLLBACK TO before")
        try connection.execute("DELETE FROM t WHERE id = \(ids[place])")
        #expect(try run(ids) == place)
        try connection.execute("ROLLBACK TO before")
      }
    }
  }

  @Test func `a failing row throws, but a missing row before it is reported first`() throws {
    let ids = Array<Int64>(1...1000)
    func takenAt(_ place: Int64) -> (Int64) -> SQLValue { { $0 == place ? .integer(-900) : .text("a\($0)") } }
    try connection.transaction {
      try connection.execute("SAVEPOINT before")
      #expect {
        _ = try run(ids, text: takenAt(400))
      } throws: {
        "\($0)".contains("UNIQUE constraint failed: t.a")
      }
      // The rows before the failing one are written; the failing one and those after it are not. A run can
      // continue after it.
      #expect(try connection.value("SELECT count(*) FROM t WHERE v = 8", as: Int.self) == 399)
      #expect(try run(ids, from: 400) == nil)
      #expect(try connection.value("SELECT count(*) FROM t WHERE v = 8", as: Int.self) == 999)
      try connection.execute("ROLLBACK TO before")
      #expect(try run(ids, versions: { $0 == 300 ? 1 : 7 }, text: takenAt(400)) == 299)
    }
  }

  @Test func `rows that the engine collects before it changes them are changed as well`() throws {
    // With a trigger both engines collect the rows in a first pass and change them in a second one.
    try connection.execute("CREATE TABLE log(id)")
    try connection.execute(
      "CREATE TRIGGER seen AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.id); END")
    let ids = Array(stride(from: 1, through: 1000, by: 2)).map { Int64($0) }
    #expect(try run(ids) == nil)
    #expect(
      try connection.rows("SELECT id, a FROM t WHERE v = 8 ORDER BY id")
        == ids.map { [.integer($0), .text("a\($0)")] })
    #expect(try connection.value("SELECT count(*) FROM log", as: Int.self) == ids.count)
  }

  @Test func `the functions return the values of the given id, in whatever order they are called`() throws {
    let (version, value) = (RowChanges.version(id: Self.id), RowChanges.value(0, id: Self.id))
    let backwards: SQL =
      "INSERT INTO seen SELECT id, \(version), \(value) FROM t WHERE id BETWEEN ? AND ? ORDER BY id * 7919 % 1000"
    try connection.execute("CREATE TABLE seen(id, v, a)")
    _ = try run([5, 6, 8], sql: backwards.text)
    #expect(
      try connection.rows("SELECT * FROM seen ORDER BY id") == [
        [.integer(5), .integer(7), .text("a5")], [.integer(6), .integer(7), .text("a6")],
        [.integer(7), .null, .null], [.integer(8), .integer(7), .text("a8")],
      ])
  }

  @Test func `onChange reports each changed row, and the functions return NULL outside of a run`() throws {
    var told: [RowChange] = []
    connection.onChange { told.append($0) }
    _ = try run([4, 9])
    connection.onChange(nil)
    #expect(told.map(\.rowID) == [4, 9] && told.allSatisfy { $0.kind == .update && $0.table == "t" })
    #expect(try connection.rows("SELECT vault_version(4), vault_value(4, 0)") == [[.null, .null]])
  }

  @Test func `a run of row changes can be interrupted, and is rolled back`() throws {
    let interruptor = connection.interruptor
    connection.onChange { if $0.rowID == 500 { interruptor.interrupt() } }
    #expect(throws: SQLError.interrupted) { _ = try run(Array(1...1000)) }
    connection.onChange(nil)
    #expect(try connection.value("SELECT count(*) FROM t WHERE v = 8", as: Int.self) == 0)
  }
}
