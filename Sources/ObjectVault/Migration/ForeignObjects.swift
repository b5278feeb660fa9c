// What stands in a file beside what its model and the store itself have. A trigger of somebody else's changes rows that
// nobody knows of, at each save.

internal import CipherSQLite

/// Tables, views, triggers and indexes that are neither of a model nor the store's own.
struct ForeignObjects {
  let layout: StoreLayout

  private struct Found {
    let type, name, table: String

    var sentence: String {
      let place = type == "trigger" || type == "index" ? " on \(table)" : ""
      return
        "the \(type) \(name)\(place) is none of the store's: no step has made it. Drop it with the sqlcipher shell"
        + (type == "table" ? "" : ", or let a step make it: create raw \(type)")
    }
  }

  /// A sentence for each of those in a file.
  func findings(_ connection: Connection) throws -> [String] { try found(connection).map(\.sentence) }

  /// A sentence for each trigger that steps would drop without a word, where they write its table anew. One that such a step, or
  /// one before it, makes of its own SQL is the store's from then on.
  func doomed(by steps: [CompiledStep], _ connection: Connection) throws -> [String] {
    var (copied, made): (Set<String>, Set<String>) = ([], [])
    // Triggers by the first step that writes their tables anew: what that makes, and what those before it have made.
    var claimed: [String: Set<String>] = [:]
    for step in steps {
      // A view or an index may be called like a trigger, and is not one.
      made.formUnion(
        step.parts.flatMap(\.model.rawObjects).filter { $0.kind == .trigger }.map { $0.name.lowercased() })
      for case .copy(let copy) in step.parts.flatMap(\.statements)
      where copied.insert(copy.source.lowercased()).inserted {
        claimed[copy.source.lowercased()] = made
      }
    }
    guard !copied.isEmpty else { return [] }
    return try found(connection).filter { found in
      found.type == "trigger" && claimed[found.table.lowercased()]?.contains(found.name.lowercased()) == false
    }.map(\.sentence)
  }

  private func found(_ connection: Connection) throws -> [Found] {
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
      return Found(type: type, name: name, table: table)
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
