// Rows that a statement reads from memory.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct RowFeeds {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b NOT NULL);")
  }

  static let insertion = "INSERT OR FAIL INTO t(id, a, b) SELECT * FROM vault_feed_3"

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

  private let owners = Owners()

  /// Retains the drafts until the test ends.
  private final class Owners {
    var all: [Owner] = []
  }

  private func append(_ id: Int64, _ values: [SQLValue], to feed: RowFeed) {
    let owner = Owner(values)
    owners.all.append(owner)
    feed.append(id, owner.draft, replace: { $0 * -10 })
  }

  /// A feed whose rows have the values of slots 2 and 0, in this order.
  private func feed(_ rows: [(id: Int64, a: SQLValue, b: SQLValue)]) -> RowFeed {
    let feed = RowFeed(slots: [2, 0], capacity: rows.count)
    for row in rows { append(row.id, [row.b, .text("not asked for"), row.a], to: feed) }
    return feed
  }

  private static let values: [SQLValue] = [
    .null, .integer(.min), .integer(0), .real(3.0), .real(-0.1), .text(""), .text("a\0b"), .text("Grüße 🎈"),
    .text(String(repeating: "long ", count: 50_000)), .blob(Data()), .blob(Data([0, 255])),
    .blob(Data(repeating: 7, count: 100_000)), .text("7"),
  ]

  @Test func `each value of each type is stored unchanged`() throws {
    let rows = Self.values.enumerated().map { (id: Int64($0 * 3 - 5), a: $1, b: SQLValue.integer(Int64($0))) }
    try connection.run(feed(rows), from: 0, sql: Self.insertion)
    #expect(
      try connection.rows("SELECT id, a, b FROM t ORDER BY b") == rows.map { [.integer($0.id), $0.a, $0.b] })
    #expect(connection.changes == rows.count)
  }

  @Test func `a replaced slot gets other integers, and keeps values of other types`() throws {
    let feed = RowFeed(slots: [0, 1], replacing: [1], capacity: 1)
    append(1, [.integer(-3), .integer(-4)], to: feed)
    // Only integers are replaced.
    append(2, [.integer(-5), .text("-6")], to: feed)
    append(3, [.integer(-7), .integer(-8)], to: feed)
    try connection.run(feed, from: 0, sql: Self.insertion)
    #expect(
      try connection.rows("SELECT a, b FROM t") == [
        [.integer(-3), .integer(40)], [.integer(-5), .text("-6")], [.integer(-7), .integer(80)],
      ])
  }

  @Test func `a feed of ids is a table of one column, also if feeds are nested`() throws {
    try connection.run(
      feed((1...9).map { (Int64($0), .integer(Int64($0)), .integer(1)) }), from: 0, sql: Self.insertion)
    let join = "SELECT t.id FROM vault_feed_1 f CROSS JOIN t ON t.id = f.c0"
    let found = try connection.lend(RowFeed(ids: [7, 2, 40, 3])) {
      let inner = try connection.lend(RowFeed(ids: [5])) { try connection.rows(sql: join) }
      #expect(inner == [[.integer(5)]])
      return try connection.rows(sql: join)
    }
    #expect(found == [[.integer(7)], [.integer(2)], [.integer(3)]])
    // Each scan starts from the beginning, also if the feed is the inner loop of a join.
    let counts = try connection.lend(RowFeed(ids: [1, 2])) {
      try connection.rows(sql: "SELECT t.id, f.c0 FROM t CROSS JOIN vault_feed_1 f WHERE t.id > 7")
    }
    #expect(counts.count == 4)
    #expect(try connection.rows(sql: join).isEmpty)
  }

  @Test func `a feed reports the row that failed, and can continue after it`() throws {
    var rows = (1...1000).map { (id: Int64($0), a: SQLValue.integer(Int64($0)), b: SQLValue.integer(1)) }
    rows[400].a = .integer(7)
    rows[700].b = .null
    let feed = feed(rows)
    try connection.transaction {
      #expect { try connection.run(feed, from: 0, sql: Self.insertion) } throws: {
        "\($0)".contains("UNIQUE constraint failed: t.a")
      }
      #expect(feed.position == 400)
      #expect { try connection.run(feed, from: 401, sql: Self.insertion) } throws: {
        "\($0)".contains("NOT NULL constraint failed: t.b")
      }
      #expect(feed.position == 700)
      try connection.run(feed, from: 701, sql: Self.insertion)
      #expect(feed.position == 1000)
    }
    #expect(try connection.value("SELECT count(*) FROM t", as: Int.self) == 998)
  }

  @Test func `without a feed its table is empty, and SQL can neither create nor fill such a table`() throws {
    try connection.run(feed([(1, .null, .integer(1))]), from: 0, sql: Self.insertion)
    #expect(try connection.rows("SELECT * FROM vault_feed_3").isEmpty)
    #expect(throws: SQLError.self) { try connection.execute("CREATE VIRTUAL TABLE v USING vault_feed_3") }
    #expect(throws: SQLError.self) { try connection.execute("INSERT INTO vault_feed_3 VALUES (1, 2, 3)") }
  }

  @Test func `an insertion from a feed can be interrupted, and is rolled back`() throws {
    let rows = (1...100_000).map { (id: Int64($0), a: SQLValue.null, b: SQLValue.integer(1)) }
    let (feed, interruptor) = (feed(rows), connection.interruptor)
    connection.onChange { if $0.rowID == 500 { interruptor.interrupt() } }
    #expect(throws: SQLError.interrupted) { try connection.run(feed, from: 0, sql: Self.insertion) }
    connection.onChange(nil)
    #expect(feed.position >= 499 && feed.position < 10_000)
    #expect(try connection.value("SELECT count(*) FROM t", as: Int.self) == 0)
  }

  @Test func `onChange reports each fed row`() throws {
    var told: [RowChange] = []
    connection.onChange { told.append($0) }
    try connection.run(
      feed([(4, .null, .integer(1)), (9, .null, .integer(2))]), from: 0, sql: Self.insertion)
    connection.onChange(nil)
    #expect(told.map(\.rowID) == [4, 9] && told.allSatisfy { $0.kind == .insert && $0.table == "t" })
  }

  @Test func `feeds of different widths can be used side by side`() throws {
    try connection.execute("CREATE TABLE wide(id INTEGER PRIMARY KEY, a, b, c)")
    let wide = RowFeed(slots: [0, 1, 2], capacity: 1)
    append(1, [.integer(1), .integer(2), .integer(3)], to: wide)
    for id in 1...3 {
      try connection.run(feed([(Int64(id), .null, .integer(1))]), from: 0, sql: Self.insertion)
    }
    try connection.run(wide, from: 0, sql: "INSERT INTO wide SELECT * FROM vault_feed_4")
    #expect(try connection.rows("SELECT a, b, c FROM wide") == [[.integer(1), .integer(2), .integer(3)]])
  }
}
