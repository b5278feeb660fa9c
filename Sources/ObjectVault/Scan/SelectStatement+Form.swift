// Chooses the form of a query for whole rows: see ScanForm.

internal import CipherSQLite

extension SelectStatement {
  /// Returns the form in which the statement fetches rows with the given number of columns. Its values
  /// and their order are those of ``sql``.
  /// - Parameters:
  ///   - columnsAreNames: Whether each column is a column of the table, not a computed one.
  ///   - canBeSplit: Whether two connections may read halves of the table.
  func form(columnCount: Int, columnsAreNames: Bool, canBeSplit: Bool = true) -> ScanForm {
    guard grouping.isEmpty, !isDistinct, columnCount <= RowFunction.columnLimit,
      window == nil || columnsAreNames || isInOrderOfScan
    else {
      return .stepped(sql.text)
    }
    guard window == nil || isInOrderOfScan else {
      // The engine accepts about forty nested brackets, and a predicate may have as many.
      guard sql.text.bracketDepth < 20 else { return .stepped(sql.text) }
      // Inside a query with a limit, the function would be handed all rows, because the engine sorts and
      // counts afterwards. So the function is in a query around the statement. The outer query gets the
      // rows one by one and in order, and its columns have the same names.
      let around = SelectStatement(RowFunction.take.call(columns), from: .subquery(self, alias: 0))
      return .handedOver(around.sql.text)
    }
    var copy = self
    if order.isEmpty, window == nil {
      copy.columns = RowFunction.take.call(columns)
      guard canBeSplit, let split = copy.splitQuery else { return .handedOver(copy.sql.text) }
      return .split(copy.sql.text, split)
    }
    // This form is also right for a limit, if the rows come in order: the engine stops at the limit, so that
    // the function gets only the rows of the result. With a subquery, SQLCipher 4 would copy each value
    // twice, which is a third of the engine's time.
    copy.columns = RowFunction.place.call(columns)
    return .placed(copy.sql.text)
  }

  /// The expression for the id of the table's rows.
  private var id: SQL? {
    guard case .table(_, let alias) = source else { return nil }
    return "\(alias: alias).\"id\""
  }

  /// Whether the engine reads the rows in the order of the results, and so need not sort: then exactly
  /// the rows of the result are handed over.
  var isInOrderOfScan: Bool {
    if order.isEmpty { return true }
    guard let id, joins.isEmpty, condition == nil || isIDRange, order.count == 1 else { return false }
    return order[0].expression.text == id.text
  }
}

extension SelectStatement {
  /// The statements that divide the rows between two connections; nil unless the query is for all rows of
  /// a table.
  private var splitQuery: SplitQuery? {
    guard case .table(let table, let alias) = source, joins.isEmpty, condition == nil, columns.values.isEmpty
    else { return nil }
    var (below, above) = (self, self)
    below.condition = "\(alias: alias).\"id\" <= ?"
    above.condition = "\(alias: alias).\"id\" > ?"
    return SplitQuery(
      lowest: ("SELECT min(\"id\") FROM \(table)" as SQL).text,
      highest: ("SELECT max(\"id\") FROM \(table)" as SQL).text, below: below.sql.text, above: above.sql.text)
  }
}
