// Hooks, traces and the authorizer with rows that are handed over or fed within one statement: they see
// every row.

import CipherSQLite
import TestSupport
import Testing

@Suite struct WatchedRows {
  let database: TemporaryDatabase
  var connection: Connection { database.connection }

  init() throws {
    database = try TemporaryDatabase(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b);
      INSERT INTO t VALUES (1, 'one', 7), (2, 'two', 8), (3, 'three', 9);
      """)
  }

  private final class Keeper: RowReceiver {
    let columnCount = 2
    var rows: [[Int64]] = []

    func take(_ row: borrowing TakenRow) throws { rows.append([row.int64(0), row.int64(1)]) }
  }

  /// Owns the draft of a row of one integer.
  private final class Owner {
    var draft = RowDraft(slotCount: 1)

    init(_ value: Int64) {
      let fits = draft.set(.integer(value), 0)
      #expect(fits)
    }
  }

  private func handOver(_ sql: String, to keeper: Keeper) throws {
    try connection.deliverRows(to: keeper) {
      try connection.withStatement(sql: sql) { statement in while try statement.step() {} }
    }
  }

  /// Inserts rows of these ids; each value is ten times its id.
  private func feed(_ ids: ClosedRange<Int64>) throws {
    let owners = ids.map { Owner($0 * 10) }
    let feed = RowFeed(slots: [0], capacity: owners.count)
    for (id, owner) in zip(ids, owners) { feed.append(id, owner.draft, replace: { $0 }) }
    defer { withExtendedLifetime(owners) {} }
    try connection.run(feed, from: 0, sql: "INSERT OR FAIL INTO t(id, a) SELECT * FROM vault_feed_2")
  }

  private static let fetches = [
    "SELECT vault_take(id, b) FROM t", "SELECT vault_place(id, b) FROM t ORDER BY a",
  ]

  @Test(arguments: fetches)
  func `a fetch of a column that may not be read fails before a row is handed over`(_ sql: String) throws {
    let keeper = Keeper()
    #expect {
      try connection.withAuthorizer {
        $0 == .read(table: "t", column: "b") ? .deny : .allow
      } body: {
        try handOver(sql, to: keeper)
      }
    } throws: { "\($0)".contains("access to t.b is prohibited") }
    #expect(keeper.rows.isEmpty)
    try handOver(sql, to: keeper)
    #expect(keeper.rows.sorted { $0[0] < $1[0] } == [[1, 7], [2, 8], [3, 9]])
  }

  @Test(arguments: fetches)
  func `an ignored column is handed over as NULL`(_ sql: String) throws {
    let keeper = Keeper()
    try connection.withAuthorizer {
      $0 == .read(table: "t", column: "b") ? .ignore : .allow
    } body: {
      try handOver(sql, to: keeper)
    }
    // NULL is 0 as an integer.
    #expect(keeper.rows.sorted { $0[0] < $1[0] } == [[1, 0], [2, 0], [3, 0]])
  }

  @Test func `the authorizer sees fed rows as an insertion, and denying it writes none of them`() throws {
    var seen: Set<AuthorizerAction> = []
    #expect(throws: SQLError.self) {
      try connection.withAuthorizer {
        seen.insert($0)
        return $0 == .insert(table: "t") ? .deny : .allow
      } body: {
        try feed(10...19)
      }
    }
    #expect(seen.contains(.insert(table: "t")))
    #expect(try connection.value("SELECT count(*) FROM t", as: Int.self) == 3)
    try feed(10...19)
    #expect(try connection.value("SELECT count(*) FROM t", as: Int.self) == 13)
  }

  @Test func `onChange reports each fed row, and onStatement reports their statement once`() throws {
    var (changes, events): ([RowChange], [TraceEvent]) = ([], [])
    connection.onChange { changes.append($0) }
    connection.onStatement { events.append($0) }
    try feed(10...59)
    connection.onChange(nil)
    connection.onStatement(nil)
    #expect(changes.map(\.rowID) == Array(10...59))
    #expect(changes.allSatisfy { $0.kind == .insert && $0.table == "t" })
    #expect(connection.changes == 50)
    #expect(events.map(\.sql) == ["INSERT OR FAIL INTO t(id, a) SELECT * FROM vault_feed_2"])
  }

  @Test func `onStatement reports a fetch as the statement that ran`() throws {
    var events: [TraceEvent] = []
    connection.onStatement { events.append($0) }
    for sql in Self.fetches { try handOver(sql, to: Keeper()) }
    connection.onStatement(nil)
    #expect(events.map(\.sql) == Self.fetches)
  }
}
