// Statements for values and aggregates instead of objects.

internal import CipherSQLite

extension PredicateCompiler {
  /// Returns the query for the columns of a selection.
  ///
  /// Rows of values are ordered and limited as objects are. Groups are ordered by their keys, and a limit
  /// counts groups. If a fetch with a limit has aggregates but no groups, they are computed over the
  /// objects that the limited fetch finds.
  /// - Throws: ``StoreError/predicate(_:)`` for a path that contains a to-many, for an aggregate of
  ///   values that the function does not accept, and for a sort key that is not a property of the groups
  ///   or of the distinct rows.
  mutating func select(_ selection: ColumnSelection, _ request: FetchParameters) throws -> SelectStatement {
    if !selection.grouping.isEmpty { return try groups(selection, request) }
    if selection.isGrouped { return try aggregates(selection, request) }
    let columns = try selection.columns.map { try column($0) }
    var statement = try select(.joined(columns), request, isOrdered: !selection.isDistinct)
    guard selection.isDistinct else { return statement }
    statement.isDistinct = true
    statement.order = try request.sort.flatMap { key in
      let value = try value(key.value)
      guard selection.columns.contains(.value(key.value)) else {
        throw failure(
          "distinct values can only be sorted by a value that is one of them, and \(value.name) is not")
      }
      return try order(key, value)
    }
    return statement
  }

  private mutating func groups(_ selection: ColumnSelection, _ request: FetchParameters) throws
    -> SelectStatement
  {
    let keys = try selection.grouping.map { try value($0) }
    let columns = try selection.columns.map { try column($0) }
    let having = try selection.having.map { try condition($0) }
    if having != nil { dependsOnConstants() }
    var statement = try select(.joined(columns), request, isOrdered: false)
    statement.grouping = keys.map(\.sql)
    statement.having = having
    statement.order = try request.sort.flatMap { key in
      guard let index = selection.grouping.firstIndex(of: key.value) else {
        throw failure(
          "groups can only be sorted by a value that they are grouped by, and \(try value(key.value).name) is "
            + "not; sort the result instead")
      }
      return try order(key, keys[index])
    }
    // Also after a key that compares strings without case: groups whose keys differ have a fixed order.
    let rest = selection.grouping.indices.filter { index in
      !request.sort.contains { $0.value == selection.grouping[index] && $0.options.isEmpty }
    }
    statement.order += rest.map { .init(expression: ordered(keys[$0]), isDescending: false) }
    return statement
  }

  /// Returns the query for aggregates of all rows.
  private mutating func aggregates(_ selection: ColumnSelection, _ request: FetchParameters) throws
    -> SelectStatement
  {
    guard request.isWindow else {
      let columns = try selection.columns.map { try column($0) }
      return try select(.joined(columns), request, isOrdered: false)
    }
    // The limit counts the rows that are aggregated, so they are found in a subquery.
    var values: [SQL] = []
    let columns = try selection.columns.map { column -> SQL in
      guard case .aggregate(let aggregate) = column else { return try self.column(column) }
      guard let value = aggregate.value else { return try expression(aggregate, of: nil) }
      let operand = try self.value(value)
      var inner = operand
      inner.sql = "t0.\(SQLName("v\(values.count)"))"
      inner.isColumn = false
      values.append("\(operand.sql) AS \(SQLName("v\(values.count)"))")
      return try expression(aggregate, of: inner)
    }
    let rows = try select(values.isEmpty ? "1" : .joined(values), request)
    return SelectStatement(.joined(columns), from: .subquery(rows, alias: 0))
  }

  private mutating func column(_ column: ColumnSelection.Column) throws -> SQL {
    switch column {
    case .value(let value): return try self.value(value).sql
    case .aggregate(let aggregate):
      return try expression(aggregate, of: try aggregate.value.map { try value($0) })
    }
  }

  // MARK: Aggregates

  /// Returns the call of an aggregate function.
  private func expression(_ aggregate: AggregateColumn, of operand: CompiledOperand?) throws -> SQL {
    guard let operand else { return "count(*)" }
    let sql = ordered(operand)
    switch aggregate.function {
    case .count: return "count(\(sql))"
    case .countDistinct: return "count(DISTINCT \(sql))"
    case .minimum, .maximum:
      try checkOrder(operand)
      guard !operand.isObject || operand.isID else {
        throw failure(
          "\(operand.name) is an object, and has no minimum and maximum; use the id or an attribute")
      }
      return aggregate.function == .minimum ? "min(\(sql))" : "max(\(sql))"
    case .sum, .average, .total:
      guard operand.type?.isNumeric == true, !operand.isObject, !operand.isID else {
        throw failure("\(operand.name) is \(operand.kind), and only numbers can be added")
      }
      let isDecimal = operand.isDecimal
      switch aggregate.function {
      case .sum: return isDecimal ? "vault_sum(\(sql))" : "sum(\(sql))"
      case .total: return isDecimal ? "vault_sum(\(sql))" : "total(\(sql))"
      default:
        // The sum divided by the count, both as decimals.
        return isDecimal ? "vault_math('.d.d/', vault_sum(\(sql)), count(\(sql)))" : "avg(\(sql))"
      }
    }
  }

  /// Returns an operand whose values are compared as those of its type: a computed decimal by its value.
  func ordered(_ operand: CompiledOperand) -> SQL {
    operand.isDecimal && !operand.isColumn ? "\(operand.sql) COLLATE vault_decimal" : operand.sql
  }

  /// Returns a condition on aggregates. It is true or false, and never NULL.
  private mutating func condition(_ filter: GroupFilter) throws -> SQL {
    switch filter {
    case .and(let left, let right): return "(\(try condition(left)) AND \(try condition(right)))"
    case .or(let left, let right): return "(\(try condition(left)) OR \(try condition(right)))"
    case .not(let inner): return "(NOT \(try condition(inner)))"
    case .comparison(let aggregate, let comparison, let type, let constant):
      var left = try column(.aggregate(aggregate))
      // The sum of no values is 0, as in the result.
      if aggregate.function == .sum {
        left = type.numberKind == .decimal ? "ifnull(\(left), '0')" : "ifnull(\(left), 0)"
      }
      if type.numberKind == .decimal { left = "\(left) COLLATE vault_decimal" }
      let sql = comparison.entry.sql(left, .bound(constant))
      return "(\(sql)) IS 1"
    }
  }
}

extension CompiledOperand {
  fileprivate var isDecimal: Bool { !isObject && type?.numberKind == .decimal }
}
