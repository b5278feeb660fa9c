// A SELECT statement as a value, which the predicate compiler makes and one renderer turns into SQL.
// Every part is SQL with bound values; aliases identify tables and joins.

package import CipherSQLite

/// A `SELECT`, as a whole statement or inside another one.
package struct SelectStatement: Sendable {
  /// The source of the rows.
  package indirect enum Source: Sendable {
    case table(SQLName, alias: Int)
    case subquery(SelectStatement, alias: Int)
  }

  package struct Join: Sendable {
    package enum Kind: Sendable {
      /// The engine chooses the order of the tables.
      case inner
      /// The tables are read in the order in which they are written.
      case cross
      /// Rows without a match are kept.
      case left
    }
    package var kind: Kind
    package let table: SQLName
    package let alias: Int
    /// The condition that connects the table to the previous tables.
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

  /// The limits of the result; their numbers are bound when the statement runs.
  package enum Window: Sendable {
    case limit
    case limitAndOffset
  }

  package var columns: SQL
  /// Whether equal rows are returned once.
  package var isDistinct = false
  package var source: Source
  package var joins: [Join] = []
  package var condition: SQL?
  /// Whether the condition only bounds the ids of the rows, so that the engine reads them in that order.
  package var isIDRange = false
  package var grouping: [SQL] = []
  /// The condition for groups; only with `grouping`.
  package var having: SQL?
  package var order: [Term] = []
  package var window: Window?

  package init(_ columns: SQL, from source: Source) {
    (self.columns, self.source) = (columns, source)
  }

  /// Returns a query for the number of rows of another query.
  package static func count(of query: SelectStatement) -> SelectStatement {
    SelectStatement("count(*)", from: .subquery(query, alias: 0))
  }
}

extension SelectStatement {
  /// The statement with its values. The parameters of the window are last and have no values yet.
  package var sql: SQL {
    // Appended piece by piece: an interpolated literal would copy each piece twice.
    var sql: SQL = isDistinct ? "SELECT DISTINCT " : "SELECT "
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
