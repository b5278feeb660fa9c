// The statements of a compiled step, each with the operations that it carries out.

internal import CipherSQLite

/// A statement of a compiled step.
enum CompiledStatement: Hashable {
  case sql(String)
  /// Copies a table's rows.
  case copy(RowCopy)
  /// Fails the step if the check counts any row.
  case mustBeEmpty(RowCheck)
  /// Creates a view, trigger or index whose SQL a person wrote.
  case raw(RawStatement)
  /// Fails the step if a view or a trigger does not fit the changed tables.
  case rawMustFit(RawStatement)
  /// Runs data statements under the authorizer, with the access that their author declares.
  case data(DataBlock, TransformAccess)
  /// Calls a function of the app for each object of an entity.
  case transform(SwiftTransform)
  /// Fails the step unless the query returns one true value.
  case require(text: String, query: String)
}

extension CompiledStatement {
  /// Whether the statement may change existing rows. A copy into a new table does not count.
  var changesRows: Bool {
    switch self {
    // The compiler wrote this SQL. Any statement that does not begin with one of these words counts as a
    // change.
    case .sql(let sql): !["CREATE ", "DROP ", "ALTER ", "PRAGMA "].contains(where: sql.hasPrefix)
    case .copy, .mustBeEmpty, .raw, .rawMustFit, .require: false
    case .data, .transform: true
    }
  }

  /// Whether the statement may change values of existing rows: ``changesRows`` without high-water marks.
  var changesValues: Bool {
    if case .sql(let sql) = self, sql.hasPrefix("INSERT OR REPLACE INTO \(IdentifierTable.name)") {
      return false
    }
    return changesRows
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

  /// Returns the statements of a data block with a semicolon after the last one.
  private static func ended(_ sql: String) -> String {
    let last = sql[(sql.lastIndex(where: \.isNewline) ?? sql.startIndex)...]
    // A comment on the last line would swallow a semicolon beside it. A second semicolon does no harm.
    return last.contains("--") ? sql + "\n;" : sql.hasSuffix(";") ? sql : sql + ";"
  }
}

/// A statement, and the operations that its error names.
struct PlannedStatement {
  let statement: CompiledStatement
  /// The operations that the statement carries out: several, if they change one table together.
  var operations: [MigrationOperation]
  /// For a copy of rows: the operations that fill each column.
  var columns: [String: [MigrationOperation]] = [:]

  /// Returns the summaries of the operations that a failure is about.
  /// - Parameter message: The engine's message. For a failed constraint it ends with the table and the
  ///   column, as in `_mig_User.mail`.
  func blamed(for message: String) -> String {
    let column = message.split(separator: ".").last.map(String.init) ?? ""
    return (columns[column] ?? operations).map(\.summary).joined(separator: "; ")
  }
}
