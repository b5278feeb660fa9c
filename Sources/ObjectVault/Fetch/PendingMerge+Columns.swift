// Values and groups of a fetch in a context with pending changes.

internal import CipherSQLite

extension PendingMerge {
  /// Adds the rows of a selection of values to a collector, in their order. The merge was made with the
  /// values of the selection.
  func collect(_ selection: ColumnSelection, into collector: ColumnCollector) throws {
    guard !matches.isEmpty else { return try collect(selection, of: outside, into: collector) }
    // Distinct rows are counted after the merge, because a row may be found on both sides.
    var parameters = outsideBeforeWindow
    if selection.isDistinct { parameters.limit = nil }
    let count = selection.columns.count
    var wide = ColumnSelection(columns: selection.columns)
    wide.columns += request.sort.map { .value($0.value) } + [.value(.objectID)]
    let found = RowList(wide.columns.count)
    try collect(wide, of: parameters, into: found.collector)
    let stored = found.rows.lazy.map { row in
      Ranked(
        element: Array(row[..<count]), values: order.values(of: Array(row[count..<row.count - 1])),
        id: row[row.count - 1].int64 ?? 0)
    }
    var rows = merged(
      stored,
      with: matches.map { object in
        let place = ranked(object)
        return Ranked(element: values(of: object), values: place.values, id: place.id)
      })
    if selection.isDistinct {
      var seen: Set<ExactValues> = []
      rows = rows.filter { seen.insert(ExactValues($0)).inserted }
    }
    try checkMatches()
    for row in rows.dropFirst(request.offset).prefix(request.limit ?? Int.max) { collector.take(row) }
  }

  /// Adds the groups of a selection to a collector, in their order. The merge was made with the paths of
  /// the selection.
  /// - Parameter readsRows: Whether to read each row, also if SQL could aggregate them.
  func collectGroups(_ selection: ColumnSelection, readsRows: Bool, into collector: ColumnCollector) throws {
    guard !matches.isEmpty || readsRows else { return try collect(selection, of: outside, into: collector) }
    let table = GroupTable(selection, columns: columns, entity: entity.name)
    let values = ColumnSelection(columns: selection.values.map { .value($0) })
    if selection.grouping.isEmpty, request.isWindow {
      // The limit counts the rows of both sides.
      let rows = RowList(values.columns.count)
      try collect(values, into: rows.collector)
      for row in rows.rows { table.add(row) }
    } else {
      let isPartial = !readsRows && !table.needsRows
      let rows = RowList(isPartial ? table.partial.columns.count : values.columns.count)
      try collect(isPartial ? table.partial : values, of: outside.withoutOrder, into: rows.collector)
      for row in rows.rows { isPartial ? table.merge(partial: row) : table.add(row) }
      for object in matches { table.add(self.values(of: object)) }
    }
    try checkMatches()
    for row in try table.rows(of: request, context.core.mapping.schema) { collector.take(row) }
  }
}

extension FetchParameters {
  /// The parameters without an order and a limit.
  var withoutOrder: FetchParameters {
    var copy = self
    (copy.sort, copy.limit, copy.offset) = ([], nil, 0)
    return copy
  }
}

/// Rows of values in memory.
struct RowList {
  private let columns: [ResultColumn<SQLValue>]
  let collector: ColumnCollector

  init(_ count: Int) {
    columns = (0..<count).map { _ in Self.column }
    collector = ColumnCollector(columns)
  }

  private static var column: ResultColumn<SQLValue> {
    ResultColumn(placeholder: { .null }, row: { try $0.value($1) }, value: { $0 }).sendable { Self.column }
  }

  /// The rows.
  var rows: [[SQLValue]] {
    (0..<collector.rowCount).map { index in columns.map { $0.values.all[index] } }
  }
}
