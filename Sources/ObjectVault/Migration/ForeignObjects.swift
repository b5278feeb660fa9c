// What stands in a file beside what its model and the store itself have. A trigger of somebody else's changes rows that
// nobody knows of, at each save.

internal import CipherSQLite

/// Tables, views, triggers and indexes that are neither of a model nor the store's own.
struct ForeignObjects {
  let layout: StoreLayout

  /// A sentence for each of those in a file.
  func findings(_ connection: Connection) throws -> [String] {
    let expected = Set(
      OwnTables.names.map { "table \($0)" } + layout.tables.map { "table \($0.name)".lowercased() }
        + layout.tables.flatMap(\.indexes).map { "index \($0.name)".lowercased() }
        + layout.rawObjects.keys.map { $0.lowercased() })
    let rows = try connection.rows("SELECT type, name, tbl_name FROM sqlite_master ORDER BY type, name")
    return rows.compactMap { row in
      let (type, name, table) = (row[0].string ?? "", row[1].string ?? "", row[2].string ?? "")
      guard !expected.contains("\(type) \(name)".lowercased()), !Self.isEngines(type, name) else {
        return nil
      }
      let place = type == "trigger" || type == "index" ? " on \(table)" : ""
      return
        "the \(type) \(name)\(place) is none of the store's: no step has made it. Drop it with the sqlcipher shell"
        + (type == "table" ? "" : ", or let a step make it: create raw \(type)")
    }
  }

  /// Whether the engine has made an object for itself: nobody else can give it such a name in SQL.
  private static func isEngines(_ type: String, _ name: String) -> Bool {
    switch type {
    case "index": name.hasPrefix("sqlite_autoindex_")
    case "table": name == "sqlite_sequence" || name.hasPrefix("sqlite_stat")
    default: false
    }
  }
}
