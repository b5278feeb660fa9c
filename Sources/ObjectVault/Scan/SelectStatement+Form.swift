// Which form a query for whole rows has: see ScanForm.

internal import CipherSQLite

extension SelectStatement {
  /// The statement in the form in which rows of so many columns are fetched. Its values, and their order, are those of
  /// ``sql``.
  /// - Parameter columnsAreNames: Whether each column is one of the table, and nothing that is computed.
  func form(columnCount: Int, columnsAreNames: Bool) -> ScanForm {
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
      return .handedOver(around.sql.text)
    }
    var copy = self
    if order.isEmpty, window == nil {
      copy.columns = RowFunction.take.call(columns)
      return copy.splitQuery.map { .split(copy.sql.text, $0) } ?? .handedOver(copy.sql.text)
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
