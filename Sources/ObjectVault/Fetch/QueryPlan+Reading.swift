// Makes a QueryPlan of the engine's lines.

internal import CipherSQLite

extension Fetch {
  /// Returns what the engine does for ``all()``, with warnings about what makes it slow, and the index to
  /// add to the schema. The fetch does not run.
  ///
  /// ```swift
  /// let plan = try context.fetch(Item.self).where("title CONTAINS 'x'")
  ///   .explain()
  /// assert(plan.warnings.isEmpty, "\(plan)")
  /// ```
  ///
  /// The engine plans by the rows that the file has: explain a fetch in a store with as many objects as a
  /// user has. Tables of fewer than ``QueryPlan/largeTableRows`` rows cause no warnings. If objects with
  /// pending changes are evaluated in memory, the plan is that of the other objects.
  /// - Returns: The plan.
  /// - Throws: The errors of ``all()``.
  public func explain() throws -> QueryPlan {
    let entity = try known()
    let compiled = try compiled(.objects, entity)
    return try context.withConnection { connection in
      try QueryPlan(of: compiled, for: parameters, on: entity, in: context.core.mapping, connection)
    }
  }
}

extension ObjectContext {
  /// Runs `body`, and returns what the engine does for each fetch in it: also for groups, values, the first
  /// of each group, annotations and pages, for which ``Fetch/explain()`` has no form.
  ///
  /// ```swift
  /// let plans = try context.explain {
  ///   try context.fetch(Item.self).grouped(by: \.kind, .count)
  /// }
  /// assert(plans.allSatisfy { $0.warnings.isEmpty }, "\(plans)")
  /// ```
  ///
  /// A fetch may take several statements; those that differ only in their values are explained once. Left
  /// out are statements that read known rows, members and prefetched objects, and those of
  /// ``rows(_:includingPending:)``.
  /// - Parameter body: The code that fetches.
  /// - Returns: The plans, in the order in which the statements were first needed.
  /// - Throws: The errors of `body`; ``SQLError``.
  public func explain<Result>(_ body: () throws -> Result) throws -> [QueryPlan] {
    let outer = explained
    explained = ExplainedFetches()
    // A closure around this one has these fetches, too.
    defer { explained = outer.map { $0.joined(with: explained) } }
    _ = try body()
    let found = explained?.all ?? []
    return try withConnection { connection in
      try found.map {
        try QueryPlan(of: $0.compiled, for: $0.request, on: $0.entity, in: core.mapping, connection)
      }
    }
  }

  /// Returns the SQL of a request, and notes it if it is to be explained.
  func compiled(_ selection: Selection, _ request: FetchParameters, on entity: EntityMapping) throws
    -> CompiledFetch
  {
    let compiled = try core.plans[entity.index].compiled(selection, request, in: core.mark)
    if explained != nil { explained?.note(compiled, of: request, on: entity) }
    return compiled
  }
}

extension QueryPlan {
  /// Reads the plan of a compiled fetch.
  init(
    of compiled: CompiledFetch, for request: FetchParameters, on entity: EntityMapping,
    in mapping: SchemaMapping, _ connection: Connection
  ) throws {
    let tables = Self.tables(in: compiled.text)
    let lines = try connection.plan(sql: compiled.text, compiled.bindings).map {
      ReadLine($0, tables: tables)
    }
    var review = PlanReview(request, on: entity, in: mapping, connection)
    for line in lines { try review.read(line) }
    self.init(statement: compiled, steps: lines.map(\.step), warnings: review.warnings)
  }

  /// Returns the tables of a statement by their aliases. Values are bound, so every text in double quotes
  /// is a name.
  private static func tables(in sql: String) -> [String: String] {
    var tables: [String: String] = [:]
    for match in sql.matches(of: #/(?:FROM|JOIN) "([^"]+)" (t\d+)/#) {
      tables[String(match.2)] = String(match.1)
    }
    return tables
  }
}

/// A line of the plan with its parts.
private struct ReadLine {
  let step: QueryPlan.Step
  let isCorrelated: Bool
  /// The columns of an index that the engine makes for the statement; nil if it makes none.
  let automaticIndex: String?

  init(_ line: PlanLine, tables: [String: String]) {
    let words = line.text.split(separator: " ").map(String.init)
    let isRead = words.count > 1 && (words[0] == "SCAN" || words[0] == "SEARCH")
    let table = isRead ? tables[words[1]] : nil
    let kind: QueryPlan.Step.Kind =
      switch words.first {
      case "SCAN": .scan
      case "SEARCH": .search
      case "USE" where line.text.contains("ORDER BY"): .sort
      case "CORRELATED", "LIST", "SCALAR", "CO-ROUTINE", "MATERIALIZE", "COMPOUND", "SUBQUERY": .subquery
      default: .other
      }
    isCorrelated = line.isCorrelated
    automaticIndex =
      line.text.contains(" AUTOMATIC ") ? line.text.firstMatch(of: #/\((\w+)=\?/#).map { String($0.1) } : nil
    // A virtual table has an index of its own kind, which is none of the schema.
    let place = words.contains("VIRTUAL") ? nil : words.firstIndex(of: "INDEX")
    let index = automaticIndex == nil ? place.flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil } : nil
    let text = table.map { ([words[0], $0] + words[1...]).joined(separator: " ") } ?? line.text
    step = .init(kind: kind, depth: line.depth, table: table, index: index, text: text)
  }
}

/// Finds what is slow in the lines of a plan.
private struct PlanReview {
  private let request: FetchParameters
  private let entity: EntityMapping
  private let mapping: SchemaMapping
  private let statistics: TableStatistics
  private let search: MissingIndexSearch
  private var counts: [String: Int] = [:]
  /// Whether the rows of the statement are found by their ids: then there are as few as the caller gave.
  private var hasIDs = false
  private(set) var warnings: [QueryPlan.Warning] = []

  init(
    _ request: FetchParameters, on entity: EntityMapping, in mapping: SchemaMapping,
    _ connection: Connection
  ) {
    (self.request, self.entity, self.mapping) = (request, entity, mapping)
    statistics = TableStatistics(connection)
    search = MissingIndexSearch(request, on: entity)
  }

  mutating func read(_ line: ReadLine) throws {
    let (step, search) = (line.step, search)
    if step.kind == .search, step.depth == 0, step.index == nil, step.table == entity.root.name,
      line.automaticIndex == nil, !step.text.contains("rowid>"), !step.text.contains("rowid<")
    {
      hasIDs = true
    }
    switch step.kind {
    case .scan where line.isCorrelated: try add(.correlatedScan, about: step.table) { _ in ([], .none) }
    case .scan where !request.conditions.isEmpty:
      // Rows in the order of an index are read only until the limit is reached.
      guard step.index == nil || !request.isWindow else { return }
      try add(.fullScan, about: step.table) { (search.paths(of: $0), search.indexForRows(of: $0)) }
    case .sort where step.depth == 0 && !hasIDs:
      let names = request.sort.map(\.value.pathText)
      try add(.sort, about: entity.root.name) { _ in (names, search.indexForOrder) }
    case .scan, .search, .sort, .subquery, .other: break
    }
    if let column = line.automaticIndex {
      try add(.automaticIndex, about: step.table) { _ in ([column], .none) }
    }
  }

  private mutating func add(
    _ kind: QueryPlan.Warning.Kind, about table: String?,
    advice: (EntityMapping) -> (properties: [String], index: MissingIndexSearch.Result)
  ) throws {
    guard let table, let read = table == entity.root.name ? entity : mapping.entity(named: table),
      !warnings.contains(where: { $0.kind == kind && $0.entity == read.name })
    else { return }
    let rows = try counts[table] ?? statistics.rows(inTable: table)
    counts[table] = rows
    guard rows >= QueryPlan.largeTableRows else { return }
    let (properties, result) = advice(read)
    switch result {
    case .missing(let index):
      warnings.append(
        .init(kind: kind, entity: read.name, rows: rows, properties: properties, index: index))
    case .none:
      warnings.append(.init(kind: kind, entity: read.name, rows: rows, properties: properties, index: nil))
    case .unused: break
    }
  }
}
