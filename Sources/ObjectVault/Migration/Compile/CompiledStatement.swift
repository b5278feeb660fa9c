// What a compiled step consists of: statements, each with the operations that it stands for.

internal import CipherSQLite

/// A statement of a compiled step.
enum CompiledStatement: Hashable {
  case sql(String)
  /// Copies a table's rows.
  case copy(RowCopy)
  /// Must count no row; else the step fails.
  case mustBeEmpty(RowCheck)
  /// Makes a view, a trigger or an index that a person wrote, and nothing else.
  case raw(RawStatement)
  /// What a view or a trigger does must be possible, now that the tables are others.
  case rawMustFit(RawStatement)
  /// Data statements, run behind the authorizer, and what their author says that they read and write.
  case data(DataBlock, TransformAccess)
  /// Objects that a function of the app changes.
  case transform(SwiftTransform)
  /// One value that must be true.
  case require(text: String, query: String)
}

extension CompiledStatement {
  /// Whether it may change rows, but for a copy into a new table.
  var changesRows: Bool {
    switch self {
    // The words of the compiler, not of a person: what it has no word for here counts as a change.
    case .sql(let sql): !["CREATE ", "DROP ", "ALTER ", "PRAGMA "].contains(where: sql.hasPrefix)
    case .copy, .mustBeEmpty, .raw, .rawMustFit, .require: false
    case .data, .transform: true
    }
  }

  /// The statement as `plan` shows it.
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

  /// A person's statements, the last of which may lack its semicolon.
  private static func ended(_ sql: String) -> String {
    let last = sql[(sql.lastIndex(where: \.isNewline) ?? sql.startIndex)...]
    // A comment would take it in; one too many does no harm.
    return last.contains("--") ? sql + "\n;" : sql.hasSuffix(";") ? sql : sql + ";"
  }
}

/// A statement and who is to blame when it fails.
struct PlannedStatement {
  let statement: CompiledStatement
  /// The operations that it stands for; the changes of a table run together, so these can be several.
  var operations: [MigrationOperation]
  /// Those that a single column of it stands for, where rows are copied.
  var columns: [String: [MigrationOperation]] = [:]

  /// The operations that a failure is about, as text.
  /// - Parameter message: The engine's. Of a constraint it ends with table and column, as in `_mig_User.mail`.
  func blamed(for message: String) -> String {
    let column = message.split(separator: ".").last.map(String.init) ?? ""
    return (columns[column] ?? operations).map(\.summary).joined(separator: "; ")
  }
}
