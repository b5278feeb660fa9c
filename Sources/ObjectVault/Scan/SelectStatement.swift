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
