// Views, triggers and tables of somebody else that name what a step takes away. SQLite 3.15 lets them stand, and they fail whenever
// somebody reads; from 3.25 on it changes no column while one of them does not fit. Here both engines refuse before the first step.

internal import CipherSQLite

/// What views, triggers and references that are none of the store's name of its tables.
struct ForeignReaders {
  let connection: Connection
  /// The views, triggers and tables.
  let readers: [ForeignObject]

  private struct Column: Hashable {
    let table, name: String
  }

  /// A sentence for each that is in the way, with the first step that it is in the way of.
  func obstacles(to steps: [CompiledStep]) throws -> [String] {
    var left = readers
    var lines: [String] = []
    for step in steps where !left.isEmpty {
      for part in step.parts where !part.isData {
        let gone = Gone(from: part.before.layout, to: part.model.layout)
        guard !gone.isNothing else { continue }
        // A step's own raw object took the place of one of its kind and name.
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

  /// Takes those that one change is in conflict with out of the others.
  /// - Parameter title: What changes.
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

  /// What names a view that has to go would fit no longer, and so on; triggers of a view go with it.
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
      told += others.map { ($0, "names the view \(view.name), which is in the way") }
    }
  }

  /// What to do with one: of what the step itself makes it is too late.
  private static func remedy(_ reader: ForeignObject) -> String {
    "Drop it with the sqlcipher shell (\(reader.drop)), or "
      + (reader.type == "table"
        ? "make it anew without that reference"
        : "let a step before that one make it: create raw \(reader.type)")
  }

  /// The tables and columns that one change takes away, by their names: what is renamed is away by its former name.
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
        return "cannot be run (\(message)): no column is dropped or renamed beside it, as \(change) does"
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

  /// The columns that a view reads, in lower case. What the head of a trigger names nothing reads.
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
  /// A statement for which the engine has to read the triggers of a table that wait for an event: `insert`, `update` or
  /// `delete`.
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
