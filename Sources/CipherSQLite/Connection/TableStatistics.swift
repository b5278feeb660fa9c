// What the engine's planner goes by: how many rows a table has, and how many of them an index finds for one value. Without it
// every index seems to find ten rows.
//
// ANALYZE reads every index to its end, and 3.15 cannot be told to stop before. So it is run on small tables alone; what it
// would find of others is estimated from some of their rows, in a time that does not grow with the table.
//
// Two things are not as ANALYZE has them. The engine has one number for a value, be it nil or not. Where nearly all rows are
// nil, it is that of nil, and an index over a to-one that few objects have seems useless. So rows that are nil are left out of the
// number. In which columns most rows are nil stands after the numbers, which the engine does not mind; conditions that ask
// for nil there tell the planner.
//
// And for each row that is deleted the engine looks for rows that refer to it: in the whole table, where the index would find
// all of them for one value. So an index over a reference never seems to find more than half of the rows.

/// The statistics of a file's tables.
package struct TableStatistics {
  /// Columns of indexes in which more than half of the rows are nil, by table.
  package typealias NilColumns = [SQLName: Set<SQLName>]

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
    /// The columns that refer to rows of a table.
    var references: Set<String> = []
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
    for table in stale { try renew(table) }
    // From here on this connection goes by them.
    try connection.execute("ANALYZE sqlite_master")
    guard isAnnounced, let version = try connection.value("PRAGMA main.schema_version")?.int64 else { return }
    try connection.execute("PRAGMA main.schema_version = \(number: (version + 1) & 0x7FFF_FFFF)")
  }

  private func renew(_ table: Table) throws {
    var table = table
    table.references = Set(
      try connection.query(sql: "PRAGMA foreign_key_list(\(quoted(table.name)))") { $0.text(3) ?? "" })
    if table.rows <= Self.mostAnalyzed { try analyze(table) } else { try estimate(table) }
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

  // MARK: Columns that are nil

  private static let nilMark = "nil="

  /// Those of the tables that have statistics.
  package func nilColumns() throws -> NilColumns {
    guard try connection.tableExists("sqlite_stat1") else { return [:] }
    var found: NilColumns = [:]
    let marked = "%\(Self.nilMark)%"
    for row in try connection.rows("SELECT tbl, idx, stat FROM sqlite_stat1 WHERE stat LIKE \(marked)") {
      guard let table = row[0].string, let index = row[1].string, let text = row[2].string else { continue }
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

  /// Replaces what is known of an index.
  /// - Parameters:
  ///   - rows: Those of the table.
  ///   - found: Of them those of one value in the first column, in the first two, and so on.
  ///   - nils: The places of the columns in which more than half of the rows are nil.
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
          ? 1 : try rowsOfOneKey(Array(index.columns[...place]), index, samples, table)
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

  /// Those whose columns are all plain.
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

  /// How many rows have the same values in the first columns of an index, on the average of all values that there are. Rows that
  /// are nil in one of them have none.
  private func rowsOfOneKey(
    _ columns: [String], _ index: Index, _ samples: [[String: SQLValue]], _ table: Table
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
    // A value of n rows is met n times as often as one of a single row.
    var values = 0.0
    for (key, times) in keys {
      let conditions = zip(columns, key).map { column, value -> SQL in "\(identifier: column) = \(value)" }
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
    return max(1, Int((Double(met) / values).rounded()))
  }
}
