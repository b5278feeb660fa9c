// A copy of a table's rows into another table. MigrationRunner+Rows runs it.

internal import CipherSQLite

/// A copy of all rows of one table into another.
struct RowCopy: Hashable {
  /// The table with the rows.
  let source: String
  /// The table that gets the rows. It is empty before.
  let target: String
  /// The columns that get values.
  let columns: [String]
  /// The value for each column of `columns`: SQL over a row of the source.
  let expressions: [String]
  /// Whether the rows are copied in slices, by their ids.
  let isKeyed: Bool

  /// The statement as people read it.
  var sql: SQL { sql(keepsPart: false) }

  /// Returns the statement, which ends so that the caller can append a condition on ids.
  /// - Parameter keepsPart: Whether a statement that fails keeps the rows that it has copied. The caller
  ///   must then roll them back.
  func sql(keepsPart: Bool) -> SQL {
    let insert: SQL = keepsPart ? "INSERT OR FAIL" : "INSERT"
    let names = SQL.names(columns.map { SQLName($0) })
    let values = SQL.joined(expressions.map { "\(written: $0)" })
    return "\(insert) INTO \(identifier: target) (\(names)) SELECT \(values) FROM \(identifier: source)"
  }

  /// The copy in the form for the engine: each name has quotes that a string literal cannot have.
  var executed: RowCopy {
    RowCopy(
      source: source, target: target, columns: columns, expressions: expressions.map(SQLTemplate.namesOnly),
      isKeyed: isKeyed)
  }
}
