// Runs a fetch that uses an index, as two statements. An index returns ids in its own order, so that the
// rows are scattered over the table: the engine searches the table's tree for each row, and reads each
// page again and again. If the index alone has the ids, all ids are read first, and then the rows in
// table order.

internal import CipherSQLite

/// One fetch that runs as one statement or as two.
struct LateFetch {
  /// The fewest rows for which a second statement pays off.
  static let fewest = 500

  let lookup: LateLookup
  /// The fetch as one statement.
  let form: ScanForm
  let values: [SQLValue]
  let scan: Scan

  /// Returns the objects, in the order of the statement.
  func objects() throws -> [ManagedObject] {
    // One snapshot for both statements: the second one has to find the rows whose ids the first one
    // found.
    if lookup.isUsed, let found = try scan.context.withSnapshot(objectsOfIDs) { return found }
    let found = try scan.objects(form, values)
    if lookup.isOpen, found.count >= Self.fewest { note(found) }
    return found
  }

  /// Reads the ids, and then their rows.
  /// - Returns: The objects; nil if the rows do not match the ids.
  private func objectsOfIDs() throws -> [ManagedObject]? {
    let ids = try scan.ids(lookup.ids, values)
    let isScattered = ids.count >= Self.fewest && RowIDOrder.isScattered(ids)
    lookup.note(isScattered: isScattered) { true }
    // If a row is missing or an id occurs twice, the index is damaged: the single statement reports it.
    guard isScattered, let order = RowIDOrder(ids) else {
      let found = try scan.rows(ids)
      return found.count == ids.count ? found : nil
    }
    var found = try scan.rows(order.rising)
    return order.restoreGivenOrder(&found) ? found : nil
  }

  private func note(_ found: [ManagedObject]) {
    let isScattered = RowIDOrder.isScattered(found.lazy.map(\.rowID))
    // The fetch has its result: if the check fails for any reason, a later fetch repeats it.
    let wasExamined = try? lookup.note(isScattered: isScattered) { try scan.context.withConnection(isFit) }
    if wasExamined == true { scan.context.keep(lookup, of: scan.entity) }
  }

  /// Returns whether the query plans of ids and rows are equal, except that the ids are read from the
  /// index alone. Then both statements have the same order.
  private func isFit(_ connection: Connection) throws -> Bool {
    let ids = try connection.plan(sql: lookup.ids.text, values).map(\.text)
    let rows = try connection.plan(sql: lookup.text, values).map(\.text)
    let mark = " t0 USING COVERING INDEX "
    let line = { (line: String) in line.replacing(mark, with: " t0 USING INDEX ") }
    return ids.contains { $0.contains(mark) } && !rows.contains { $0.contains(mark) }
      && ids.map(line) == rows
  }
}
