// The forms in which a query for rows, or for the values of some columns, is run. All forms find the same
// rows in the same order. They differ in how the values of a row leave the engine: by sqlite3_column
// calls after each step, or by an SQL function in the statement, which passes them to a RowReceiver while
// the engine runs the statement. In the second case the rows are "handed over". The form is chosen here and
// in SelectStatement+Form, and Scan runs it.

internal import CipherSQLite

/// A query for whole rows or for values, in the form in which it is run. The row of a single fault is
/// read without a form: see ``SingleRows``.
enum ScanForm: Sendable {
  /// Row by row: each step returns a row, which is then packed.
  /// - For groups and for distinct rows
  /// - For more columns than an SQL function takes
  /// - For a list of ids that has only one id
  /// - For members of one owner, which are few
  /// - For prefetched members of ordered relationships
  /// - For a limit on rows that have to be sorted, if columns are computed, or if the text has brackets
  ///   too deeply nested to be inside another statement
  case stepped(String)
  /// One step hands over all rows inside of the engine, in the order in which the engine reads them: a
  /// third faster than row by row.
  ///
  /// - For rows without an order
  /// - For prefetched rows, whose ids are fed, and for unordered members, whose owners' ids are fed
  /// - For a limit on rows that have to be sorted: the query with the limit is a subquery, and the query
  ///   around it hands over the rows
  case handedOver(String)
  /// All rows are handed over inside of the engine, possibly in another order than that of the query.
  /// Each step returns the place of its row among the handed rows, counted from 0. The steps are in the
  /// order of the query, so these places put the handed rows into that order.
  ///
  /// For rows with an order, and for a limit on rows that the engine reads in their order.
  case placed(String)
  /// As ``handedOver(_:)``, for all rows of a table. Two connections read the rows if a second connection
  /// and processor are free; otherwise one connection runs the text.
  ///
  /// For all rows of an entity, which are many: see ``SplitScan``.
  case split(String, SplitQuery)
  /// Either reads the ids by an index alone and then the rows in table order, or runs the form inside.
  ///
  /// For rows with a condition or an order. The result of the last run decides: see ``LateFetch``.
  indirect case late(LateLookup, ScanForm)
  /// The sorted, distinct ids are fed to the engine, and their rows handed over; the form inside finds
  /// the same rows.
  ///
  /// For a condition that is only a list of ids: the engine would write the list to a temporary table.
  indirect case listed([Int64], ScanForm)

  /// Returns a query without an order.
  /// - Parameters:
  ///   - count: The number of columns.
  ///   - rest: The SQL after the columns.
  static func unsorted(_ columns: SQL, count: Int, rest: SQL) -> ScanForm {
    count <= RowFunction.columnLimit
      ? .handedOver(("SELECT \(RowFunction.take.call(columns))\(rest)" as SQL).text)
      : .stepped(("SELECT \(columns)\(rest)" as SQL).text)
  }
}

/// The statements that divide the rows of a table by their ids.
struct SplitQuery: Sendable {
  let lowest: String
  let highest: String
  /// Hands over the rows up to and including an id.
  let below: String
  /// Hands over the rows after that id.
  let above: String
}

extension EntityMapping {
  /// Returns the query for the rows of the ids in a feed, of any length.
  /// - Parameter slots: The slots that are read; nil for all but lazy ones.
  func rowsOfFedIDs(_ slots: [Int]?) -> ScanForm {
    .unsorted(columns(of: slots), count: columnCount(of: slots), rest: fedRowsSource)
  }

  /// Returns the query for the rows that have one of the keys of a feed: whole rows, with the number of
  /// the key as last column.
  func rowsOfFedKeys(_ key: [Int]) -> ScanForm {
    .unsorted(
      "\(objectColumns), f.\(RowFeed.columnName(0))", count: columnCount + 1, rest: fedKeysSource(key))
  }

  /// Returns the query for the rows of a feed of runs of ids: the engine looks up the first row of each
  /// run, and steps on from there.
  /// - Parameter slots: The slots that are read; nil for all but lazy ones.
  func rowsOfFedRuns(_ slots: [Int]?) -> ScanForm {
    .unsorted(columns(of: slots), count: columnCount(of: slots), rest: fedRunsSource)
  }
}

extension RelationshipMapping {
  /// The query for the members of a to-many, for owners whose ids are fed: whole rows with the owner's id
  /// as last column. In an ordered relationship the members of one owner follow each other in their
  /// order.
  var fedMembers: ScanForm {
    let source = fedMembersSource
    let (columns, count): (SQL, Int) = (
      "\(destination.objectColumns), \(source.owner)", destination.columnCount + 1
    )
    return isOrdered
      ? .stepped(("SELECT \(columns)\(source.rest)" as SQL).text)
      : .unsorted(columns, count: count, rest: source.rest)
  }
}
