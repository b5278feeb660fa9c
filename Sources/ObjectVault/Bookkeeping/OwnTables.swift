// All bookkeeping tables of a store. No step may touch them.

internal import CipherSQLite

/// The bookkeeping tables of one file.
struct OwnTables {
  let meta: MetaTable
  let identifiers: IdentifierTable
  let history: HistoryTable
  let undone: UndoneTable
  let repaired: RepairedTable
  let transactions: TransactionTable
  let names: RecordedNamesTable

  init(_ connection: Connection) {
    meta = MetaTable(connection: connection)
    identifiers = IdentifierTable(connection: connection)
    history = HistoryTable(connection: connection)
    undone = UndoneTable(connection: connection)
    repaired = RepairedTable(connection: connection)
    transactions = TransactionTable(connection: connection)
    names = RecordedNamesTable(connection: connection)
  }

  /// Creates the tables that every store has. `vault_undone` and `vault_repaired` are created with their
  /// first row, and the tables of the history when an entity gets one.
  func create() throws {
    try meta.create()
    try identifiers.create()
    try history.create()
  }

  /// Records that the last step was undone.
  func takeBack(_ number: Int, _ undoing: RollbackRecord) throws {
    try undone.createIfMissing()
    try undone.append(number, undoing)
    try history.remove(number)
  }

  /// The names and columns of the tables.
  private static let shapes = [
    (MetaTable.name, MetaTable.columns), (IdentifierTable.name, IdentifierTable.columns),
    (HistoryTable.name, HistoryTable.columns), (UndoneTable.name, UndoneTable.columns),
    (RepairedTable.name, RepairedTable.columns), (TransactionTable.name, TransactionTable.columns),
    (RecordedNamesTable.name, RecordedNamesTable.columns),
  ]

  /// The names of the tables.
  static var names: [String] { shapes.map(\.0) }

  /// Returns the name of a bookkeeping table with a fault, and the fault: a view or an index has the
  /// name, or the columns differ from those that the table is created with. nil if there is none; missing
  /// tables are not reported.
  func malformedTable() throws -> (table: String, reason: String)? {
    for (name, columns) in Self.shapes {
      let kinds = try meta.connection.rows(
        "SELECT type FROM sqlite_master WHERE name = \(name) COLLATE NOCASE")
      guard let kind = kinds.first?.first?.string else { continue }
      guard kind == "table" else { return (name, "is of the kind \(kind), not a table") }
      let found = Set(try meta.connection.tableInfo(name).columns.map { $0.name.lowercased() })
      if let column = columns.subtracting(found).min() { return (name, "lacks the column \(column)") }
      if let column = found.subtracting(columns).min() {
        return (name, "has an unknown column \(column)")
      }
    }
    return nil
  }

  /// Returns whether a table's name is reserved for bookkeeping tables: it begins with `vault_`, as no
  /// entity's name does.
  static func own(_ table: String) -> Bool { table.lowercased().hasPrefix("vault_") }
}
