// Condition tree -> SQL text and bindings. Pure: no connection, no clock, no file access.
// Paths are in PredicateCompiler+Paths, comparisons in PredicateCompiler+Comparisons.
//
// SQL's logic has three values, ours has two. Where a condition stands under no NOT, NULL may stand for false
// and comparisons stay as plain as an index wants them; under a NOT every comparison is made to yield 0 or 1.

internal import CipherSQLite

struct PredicateCompiler {
  /// A table in the statement, or in a subquery of it, with the joins that its paths needed.
  struct Scope {
    let entity: EntityRuntime
    let alias: String
    /// Names between the scope's object and what depth-paths mean: the rest behind the last to-many.
    var prefix: [String] = []
    // An array: there are few, and a dictionary keyed by arrays costs more than it saves.
    var joins: [Join] = []
    var joinSQL = ""
  }

  /// A to-one that was joined.
  struct Join {
    let path: [String]
    let alias: String
    let entity: EntityRuntime
  }

  var scopes: [Scope]
  private var aliasCount = 1
  private let engine: Engine
  /// The captured values of the condition that is being compiled, and how many those before it had.
  private var values: [PredicateValue] = []
  private var firstSource = 0
  /// Whether the SQL would be the same for other values of the same types.
  private var isReusable = true

  init(_ entity: EntityRuntime, engine: Engine = .current) {
    scopes = [Scope(entity: entity, alias: "t0")]
    self.engine = engine
  }

  /// What stands in the place of a template's constant this time.
  func current(_ template: PredicateValue) -> PredicateValue {
    guard let source = template.source, source < values.count else {
      return PredicateValue(type: template.type, stored: template.stored)
    }
    var value = values[source]
    value.source = firstSource + source
    return value
  }

  /// Notes that the SQL is made after the values in the fragment, and not for all like them.
  mutating func dependsOnValues(_ fragment: Fragment) {
    if fragment.bindings.contains(where: { $0.source != nil }) { isReusable = false }
  }

  var entityName: String { scopes[0].entity.name }

  mutating func newAlias() -> String {
    defer { aliasCount += 1 }
    return "t" + String(aliasCount)
  }

  func failure(_ reason: String) -> StoreError {
    .predicate(PredicateError(reason, entity: entityName))
  }

  // MARK: Conditions

  /// - Parameter isExact: Whether NULL has to be told from false, because a NOT is around.
  mutating func condition(_ node: PredicateNode, isExact: Bool = false) throws -> Fragment {
    switch node {
    case .constant(let value): return Fragment(sql: value ? "1" : "0")
    case .and(let parts): return try joined(parts, ") AND (", empty: "1", isExact)
    case .or(let parts): return try joined(parts, ") OR (", empty: "0", isExact)
    case .not(let inner): return "NOT (" + (try condition(inner, isExact: true)) + ")"
    case .comparison(let left, let comparison, let right, let options):
      return try compare(left, comparison, right, options, isExact)
    case .between(let operand, let low, let high):
      return try condition(
        .and([
          .comparison(operand, .greaterOrEqual, low, []), .comparison(operand, .lessOrEqual, high, []),
        ]), isExact: isExact)
    case .isIn(let operand, let list, let options): return try isIn(operand, list, options, isExact)
    case .quantified(let quantifier, let path, let inner): return try quantified(quantifier, path, inner)
    }
  }

  private mutating func joined(
    _ parts: [PredicateNode], _ between: String, empty: String, _ isExact: Bool
  ) throws -> Fragment {
    if parts.isEmpty { return Fragment(sql: empty) }
    if parts.count == 1 { return try condition(parts[0], isExact: isExact) }
    var sql = Fragment(sql: "(")
    for (index, part) in parts.enumerated() {
      if index > 0 { sql.sql += between }
      sql.append(try condition(part, isExact: isExact))
    }
    sql.sql += ")"
    return sql
  }

  private mutating func isIn(
    _ operand: PredicateOperand, _ list: [PredicateOperand], _ options: StringOptions, _ isExact: Bool
  ) throws -> Fragment {
    guard !list.isEmpty else { return Fragment(sql: "0") }
    let subject = try compiled(operand)
    var hasNil = false
    var values: [Fragment] = []
    for element in list {
      let candidate = try compiled(element)
      if candidate.constant == .null {
        hasNil = true
        continue
      }
      // A value that the attribute's type cannot hold equals nothing.
      switch try adapted(candidate, to: subject, for: .equal) {
      case .operand(let fitting, _): values.append(try folded(fitting, options).fragment)
      case .constant: continue
      }
    }
    for value in values { dependsOnValues(value) }
    // Numbers are written out: they cannot be mistaken for anything else, and parameters are few.
    let written = values.map { fragment -> Fragment in
      if case .integer(let number)? = fragment.bindings.first?.value, fragment.sql == "?" {
        return Fragment(sql: "\(number)")
      }
      return fragment
    }
    let bindingCount = written.reduce(0) { $0 + $1.bindings.count }
    guard bindingCount < engine.maximumParameters - 100, written.count < 100_000 else {
      throw failure("IN has \(written.count) values; this engine takes \(engine.maximumParameters - 100)")
    }
    let left = try folded(subject, options).fragment
    var parts: [Fragment] = []
    if !written.isEmpty {
      let membership = left + " IN (" + .joined(written, ", ") + ")"
      parts.append(isExact ? "ifnull(" + membership + ", 0)" : membership)
    }
    if hasNil { parts.append(left + " IS NULL") }
    if parts.isEmpty { return Fragment(sql: "0") }
    return parts.count == 1 ? parts[0] : "(" + .joined(parts, " OR ") + ")"
  }

  private mutating func quantified(
    _ quantifier: Quantifier, _ path: PropertyPath, _ inner: PredicateNode
  ) throws -> Fragment {
    let (source, scope) = try collection(path)
    scopes.append(scope)
    defer { scopes.removeLast() }
    let body: Fragment
    switch quantifier {
    case .any, .none: body = try condition(inner)
    case .all: body = "NOT (" + (try condition(inner, isExact: true)) + ")"
    }
    let joins = scopes[scopes.count - 1].joinSQL
    let exists = "EXISTS (SELECT 1 FROM \(source.tables)\(joins) WHERE \(source.link) AND (" + body + "))"
    return quantifier == .any ? exists : "NOT " + exists
  }

  // MARK: Whole statements

  /// `SELECT columns FROM … WHERE … ORDER BY … LIMIT …` for a request on the compiler's entity.
  mutating func select(_ columns: String, _ request: FetchParameters, isOrdered: Bool = true) throws
    -> FetchPlan
  {
    var filters: [Fragment] = []
    for condition in request.conditions where condition.node != .constant(true) {
      values = condition.values
      filters.append(try self.condition(condition.node))
      firstSource += values.count
    }
    var order: [String] = []
    if isOrdered {
      for key in request.sort {
        let operand = try compiled(.path(PropertyPath(key.names)))
        order.append(operand.fragment.sql + (key.isDescending ? " DESC" : ""))
      }
    }
    var statement = Fragment(sql: "SELECT \(columns) FROM \(scopes[0].entity.table) t0\(scopes[0].joinSQL)")
    if filters.count == 1 { statement = statement + " WHERE " + filters[0] }
    if filters.count > 1 {
      statement = statement + " WHERE (" + .joined(filters, ") AND (") + ")"
    }
    if !order.isEmpty { statement = statement + " ORDER BY \(order.joined(separator: ", "))" }
    if request.isWindow {
      // SQLite has no OFFSET without LIMIT; -1 is none.
      statement.sql += request.offset > 0 ? " LIMIT ? OFFSET ?" : " LIMIT ?"
    }
    guard statement.bindings.count + 2 <= engine.maximumParameters else {
      throw failure(
        "it has \(statement.bindings.count) values; this engine takes \(engine.maximumParameters - 2)")
    }
    return FetchPlan(text: statement.sql, bindings: statement.bindings, isReusable: isReusable)
  }
}

/// What a fetch asks for.
struct FetchParameters: Sendable {
  struct SortKey: Sendable, Hashable {
    let names: [String]
    let isDescending: Bool
  }
  var conditions: [FetchCondition] = []
  var sort: [SortKey] = []
  var prefetch: [[String]] = []
  var limit: Int?
  var offset = 0

  /// Whether it asks for a part of the results.
  var isWindow: Bool { limit != nil || offset > 0 }
}
