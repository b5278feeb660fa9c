// The first row of each group, found by an index.

internal import CipherSQLite

extension PredicateCompiler {
  /// Returns the query for the first row of each group of rows that have the same value of a property, in
  /// the order of a request.
  ///
  /// The engine finds each value by a search in the index of the property, and then the first row with it
  /// by another. If the index continues with the sort keys and the request has no conditions, the cost
  /// does not depend on the number of rows of a group. A `GROUP BY` would read all rows, and SQLCipher
  /// 3.4.1 has no window functions. nil is a value.
  /// - Parameters:
  ///   - slot: The slot of the property, which has a column and an index.
  ///   - columns: The selected columns.
  mutating func selectFirsts(
    of slot: Int, _ columns: SQL, _ request: FetchParameters, isOrdered: Bool
  ) throws -> SelectStatement {
    let entity = scopes[0].entity
    guard let column = entity.slots[slot].columnName else {
      throw failure("\(entityName).\(entity.slots[slot].name) has no column")
    }
    var inner = PredicateCompiler(entity)
    var first = request
    (first.limit, first.offset, first.firstsOf) = (nil, 0, nil)
    var row = try inner.select("t0.\"id\"", first)
    if row.order.isEmpty { row.order = [.init(expression: "t0.\"id\"", isDescending: false)] }
    let member = row.narrowed(by: "t0.\(column) = vault_groups.k")
    let other = row.narrowed(by: "t0.\(column) IS NULL")
    if !inner.isReusable { dependsOnConstants() }
    let ids: SQL = """
      WITH RECURSIVE vault_groups(k) AS (SELECT min(t0.\(column)) FROM \(entity.table) t0 UNION ALL \
      SELECT (SELECT min(t0.\(column)) FROM \(entity.table) t0 WHERE t0.\(column) > vault_groups.k) \
      FROM vault_groups WHERE vault_groups.k IS NOT NULL) \
      SELECT (\(member.sql) LIMIT 1) FROM vault_groups UNION ALL SELECT (\(other.sql) LIMIT 1)
      """
    var all = request
    (all.conditions, all.firstsOf, all.excludesPending) = ([], nil, false)
    var statement = try select(columns, all, isOrdered: isOrdered)
    statement.condition = statement.narrowed(by: "t0.\"id\" IN (\(ids))").condition
    return statement
  }
}

extension SelectStatement {
  fileprivate func narrowed(by condition: SQL) -> SelectStatement {
    var copy = self
    copy.isIDRange = false
    copy.condition = self.condition.map { "(\($0)) AND \(condition)" } ?? condition
    return copy
  }
}
