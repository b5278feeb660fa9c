// Condition tree -> a SelectStatement with its values. Pure: no connection, no clock, no file access.
//   +Conditions    logic, lists          +Comparisons  two operands        +Types  what fits what
//   +Paths         operands, to-ones     +Members      to-manys
//
// SQL's logic has three values, ours has two. A NOT is carried down to the comparisons, where it becomes the
// opposite operator, or `IS NOT 1`, which NULL is not either. So SQL's NULL stands for false everywhere, and
// the text stays flat: the parser of the older engine has a stack of 100 places.

internal import CipherSQLite

struct PredicateCompiler {
  /// A table in the statement, or in a subquery of it, with the joins that its paths needed.
  struct Scope {
    let entity: EntityMapping
    let alias: Int
    /// Names between the scope's object and what depth-paths mean: the rest behind the last to-many.
    var prefix: [String] = []
    /// The slots whose columns the engine may find rows by; nil for all. Where the link to the statement around finds the
    /// rows, they are those that its index goes on with: another index would begin with rows of all owners.
    var servedSlots: Set<Int>?
    /// How many tables it has beside the joins.
    var tableCount = 1
    // An array: there are few, and a dictionary keyed by arrays costs more than it saves.
    var joins: [Join] = []
  }

  /// A to-one that was joined.
  struct Join {
    let path: [String]
    let alias: Int
    let entity: EntityMapping
    /// What ties it to the one before.
    let condition: SQL
    /// Its alias, and those of the joins that lead to it.
    let needs: SlotSet
  }

  /// A condition in SQL: true where it holds, false or NULL where it does not.
  struct Condition {
    var sql: SQL
    /// The joined tables without whose rows it cannot hold.
    var needs: SlotSet = []
    /// How many brackets deep it is.
    var height = 0

    static func constant(_ value: Bool) -> Condition { Condition(sql: value ? "1" : "0") }
  }

  var scopes: [Scope]
  private var aliasCount = 1
  /// The captured values of the condition that is being compiled, and how many those before it had.
  private var values: [PredicateValue] = []
  private var firstSource = 0
  /// The ids of the last IN that was compiled, where it compares the id of the fetched object with more than
  /// ``PackedList/threshold`` constants; else nil.
  var listedIDs: [Int64]?
  /// Whether the SQL would be the same for other values of the same types.
  private var isReusable = true

  init(_ entity: EntityMapping) { scopes = [Scope(entity: entity, alias: 0)] }

  /// The constant that an operand is, and its place among the captured values of the request.
  func constant(_ operand: PredicateOperand) -> (value: PredicateValue, source: Int?)? {
    guard let (value, source) = operand.constant(among: values) else { return nil }
    return (value, source.map { firstSource + $0 })
  }

  /// Notes that the SQL is made after the values in the fragment, and not for all like them.
  mutating func dependsOnValues(_ sql: SQL) {
    if !sql.replaceable.isEmpty { isReusable = false }
  }

  var entityName: String { scopes[0].entity.name }

  mutating func newAlias() -> Int {
    defer { aliasCount += 1 }
    return aliasCount
  }

  func failure(_ reason: String, at place: Int? = nil) -> StoreError {
    .predicate(PredicateError(reason, entity: entityName, place: place))
  }

  // MARK: Whole statements

  /// The query of a request on the compiler's entity, and whether it serves for other captured values, too.
  mutating func select(_ columns: SQL, _ request: FetchParameters, isOrdered: Bool = true) throws
    -> SelectStatement
  {
    var filter = try filter(request)
    // Which rows of the table are meant, says a column that has an index. Rows come in the order of their ids, so that it
    // serves only for a single entity; and not where another one finds fewer.
    let entity = scopes[0].entity
    if entity.isInFamily {
      let isServed = request.conditions.contains { isNarrow($0.node, depth: 0) }
      let isSingle = !request.includesSubentities || !entity.hasChildren
      let alias: SQL = isServed || !(isSingle || !isOrdered) ? "+t0." : "t0."
      if let rows = entity.membership(alias, isBranch: request.includesSubentities) {
        filter = combined((filter.map { [$0] } ?? []) + [Condition(sql: rows)], isAnd: true)
      }
    }
    var statement = SelectStatement(columns, from: .table(scopes[0].entity.table, alias: 0))
    if isOrdered {
      for key in request.sort {
        try requireOneValue(key.names)
        let operand = try compiled(.path(PropertyPath(key.names)))
        statement.order.append(.init(expression: operand.sql, isDescending: key.isDescending))
      }
      // What the keys find equal is in one order, too, so that pages of it do not overlap. In the direction of the
      // last key: an index has the ids behind its columns, and serves for both.
      if let last = request.sort.last, last.names != ["id"] {
        // Behind a to-one no index serves, and the engine is not to look for one.
        let id: SQL = last.names.count == 1 ? "t0.\"id\"" : "+t0.\"id\""
        statement.order.append(.init(expression: id, isDescending: last.isDescending))
      }
    }
    statement.joins = try joins(of: scopes[0], needs: filter?.needs ?? [], kind: .inner)
    statement.condition = filter?.sql
    if request.isWindow {
      // Pages of all rows do not overlap either where no order was asked for: that of the ids costs nothing there.
      if isOrdered, statement.order.isEmpty, statement.condition == nil, statement.joins.isEmpty {
        statement.order.append(.init(expression: "t0.\"id\"", isDescending: false))
      }
      // SQLite has no OFFSET without LIMIT; -1 is none.
      statement.window = request.offset > 0 ? .limitAndOffset : .limit
    }
    if request.leavesOutPending {
      let stays: SQL = "NOT vault_pending(t0.\"id\")"
      statement.condition = statement.condition.map { "(\($0)) AND \(stays)" } ?? stays
    }
    return statement
  }

  /// - Throws: For a sort key that leads through a to-many, or to one.
  private func requireOneValue(_ names: [String]) throws {
    var entity = scopes[0].entity
    for name in names {
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
        return
      }
      guard !relationship.isToMany else {
        throw failure(
          "\(entity.name).\(name) has many members, and a sort takes one value of each object; sort by an attribute, through "
            + "to-ones if need be, or sort the fetched objects by \(name).count")
      }
      entity = relationship.destination
    }
  }

  /// All conditions of a request; nil where there are none.
  private mutating func filter(_ request: FetchParameters) throws -> Condition? {
    var filters: [Condition] = []
    for condition in request.conditions { try locating(condition) { try $0.check() } }
    let narrowing = request.conditions.map { isNarrow($0.node, depth: 0) }
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

  /// The statement as it is kept.
  /// - Parameters:
  ///   - columnCount: How many columns it has, when they are those of whole rows.
  ///   - columnsAreNames: Whether none of these is computed.
  ///   - ids: Those of the rows, where a list of them is all that is asked for.
  ///   - lookup: Finds by the text what is known of its ids.
  mutating func plan(
    _ statement: SelectStatement, columnCount: Int? = nil, columnsAreNames: Bool = false, ids: [Int64]? = nil,
    lookup: (String) -> LateLookup? = { _ in nil }
  ) throws -> FetchPlan {
    let sql = statement.sql
    let bindings = sql.bindings
    guard bindings.count <= PredicateError.maximumValues else {
      throw failure(
        "it has \(bindings.count) values; \(PredicateError.maximumValues) are possible, and many more in one IN"
      )
    }
    var form =
      columnCount.map { statement.form(columnCount: $0, columnsAreNames: columnsAreNames) }
      ?? .stepped(sql.text)
    if let ids {
      form = .listed(RowIDSet(ids).ids, form)
      isReusable = false
    }
    return FetchPlan(
      text: sql.text, form: lookup(sql.text).map { .late($0, form) } ?? form, bindings: bindings,
      isReusable: isReusable)
  }

  /// Gives errors the entity, and the text of the condition where it has one.
  private func locating<Result>(
    _ condition: FetchCondition, _ body: (PredicateNode) throws -> Result
  ) throws -> Result {
    do { return try body(condition.node) } catch StoreError.predicate(let error) {
      let named = PredicateError(error.reason, entity: error.entity ?? entityName, place: error.place)
      throw StoreError.predicate(condition.format.map { named.located(in: $0) } ?? named)
    }
  }

  /// The to-ones of a scope. Those that the condition needs come first and are joined plainly, so that the
  /// engine may begin with them; behind a left join it would keep the order.
  func joins(
    of scope: Scope, needs: SlotSet, kind: SelectStatement.Join.Kind
  ) throws -> [SelectStatement.Join] {
    guard scope.tableCount + scope.joins.count <= PredicateError.maximumSteps + 1 else {
      throw failure(
        "its paths follow \(scope.tableCount + scope.joins.count - 1) relationships; \(PredicateError.maximumSteps) are possible"
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
  /// Whether objects of the entities below are found, too.
  var includesSubentities = true
  /// Whether rows are left out that ``Connection/withPendingRows(_:_:)`` names.
  var leavesOutPending = false
  /// What was wrong with a key path, for the verbs to throw.
  var failure: StoreError?

  /// Whether it asks for a part of the results.
  var isWindow: Bool { limit != nil || offset > 0 }

  /// Asks for a condition more.
  mutating func add(_ condition: consuming FetchCondition) {
    // An array of one at once, as most are, and not an empty one that grows.
    if conditions.isEmpty { conditions = [condition] } else { conditions.append(condition) }
  }
}
