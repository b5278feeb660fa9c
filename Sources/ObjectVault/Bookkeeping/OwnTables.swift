// The tables that a store keeps for itself, all of them: what is made with a new file, and what no step may touch.

internal import CipherSQLite

/// The store's own tables of one file.
struct OwnTables {
  let meta: MetaTable
  let identifiers: IdentifierTable
  let history: HistoryTable
  let undone: UndoneTable
  let repaired: RepairedTable

  init(_ connection: Connection) {
    meta = MetaTable(connection: connection)
    identifiers = IdentifierTable(connection: connection)
    history = HistoryTable(connection: connection)
    undone = UndoneTable(connection: connection)
    repaired = RepairedTable(connection: connection)
  }

  /// Makes them, in a file that has none; that of what was taken back, when something is.
  func create() throws {
    try meta.create()
    try identifiers.create()
    try history.create()
  }

  /// Writes down that the last step was taken back.
  func takeBack(_ number: Int, _ undoing: Undoing) throws {
    try undone.createIfMissing()
    try undone.append(number, undoing)
    try history.remove(number)
  }

  /// Their names and columns.
  private static let shapes = [
    (MetaTable.name, MetaTable.columns), (IdentifierTable.name, IdentifierTable.columns),
    (HistoryTable.name, HistoryTable.columns), (UndoneTable.name, UndoneTable.columns),
    (RepairedTable.name, RepairedTable.columns),
  ]

  /// Their names.
  static var names: [String] { shapes.map(\.0) }

  /// One that is there and is another than it has to be, with what is wrong; nil when all are as they are made.
  func misshapen() throws -> (table: String, reason: String)? {
    for (name, columns) in Self.shapes {
      let kinds = try meta.connection.rows(
        "SELECT type FROM sqlite_master WHERE name = \(name) COLLATE NOCASE")
      guard let kind = kinds.first?.first?.string else { continue }
      guard kind == "table" else { return (name, "is no table, but of the kind \(kind)") }
      let found = Set(try meta.connection.tableInfo(name).columns.map { $0.name.lowercased() })
      if let column = columns.subtracting(found).min() { return (name, "lacks the column \(column)") }
      if let column = found.subtracting(columns).min() {
        return (name, "has the column \(column), which is none of its own")
      }
    }
    return nil
  }

  /// Whether a table is one of them, or may become one: no entity has a name that begins so.
  static func own(_ table: String) -> Bool { table.lowercased().hasPrefix("vault_") }
}
