// Which tables earlier pending steps change. A plan queries only the other tables: their rows are already
// those that the next step will find.

internal import CipherSQLite

/// Tables whose rows earlier steps change, each with the reason that a plan reports.
struct TouchedTables {
  /// By the tables' names in lower case.
  private var reasons: [String: String] = [:]
  /// Columns that earlier steps add to tables that otherwise stay the same, with the reason; by table and
  /// column in lower case.
  private var reasonsOfColumns: [String: [String: String]] = [:]
  /// The reason why no table can be queried: a block may have written to any of them. nil if there is none.
  private var reasonForAll: String?
  /// The titles of raw views for messages, by their names in lower case.
  private var views: [String: String]
  /// Triggers in the file that no step created: the table that fires each, and the words in its SQL, in
  /// lower case.
  private let foreignTriggers: [(table: String, words: Set<String>)]

  init(_ model: Schema, _ connection: Connection) throws {
    views = model.titlesOfViews
    let own = Set(model.rawObjects.map { $0.name.lowercased() })
    foreignTriggers = try connection.rows(
      "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).compactMap { row in
      guard let name = row[0].string, let table = row[1].string, !own.contains(name.lowercased()) else {
        return nil
      }
      return (table.lowercased(), SQLTemplate.words(row[2].string ?? ""))
    }
  }

  // MARK: Following

  /// Records what a part of a step changes.
  /// - Parameter written: The tables that a data block writes to, in lower case; nil if the engine did not
  ///   report them.
  mutating func follow(_ part: CompiledStep.Part, writing written: Set<String>?, of step: MigrationStep) {
    let name = "\(numbered(step.number)) \(step.name)"
    views = part.model.titlesOfViews
    // A view that is created again returns other rows from now on.
    for view in Set(part.before.rawObjects).symmetricDifference(part.model.rawObjects)
    where view.kind == .view {
      touch(view.name, by: name)
    }
    guard let compiler = part.compiler else {
      for statement in part.statements { follow(statement, writing: written, in: part.model, of: name) }
      return
    }
    var former = Dictionary(part.before.tables(but: compiler.untouched).map { ($0.name, $0) }) { first, _ in
      first
    }
    for table in part.model.tables(but: compiler.untouched) {
      guard let old = former.removeValue(forKey: table.name),
        let columns = compiler.columnsAdded(to: table, old)
      else {
        touch(table.name, by: name)
        continue
      }
      for column in columns {
        let reason = "step \(name) adds \(table.name).\(column) first"
        reasonsOfColumns[table.name.lowercased(), default: [:]][column.lowercased()] = reason
      }
    }
    for table in former.keys { touch(table, by: name) }
  }

  /// Records the tables that a statement of a data block or of a composite operation may write to.
  private mutating func follow(
    _ statement: CompiledStatement, writing written: Set<String>?, in model: Schema, of step: String
  ) {
    switch statement {
    case .data(let block, _):
      // The report of the engine includes the tables that triggers write to.
      if let written { return touch(tables: written, in: model, by: step) }
      touch(tables: Set(block.tables.map { $0.lowercased() }), in: model, by: step)
    case .sql(let sql): touch(tables: SQLTemplate.words(sql), in: model, by: step)
    case .transform(let transform):
      touch(
        transform.writes.map { Set($0.map { model.root(of: $0.entity).lowercased() }) }, in: model, by: step)
    case .copy, .mustBeEmpty, .raw, .rawMustFit, .require: break
    }
  }

  /// Records tables and, with them, all tables that the model's triggers name, and so may write to.
  /// - Parameter words: The names of tables, among other words, in lower case; nil for all tables.
  private mutating func touch(_ words: Set<String>?, in model: Schema, by step: String) {
    guard var words else {
      return reasonForAll = reasonForAll ?? "step \(step) may write to any table first"
    }
    for trigger in model.rawStatements where trigger.isTrigger {
      words.formUnion(SQLTemplate.words(trigger.create))
    }
    touch(tables: words, in: model, by: step)
  }

  private mutating func touch(tables names: Set<String>, in model: Schema, by step: String) {
    var (names, waiting) = (names, foreignTriggers[...])
    while let index = waiting.firstIndex(where: { names.contains($0.table) }) {
      names.formUnion(waiting.remove(at: index).words)
    }
    for table in model.tables where names.contains(table.name.lowercased()) { touch(table.name, by: step) }
  }

  private mutating func touch(_ table: String, by step: String) {
    guard reasons[table.lowercased()] == nil else { return }
    reasons[table.lowercased()] = "step \(step) changes \(table) first"
  }

  // MARK: Queries

  /// The result of a check on the rows as they are now.
  enum Answer {
    case accepted
    case refused(count: Int, rows: [Int64])
    /// The reason why the step will fail, if no particular rows are to blame: an unmet requirement, or a
    /// query that returns several rows or columns.
    case failed(reason: String)
    /// The reason why the check cannot run before the steps do.
    case unasked(String)
  }

  func answer(_ question: RowCheck.Question, _ connection: Connection) throws -> Answer {
    if let reason = obstacle(to: question.query) { return .unasked(reason) }
    do {
      guard let count = try connection.value(sql: question.query)?.int64, count > 0 else { return .accepted }
      return .refused(count: Int(count), rows: try connection.query(sql: question.rows) { $0.int64(0) })
    } catch let error as SQLError where error.isOfStatement {
      return .unasked("\(error)")
    }
  }

  /// SQL functions whose result depends on the run itself and not on the rows.
  private static let wordsOfRun: Set<String> = ["changes", "total_changes", "last_insert_rowid"]

  /// Checks whether a query of a `require` returns true for the rows as they are now.
  /// - Parameter sentence: What is required.
  func answer(toRequirement sentence: String, _ query: String, _ connection: Connection) throws -> Answer {
    if let reason = obstacle(to: query) { return .unasked(reason) }
    let isOfRun = SQLTemplate.sources(query).contains { $0.hasPrefix("sqlite_") || $0.hasPrefix("vault_") }
    if isOfRun || !SQLTemplate.words(query).isDisjoint(with: Self.wordsOfRun) {
      return .unasked("the run itself changes what the query reads")
    }
    do {
      let value = try connection.withAuthorizer({ MigrationRunner.reads($0) ? .allow : .deny }) {
        // The statement without the semicolon at its end.
        let statement = SQLTemplate.statements(query).first { !$0.isBlank } ?? query
        return try connection.onlyValue(sql: SQLTemplate.namesOnly(statement))
      }
      return (value?.double ?? 0) != 0 ? .accepted : .failed(reason: Require.notMet(sentence))
    } catch let error as ModelError {
      return .failed(reason: error.reason)
    } catch let error as SQLError where error.isOfStatement {
      return .unasked("\(error.asWritten(query))")
    }
  }

  /// The reason why a query cannot run before the steps do; nil when it can.
  private func obstacle(to query: String) -> String? {
    if let reasonForAll { return reasonForAll }
    // Only the query's tables count: other words may be columns that have the name of a table.
    let sources = SQLTemplate.sources(query)
    if let reason = reasons.filter({ sources.contains($0.key) }).min(by: { $0.key < $1.key })?.value {
      return reason
    }
    let words = SQLTemplate.words(query)
    let namesAll = words.contains("natural") || Self.hasStar(query)
    for (table, columns) in reasonsOfColumns.sorted(by: { $0.key < $1.key }) where sources.contains(table) {
      if let column = columns.keys.filter({ namesAll || words.contains($0) }).min() { return columns[column] }
    }
    guard !reasons.isEmpty || !reasonsOfColumns.isEmpty,
      let view = views.filter({ sources.contains($0.key) }).min(by: { $0.key < $1.key })
    else { return nil }
    return "the \(view.value) may read tables that change first"
  }

  /// Whether a query may name all columns of a table with `*`.
  private static func hasStar(_ query: String) -> Bool {
    query.replacing(/(?i)count\s*\(\s*\*\s*\)/, with: "").contains("*")
  }

  /// The number of rows that an entity has at this point; nil if an earlier step changes their table.
  func count(of entity: String, _ model: Schema, _ connection: Connection) throws -> Int? {
    let place = model.place(of: entity)
    let query: SQL = "SELECT count(*) FROM \(place.rows)"
    guard obstacle(to: query.text) == nil else { return nil }
    return try connection.value(query)?.int64.map { Int($0) }
  }
}

extension Schema {
  fileprivate var titlesOfViews: [String: String] {
    let views = rawObjects.filter { $0.kind == .view }
    return Dictionary(views.map { ($0.name.lowercased(), $0.title) }) { first, _ in first }
  }
}
