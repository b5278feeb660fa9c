// A temporary table that maps ids during one operation.

internal import CipherSQLite

/// Pairs of ids that the statements of one operation share: the id of each row, once, and another id.
struct IDMap {
  /// Maps rows to their ids in another table, or to new ids.
  static let moved = IDMap("_mig-moved")
  /// Maps owners to the picked one of several links.
  static let picked = IDMap("_mig-picked")

  /// The table. No entity can have a name for which a temporary copy gets this name.
  let table: SQLName

  private init(_ name: String) { table = SQLName(name) }

  /// Returns the statements that create the table from a query for pairs: the row's id, and the other one.
  /// - Parameter isFirst: Whether the query may return several pairs for one id, of which the first
  ///   counts.
  func making(_ query: SQL, ifFirst isFirst: Bool = false) -> [SQL] {
    [
      clearing, "CREATE TABLE \(table) (vault_own INTEGER PRIMARY KEY, vault_other INTEGER)",
      "INSERT\(isFirst ? " OR IGNORE" : "" as SQL) INTO \(table) \(query)",
    ]
  }

  /// Drops any table with this name.
  var clearing: SQL { "DROP TABLE IF EXISTS \(table)" }

  /// Drops the table.
  var ending: SQL { "DROP TABLE \(table)" }

  /// Returns SQL for the other id of a row's id.
  func other(of own: SQL) -> SQL { "(SELECT vault_other FROM \(table) WHERE vault_own = \(own))" }

  /// Joins a table with the alias `a` with the pairs, as `m`.
  var joined: SQL { " JOIN \(table) AS m ON m.vault_own = a.\"id\"" }
}
