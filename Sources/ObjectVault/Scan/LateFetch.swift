// A fetch whose rows are found by an index: an index gives ids in its own order, and the rows lie all over the table, so that
// the engine goes down the table's tree for each of them, and meets each page again and again. Where the index alone knows the
// ids, they are all asked for first, and the rows then read in the order in which they lie.

internal import CipherSQLite

/// One fetch, in one statement or in two.
struct LateFetch {
  /// Below these a second statement costs more than the order of the rows takes off.
  static let fewest = 500

  let lookup: LateLookup
  /// In one statement.
  let form: ScanForm
  let values: [SQLValue]
  let scan: Scan

  /// The objects, in the order of the statement.
  func objects() throws -> [ManagedObject] {
    // One snapshot for both: what one statement finds, the other has to find, too.
    if lookup.isUsed, let found = try scan.ground.withSnapshot(objectsOfIDs) { return found }
    let found = try scan.objects(form, values)
    if lookup.isOpen, found.count >= Self.fewest { note(found) }
    return found
  }

  /// - Returns: Nil where a row is missing.
  private func objectsOfIDs() throws -> [ManagedObject]? {
    let ids = try scan.ids(lookup.ids, values)
    let isScattered = ids.count >= Self.fewest && RowIDOrder.isScattered(ids)
    lookup.note(isScattered: isScattered) { true }
    // An index that knows of a row which is not there is damaged, or of one that is there twice: the one statement says so.
    guard isScattered, let order = RowIDOrder(ids) else {
      let found = try scan.rows(ids)
      return found.count == ids.count ? found : nil
    }
    var found = try scan.rows(order.rising)
    return order.putBack(&found) ? found : nil
  }

  private func note(_ found: [ManagedObject]) {
    let isScattered = RowIDOrder.isScattered(found.lazy.map(\.rowID))
    // The fetch has what it wants: whatever keeps the engine from answering, it is asked another time.
    let wasAsked = try? lookup.note(isScattered: isScattered) { try scan.ground.withConnection(isFit) }
    if wasAsked == true { scan.ground.keep(lookup, of: scan.entity) }
  }

  /// Whether the engine would find the ids as it finds the rows, without reading these. The order is the same then.
  private func isFit(_ connection: Connection) throws -> Bool {
    let ids = try plan(lookup.ids.text, connection)
    let rows = try plan(lookup.text, connection)
    let mark = " t0 USING COVERING INDEX "
    let line = { (line: String) in line.replacing(mark, with: " t0 USING INDEX ") }
    return ids.contains { $0.contains(mark) } && !rows.contains { $0.contains(mark) }
      && ids.map(line) == rows
  }

  private func plan(_ text: String, _ connection: Connection) throws -> [String] {
    // Not out of the cache of statements: nobody asks twice.
    let statement = try connection.prepare(sql: "EXPLAIN QUERY PLAN " + text)
    try statement.bind(values)
    var lines: [String] = []
    while try statement.step() { lines.append(statement.text(3) ?? "") }
    return lines
  }
}
