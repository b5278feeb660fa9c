// A query as a value: what the compiler makes, and one renderer turns into SQL. Every part is SQL whose values are bound;
// which table or join is meant, aliases say.

package import CipherSQLite

/// A `SELECT`, whole or inside another statement.
package struct SelectStatement: Sendable {
  /// What rows are taken from.
  package indirect enum Source: Sendable {
    case table(SQLName, alias: Int)
    case subquery(SelectStatement, alias: Int)
  }

  package struct Join: Sendable {
    package enum Kind: Sendable {
      /// The engine chooses which table it begins with.
      case inner
      /// The tables are gone through in the order in which they are written.
      case cross
      /// Rows stay for which there is none.
      case left
    }
    package var kind: Kind
    package let table: SQLName
    package let alias: Int
    /// What ties it to the tables before.
    package let condition: SQL

    package init(kind: Kind, table: SQLName, alias: Int, condition: SQL) {
      (self.kind, self.table, self.alias, self.condition) = (kind, table, alias, condition)
    }
  }

  package struct Term: Sendable {
    package let expression: SQL
    package let isDescending: Bool

    package init(expression: SQL, isDescending: Bool) {
      (self.expression, self.isDescending) = (expression, isDescending)
    }
  }

  /// Which of the rows, by numbers that are given when the statement runs.
  package enum Window: Sendable {
    case limit
    case limitAndOffset
  }

  package var columns: SQL
  package var source: Source
  package var joins: [Join] = []
  package var condition: SQL?
  package var grouping: [SQL] = []
  /// Of groups; only where there are some.
  package var having: SQL?
  package var order: [Term] = []
  package var window: Window?

  package init(_ columns: SQL, from source: Source) {
    (self.columns, self.source) = (columns, source)
  }

  /// How many rows another query has.
  package static func count(of query: SelectStatement) -> SelectStatement {
    SelectStatement("count(*)", from: .subquery(query, alias: 0))
  }
}

extension SelectStatement {
  /// The statement with its values. The question marks of the window are last, and have none yet.
  package var sql: SQL {
    // Piece by piece: a literal with holes would copy each of them twice.
    var sql: SQL = "SELECT "
    sql.append(columns)
    switch source {
    case .table(let table, let alias): sql.append(" FROM \(table) \(alias: alias)")
    case .subquery(let query, let alias):
      sql.append(" FROM (")
      sql.append(query.sql)
      sql.append(") \(alias: alias)")
    }
    for join in joins {
      sql.append(join.kind.words)
      sql.append("\(join.table) \(alias: join.alias) ON \(join.condition)")
    }
    if let condition {
      sql.append(" WHERE ")
      sql.append(condition)
    }
    if !grouping.isEmpty {
      sql.append(" GROUP BY ")
      sql.append(.joined(grouping))
      if let having { sql.append(" HAVING \(having)") }
    }
    if !order.isEmpty {
      sql.append(" ORDER BY ")
      sql.append(.joined(order.map(\.sql)))
    }
    switch window {
    case .limit: sql.append(" LIMIT ?")
    case .limitAndOffset: sql.append(" LIMIT ? OFFSET ?")
    case nil: break
    }
    return sql
  }
}

extension SelectStatement {
  /// The statement in the form in which rows of so many columns are fetched. Its values, and their order, are those of
  /// ``sql``.
  /// - Parameter columnsAreNames: Whether each column is one of the table, and nothing that is computed.
  func rowsQuery(columnCount: Int, columnsAreNames: Bool) -> RowsQuery {
    guard grouping.isEmpty, columnCount <= RowFunction.columnLimit,
      window == nil || columnsAreNames || isInOrderOfScan
    else {
      return .stepped(sql.text)
    }
    guard window == nil || isInOrderOfScan else {
      // The engine reads no more than some forty brackets in each other, and a predicate may have as many.
      guard sql.text.bracketDepth < 20 else { return .stepped(sql.text) }
      // Of a window the function would be handed all rows, as the engine sorts and counts behind it: so it stands around one.
      // The rows of a query with a window come out of it in its order, one by one, and the names of its columns are theirs.
      let around = SelectStatement(RowFunction.take.call(columns), from: .subquery(self, alias: 0))
      return .taken(around.sql.text)
    }
    var copy = self
    if order.isEmpty, window == nil {
      copy.columns = RowFunction.take.call(columns)
      return copy.splitQuery.map { .whole(copy.sql.text, $0) } ?? .taken(copy.sql.text)
    }
    // Also of a window whose rows come in its order: the engine counts each before it asks for the next. Out of a query inside
    // another SQLCipher 4 copies each value twice, which is a third of the time of the engine.
    copy.columns = RowFunction.place.call(columns)
    return .placed(copy.sql.text)
  }

  /// The id of the rows of a table.
  private var id: SQL? {
    guard case .table(_, let alias) = source else { return nil }
    return "\(alias: alias).\"id\""
  }

  /// Whether the engine finds the rows in the order of the results, and so sorts none: all that are wanted are handed over then,
  /// and no others.
  private var isInOrderOfScan: Bool {
    if order.isEmpty { return true }
    guard let id, joins.isEmpty, condition == nil, order.count == 1 else { return false }
    return order[0].expression.text == id.text
  }
}

extension SelectStatement {
  /// How two can share the rows; nil where these are not all rows of a table.
  private var splitQuery: SplitQuery? {
    guard case .table(let table, let alias) = source, joins.isEmpty, condition == nil else { return nil }
    var (below, above) = (self, self)
    below.condition = "\(alias: alias).\"id\" <= ?"
    above.condition = "\(alias: alias).\"id\" > ?"
    return SplitQuery(
      lowest: ("SELECT min(\"id\") FROM \(table)" as SQL).text,
      highest: ("SELECT max(\"id\") FROM \(table)" as SQL).text, below: below.sql.text, above: above.sql.text)
  }
}

extension SelectStatement.Join.Kind {
  fileprivate var words: SQL {
    switch self {
    case .inner: " JOIN "
    case .cross: " CROSS JOIN "
    case .left: " LEFT JOIN "
    }
  }
}

extension SelectStatement.Term {
  fileprivate var sql: SQL { isDescending ? "\(expression) DESC" : expression }
}
