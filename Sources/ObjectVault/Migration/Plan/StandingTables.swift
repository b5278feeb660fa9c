// The tables of a store followed through pending steps, as far as they will still hold what they hold now: what a step asks
// of its rows can then be asked before any step runs, by the very SQL that the step will run.

internal import CipherSQLite

/// The tables as they stand at a point of the steps, each as a query over the file as it is.
struct StandingTables {
  private struct Table {
    /// The table of the file that its rows are of; nil where it has none.
    var origin: String?
    /// Its columns, each as an expression over that table, and not over what an earlier step makes of it: the engine reads
    /// no query that is nested as deep as there may be steps. nil where they are the file's.
    var columns: [(name: String, expression: String)]?
    /// The columns whose values nobody knows yet, in lower case, with the operation that makes them.
    var changed: [String: String] = [:]
    /// The step whose data block speaks of it, or that moves its rows.
    var writer: String?

    /// What it holds, as a query on the tables of the file; nil where the file has it as it is.
    var query: SQL? {
      guard let columns else { return nil }
      let values = SQL.joined(columns.map { "\(written: $0.expression) AS \(identifier: $0.name)" })
      return origin.map { "SELECT \(values) FROM main.\(identifier: $0)" } ?? "SELECT \(values) WHERE 0"
    }
  }

  private var tables: [String: Table] = [:]
  /// What hand-made views are called in sentences, by their names in lower case.
  private var views: [String: String]
  /// A longer or deeper expression is not made of those of earlier steps: what names its column more than once doubles them
  /// each time, and the engine reads no more than some forty brackets in each other.
  private static let (mostCharacters, mostBrackets) = (5000, 12)

  init(_ model: Schema) {
    views = model.titlesOfViews
    for table in model.tables { tables[table.name] = Table(origin: table.name) }
  }

  // MARK: Following

  /// Goes by a part of a step.
  /// - Parameter written: The tables that a data block writes to, in lower case; nil where nobody has asked the engine.
  mutating func follow(
    _ part: CompiledStep.Part, _ forecast: [TableForecast], writing written: Set<String>?,
    of step: MigrationStep
  ) {
    let name = "\(numbered(step.number)) \(step.name)"
    views = part.model.titlesOfViews
    guard let compiler = part.compiler else {
      for statement in part.statements { write(statement, written, part.model, name) }
      return
    }
    let former = tables
    for table in compiler.forecastDrops { tables[table] = nil }
    for table in forecast { tables[table.table] = Self.standing(table, former, name) }
  }

  private static func standing(_ forecast: TableForecast, _ former: [String: Table], _ step: String) -> Table
  {
    guard let origin = forecast.former, let old = former[origin] else {
      return Table(
        columns: forecast.columns.map { ($0.name, "NULL") }, writer: forecast.hasOtherRows ? step : nil)
    }
    var table = Table(origin: old.origin, writer: old.writer)
    if forecast.hasOtherRows { table.writer = table.writer ?? step }
    for (column, operation) in forecast.changed { table.changed[column.lowercased()] = operation }
    let names = Dictionary(
      (old.columns ?? []).map { (SQLName($0.name).description, $0.expression) }, uniquingKeysWith: { $1 })
    let inside = names.mapValues { "(\($0))" }
    let columns = forecast.columns.map { column -> (name: String, expression: String) in
      let key = column.name.lowercased()
      if table.changed[key] == nil {
        let words = SQLTemplate.words(column.expression)
        table.changed[key] = old.changed.filter { words.contains($0.key) }.min { $0.key < $1.key }?.value
      }
      // As it was: no brackets, of which each step would add a pair.
      let expression = names[column.expression] ?? SQLTemplate.replaced(column.expression, quoted: inside)
      if table.changed[key] == nil,
        expression.utf8.count > mostCharacters || expression.bracketDepth > mostBrackets
      {
        table.changed[key] = step
      }
      return (column.name, table.changed[key] == nil ? expression : "NULL")
    }
    // As it is in the file, or with a column less.
    let isSame =
      forecast.table == table.origin
      && columns.allSatisfy { $0.expression == SQLName($0.name).description }
    table.columns = isSame ? nil : columns
    return table
  }

  /// Notes which tables a statement of a data block, or between those of a composite operation, may write to.
  private mutating func write(
    _ statement: CompiledStatement, _ written: Set<String>?, _ model: Schema, _ step: String
  ) {
    switch statement {
    case .data where written != nil: write(to: written, step)
    case .data(let block, _): write(Set(block.tables.map { $0.lowercased() }), model, step)
    case .sql(let sql): write(SQLTemplate.words(sql), model, step)
    case .transform(let transform):
      write(
        transform.writes.map { Set($0.map { model.root(of: $0.entity).lowercased() }) }, model, step)
    case .copy, .mustBeEmpty, .raw, .rawMustFit, .require: break
    }
  }

  /// - Parameter words: The names of tables among others, in lower case; nil for all tables.
  private mutating func write(_ words: Set<String>?, _ model: Schema, _ step: String) {
    var words = words
    for trigger in model.rawStatements where trigger.isTrigger {
      words?.formUnion(SQLTemplate.words(trigger.create))
    }
    write(to: words, step)
  }

  private mutating func write(to names: Set<String>?, _ step: String) {
    for name in tables.keys where tables[name]?.writer == nil {
      if names?.contains(name.lowercased()) ?? true { tables[name]?.writer = step }
    }
  }

  // MARK: Asking

  /// The answer of the rows as they are now.
  enum Answer {
    case accepted
    case refused(count: Int, rows: [Int64])
    /// What the step will fail with, whichever rows it is about.
    case failed(reason: String)
    /// Why it cannot be asked before the steps run.
    case unasked(String)
  }

  func answer(_ check: RowCheck, _ connection: Connection) throws -> Answer {
    if let reason = obstacle(to: check.query, check) { return .unasked(reason) }
    let head = head(for: check.query)
    do {
      guard let count = try connection.value(sql: head + check.query)?.int64, count > 0 else {
        return .accepted
      }
      return .refused(count: Int(count), rows: try connection.query(sql: head + check.rows) { $0.int64(0) })
    } catch let error as SQLError where error.isOfStatement {
      // It may be of tables that are not there yet.
      return .unasked("\(error)")
    }
  }

  /// Whether a query says true of the rows as they are now: what a step requires, in the words of its author.
  /// - Parameter sentence: What is required.
  func answer(toRequirement sentence: String, _ query: String, _ connection: Connection) throws -> Answer {
    if let reason = obstacle(to: query, nil) { return .unasked(reason) }
    let head = head(for: query)
    // Without the semicolon at its end.
    let statement = SQLTemplate.statements(query).first { !$0.isBlank } ?? query
    let value: SQLValue?
    do {
      value = try connection.withAuthorizer({ MigrationRunner.reads($0) ? .allow : .deny }) {
        guard !head.isEmpty else { return try connection.onlyValue(sql: statement) }
        let rows: SQL = "\(written: head)SELECT count(*) FROM (\(written: statement)\n)"
        guard (try connection.value(rows)?.int64 ?? 0) < 2 else {
          throw ModelError(reason: Require.hasManyRows)
        }
        return try connection.value("\(written: head)SELECT (\(written: statement)\n)")
      }
    } catch let error as ModelError {
      return .failed(reason: error.reason)
    } catch let error as SQLError where error.isOfStatement { return .unasked("\(error)") }
    return (value?.double ?? 0) != 0 ? .accepted : .failed(reason: Require.isNotSo(sentence))
  }

  /// Why a query cannot be asked before the steps run.
  /// - Parameter check: What it is about, where that is known.
  private func obstacle(to query: String, _ check: RowCheck?) -> String? {
    let words = SQLTemplate.words(query)
    // A column may be called as a table is.
    let sources = SQLTemplate.sources(query)
    let asked = tables.filter { sources.contains($0.key.lowercased()) }.sorted { $0.key < $1.key }
    for (name, table) in asked {
      if let writer = table.writer {
        let own = check.flatMap { asked.count == 1 && !$0.entity.isEmpty ? $0.entity : nil }
        return "step \(writer) writes rows of \(own ?? name) before"
      }
    }
    for (name, table) in asked {
      guard
        let (column, operation) = table.changed.filter({ words.contains($0.key) }).min(by: { $0.key < $1.key }
        )
      else { continue }
      let property =
        check?.properties.first {
          $0.lowercased() == column || RelationshipDescription.columnName($0).lowercased() == column
        } ?? column
      return "\"\(operation)\" changes \(check?.entity ?? name).\(property) before"
    }
    // What a view reads are the tables of the file, and not those that stand in their place here.
    if let view = views.filter({ sources.contains($0.key) }).min(by: { $0.key < $1.key })?.value,
      tables.values.contains(where: { $0.columns != nil || $0.writer != nil })
    {
      return "the \(view) reads tables that change before"
    }
    return nil
  }

  /// What gives a query the tables as they stand, under the names that it calls them by. Only those that it reads: of others,
  /// which may have columns that nobody knows yet, no expression has to be one.
  private func head(for query: String) -> String {
    let sources = SQLTemplate.sources(query)
    let names = tables.filter { sources.contains($0.key.lowercased()) }.sorted { $0.key < $1.key }.compactMap
    {
      name, table in table.query.map { "\(identifier: name) AS (\($0))" as SQL }
    }
    return names.isEmpty ? "" : ("WITH \(SQL.joined(names)) " as SQL).text
  }

  /// How many rows an entity has at this point; nil where an earlier step writes rows, too.
  func count(of entity: String, _ model: Schema, _ connection: Connection) throws -> Int? {
    let place = model.place(of: entity)
    guard let table = tables[place.table], table.writer == nil else { return nil }
    let check = RowCheck(.other, entity, [], at: place, message: "")
    switch try answer(check, connection) {
    case .accepted: return 0
    case .refused(let count, _): return count
    case .failed, .unasked: return nil
    }
  }
}

extension Schema {
  fileprivate var titlesOfViews: [String: String] {
    let views = rawObjects.filter { $0.kind == .view }
    return Dictionary(views.map { ($0.name.lowercased(), $0.title) }) { first, _ in first }
  }
}
