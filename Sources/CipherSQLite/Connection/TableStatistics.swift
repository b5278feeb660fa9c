// What the engine's planner goes by: how many rows a table has, and how many of them an index finds for one value. Without it
// every index seems to find ten rows, also one over a column that is nil everywhere.
//
// ANALYZE reads every index to its end, and 3.15 cannot be told to stop before. So it is run on small tables alone; what it
// would find of others is estimated from some of their rows, in a time that does not grow with the table.

/// The statistics of a file's tables.
package struct TableStatistics {
  let connection: Connection

  /// Tables of fewer rows have none: they are read in no time, whatever the plan is.
  package static let fewestRows = 1000
  /// Tables of more rows are not analyzed as a whole.
  package static let mostAnalyzed = 20_000
  /// How many rows of a larger table are looked at.
  private static let samples = 50
  /// How many rows with the same value are counted.
  private static let mostCounted = 500

  package init(_ connection: Connection) { self.connection = connection }

  /// A table that has statistics, or may get some.
  private struct Table {
    let name: String
    let hasRowID: Bool
    /// Of indexes whose columns are all plain, and that have all rows.
    var indexes: Set<String> = []
    var rows = 0
    /// What is known: how many rows it had, and of which indexes.
    var known: (rows: Int, indexes: Set<String>)?

    /// Whether it has other indexes than are known, or twice as many rows, or half as many.
    var isStale: Bool {
      guard let known else { return true }
      return !indexes.isSubset(of: known.indexes) || rows / 2 >= known.rows || rows <= known.rows / 2
    }
  }

  /// Makes those anew that have become wrong, or are missing. To be called in a transaction.
  /// - Parameter isAnnounced: Whether other connections, which read them with the tables, are told to read both again.
  package func refresh(isAnnounced: Bool = false) throws {
    let stale = try tables().filter { $0.rows >= Self.fewestRows && $0.isStale }
    guard !stale.isEmpty else { return }
    // Nothing else makes the table in which they stand.
    try connection.execute("ANALYZE sqlite_master")
    for table in stale {
      if table.rows <= Self.mostAnalyzed {
        try connection.execute("ANALYZE main.\(identifier: table.name)")
      } else {
        try estimate(table)
      }
    }
    // From here on this connection goes by them.
    try connection.execute("ANALYZE sqlite_master")
    guard isAnnounced, let version = try connection.value("PRAGMA main.schema_version")?.int64 else { return }
    try connection.execute("PRAGMA main.schema_version = \(number: (version + 1) & 0x7FFF_FFFF)")
  }

  // MARK: What is there

  private func tables() throws -> [Table] {
    var tables: [String: Table] = [:]
    let all = try connection.rows(
      """
      SELECT type, name, tbl_name, sql FROM sqlite_master
      WHERE type IN ('table', 'index') AND sql NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
      """)
    for row in all where row[0] == "table" {
      guard let name = row[1].string, let sql = row[3].string?.asciiLowercased else { continue }
      guard !sql.hasPrefix("create virtual") else { continue }
      tables[name] = Table(name: name, hasRowID: !sql.hasSuffix("without rowid"))
    }
    for row in all where row[0] == "index" {
      guard let name = row[1].string, let table = row[2].string, let sql = row[3].string else { continue }
      if Self.isPlain(sql) { tables[table]?.indexes.insert(name) }
    }
    for (name, known) in try known() { tables[name]?.known = known }
    return try tables.values.sorted { $0.name < $1.name }.map { table in
      var table = table
      table.rows = try rows(of: table)
      return table
    }
  }

  /// Whether an index is over columns alone, and over all rows.
  private static func isPlain(_ sql: String) -> Bool {
    sql.count { $0 == "(" } == 1 && !sql.asciiLowercased.contains(" where ")
  }

  private func known() throws -> [String: (rows: Int, indexes: Set<String>)] {
    guard try connection.tableExists("sqlite_stat1") else { return [:] }
    var known: [String: (rows: Int, indexes: Set<String>)] = [:]
    for row in try connection.rows("SELECT tbl, idx, stat FROM sqlite_stat1") {
      guard let table = row[0].string,
        let rows = row[2].string?.split(separator: " ").first.flatMap({ Int($0) })
      else { continue }
      let former = known[table] ?? (0, [])
      known[table] = (max(former.rows, rows), former.indexes.union([row[1].string].compactMap { $0 }))
    }
    return known
  }

  /// How many rows a table has; of a large one, how far its ids reach. Of a large one without ids nothing is known.
  private func rows(of table: Table) throws -> Int {
    if table.hasRowID {
      guard let span = try span(of: table) else { return 0 }
      let (rows, isTooFar) = span.upperBound.subtractingReportingOverflow(span.lowerBound)
      guard !isTooFar, rows <= Int64(Self.mostAnalyzed) else { return isTooFar ? 1 << 40 : Int(rows) + 1 }
    }
    let most = Self.mostAnalyzed + 1
    let rows =
      try connection.value(
        "SELECT count(*) FROM (SELECT 1 FROM \(identifier: table.name) LIMIT \(number: Int64(most)))")?.int64
      ?? 0
    return rows == most && !table.hasRowID ? 0 : Int(rows)
  }

  /// Asked one by one: for both in one query the engine reads the whole table.
  private func span(of table: Table) throws -> ClosedRange<Int64>? {
    guard let low = try connection.value("SELECT min(rowid) FROM \(identifier: table.name)")?.int64,
      let high = try connection.value("SELECT max(rowid) FROM \(identifier: table.name)")?.int64, low <= high
    else { return nil }
    return low...high
  }

  // MARK: Large tables

  private func estimate(_ table: Table) throws {
    let indexes = try indexes(of: table)
    let samples = try samples(of: table, Array(Set(indexes.flatMap(\.columns))))
    try connection.execute("DELETE FROM sqlite_stat1 WHERE tbl = \(table.name)")
    func write(_ index: SQLValue, _ counts: [Int]) throws {
      let text = counts.map(String.init).joined(separator: " ")
      try connection.execute(
        "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (\(table.name), \(index), \(text))")
    }
    if indexes.isEmpty { try write(.null, [table.rows]) }
    for index in indexes {
      var counts = [table.rows]
      for length in index.columns.indices.map({ $0 + 1 }) {
        let count =
          index.isUnique && length == index.columns.count
          ? 1 : try rowsOfOneKey(Array(index.columns.prefix(length)), index, samples, table)
        counts.append(min(count, counts[counts.count - 1]))
      }
      try write(.text(index.name), counts)
    }
  }

  private struct Index {
    let name: String
    let columns: [String]
    let isUnique: Bool
  }

  /// Those whose columns are all plain.
  private func indexes(of table: Table) throws -> [Index] {
    let all = try connection.query(sql: "PRAGMA index_list(\(quoted(table.name)))") {
      (name: $0.text(1) ?? "", isUnique: $0.int64(2) != 0)
    }
    return try all.filter { table.indexes.contains($0.name) }.map { index in
      let columns = try connection.query(sql: "PRAGMA index_info(\(quoted(index.name)))") { $0.text(2) ?? "" }
      return Index(name: index.name, columns: columns, isUnique: index.isUnique)
    }
  }

  /// Rows from everywhere between the first and the last, by columns.
  private func samples(of table: Table, _ columns: [String]) throws -> [[String: SQLValue]] {
    guard !columns.isEmpty, let span = try span(of: table) else { return [] }
    let names = SQL.names(columns.map { SQLName($0) })
    let step = (span.upperBound / Int64(Self.samples)) - (span.lowerBound / Int64(Self.samples))
    return try (0..<Int64(Self.samples)).compactMap { place in
      // Not at even distances: values that come round would all be one.
      let offset = Int64((UInt64(place) &* 0x9E37_79B9_7F4A_7C15) >> 33) % max(1, step)
      let least = span.lowerBound + place * step + offset
      let row = try connection.rows(
        "SELECT \(names) FROM \(identifier: table.name) WHERE rowid >= \(least) ORDER BY rowid LIMIT 1"
      ).first
      return row.map { Dictionary(zip(columns, $0)) { first, _ in first } }
    }
  }

  /// How many rows have the same values in the first columns of an index, on the average of all values that there are.
  private func rowsOfOneKey(
    _ columns: [String], _ index: Index, _ samples: [[String: SQLValue]], _ table: Table
  ) throws -> Int {
    var keys: [[SQLValue]: Int] = [:]
    for sample in samples { keys[columns.map { sample[$0] ?? .null }, default: 0] += 1 }
    // A value of n rows is met n times as often as one of a single row.
    var values = 0.0
    for (key, times) in keys {
      let conditions = zip(columns, key).map { column, value -> SQL in
        value.isNull ? "\(identifier: column) IS NULL" : "\(identifier: column) = \(value)"
      }
      let found =
        try connection.value(
          """
          SELECT count(*) FROM (SELECT 1 FROM \(identifier: table.name) INDEXED BY \(identifier: index.name)
          WHERE \(SQL.joined(conditions, by: " AND ")) LIMIT \(number: Int64(Self.mostCounted)))
          """)?.int64 ?? 0
      var rows = max(1, Int(found))
      // It has a part of all rows as large as that of the samples.
      if rows >= Self.mostCounted, times > 1 { rows = max(rows, table.rows / samples.count * times) }
      values += Double(times) / Double(rows)
    }
    guard values > 0 else { return table.rows }
    return max(1, Int((Double(samples.count) / values).rounded()))
  }
}
