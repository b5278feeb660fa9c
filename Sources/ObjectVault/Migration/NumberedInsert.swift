// An INSERT of a data block, written so that each of its rows asks for its id: SQLite by itself gives the
// highest id of a row and one more, which is that of an object that was deleted.
//
// Pure: text to text. Who answers the rows is InsertedIDs.

internal import CipherSQLite

/// An INSERT or a REPLACE into the table of an entity.
struct NumberedInsert {
  /// The entity, as the model spells it.
  let entity: String
  /// As far as the table's name, and what else it is called.
  private var head = ""
  /// The statement as it was written.
  private let written: String
  /// The columns, as they were written; nil where none were.
  private var columns: [String]?
  /// The rows, `VALUES …` or a query; nil for `DEFAULT VALUES`.
  private var rows: String?
  /// What stands behind them: `ON CONFLICT …`, `RETURNING …`.
  private var tail = ""

  /// How the rows are called in the statement with ids.
  private static let rowsName = "vault_rows"

  /// Takes a statement apart; nil for any other.
  /// - Parameter entities: The names of all entities.
  init?(_ sql: String, entities: [String]) {
    var reader = PieceReader(sql)
    guard reader.isInsertion(), reader.pass("into"), let name = reader.passName(),
      let entity = entities.first(where: { $0.lowercased() == name })
    else { return nil }
    self.entity = entity
    written = sql
    if reader.pass("as") { _ = reader.passName() }
    head = reader.taken
    columns = reader.passList()
    reader.forget()
    if reader.pass("default"), reader.pass("values") {
      reader.forget()
    } else {
      reader.passRows()
      rows = reader.taken
      reader.forget()
    }
    reader.passAll()
    tail = reader.taken
  }

  /// Whether its rows have a value of a column, in lower case: all of them have where it names none.
  func names(_ column: String) -> Bool {
    guard let columns else { return rows != nil }
    return columns.contains { Self.plain($0) == column }
  }

  /// A column as it was written, in lower case and without quotes.
  private static func plain(_ column: String) -> String {
    let quotes: Set<Character> = ["\"", "'", "`", "[", "]"]
    return column.lowercased().filter { !quotes.contains($0) }
  }

  /// The statement with an id for each row.
  /// - Parameter all: The columns of the table, in the order of the file.
  func sql(columns all: [String]) -> String {
    guard let rows else {
      // `(text) DEFAULT VALUES`, which the engine refuses.
      guard columns == nil else { return written }
      let sql: SQL = "\(written: head) (\"id\") VALUES (\(call("NULL")))"
      return "\(sql.text) \(tail)"
    }
    let columns = columns ?? all.map { SQLName($0).description }
    let given: [SQL] = columns.indices.map { "v\(number: $0)" }
    // Of several the engine takes the last one.
    let place = columns.lastIndex { Self.isID($0, in: all) }
    var values = given
    if let place { values[place] = call(Self.converted(given[place])) } else { values.append(call("NULL")) }
    let names: [SQL] = (columns + (place == nil ? ["\"id\""] : [])).map { "\(written: $0)" }
    // Two limits keep the engine from making one query of both: it would ask for ids before it sorts the
    // rows.
    let sql: SQL =
      """
      \(written: head) (\(SQL.joined(names))) WITH \(written: Self.rowsName) (\(SQL.joined(given))) AS
      (SELECT * FROM (\(written: rows)) LIMIT -1) SELECT \(SQL.joined(values)) FROM \(written: Self.rowsName) LIMIT -1
      """
    return "\(sql.text) \(tail)"
  }

  /// An error of the statement with ids, as one of the statement that was written.
  func asWritten(_ error: SQLError) -> SQLError {
    func said(_ message: String) -> String { message.replacing(Self.rowsName, with: entity) }
    return switch error {
    case .engine(let code, let extended, let message, _):
      .engine(code: code, extendedCode: extended, message: said(message), sql: written)
    case .constraint(let message, let extended, _):
      .constraint(message: said(message), extendedCode: extended, sql: written)
    default: error
    }
  }

  /// The call that gives a row its id.
  /// - Parameter wanted: The id that the statement gives, or NULL.
  private func call(_ wanted: SQL) -> SQL {
    "\(written: InsertedIDs.function)(\(literal: entity), \(wanted))"
  }

  /// A value as a column of ids takes it: a text that is a number, and nothing else, as that number. By the
  /// engine, as it alone knows what is one: in a comparison it turns a text into a number under the same
  /// rules.
  private static func converted(_ value: SQL) -> SQL {
    """
    CASE WHEN typeof(\(value)) = 'text' AND CAST(\(value) AS NUMERIC) = \(value)
    THEN CAST(\(value) AS NUMERIC) ELSE \(value) END
    """
  }

  /// Whether a column, as it was written, is that of ids: SQLite has three more names for it, where no
  /// column of the table has them.
  private static func isID(_ column: String, in all: [String]) -> Bool {
    let name = plain(column)
    guard name != "id" else { return true }
    return ["rowid", "oid", "_rowid_"].contains(name) && !all.contains { $0.lowercased() == name }
  }
}

/// Goes through the pieces of a statement, without its comments, and keeps what it went by.
private struct PieceReader {
  private let pieces: [(kind: SQLScanner.Kind, text: String)]
  private var place = 0
  private(set) var taken = ""

  init(_ sql: String) {
    var scanner = SQLScanner(sql)
    var pieces: [(SQLScanner.Kind, String)] = []
    while let piece = scanner.next() {
      // A comment parts what stands on its two sides, as a space does.
      pieces.append(piece.kind == .comment ? (.other, " ") : (piece.kind, scanner.text(piece.range)))
    }
    self.pieces = pieces
  }

  /// Begins anew to keep what is gone by.
  mutating func forget() { taken = "" }

  /// The word, or the sign, that comes next, in lower case; nil at the end.
  private var next: String? { following(place)?.text }

  private func following(_ place: Int) -> (text: String, place: Int)? {
    let found = pieces[place...].firstIndex { !$0.text.unicodeScalars.allSatisfy(\.properties.isWhitespace) }
    return found.map { (pieces[$0].text.lowercased(), $0) }
  }

  /// Goes by everything up to the next word or sign, and it.
  private mutating func step() {
    let end = following(place).map { $0.place + 1 } ?? pieces.count
    taken += pieces[place..<end].map(\.text).joined()
    place = end
  }

  /// Goes by a word or a sign, in lower case, where it comes next.
  /// - Returns: Whether it did.
  mutating func pass(_ word: String) -> Bool {
    guard next == word else { return false }
    step()
    return true
  }

  /// Goes by all that is left.
  mutating func passAll() { while next != nil { step() } }

  /// Goes by what stands in brackets, with these, or by one piece.
  private mutating func passGroup() {
    var depth = 0
    repeat {
      if next == "(" { depth += 1 }
      if next == ")" { depth -= 1 }
      step()
    } while depth > 0 && next != nil
  }

  /// Goes by `INSERT`, `INSERT OR …` or `REPLACE`, and by the `WITH …` before it.
  mutating func isInsertion() -> Bool {
    if next == "with" {
      while let word = next, !["insert", "replace", "select", "values", "update", "delete"].contains(word) {
        passGroup()
      }
    }
    if pass("replace") { return true }
    guard pass("insert") else { return false }
    if pass("or") { step() }
    return true
  }

  /// Goes by a name, and by that of its database.
  /// - Returns: The name in lower case, without quotes.
  mutating func passName() -> String? {
    guard let name = next, let at = following(place), pieces[at.place].kind != .other else { return nil }
    step()
    if pass(".") { return passName() }
    return pieces[at.place].kind == .text ? String(name.dropFirst().dropLast()) : name
  }

  /// Goes by names in brackets.
  mutating func passList() -> [String]? {
    guard next == "(" else { return nil }
    let before = taken
    forget()
    passGroup()
    defer { taken = before }
    let list = taken.drop { $0 != "(" }.dropFirst().dropLast()
    return list.split(separator: ",").map { String($0.trimmingSpaces) }
  }

  /// Goes by the rows: up to `ON CONFLICT` or `RETURNING`, which newer engines have.
  mutating func passRows() {
    while let word = next {
      if word == "returning" { return }
      if word == "on", isUpsert { return }
      passGroup()
    }
  }

  /// Whether `ON CONFLICT (` or `ON CONFLICT DO` comes next. In `JOIN Conflict ON Conflict.a = …` it is a
  /// name.
  private var isUpsert: Bool {
    guard let on = following(place), let conflict = following(on.place + 1), conflict.text == "conflict",
      let behind = following(conflict.place + 1)
    else { return false }
    return behind.text == "(" || behind.text == "do"
  }
}

extension Substring {
  fileprivate var trimmingSpaces: Substring {
    var text = self
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
