// The statements of a compiled step, each with the operations that it implements.

internal import CipherSQLite

/// A statement of a compiled step.
enum CompiledStatement: Hashable {
  case sql(String)
  /// Copies a table's rows.
  case copy(RowCopy)
  /// Fails the step where the check counts any row.
  case mustBeEmpty(RowCheck)
  /// Creates a view, trigger or index that a person wrote.
  case raw(RawStatement)
  /// Fails the step where a view or a trigger does not fit the changed tables.
  case rawMustFit(RawStatement)
  /// Runs data statements under the authorizer; the access is what their author declares.
  case data(DataBlock, TransformAccess)
  /// Calls a function of the app with each object of an entity.
  case transform(SwiftTransform)
  /// Fails the step unless the query returns one true value.
  case require(text: String, query: String)
}

extension CompiledStatement {
  /// Whether the statement may change rows. A copy into a new table does not count.
  var changesRows: Bool {
    switch self {
    // The compiler made this SQL; any statement that does not begin with one of these words counts as a
    // change.
    case .sql(let sql): !["CREATE ", "DROP ", "ALTER ", "PRAGMA "].contains(where: sql.hasPrefix)
    case .copy, .mustBeEmpty, .raw, .rawMustFit, .require: false
    case .data, .transform: true
    }
  }

  /// The statement as `plan` prints it.
  var text: String {
    switch self {
    case .sql(let sql): sql + ";"
    case .copy(let copy): copy.sql.text + ";"
    case .mustBeEmpty(let check): "-- must be 0: \(check.query);"
    case .raw(let statement): statement.create + ";"
    case .rawMustFit(let statement): "-- must fit the tables: \(statement.object.title)"
    case .data(let block, _): Self.ended(block.sql)
    case .transform(let transform): "-- \(transform)"
    case .require(let text, let query): "-- require \(text): \(query)"
    }
  }

  /// Returns a person's statements with a semicolon after the last one.
  private static func ended(_ sql: String) -> String {
    let last = sql[(sql.lastIndex(where: \.isNewline) ?? sql.startIndex)...]
    // A comment on the last line would swallow the semicolon. A superfluous semicolon does no harm.
    return last.contains("--") ? sql + "\n;" : sql.hasSuffix(";") ? sql : sql + ";"
  }
}

/// A statement, and the operations that are named when it fails.
struct PlannedStatement {
  let statement: CompiledStatement
  /// The operations that the statement implements. The changes of one table are made together, so there
  /// may be several.
  var operations: [MigrationOperation]
  /// For a copy of rows: the operations that a single column implements.
  var columns: [String: [MigrationOperation]] = [:]

  /// Returns the operations that a failure is about, as text.
  /// - Parameter message: The engine's message. That of a failed constraint ends with table and column, as
  ///   in `_mig_User.mail`.
  func blamed(for message: String) -> String {
    let column = message.split(separator: ".").last.map(String.init) ?? ""
    return (columns[column] ?? operations).map(\.summary).joined(separator: "; ")
  }
}
