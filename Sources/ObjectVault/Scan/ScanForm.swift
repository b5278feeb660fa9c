// In which form a query for whole rows is run. All forms find the same rows in the same order; they differ in who goes through
// them. Which one a query has is decided here and in SelectStatement+Form, and Scan runs it.

internal import CipherSQLite

/// A query for whole rows, in the form in which it is run. A single row by its id is no query of these: see ``SingleRows``.
enum ScanForm: Sendable {
  /// Row by row: each comes out of the statement, and is packed then.
  ///
  /// For groups; for more columns than a function of the engine takes; for members of one owner, which are few; for a window
  /// over rows that are sorted, or computed, where the text has brackets too deep to stand inside another one.
  case stepped(String)
  /// One step hands over all rows inside of the engine, in the order in which it meets them: a third faster than row by row.
  ///
  /// For rows without an order; for prefetched rows and members, whose ids are fed; around a window over rows that are sorted.
  case handedOver(String)
  /// All rows are handed over, and a step for each gives the number under which it was: the order is that of the steps.
  ///
  /// For rows with an order, and for a window whose rows the engine meets in their order.
  case placed(String)
  /// As ``handedOver(_:)``, with all rows of a table, which two connections share where a second one and a processor are free.
  ///
  /// For all rows of an entity, which are many: see ``SplitScan``. Else the text runs by itself.
  case split(String, SplitQuery)
  /// The ids by an index alone, and then the rows in the order in which they lie; or the form inside.
  ///
  /// For rows with a condition or an order. What the last fetch of the kind has found decides: see ``LateFetch``.
  indirect case late(LateLookup, ScanForm)
  /// The ids are fed to the engine, sorted and each once, and their rows handed over; the form inside finds the same.
  ///
  /// For a list of ids and nothing else: the engine would write the list down in a table of its own.
  indirect case listed([Int64], ScanForm)

  /// A query that is not sorted.
  /// - Parameters:
  ///   - count: How many columns it has.
  ///   - rest: What stands behind them.
  static func unsorted(_ columns: SQL, count: Int, _ rest: SQL) -> ScanForm {
    count <= RowFunction.columnLimit
      ? .handedOver(("SELECT \(RowFunction.take.call(columns))\(rest)" as SQL).text)
      : .stepped(("SELECT \(columns)\(rest)" as SQL).text)
  }
}

/// The texts by which the rows of a table are shared out by their ids.
struct SplitQuery: Sendable {
  let lowest: String
  let highest: String
  /// Hands over the rows up to an id.
  let below: String
  /// And those behind it.
  let above: String
}

extension EntityMapping {
  /// The whole rows of the ids of a feed, however many.
  var rowsOfFedIDs: ScanForm { .unsorted(objectColumns, count: columnCount, fedRowsSource) }

  /// The same for a feed of runs: the engine looks for the first row of each, and goes on from there.
  var rowsOfFedRuns: ScanForm { .unsorted(objectColumns, count: columnCount, fedRunsSource) }
}

extension RelationshipMapping {
  /// The whole rows at the other end of a to-many of the owners whose ids are fed, and as last column the owner's id. Those
  /// of one owner follow each other in their order, where the relationship has one.
  var fedMembers: ScanForm {
    let source = fedMembersSource
    let (columns, count): (SQL, Int) = (
      "\(destination.objectColumns), \(source.owner)", destination.columnCount + 1
    )
    return isOrdered
      ? .stepped(("SELECT \(columns)\(source.rest)" as SQL).text)
      : .unsorted(columns, count: count, source.rest)
  }
}
