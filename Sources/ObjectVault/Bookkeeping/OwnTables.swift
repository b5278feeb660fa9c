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

  /// Whether a table is one of them, or may become one: no entity has a name that begins so.
  static func own(_ table: String) -> Bool { table.lowercased().hasPrefix("vault_") }
}
