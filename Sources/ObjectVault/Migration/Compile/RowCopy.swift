// The copy of a table's rows into another table: what goes where. How it is done is in MigrationRunner+Rows.

internal import CipherSQLite

/// The rows of one table on their way into another; afterwards both have equally many.
struct RowCopy: Hashable {
  /// The table that they are in.
  let source: String
  /// The table that they go to, which is empty.
  let target: String
  /// The columns that get something.
  let columns: [String]
  /// What each of these gets: SQL of the source's rows.
  let expressions: [String]
  /// Whether it goes by ids, slice after slice.
  let isKeyed: Bool

  /// The statement, in the form for people.
  var sql: SQL { sql(keepsPart: false) }

  /// The statement, which takes a condition on ids behind it.
  /// - Parameter keepsPart: Whether one that fails leaves what it has copied, for who takes all back then.
  func sql(keepsPart: Bool) -> SQL {
    let insert: SQL = keepsPart ? "INSERT OR FAIL" : "INSERT"
    let names = SQL.names(columns.map { SQLName($0) })
    let values = SQL.joined(expressions.map { "\(written: $0)" })
    return "\(insert) INTO \(identifier: target) (\(names)) SELECT \(values) FROM \(identifier: source)"
  }

  /// The same for the engine, with each name in quotes that no text has.
  var executed: RowCopy {
    RowCopy(
      source: source, target: target, columns: columns, expressions: expressions.map(SQLTemplate.namesOnly),
      isKeyed: isKeyed)
  }
}
