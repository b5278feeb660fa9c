// How many rows steps will write, by the tables that a store has before the first of them.

internal import CipherSQLite

struct RowForecast {
  private let connection: Connection
  /// The rows of tables, by the names that these have at this point of the steps.
  private var tables: [String: Int] = [:]
  /// Of larger tables it is asked how far their ids reach.
  private static let counted = 10_000

  init(_ connection: Connection) { self.connection = connection }

  /// The rows of each step, in order.
  static func rows(of steps: [CompiledStep], in connection: Connection) throws -> [Int] {
    var forecast = RowForecast(connection)
    return try steps.map { try forecast.rows(of: $0) }
  }

  /// The rows that a change of the file's format writes.
  static func rowsOfFormat(_ history: StoreHistory, in connection: Connection) throws -> Int {
    guard history.format < FileFormat.current else { return 0 }
    var forecast = RowForecast(connection)
    return try history.model().joinTables.reduce(0) { try $0 + forecast.count($1.name) }
  }

  private mutating func rows(of compiled: CompiledStep) throws -> Int {
    // An operation that stands for others has a part for each of its pieces, and reads its tables once.
    let composite = compiled.parts.filter { $0.operations.contains { $0.composite != nil } }
    let words = composite.flatMap(\.statements).reduce(into: Set<String>()) { words, statement in
      if case .sql(let sql) = statement { words.formUnion(SQLTemplate.words(sql)) }
    }
    let names =
      words.isEmpty
      ? []
      : try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'").compactMap { $0[0].string }
    let moved = try names.filter { words.contains($0.lowercased()) }.reduce(0) { try $0 + count($1) }
    return try compiled.parts.reduce(moved) { try $0 + rows(of: $1) }
  }

  private mutating func rows(of part: CompiledStep.Part) throws -> Int {
    var touched = Set(part.operations.compactMap(\.entityWithNewIndex).map(part.model.root))
    var moved: [String: Int] = [:]
    for statement in part.statements {
      switch statement {
      case .copy(let table, let temporary, _, _, _):
        touched.insert(table)
        moved[MigrationCompiler.finalName(of: temporary)] = try count(table)
      case .data(let sql):
        let words = SQLTemplate.words(sql)
        touched.formUnion(part.model.tables.map(\.name).filter { words.contains($0.lowercased()) })
      case .transform(let transform): touched.insert(part.model.root(of: transform.entity))
      case .raw(let statement) where statement.object.kind == .index:
        let words = statement.words
        touched.formUnion(part.model.tables.map(\.name).filter { words.contains($0.lowercased()) })
      case .sql, .mustBeEmpty, .raw, .rawMustFit, .require: break
      }
    }
    let rows = try touched.reduce(0) { try $0 + count($1) }
    // Renamed tables may take each other's names, so all of them at once; a name that is free then is nobody's.
    for statement in part.statements {
      if case .copy(let table, _, _, _, _) = statement { tables[table] = 0 }
    }
    tables.merge(moved) { $1 }
    return rows
  }

  /// 0 for a table that is not there yet.
  private mutating func count(_ table: String) throws -> Int {
    if let rows = tables[table] { return rows }
    let rows = try connection.tableExists(table) ? stored(SQLName(table), table) : 0
    tables[table] = rows
    return rows
  }

  private func stored(_ name: SQLName, _ table: String) throws -> Int {
    let most = Self.counted
    let rows =
      try connection.value("SELECT count(*) FROM (SELECT 1 FROM \(name) LIMIT \(most + 1))")?.int64 ?? 0
    guard rows > most else { return Int(rows) }
    guard try connection.tableInfo(table).columns.contains(where: { $0.name == "id" }) else {
      return Int(try connection.value("SELECT count(*) FROM \(name)")?.int64 ?? 0)
    }
    // One at a time: of both in one query the engine reads the whole table.
    let low = try connection.value("SELECT min(\"id\") FROM \(name)")?.int64 ?? 0
    let high = try connection.value("SELECT max(\"id\") FROM \(name)")?.int64 ?? 0
    let (span, isTooFar) = high.subtractingReportingOverflow(low)
    // A file that somebody made by hand may have ids at both ends of all numbers.
    return isTooFar ? 1 << 40 : Int(min(span, 1 << 40)) + 1
  }
}

extension MigrationOperation {
  /// The entity whose rows get an index, or move their links, where its table may stay as it is otherwise.
  fileprivate var entityWithNewIndex: String? {
    switch self {
    case .addIndex(let entity, _), .makeMany(let entity, _), .setParent(let entity, _): entity
    case .addAttribute(let entity, let attribute) where attribute.isUnique || attribute.isIndexed: entity
    case .addRelationship(let entity, let relationship) where !relationship.isToMany: entity
    default: nil
    }
  }
}
