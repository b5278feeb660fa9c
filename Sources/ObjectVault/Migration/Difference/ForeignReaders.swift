// Finds foreign views, triggers and tables that name something which a step removes. With SQLite 3.15 the
// step would run, and these objects would fail when they are used. From 3.25 on, SQLite refuses to change
// a column while such an object is broken. This check refuses the steps with both engines, before the
// first step runs.

internal import CipherSQLite

/// The foreign views and triggers, and the foreign tables with references, that may name the store's
/// tables.
struct ForeignReaders {
  let connection: Connection
  /// The views, triggers and tables.
  let readers: [ForeignObject]

  private struct Column: Hashable {
    let table, name: String
  }

  /// Returns a sentence for each object that obstructs steps, with the first step that it obstructs.
  func obstacles(to steps: [CompiledStep]) throws -> [String] {
    var left = readers
    var lines: [String] = []
    for step in steps where !left.isEmpty {
      for part in step.parts where !part.isData {
        let gone = Gone(from: part.before.layout, to: part.model.layout)
        guard !gone.isNothing else { continue }
        // A raw object that a step has created replaces a foreign object of its kind and name.
        left.removeAll { reader in
          part.before.rawObjects.contains {
            $0.kind.rawValue == reader.type && $0.name.asciiLowercased == reader.name.asciiLowercased
          }
        }
        let told = try take(gone, "step \(numbered(step.step.number)) \(step.step.name)", from: &left)
        lines += told.map { "\($0.reader.title), and \($0.cause). \(Self.remedy($0.reader))" }
      }
    }
    return lines
  }

  /// Removes from `left` the objects that conflict with a change, and returns these with the cause.
  /// - Parameter title: The name of the change in sentences.
  private func take(_ gone: Gone, _ title: String, from left: inout [ForeignObject]) throws -> [(
    reader: ForeignObject, cause: String
  )] {
    var told = try left.compactMap { reader in
      try cause(of: reader, gone, title).map { (reader: reader, cause: $0) }
    }
    addReaders(among: left, to: &told)
    left.removeAll { reader in told.contains { $0.reader == reader } }
    return told
  }

  /// Adds the objects that name a view which has to be dropped, directly or through other views. Triggers
  /// on such a view are omitted: they are dropped with it.
  private func addReaders(
    among readers: [ForeignObject], to told: inout [(reader: ForeignObject, cause: String)]
  ) {
    var place = 0
    while place < told.count {
      let view = told[place].reader
      place += 1
      guard view.type == "view" else { continue }
      let others = readers.filter { other in
        other.table != view.name && !told.contains { $0.reader == other }
          && SQLTemplate.words(other.sql).contains(view.name.asciiLowercased)
      }
      told += others.map { ($0, "names the view \(view.name), which obstructs the steps") }
    }
  }

  /// Returns the advice. Only an earlier step can create the object; the step itself would do so too
  /// late.
  private static func remedy(_ reader: ForeignObject) -> String {
    "Drop it with the sqlcipher shell (\(reader.drop)), or "
      + (reader.type == "table"
        ? "create it again without that reference"
        : "let an earlier step create it: create raw \(reader.type)")
  }

  /// The tables and columns that a change removes. A renamed one is removed under its former name.
  private struct Gone {
    var tables: [String] = []
    var columns: [(table: String, name: String)] = []

    init(from before: StoreLayout, to after: StoreLayout) {
      let kept = Dictionary(after.tables.map { ($0.name.asciiLowercased, $0) }) { first, _ in first }
      for table in before.tables {
        guard let now = kept[table.name.asciiLowercased] else {
          tables.append(table.name)
          continue
        }
        let names = Set(now.columns.map(\.name.asciiLowercased))
        columns += table.columns.filter { !names.contains($0.name.asciiLowercased) }
          .map { (table.name, $0.name) }
      }
    }

    var isNothing: Bool { tables.isEmpty && columns.isEmpty }
  }

  /// Returns why a change conflicts with an object; nil if it does not.
  private func cause(of reader: ForeignObject, _ gone: Gone, _ change: String) throws -> String? {
    if reader.type == "table" {
      let keys = try connection.tableInfo(reader.name).foreignKeys
      let hit = gone.tables.first { table in
        keys.contains { $0.table.asciiLowercased == table.asciiLowercased }
      }
      return hit.map { "refers to \($0), which \(change) drops or renames" }
    }
    let words = SQLTemplate.words(reader.sql)
    var tables = SQLTemplate.sources(reader.sql)
    if reader.type == "trigger" { tables.insert(reader.table.asciiLowercased) }
    if let table = gone.tables.first(where: { tables.contains($0.asciiLowercased) }) {
      return "names \(table), which \(change) drops or renames"
    }
    guard !gone.columns.isEmpty else { return nil }
    var reads: Set<Column>?
    if let message = try reader.misfit(connection) {
      if reader.isNamed(in: message) {
        return "cannot be run (\(message)): while it exists, SQLite cannot drop or rename columns, as "
          + "\(change) does"
      }
    } else if reader.type == "view" {
      reads = try columns(of: reader)
    }
    let hit = gone.columns.first { column in
      words.contains(column.name.asciiLowercased)
        && reads?.contains(Column(table: column.table.asciiLowercased, name: column.name.asciiLowercased))
          ?? tables.contains(column.table.asciiLowercased)
    }
    return hit.map { "names \($0.table).\($0.name), which \(change) drops or renames" }
  }

  /// Returns the columns that a view reads, in lower case. For a trigger this would not work, because no
  /// statement reads the columns in the trigger's header.
  private func columns(of reader: ForeignObject) throws -> Set<Column> {
    var columns: Set<Column> = []
    try connection.withAuthorizer { action in
      if case .read(let table, let column) = action {
        columns.insert(Column(table: table.asciiLowercased, name: column.asciiLowercased))
      }
      return .allow
    } body: {
      try connection.validate(sql: "SELECT * FROM \(SQLName(reader.name))")
    }
    return columns
  }
}

extension Connection {
  /// Returns a statement that makes the engine compile the triggers of a table for an event: `insert`,
  /// `update` or `delete`.
  func statement(firing event: String?, on table: String) throws -> SQL {
    let columns = try tableInfo(table).columns.map { SQLName($0.name) }
    switch event {
    case "insert":
      let values = SQL.joined(columns.map { _ in "NULL" })
      return "INSERT INTO \(identifier: table) (\(SQL.names(columns))) VALUES (\(values))"
    case "update":
      return "UPDATE \(identifier: table) SET \(SQL.joined(columns.map { "\($0) = \($0)" }))"
    default: return "DELETE FROM \(identifier: table)"
    }
  }
}
