// Estimates how many rows and bytes the steps will write. The sources are the tables that a store has
// before the first step, and the lists of values in data blocks.

internal import CipherSQLite

struct RowForecast {
  /// The rows and bytes that a step writes.
  struct Amount {
    var rows = 0
    /// An estimate from the first and the last rows of each table.
    var bytes = 0

    static func + (left: Amount, right: Amount) -> Amount {
      let (bytes, isTooMuch) = left.bytes.addingReportingOverflow(right.bytes)
      return Amount(rows: left.rows + right.rows, bytes: isTooMuch ? .max : bytes)
    }
  }

  private let connection: Connection
  /// The rows and bytes in the tables, under the names that the tables have before the next part.
  private var tables: [String: Amount] = [:]
  /// Up to this number the rows of a table are counted. Above it, the range of the ids is the estimate,
  /// if the table has ids.
  private static let counted = 10_000
  /// The number of rows at each end of a table by which the length of a row is estimated.
  private static let sampled = 200

  init(_ connection: Connection) { self.connection = connection }

  /// Returns the rows and bytes that each step writes, in order.
  static func amounts(of steps: [CompiledStep], in connection: Connection) throws -> [Amount] {
    var forecast = RowForecast(connection)
    return try steps.map { try forecast.amount(of: $0) }
  }

  /// Returns the number of rows that each step writes, in order.
  static func rows(of steps: [CompiledStep], in connection: Connection) throws -> [Int] {
    try amounts(of: steps, in: connection).map(\.rows)
  }

  /// Returns the number of rows that each part of each step writes, in order.
  static func rowsOfParts(of steps: [CompiledStep], in connection: Connection) throws -> [[Int]] {
    var forecast = RowForecast(connection)
    return try steps.map { try forecast.amounts(of: $0).map(\.rows) }
  }

  private mutating func amount(of compiled: CompiledStep) throws -> Amount {
    try amounts(of: compiled).reduce(Amount(), +)
  }

  /// Returns the rows and bytes that each part of a step writes.
  private mutating func amounts(of compiled: CompiledStep) throws -> [Amount] {
    // A composite operation is compiled to several parts. Each table that their SQL names counts once.
    let composite = compiled.parts.filter { $0.operations.contains { $0.composite != nil } }
    let words = composite.flatMap(\.statements).reduce(into: Set<String>()) { words, statement in
      if case .sql(let sql) = statement { words.formUnion(SQLTemplate.words(sql)) }
    }
    let names =
      words.isEmpty
      ? []
      : try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'").compactMap { $0[0].string }
    let moved = try names.filter { words.contains($0.lowercased()) }.reduce(Amount()) {
      try $0 + amount(ofTable: $1)
    }
    var amounts = try compiled.parts.map { try amount(of: $0) }
    // How the rows are distributed over the parts is unknown, so the last of these parts gets them all.
    if let last = compiled.parts.lastIndex(where: { $0.operations.contains { $0.composite != nil } }) {
      amounts[last] = amounts[last] + moved
    }
    return amounts
  }

  private mutating func amount(of part: CompiledStep.Part) throws -> Amount {
    var touched = Set(part.operations.compactMap(\.rules.indexedEntity).map(part.model.root))
    var (moved, made): ([String: Amount], Amount) = ([:], Amount())
    for statement in part.statements {
      switch statement {
      case .copy(let copy):
        touched.insert(copy.source)
        moved[MigrationCompiler.finalName(of: copy.target)] = try amount(ofTable: copy.source)
      case .data(let block, _):
        touched.formUnion(block.tables)
        // The rows' values are literals in the SQL.
        if block.valueRows > 0 { made = made + Amount(rows: block.valueRows, bytes: block.sql.utf8.count) }
      case .transform(let transform): touched.insert(part.model.root(of: transform.entity))
      case .raw(let statement) where statement.object.kind == .index:
        let words = statement.words
        touched.formUnion(part.model.tables.map(\.name).filter { words.contains($0.lowercased()) })
      case .sql, .mustBeEmpty, .raw, .rawMustFit, .require: break
      }
    }
    let amount = try touched.reduce(made) { try $0 + self.amount(ofTable: $1) }
    // The tables may exchange names, so all names are updated at once. A name that is unused afterwards
    // stands for no rows.
    for statement in part.statements {
      if case .copy(let copy) = statement { tables[copy.source] = Amount() }
    }
    tables.merge(moved) { $1 }
    return amount
  }

  /// Returns the rows and bytes in a table; an empty amount if the table does not exist yet.
  private mutating func amount(ofTable table: String) throws -> Amount {
    if let amount = tables[table] { return amount }
    var amount = Amount()
    if try connection.tableExists(table) {
      amount.rows = try stored(SQLName(table), table)
      if amount.rows > 0 {
        let (bytes, isTooMuch) = amount.rows.multipliedReportingOverflow(by: try bytesPerRow(of: table))
        amount.bytes = isTooMuch ? .max : bytes
      }
    }
    tables[table] = amount
    return amount
  }

  /// Estimates the bytes of a row: its values, its index entries, the engine's overhead, and free space
  /// in pages.
  private func bytesPerRow(of table: String) throws -> Int {
    let info = try connection.tableInfo(table)
    let (name, columns) = (SQLName(table), info.columns.map { SQLName($0.name) })
    // For a blob the engine returns the length without reading the content.
    let length = SQL.joined(
      columns.map {
        "CASE typeof(\($0)) WHEN 'text' THEN length(CAST(\($0) AS BLOB)) ELSE ifnull(length(\($0)), 0) END"
      }, by: " + ")
    // Tables of links have no column `id` to order by. All of their rows have about the same length, so
    // any rows serve as the sample.
    let orders =
      info.columns.contains { $0.name == "id" } ? ["ORDER BY \"id\"", "ORDER BY \"id\" DESC"] : [""]
    let averages = try orders.map { order -> Int in
      let rows: SQL = "SELECT \(length) AS bytes FROM \(name) \(written: order) LIMIT \(Self.sampled)"
      return Int(try connection.value("SELECT avg(bytes) FROM (\(rows))")?.double ?? 0)
    }
    let values = averages.max() ?? 0
    let row = values + 2 * columns.count + 12
    let entries = info.indexes.reduce(0) { sum, index in
      sum + (values / max(1, columns.count) + 12) * index.columns.count + 12
    }
    return (row + entries) * 5 / 4
  }

  /// Returns the number of rows of a table; an estimate if it is large and has ids.
  private func stored(_ name: SQLName, _ table: String) throws -> Int {
    let most = Self.counted
    let rows =
      try connection.value("SELECT count(*) FROM (SELECT 1 FROM \(name) LIMIT \(most + 1))")?.int64 ?? 0
    guard rows > most else { return Int(rows) }
    guard try connection.tableInfo(table).columns.contains(where: { $0.name == "id" }) else {
      return Int(try connection.value("SELECT count(*) FROM \(name)")?.int64 ?? 0)
    }
    // Two queries: one query for both min and max would read the whole table.
    let low = try connection.value("SELECT min(\"id\") FROM \(name)")?.int64 ?? 0
    let high = try connection.value("SELECT max(\"id\") FROM \(name)")?.int64 ?? 0
    let (span, isTooFar) = high.subtractingReportingOverflow(low)
    // A file that was edited by hand may have ids at both ends of the number range.
    return isTooFar ? 1 << 40 : Int(min(span, 1 << 40)) + 1
  }
}
