// Compiles a condition tree to a SelectStatement with its values. It is pure: it uses no connection, no
// clock and no files.
// +Conditions    logic, lists          +Comparisons  two operands        +Types  conversions
// +Paths         operands, to-ones     +Members      to-manys
// +Calculations  calculations, functions
//
// SQL's logic has three values, a predicate's has two. A NOT is moved down to the comparisons, where it
// becomes the opposite operator, or `IS NOT 1`, which is true for NULL. So NULL counts as false
// everywhere, and the text stays flat: the parser of the older engine has a stack of 100 entries.

internal import CipherSQLite

/// Compiles the predicates of one request on one entity.
struct PredicateCompiler {
  /// A table in the statement or in a subquery, with the joins that its paths need.
  struct Scope {
    let entity: EntityMapping
    let alias: Int
    /// The names that are put before each path of this scope: what follows the last to-many in the
    /// quantifier's path.
    var prefix: [String] = []
    /// The slots whose indexes the engine may use to find rows; nil for all.
    ///
    /// When the rows are found by the link to the surrounding statement, these are the slots that follow
    /// the link in the indexes that begin with it. Another index would find rows of all owners.
    var usableIndexSlots: Set<Int>?
    /// The number of the scope's tables without its joins.
    var tableCount = 1
    // An array: there are few joins, and a dictionary with arrays as keys costs more than it saves.
    var joins: [Join] = []
  }

  /// A to-one that was joined.
  struct Join {
    let path: [String]
    let alias: Int
    let entity: EntityMapping
    /// The join condition.
    let condition: SQL
    /// The aliases of this join and of the joins that it depends on.
    let needs: SlotSet
  }

  /// A condition in SQL. Its value is true, false or NULL; NULL counts as false.
  struct Condition {
    var sql: SQL
    /// The joined tables that the condition depends on: it cannot be true if one of them has no row.
    var needs: SlotSet = []
    /// The number of nested levels of parentheses.
    var height = 0

    static func constant(_ value: Bool) -> Condition { Condition(sql: value ? "1" : "0") }
  }

  var scopes: [Scope]
  private var aliasCount = 1
  /// The captured values of the condition that is being compiled, and the number of values of the
  /// conditions before it.
  private var values: [PredicateValue] = []
  private var firstSource = 0
  /// The ids of the last compiled IN, if it compares the id of the fetched object with constants whose number
  /// exceeds ``longestWrittenList``; nil otherwise.
  var listedIDs: [Int64]?
  /// Whether the operands that are being compiled are compared by less or greater.
  var isInRange = false
  /// Whether the SQL is the same for other values of the same types.
  private(set) var isReusable = true

  init(_ entity: EntityMapping) { scopes = [Scope(entity: entity, alias: 0)] }

  /// Returns the constant of an operand, and its index among the captured values of the request.
  func constant(_ operand: PredicateOperand) -> (value: PredicateValue, source: Int?)? {
    guard let (value, source) = operand.constant(among: values) else { return nil }
    return (value, source.map { firstSource + $0 })
  }

  /// Records that the SQL depends on the captured values in the fragment, so that it cannot be used for
  /// other values.
  mutating func dependsOnValues(_ sql: SQL) {
    if !sql.replaceable.isEmpty { isReusable = false }
  }

  /// Records that the SQL contains constants that a plan's key does not tell apart.
  mutating func dependsOnConstants() { isReusable = false }

  var entityName: String { scopes[0].entity.name }

  mutating func newAlias() -> Int {
    defer { aliasCount += 1 }
    return aliasCount
  }

  func failure(_ reason: String, at place: Int? = nil) -> StoreError {
    .predicate(PredicateError(reason, entity: entityName, place: place))
  }

  // MARK: Whole statements

  /// Returns the query of a request on the compiler's entity.
  mutating func select(_ columns: SQL, _ request: FetchParameters, isOrdered: Bool = true) throws
    -> SelectStatement
  {
    guard request.sort.count <= PredicateError.maximumSortKeys else {
      throw failure(
        "it has \(request.sort.count) sort keys, and at most \(PredicateError.maximumSortKeys) are allowed")
    }
    if let slot = request.firstsOf {
      return try selectFirsts(of: slot, columns, request, isOrdered: isOrdered)
    }
    var filter = try filter(request)
    // In a shared table, a condition on the entity column selects the rows. The engine may use the index
    // of that column where the order does not matter, and for a single entity, whose rows the index
    // returns in the order of their ids. It must not use that index where another one finds fewer rows.
    let entity = scopes[0].entity
    if entity.isInHierarchy {
      let isServed = request.conditions.contains { isNarrow($0) }
      let isSingle = !request.includesSubentities || !entity.hasChildren
      let alias: SQL = isServed || !(isSingle || !isOrdered) ? "+t0." : "t0."
      if let rows = entity.membership(alias, isBranch: request.includesSubentities) {
        filter = combined((filter.map { [$0] } ?? []) + [Condition(sql: rows)], isAnd: true)
      }
    }
    var statement = SelectStatement(columns, from: .table(scopes[0].entity.table, alias: 0))
    if isOrdered {
      for key in request.sort { statement.order += try order(key, value(key.value)) }
      // The id is added as the last key, so that equal rows have a fixed order and pages do not overlap.
      // It has the direction of the key before it: an index has the ids after its columns, and then
      // serves for both.
      if let last = request.sort.last, last.value != .objectID {
        // After a to-one no index can serve, and the plus keeps the engine from trying.
        let id: SQL =
          last.value.names?.count == 1 || scopes[0].joins.isEmpty ? "t0.\"id\"" : "+t0.\"id\""
        statement.order.append(.init(expression: id, isDescending: last.isDescending))
      }
    }
    statement.joins = try joins(of: scopes[0], needs: filter?.needs ?? [], kind: .inner)
    statement.condition = filter?.sql
    statement.isIDRange =
      !entity.isInHierarchy && !request.conditions.isEmpty
      && request.conditions.allSatisfy(\.node.isIDRange)
    if request.isWindow {
      // Without sort keys, pages of all rows must not overlap either: the order of the ids costs nothing
      // there.
      if isOrdered, statement.order.isEmpty, statement.condition == nil {
        statement.order.append(.init(expression: "t0.\"id\"", isDescending: false))
      }
      // SQLite has no OFFSET without LIMIT; -1 means no limit.
      statement.window = request.offset > 0 ? .limitAndOffset : .limit
    }
    if request.excludesPending {
      let stays: SQL = "NOT vault_pending(t0.\"id\")"
      statement.condition = statement.condition.map { "(\($0)) AND \(stays)" } ?? stays
    }
    return statement
  }

  /// Compiles a value of each object, which is selected, sorted or grouped by.
  /// - Throws: ``StoreError/predicate(_:)`` for a path that contains a to-many.
  mutating func value(_ value: PredicateOperand) throws -> CompiledOperand {
    if value.names == nil {
      // The limits of a condition hold for a computed value, too.
      try PredicateNode.comparison(value, .equal, .value(.null), []).check()
    }
    try requireOneValue(value)
    return try compiled(value)
  }

  /// Returns the terms by which a statement is sorted by a key.
  /// - Parameter value: The value of the key.
  mutating func order(_ key: SortKey, _ value: CompiledOperand) throws
    -> [SelectStatement.Term]
  {
    try checkOrder(value)
    let sql = ordered(try collated(value, key.options) ?? folded(value, key.options))
    let term = SelectStatement.Term(expression: sql, isDescending: key.isDescending)
    guard key.nilIsGreatest else { return [term] }
    return [.init(expression: "\(value.sql) IS NULL", isDescending: key.isDescending), term]
  }

  /// Checks that a path has one value for each object.
  private func requireOneValue(_ value: PredicateOperand) throws {
    guard let names = value.names else { return }
    var entity = scopes[0].entity
    for name in names {
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
        return
      }
      guard !relationship.isToMany else {
        throw failure(
          "\(entity.name).\(name) is a to-many, but a sort, a value and a group need one value for each object; "
            + "use an attribute, also of a to-one, or the fetched objects and their \(name).count")
      }
      entity = relationship.destination
    }
  }

  /// Compiles all conditions of a request; nil when there are none.
  private mutating func filter(_ request: FetchParameters) throws -> Condition? {
    var filters: [Condition] = []
    for condition in request.conditions { try locating(condition) { try $0.check() } }
    let narrowing = request.conditions.map { isNarrow($0) }
    for (index, condition) in request.conditions.enumerated() where condition.node != .constant(true) {
      values = condition.values
      let isNarrowed = narrowing.indices.contains { $0 != index && narrowing[$0] }
      filters.append(
        try locating(condition) {
          try self.condition($0, isNegated: false, isNarrowed: isNarrowed)
        })
      firstSource += values.count
    }
    return filters.isEmpty ? nil : combined(filters, isAnd: true)
  }

  /// Returns whether a condition can be true only for few objects, and an index finds them.
  private func isNarrow(_ condition: FetchCondition) -> Bool {
    var compiler = self
    compiler.values = condition.values
    return compiler.isNarrow(condition.node, depth: 0)
  }

  /// Returns the plan of a statement.
  /// - Parameters:
  ///   - columnCount: The number of columns, if the rows may be handed over; nil otherwise.
  ///   - columnsAreNames: Whether no column is computed.
  ///   - canBeSplit: Whether two connections may read halves of the table.
  ///   - ids: The ids of the rows, if the request is only a list of ids.
  ///   - lookup: Returns the state with which the statement with this text can run in two parts, the ids
  ///     first; nil where that never helps.
  mutating func plan(
    _ statement: SelectStatement, columnCount: Int? = nil, columnsAreNames: Bool = false,
    canBeSplit: Bool = true, ids: [Int64]? = nil, lookup: (String) -> LateLookup? = { _ in nil }
  ) throws -> FetchPlan {
    let sql = statement.sql
    let bindings = sql.bindings
    guard bindings.count <= PredicateError.maximumValues else {
      throw failure(
        "it has \(bindings.count) values, and at most \(PredicateError.maximumValues) are allowed; put the "
          + "values of one property into one IN, whose list can have \(PredicateError.maximumListCount)"
      )
    }
    var form =
      columnCount.map {
        statement.form(columnCount: $0, columnsAreNames: columnsAreNames, canBeSplit: canBeSplit)
      } ?? .stepped(sql.text)
    if let ids {
      form = .listed(RowIDSet(ids).ids, form)
      isReusable = false
    }
    return FetchPlan(
      text: sql.text, form: lookup(sql.text).map { .late($0, form) } ?? form, bindings: bindings,
      isReusable: isReusable)
  }

  /// Adds the entity to errors, and the text of the condition if it has one.
  private func locating<Result>(
    _ condition: FetchCondition, _ body: (PredicateNode) throws -> Result
  ) throws -> Result {
    do { return try body(condition.node) } catch StoreError.predicate(let error) {
      let named = PredicateError(error.reason, entity: error.entity ?? entityName, place: error.place)
      throw StoreError.predicate(condition.format.map { named.located(in: $0) } ?? named)
    }
  }

  /// Returns the joined to-ones of a scope. Those that the condition needs come first, as joins of
  /// `kind`: the engine may begin with an inner join, but not with a table after a left join.
  func joins(
    of scope: Scope, needs: SlotSet, kind: SelectStatement.Join.Kind
  ) throws -> [SelectStatement.Join] {
    guard scope.tableCount + scope.joins.count <= PredicateError.maximumSteps + 1 else {
      throw failure(
        "its paths follow \(scope.tableCount + scope.joins.count - 1) relationships; at most "
          + "\(PredicateError.maximumSteps) are allowed"
      )
    }
    let isNeeded = { (join: Join) in needs.contains(join.alias) }
    return scope.joins.filter(isNeeded).map { $0.joined(kind) }
      + scope.joins.filter { !isNeeded($0) }.map { $0.joined(.left) }
  }
}

extension PredicateCompiler.Join {
  fileprivate func joined(_ kind: SelectStatement.Join.Kind) -> SelectStatement.Join {
    .init(kind: kind, table: entity.table, alias: alias, condition: condition)
  }
}

extension PredicateNode {
  /// Whether the condition only bounds the id of the fetched object by constants.
  fileprivate var isIDRange: Bool {
    switch self {
    case .comparison(.objectID, let comparison, let bound, _):
      let isRange = [.less, .lessOrEqual, .greater, .greaterOrEqual].contains(comparison)
      if case .value = bound { return isRange }
      if case .variable = bound { return isRange }
      return false
    case .and(let parts): return parts.allSatisfy(\.isIDRange)
    default: return false
    }
  }
}
