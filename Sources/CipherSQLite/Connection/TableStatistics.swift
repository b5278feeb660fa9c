// Statistics for the engine's query planner: how many rows a table has, and how many rows an index finds
// for one value. Without statistics the planner assumes ten rows for every index.
//
// ANALYZE reads every index completely, and in SQLite 3.15 it cannot be limited. So it runs on small
// tables only. For larger tables its results are estimated from a sample of rows, in a time that does not
// depend on the table's size.
//
// Two numbers deliberately differ from ANALYZE's.
//
// 1. The engine has one number for all values of an index, nil included: the average number of rows with one
// value. If nearly all rows have nil there, they raise this average so far that an index on a to-one
// relationship that few objects have set seems useless. So rows with nil are excluded from the average. The
// columns in which most rows have nil are listed after the numbers, where the engine ignores them.
// Conditions that search for nil in such a column give the planner a hint instead.
//
// 2. For each deleted row the engine searches for rows that refer to it. If an index would find all rows
// for one value, the planner scans the whole table instead. So an index on a reference never claims to
// find more than half of the rows.

/// The planner statistics of a file's tables.
package struct TableStatistics {
  /// The indexed columns in which more than half of the rows are nil, by table: of each table that has
  /// statistics.
  package typealias NilColumns = [SQLName: Set<SQLName>]

  let connection: Connection

  /// The number of rows from which a table gets statistics. Smaller tables are read quickly with any plan.
  package static let minimumRows = 1000
  /// The number of rows up to which a table is analyzed completely.
  package static let maximumAnalyzedRows = 20_000
  /// The number of rows that are sampled from a table that is not analyzed completely.
  private static let samples = 50
  /// The number at which counting the rows with one value stops.
  private static let maximumCountedRows = 500

  package init(_ connection: Connection) { self.connection = connection }

  /// A table that has statistics or may get some.
  private struct Table {
    let name: String
    let hasRowID: Bool
    /// The indexes that are on plain columns and contain all rows.
    var indexes: Set<String> = []
    var rows = 0
    /// The columns that reference other tables.
    var references: Set<String> = []
    /// The existing statistics: the number of rows when they were computed, and the indexes.
    var known: (rows: Int, indexes: Set<String>)?

    /// Whether there are no statistics, or they are out of date: they lack an index, or the number of rows
    /// has at least doubled or halved.
    var isStale: Bool {
      guard let known else { return true }
      return !indexes.isSubset(of: known.indexes) || rows / 2 >= known.rows || rows <= known.rows / 2
    }
  }

  /// Renews statistics that are missing or out of date. Must be called in a transaction.
  /// - Parameter isAnnounced: Whether to change the schema version, so that other connections read the
  ///   schema and the statistics again.
  package func refresh(isAnnounced: Bool = false) throws {
    let stale = try tables().filter { $0.rows >= Self.minimumRows && $0.isStale }
    guard !stale.isEmpty else { return }
    // Creates `sqlite_stat1`; no other statement can.
    try connection.execute("ANALYZE sqlite_master")
    for table in stale { try renew(table) }
    // Makes this connection load the new statistics.
    try connection.execute("ANALYZE sqlite_master")
    guard isAnnounced, let version = try connection.value("PRAGMA main.schema_version")?.int64 else { return }
    try connection.execute("PRAGMA main.schema_version = \(number: (version + 1) & 0x7FFF_FFFF)")
  }

  /// Returns the tables whose statistics are missing or out of date, in alphabetical order.
  package func staleTables() throws -> [String] {
    try tables().filter { $0.rows >= Self.minimumRows && $0.isStale }.map(\.name)
  }

  private func renew(_ table: Table) throws {
    var table = table
    table.references = Set(
      try connection.query(sql: "PRAGMA foreign_key_list(\(quoted(table.name)))") { $0.text(3) ?? "" })
    if table.rows <= Self.maximumAnalyzedRows { try analyze(table) } else { try estimate(table) }
  }

  // MARK: Existing statistics

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
      tables[name] = Table(name: name, hasRowID: sql.split(separator: ")").last?.contains("without") != true)
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

  /// Returns whether an index is on plain columns only, and on all rows.
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

  /// Returns the number of rows of a table that has row ids; an estimate if it exceeds
  /// ``maximumAnalyzedRows``.
  package func rows(inTable name: String) throws -> Int { try rows(of: Table(name: name, hasRowID: true)) }

  /// Returns the number of rows of a table. For a large table it is estimated from the range of the ids. For
  /// a large table without row ids it is unknown, and 0 is returned.
  private func rows(of table: Table) throws -> Int {
    if table.hasRowID {
      guard let span = try span(of: table) else { return 0 }
      let (rows, isTooFar) = span.upperBound.subtractingReportingOverflow(span.lowerBound)
      guard !isTooFar, rows <= Int64(Self.maximumAnalyzedRows) else {
        return isTooFar ? 1 << 40 : Int(rows) + 1
      }
    }
    let most = Self.maximumAnalyzedRows + 1
    let rows =
      try connection.value(
        "SELECT count(*) FROM (SELECT 1 FROM \(identifier: table.name) LIMIT \(number: Int64(most)))")?.int64
      ?? 0
    return rows == most && !table.hasRowID ? 0 : Int(rows)
  }

  /// Returns the lowest and the highest row id; nil if the table is empty. One query for both would scan the
  /// table.
  private func span(of table: Table) throws -> ClosedRange<Int64>? {
    guard let low = try connection.value("SELECT min(rowid) FROM \(identifier: table.name)")?.int64,
      let high = try connection.value("SELECT max(rowid) FROM \(identifier: table.name)")?.int64, low <= high
    else { return nil }
    return low...high
  }

  // MARK: Columns that are mostly nil

  private static let nilMark = "nil="

  /// Returns the columns in which most rows are nil, of the tables that have statistics.
  package func nilColumns() throws -> NilColumns {
    guard try connection.tableExists("sqlite_stat1") else { return [:] }
    var found: NilColumns = [:]
    for row in try connection.rows("SELECT tbl, idx, stat FROM sqlite_stat1") {
      guard let table = row[0].string else { continue }
      found[SQLName(table), default: []].formUnion([])
      guard let index = row[1].string, let text = row[2].string, text.contains(Self.nilMark) else { continue }
      let words = text.split(separator: " ").filter { $0.hasPrefix(Self.nilMark) }
      let places = words.flatMap {
        $0.dropFirst(Self.nilMark.count).split(separator: ",").compactMap { Int($0) }
      }
      let columns = try columns(of: index)
      for place in places where columns.indices.contains(place) {
        found[SQLName(table), default: []].insert(SQLName(columns[place]))
      }
    }
    return found
  }

  /// Replaces the statistics of an index.
  /// - Parameters:
  ///   - table: The table.
  ///   - index: The index.
  ///   - rows: The number of rows of the table.
  ///   - found: The number of rows with equal values in the index's first column, in its first two columns,
  ///     and so on.
  ///   - nils: The positions, within the index, of the columns in which more than half of the rows are nil.
  private func write(_ table: Table, _ index: Index, rows: Int, found: [Int], nils: [Int]) throws {
    var most = isReference(index, of: table) ? max(1, rows / 2) : rows
    var words = ["\(rows)"]
    for count in found {
      most = min(most, max(1, count))
      words.append("\(most)")
    }
    if !nils.isEmpty { words.append(Self.nilMark + nils.map(String.init).joined(separator: ",")) }
    let text = words.joined(separator: " ")
    try connection.execute("DELETE FROM sqlite_stat1 WHERE tbl = \(table.name) AND idx = \(index.name)")
    try connection.execute(
      "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (\(table.name), \(index.name), \(text))")
  }

  private func isReference(_ index: Index, of table: Table) -> Bool {
    index.columns.first.map { table.references.contains($0) } == true
  }

  // MARK: Small tables

  private func analyze(_ table: Table) throws {
    try connection.execute("ANALYZE main.\(identifier: table.name)")
    let from: SQL = "FROM \(identifier: table.name)"
    func count(_ query: SQL) throws -> Int { Int(try connection.value(query)?.int64 ?? 0) }
    let rows = try count("SELECT count(*) \(from)")
    for index in try indexes(of: table) {
      let nils = try index.columns.map {
        try count("SELECT count(*) \(from) WHERE \(identifier: $0) IS NULL")
      }
      guard nils.contains(where: { $0 > 0 }) || isReference(index, of: table) else { continue }
      let found = try index.columns.indices.map { place in
        let columns = index.columns[...place]
        let condition = SQL.joined(columns.map { "\(identifier: $0) IS NOT NULL" }, by: " AND ")
        let names = SQL.names(columns.map { SQLName($0) })
        let values = try count("SELECT count(*) FROM (SELECT DISTINCT \(names) \(from) WHERE \(condition))")
        let all = try count("SELECT count(*) \(from) WHERE \(condition)")
        return (all + values - 1) / max(1, values)
      }
      try write(table, index, rows: rows, found: found, nils: nils.indices.filter { nils[$0] > rows / 2 })
    }
  }

  // MARK: Large tables

  private func estimate(_ table: Table) throws {
    let indexes = try indexes(of: table)
    let samples = try samples(of: table, Array(Set(indexes.flatMap(\.columns))))
    try connection.execute("DELETE FROM sqlite_stat1 WHERE tbl = \(table.name)")
    if indexes.isEmpty {
      let text = "\(table.rows)"
      try connection.execute(
        "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (\(table.name), NULL, \(text))")
    }
    for index in indexes {
      let found = try index.columns.indices.map { place in
        index.isUnique && place == index.columns.count - 1
          ? 1
          : try estimatedRowsPerKey(Array(index.columns[...place]), of: index, samples: samples, in: table)
      }
      let nils = index.columns.indices.filter { place in
        samples.count { $0[index.columns[place]]?.isNull != false } > samples.count / 2
      }
      try write(table, index, rows: table.rows, found: found, nils: nils)
    }
  }

  private struct Index {
    let name: String
    let columns: [String]
    let isUnique: Bool
  }

  /// Returns the indexes of a table that are on plain columns only.
  private func indexes(of table: Table) throws -> [Index] {
    let all = try connection.query(sql: "PRAGMA index_list(\(quoted(table.name)))") {
      (name: $0.text(1) ?? "", isUnique: $0.int64(2) != 0)
    }
    return try all.filter { table.indexes.contains($0.name) }.map { index in
      Index(name: index.name, columns: try columns(of: index.name), isUnique: index.isUnique)
    }
  }

  private func columns(of index: String) throws -> [String] {
    try connection.query(sql: "PRAGMA index_info(\(quoted(index)))") { $0.text(2) ?? "" }
  }

  /// Returns a sample of rows between the first and the last id, as dictionaries by column.
  private func samples(of table: Table, _ columns: [String]) throws -> [[String: SQLValue]] {
    guard !columns.isEmpty, let span = try span(of: table) else { return [] }
    let names = SQL.names(columns.map { SQLName($0) })
    let step = (span.upperBound / Int64(Self.samples)) - (span.lowerBound / Int64(Self.samples))
    return try (0..<Int64(Self.samples)).compactMap { place in
      // Not at equal distances: with values that repeat periodically, all samples would be equal.
      let offset = Int64((UInt64(place) &* 0x9E37_79B9_7F4A_7C15) >> 33) % max(1, step)
      let least = span.lowerBound + place * step + offset
      let row = try connection.rows(
        "SELECT \(names) FROM \(identifier: table.name) WHERE rowid >= \(least) ORDER BY rowid LIMIT 1"
      ).first
      return row.map { Dictionary(zip(columns, $0)) { first, _ in first } }
    }
  }

  /// Estimates how many rows have the same values in the first columns of an index, on average over all
  /// distinct values. Rows with nil in one of these columns are not counted.
  private func estimatedRowsPerKey(
    _ columns: [String], of index: Index, samples: [[String: SQLValue]], in table: Table
  ) throws -> Int {
    var keys: [[SQLValue]: Int] = [:]
    var met = 0
    for sample in samples {
      let key = columns.map { sample[$0] ?? .null }
      guard !key.contains(where: \.isNull) else { continue }
      keys[key, default: 0] += 1
      met += 1
    }
    guard met > 0 else { return 1 }
    // A value with n rows is sampled n times as often as a value with one row, so each of its samples counts
    // as 1/n of a distinct value.
    var values = 0.0
    for (key, times) in keys {
      let conditions = zip(columns, key).map { column, value -> SQL in "\(identifier: column) = \(value)" }
      let found =
        try connection.value(
          """
          SELECT count(*) FROM (SELECT 1 FROM \(identifier: table.name) INDEXED BY \(identifier: index.name)
          WHERE \(SQL.joined(conditions, by: " AND ")) LIMIT \(number: Int64(Self.maximumCountedRows)))
          """)?.int64 ?? 0
      var rows = max(1, Int(found))
      // Counting stopped at the limit. The value's share of all rows is about its share of the samples.
      if rows >= Self.maximumCountedRows, times > 1 { rows = max(rows, table.rows / samples.count * times) }
      values += Double(times) / Double(rows)
    }
    return max(1, Int((Double(met) / values).rounded()))
  }
}
