// Rows that a statement hands to a receiver while it runs: they equal those that stepping returns.

import CipherSQLite
import TestSupport
import Testing

@Suite struct HandedRows {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a, b);
      INSERT INTO t VALUES (1, NULL, 7), (2, 3.0, -9223372036854775808), (3, '', x''), (4, 'a' || char(0) || 'b', x'00ff'),
        (5, hex(zeroblob(40000)), randomblob(200000)), (6, '7', 'Grüße 🎈'), (7, 9e999, 1e-300);
      """)
  }

  /// Stores the rows that it receives, packed as rows of objects are.
  final class Keeper: RowReceiver {
    let columnCount: Int
    var packer = RowPacker(firstPageBytes: 64)
    var pages: [RowPage] = []
    var rows: [[SQLValue]] = []
    var ids: [Int64] = []
    /// Called with the number of each row before it is taken.
    var before: (Int) throws -> Void = { _ in }

    init(columnCount: Int = 3) { self.columnCount = columnCount }

    func take(_ row: borrowing TakenRow) throws {
      try before(ids.count)
      ids.append(row.int64(0))
      let slots = Array(0..<columnCount)
      let cells = try packer.pack(row, firstColumn: 0, slots: slots, slotCount: columnCount)
      pages.append(packer.page)
      rows.append(slots.map { RowCell(row: cells, slot: $0).value })
    }
  }

  private func run(_ keeper: Keeper, _ sql: String) throws -> [Int64] {
    try connection.deliverRows(to: keeper) {
      try connection.withStatement(sql: sql) { statement in
        var results: [Int64] = []
        while try statement.step() { results.append(statement.int64(0)) }
        return results
      }
    }
  }

  @Test func `each value of each type equals the one that a step returns`() throws {
    let keeper = Keeper()
    _ = try run(keeper, "SELECT vault_take(id, a, b) FROM t")
    #expect(try keeper.rows == connection.rows("SELECT id, a, b FROM t"))
    #expect(keeper.ids == Array(1...7))
  }

  @Test func `a sorted statement returns the numbers under which its rows were handed over`() throws {
    let keeper = Keeper()
    let numbers = try run(keeper, "SELECT vault_place(id, a, b) FROM t ORDER BY b DESC, id")
    let sorted = try connection.query("SELECT id FROM t ORDER BY b DESC, id") { $0.int64(0) }
    #expect(numbers.map { keeper.ids[Int($0)] } == sorted && sorted != keeper.ids)
  }

  @Test func `a statement without rows hands over none`() throws {
    let keeper = Keeper()
    _ = try run(keeper, "SELECT vault_take(id, a, b) FROM t WHERE id > 100")
    #expect(keeper.rows.isEmpty)
  }

  private struct Refusal: Error, Equatable { let row: Int }

  @Test(arguments: [
    "SELECT vault_take(id, a, b) FROM t", "SELECT vault_place(id, a, b) FROM t ORDER BY b",
  ])
  func `an error of the receiver ends the statement and is thrown unchanged`(_ sql: String) throws {
    let keeper = Keeper()
    keeper.before = { if $0 == 2 { throw Refusal(row: $0) } }
    #expect(throws: Refusal(row: 2)) { try run(keeper, sql) }
    #expect(keeper.ids.count == 2)
    // The connection and the statement can be used again.
    let next = Keeper()
    _ = try run(next, sql)
    #expect(next.ids.count == 7)
  }

  @Test func `an error of the engine is thrown unchanged`() throws {
    #expect {
      try run(Keeper(), "SELECT vault_take(id, a, abs(-9223372036854775807 - 1)) FROM t")
    } throws: { error in
      "\(error)".contains("integer overflow")
    }
  }

  @Test func `a statement that hands over rows can be interrupted`() throws {
    let keeper = Keeper(columnCount: 1)
    let interruptor = connection.interruptor
    keeper.before = { if $0 == 1000 { interruptor.interrupt() } }
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000)"
    #expect(throws: SQLError.interrupted) { try run(keeper, numbers + " SELECT vault_take(i) FROM n") }
    #expect(keeper.ids.count > 1000 && keeper.ids.count < 100_000)
    #expect(try connection.value("SELECT count(*) FROM t", as: Int.self) == 7)
  }

  @Test func `a receiver may run other statements, and hand rows to another receiver`() throws {
    let (outer, inner) = (Keeper(), Keeper())
    outer.before = { number in
      if number == 3 { _ = try run(inner, "SELECT vault_take(id, a, b) FROM t WHERE id < 3") }
    }
    _ = try run(outer, "SELECT vault_take(id, a, b) FROM t")
    #expect(outer.ids == Array(1...7) && inner.ids == [1, 2])
  }

  @Test func `the functions fail outside of a fetch and with another number of columns`() throws {
    _ = try run(Keeper(), "SELECT vault_take(id, a, b) FROM t")
    for sql in [
      "SELECT vault_take(id, a, b) FROM t", "SELECT vault_place(id) FROM t",
    ] {
      #expect { try connection.rows(sql: sql) } throws: { "\($0)".contains("only fetches may call") }
    }
    // The number of columns differs from the expected one.
    for sql in [
      "SELECT vault_take() FROM t", "SELECT vault_take(id, a, b, 4) FROM t", "SELECT vault_place(id) FROM t",
    ] {
      #expect { try run(Keeper(), sql) } throws: { "\($0)".contains("only fetches may call") }
    }
  }

  @Test func `a row with the largest number of columns is received`() throws {
    let limit = RowFunction.columnLimit
    let columns = (1...limit).map { "id + \($0)" }.joined(separator: ", ")
    let keeper = Keeper(columnCount: limit)
    _ = try run(keeper, "SELECT vault_take(\(columns)) FROM t")
    #expect(keeper.rows.first == (1...limit).map { .integer(Int64($0 + 1)) })
  }
}
