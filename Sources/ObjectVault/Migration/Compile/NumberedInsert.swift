// Rewrites an INSERT of a data block so that each row requests its id by a function. SQLite would use the
// highest existing id plus one, which may be the id of a deleted object.
//
// A list of several rows remains a list, with an id in each row, because the engine would need quadratic
// time to read it as a subquery. A list of one row becomes a SELECT. The rows of a query get their ids
// from an outer query.
//
// InsertReader parses the statement; InsertedIDs issues the ids.

internal import CipherSQLite

/// An INSERT or REPLACE into the table of an entity.
struct NumberedInsert {
  /// The entity, in the model's spelling.
  let entity: String
  /// The original text up to the rows, including comments.
  private let beginning: [UInt8]
  /// The text up to the table's name and its alias, without comments.
  private var head = ""
  /// The original statement.
  private var written: String
  /// The columns as the statement has them; nil without a list of columns.
  private var columns: [String]?
  private var rows = Rows.defaults
  /// Whether the statement has neither `OR …` after INSERT nor a WITH before it.
  private let isPlain: Bool
  /// The text after the rows: `ON CONFLICT …`, `RETURNING …`.
  private var tail = ""

  private enum Rows {
    /// The rows `DEFAULT VALUES`.
    case defaults
    case values(InsertedValues)
    case query(String)
  }

  /// The name of the original query's rows in the rewritten statement.
  private static let rowsName = "vault_rows"

  /// Parses a statement; returns nil for anything but an INSERT or REPLACE into an entity's table.
  /// - Parameter entities: All entities.
  init?(_ sql: String, entities: EntityNames) {
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

  /// Parses the values of a statement that begins with the same bytes as this one and has nothing after
  /// its values; returns nil for any other statement.
  private func values(ofLike sql: String) -> InsertedValues? {
    guard case .values = rows, tail.isEmpty, var reader = InsertReader(sql, after: beginning),
      let values = reader.passValues(), reader.isAtEnd
    else { return nil }
    return values
  }

  /// Whether the statement only inserts literals, so that statements like it may be merged with it.
  var insertsOnlyLiterals: Bool {
    guard isPlain, tail.isEmpty, case .values(let values) = rows else { return false }
    return values.hasOnlyLiterals
  }

  /// Appends the rows of another statement, if that inserts literals into the same columns and the merged
  /// text remains short. If it begins with the same bytes, only its values are parsed.
  /// - Parameters:
  ///   - entities: All entities.
  ///   - limit: The maximum number of rows.
  /// - Returns: Whether the rows were appended.
  mutating func take(_ sql: String, entities: EntityNames, limit: Int) -> Bool {
    if let values = values(ofLike: sql) { return values.hasOnlyLiterals && append(values, limit: limit) }
    guard let other = NumberedInsert(sql, entities: entities), other.insertsOnlyLiterals,
      case .values(let values) = other.rows, entity == other.entity, columns == other.columns,
      head == other.head || head[...].trimmed == other.head[...].trimmed
    else { return false }
    return append(values, limit: limit)
  }

  private mutating func append(_ more: InsertedValues, limit: Int) -> Bool {
    guard case .values(var values) = rows, values.ends.count + more.ends.count <= limit,
      values.bytes.count + more.bytes.count <= 65_536
    else { return false }
    // Releases the stored array first, so that `append` does not copy it.
    rows = .defaults
    values.append(more)
    rows = .values(values)
    return true
  }

  /// Whether the rows have a value for a column, whose name is given in lower case. Without a list of
  /// columns, they have values for all columns.
  func names(_ column: String) -> Bool {
    guard let columns else {
      if case .defaults = rows { return false }
      return true
    }
    return columns.contains { Self.plain($0) == column }
  }

  /// Returns a column name of the statement in lower case and without quotes.
  private static func plain(_ column: String) -> String {
    let quotes: Set<Character> = ["\"", "'", "`", "[", "]"]
    return column.lowercased().filter { !quotes.contains($0) }
  }

  /// Returns the statement with an id for each row.
  /// - Parameter all: The columns of the table, in the order of the file.
  func sql(columns all: [String]) -> String {
    let (named, place) = columns(of: all)
    let names: [SQL] = (named + (place == nil ? ["\"id\""] : [])).map { "\(written: $0)" }
    let into: SQL = "\(written: head) (\(SQL.joined(names)))"
    switch rows {
    case .defaults:
      // For `(text) DEFAULT VALUES` the engine reports the error.
      guard columns == nil else { return written }
      // A SELECT, because the engine may evaluate a list of values twice: see InsertedValues.
      let sql: SQL = "\(written: head) (\"id\") SELECT \(call("NULL"))"
      return "\(sql.text) \(tail)"
    case .values(let values):
      let list = values.text(idAt: place, new: call("NULL").text) { call(given: $0).text }
      return "\(into.text) \(list) \(tail)"
    case .query(let rows):
      return "\(into.text) \(query(rows, named.count, idAt: place).text) \(tail)"
    }
  }

  /// Returns the columns that each row has values for, and the index of the id among these columns,
  /// counted from 0; nil if the rows have no id.
  private func columns(of all: [String]) -> (named: [String], id: Int?) {
    let named = columns ?? all.map { SQLName($0).description }
    // If the id is named several times, the engine uses the last one.
    return (named, named.lastIndex { Self.isID($0, in: all) })
  }

  /// Returns the rows of a query, each with its id.
  private func query(_ rows: String, _ count: Int, idAt place: Int?) -> SQL {
    let given: [SQL] = (0..<count).map { "v\(number: $0)" }
    var values = given
    if let place { values[place] = call(Self.converted(given[place])) } else { values.append(call("NULL")) }
    // The two LIMITs keep the engine from flattening the queries into one, which would request ids before
    // the rows are sorted.
    return """
      WITH \(written: Self.rowsName) (\(SQL.joined(given))) AS
      (SELECT * FROM (\(written: rows)) LIMIT -1) SELECT \(SQL.joined(values)) FROM \(written: Self.rowsName) LIMIT -1
      """
  }

  /// Returns an error of the rewritten statement as an error of the original one.
  /// - Parameter all: The columns of the table, in the order of the file.
  func asWritten(_ error: SQLError, columns all: [String]) -> SQLError {
    func said(_ message: String) -> String {
      let message = message.replacing(Self.rowsName, with: entity)
      guard case .values = rows, columns(of: all).id == nil else { return message }
      // Each row has one value more than the original: its id.
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

  /// Returns the call for a row of a list, if the row gives an id.
  private func call(given value: String) -> SQL {
    let value: SQL = "\(written: value)"
    if InsertedValues.isPlain(value.text) { return call(value) }
    // An expression must be evaluated once. The two LIMITs keep the engine from inserting it in every
    // place of the conversion.
    return "(SELECT \(call(Self.converted("v"))) FROM (SELECT \(value) AS v LIMIT -1) LIMIT -1)"
  }

  /// Returns the call that gives a row its id.
  /// - Parameter wanted: The id that the statement gives, or NULL.
  private func call(_ wanted: SQL) -> SQL {
    "\(written: InsertedIDs.function)(\(literal: entity), \(wanted))"
  }

  /// Converts a value as an id column would: a numeric string becomes its number. Only the engine knows
  /// which strings are numeric; in this comparison it converts by the rules of columns.
  private static func converted(_ value: SQL) -> SQL {
    """
    CASE WHEN typeof(\(value)) = 'text' AND CAST(\(value) AS NUMERIC) = \(value)
    THEN CAST(\(value) AS NUMERIC) ELSE \(value) END
    """
  }

  /// Whether a column name of the statement is the id. SQLite has three more names for the id, unless a
  /// column of the table has such a name.
  private static func isID(_ column: String, in all: [String]) -> Bool {
    let name = plain(column)
    guard name != "id" else { return true }
    return ["rowid", "oid", "_rowid_"].contains(name) && !all.contains { $0.lowercased() == name }
  }
}

/// The names of entities, compared without regard to case, as SQL does.
struct EntityNames {
  private let names: [String: String]

  init(_ names: [String]) {
    self.names = Dictionary(names.map { ($0.lowercased(), $0) }) { first, _ in first }
  }

  /// Returns the entity for a name, in the model's spelling.
  func entity(of name: String) -> String? { names[name.lowercased()] }
}
