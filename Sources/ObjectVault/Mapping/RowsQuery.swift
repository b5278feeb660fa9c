// A query for whole rows, and how its rows are gone through.

internal import CipherSQLite

/// The text of a query for whole rows, in the form in which it is run.
enum RowsQuery: Sendable, Hashable {
  /// Step by step: where only some of the rows are wanted, and where a function cannot take so many columns.
  case stepped(String)
  /// One step hands over all rows, in the order of the scan.
  case taken(String)
  /// The same with all rows of a table, which two connections can share.
  case whole(String, SplitQuery)
  /// All rows are handed over, and a step for each gives the number under which it was: the order is that of the steps.
  case placed(String)

  /// A query that is not sorted.
  /// - Parameters:
  ///   - columns: So many columns.
  ///   - rest: What stands behind them.
  static func unsorted(_ columns: SQL, count: Int, _ rest: SQL) -> RowsQuery {
    count <= RowFunction.columnLimit
      ? .taken(("SELECT \(RowFunction.take.call(columns))\(rest)" as SQL).text)
      : .stepped(("SELECT \(columns)\(rest)" as SQL).text)
  }
}

/// The texts by which the rows of a table are shared out by their ids.
struct SplitQuery: Sendable, Hashable {
  let lowest: String
  let highest: String
  /// Hands over the rows up to an id.
  let below: String
  /// And those behind it.
  let above: String
}

extension RowFunction {
  /// The columns as its arguments.
  func call(_ columns: SQL) -> SQL {
    switch self {
    case .take: "vault_take(\(columns))"
    case .place: "vault_place(\(columns))"
    }
  }
}
