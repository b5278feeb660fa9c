// An INSERT of a data block, written so that each of its rows asks for its id: SQLite by itself gives the
// highest id of a row and one more, which is that of an object that was deleted.
//
// A list of values stays one, with an id in each row: as a query within a query the engine reads it in a time that
// grows with the square of its rows. The rows of a query get theirs around it.
//
// Pure: text to text. InsertedIDs answers the rows; InsertReader takes the statement apart.

internal import CipherSQLite

/// An INSERT or a REPLACE into the table of an entity.
struct NumberedInsert {
  /// The entity, as the model spells it.
  let entity: String
  /// The statement as it was written, with its comments, up to its rows.
  private let beginning: [UInt8]
  /// As far as the table's name, and what else it is called.
  private var head = ""
  /// The statement as it was written.
  private var written: String
  /// The columns, as they were written; nil where none were.
  private var columns: [String]?
  private var rows = Rows.defaults
  /// Whether nothing is said of conflicts, and no WITH stands before it.
  private let isPlain: Bool
  /// What stands behind the rows: `ON CONFLICT …`, `RETURNING …`.
  private var tail = ""

  private enum Rows {
    /// `DEFAULT VALUES`.
    case defaults
    case values(InsertedValues)
    case query(String)
  }

  /// How the rows of a query are called in the statement with ids.
  private static let rowsName = "vault_rows"

  /// Takes a statement apart; nil for any other.
  /// - Parameters:
  ///   - entities: All of them.
  ///   - former: One that was taken apart before. A statement that begins with the same bytes is read by its values alone.
  init?(_ sql: String, entities: EntityNames, like former: NumberedInsert? = nil) {
    if let former, let same = former.with(sql) {
      self = same
      return
    }
    var reader = InsertReader(sql)
    guard reader.isInsertion(), reader.pass("into"), let name = reader.passName(),
      let entity = entities.entity(of: name)
    else { return nil }
    self.entity = entity
    written = sql
    if reader.pass("as") { _ = reader.passName() }
    head = reader.text
    columns = reader.passList()
    beginning = reader.beginning
    isPlain = SQLTemplate.words(head).isDisjoint(with: ["or", "with"])
    reader.forget()
    if reader.pass("default"), reader.pass("values") {
      rows = .defaults
    } else if let values = reader.passValues() {
      rows = .values(values)
    } else {
      reader.passRows()
      rows = .query(reader.text)
    }
    reader.forget()
    reader.passAll()
    tail = reader.text
  }

  /// A statement that begins with the same words, with its own values; nil for any other.
  private func with(_ sql: String) -> NumberedInsert? {
    guard case .values = rows, tail.isEmpty, var reader = InsertReader(sql, behind: beginning),
      let values = reader.passValues(), reader.isAtEnd
    else { return nil }
    var other = self
    (other.written, other.rows) = (sql, .values(values))
    return other
  }

  /// Whether it makes rows of plain values and nothing else, so that the engine may be asked once for it and for others.
  var isOfLiterals: Bool {
    guard isPlain, tail.isEmpty, case .values(let values) = rows else { return false }
    return values.areLiterals
  }

  /// Appends the rows of another plain insertion, where it is one into the same columns, and the text does not get long.
  /// - Parameter limit: How many rows it has at most.
  /// - Returns: Whether it did.
  mutating func take(_ other: NumberedInsert, limit: Int) -> Bool {
    guard case .values(var values) = rows, case .values(let more) = other.rows,
      entity == other.entity, columns == other.columns,
      head == other.head || head[...].trimmed == other.head[...].trimmed,
      values.ends.count + more.ends.count <= limit, values.bytes.count + more.bytes.count <= 65_536
    else { return false }
    // Let go of first, so that they are not copied.
    rows = .defaults
    values.append(more)
    rows = .values(values)
    return true
  }

  /// Whether its rows have a value of a column, in lower case: all of them have where it names none.
  func names(_ column: String) -> Bool {
    guard let columns else {
      if case .defaults = rows { return false }
      return true
    }
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
    let (named, place) = columns(of: all)
    let names: [SQL] = (named + (place == nil ? ["\"id\""] : [])).map { "\(written: $0)" }
    let into: SQL = "\(written: head) (\(SQL.joined(names)))"
    switch rows {
    case .defaults:
      // `(text) DEFAULT VALUES`, which the engine refuses.
      guard columns == nil else { return written }
      // No list of values: see InsertedValues.
      let sql: SQL = "\(written: head) (\"id\") SELECT \(call("NULL"))"
      return "\(sql.text) \(tail)"
    case .values(let values):
      let list = values.text(idAt: place, new: call("NULL").text) { call(given: $0).text }
      return "\(into.text) \(list) \(tail)"
    case .query(let rows):
      return "\(into.text) \(query(rows, named.count, idAt: place).text) \(tail)"
    }
  }

  /// The columns that each row has values of, and which of them is the id, counted from 0.
  private func columns(of all: [String]) -> (named: [String], id: Int?) {
    let named = columns ?? all.map { SQLName($0).description }
    // Of several the engine takes the last one.
    return (named, named.lastIndex { Self.isID($0, in: all) })
  }

  /// The rows of a query, each with its id.
  private func query(_ rows: String, _ count: Int, idAt place: Int?) -> SQL {
    let given: [SQL] = (0..<count).map { "v\(number: $0)" }
    var values = given
    if let place { values[place] = call(Self.converted(given[place])) } else { values.append(call("NULL")) }
    // Two limits keep the engine from making one query of both: it would ask for ids before it sorts the
    // rows.
    return """
      WITH \(written: Self.rowsName) (\(SQL.joined(given))) AS
      (SELECT * FROM (\(written: rows)) LIMIT -1) SELECT \(SQL.joined(values)) FROM \(written: Self.rowsName) LIMIT -1
      """
  }

  /// An error of the statement with ids, as one of the statement that was written.
  /// - Parameter all: The columns of the table, in the order of the file.
  func asWritten(_ error: SQLError, columns all: [String]) -> SQLError {
    func said(_ message: String) -> String {
      let message = message.replacing(Self.rowsName, with: entity)
      guard case .values = rows, columns(of: all).id == nil else { return message }
      // Without the id that each row got.
      return message.replacing(#/(\d+) values for (\d+) columns/#) { match in
        "\((Int(match.1) ?? 1) - 1) values for \((Int(match.2) ?? 1) - 1) columns"
      }
    }
    return switch error {
    case .engine(let code, let extended, let message, _):
      .engine(code: code, extendedCode: extended, message: said(message), sql: written)
    case .constraint(let message, let extended, _):
      .constraint(message: said(message), extendedCode: extended, sql: written)
    default: error
    }
  }

  /// The call for a row of a list of values that gives an id itself.
  private func call(given value: String) -> SQL {
    let value: SQL = "\(written: value)"
    if InsertedValues.isPlain(value.text) { return call(value) }
    // An expression is computed once, and two limits keep it from being written in all three places.
    return "(SELECT \(call(Self.converted("v"))) FROM (SELECT \(value) AS v LIMIT -1) LIMIT -1)"
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

/// Names of entities, as SQL takes them: whatever the capitals.
struct EntityNames {
  private let names: [String: String]

  init(_ names: [String]) {
    self.names = Dictionary(names.map { ($0.lowercased(), $0) }) { first, _ in first }
  }

  /// The entity of a name, as the model spells it.
  func entity(of name: String) -> String? { names[name.lowercased()] }
}
