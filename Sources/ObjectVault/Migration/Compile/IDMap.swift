// A temporary table that maps ids during one operation.

internal import CipherSQLite

/// A table with pairs of ids, which the statements of one operation share. Each row's id occurs once, and
/// is mapped to another id.
struct IDMap {
  /// Maps the ids of rows to their ids in another table, or to new ids.
  static let moved = IDMap("_mig-moved")
  /// Maps the id of an owner to the id of the one member that is picked from several.
  static let picked = IDMap("_mig-picked")

  /// The table's name. It cannot clash with the temporary copy of an entity's table.
  let table: SQLName

  private init(_ name: String) { table = SQLName(name) }

  /// Returns the statements that create the table from a query. The query returns pairs: the id of a row,
  /// and the other id.
  /// - Parameter isFirst: Whether the query may return several pairs for one id. The first pair counts.
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

  /// Returns SQL for the id that a row's id is mapped to.
  func other(of own: SQL) -> SQL { "(SELECT vault_other FROM \(table) WHERE vault_own = \(own))" }

  /// Joins a table that has the alias `a` with the pairs, under the alias `m`.
  var joined: SQL { " JOIN \(table) AS m ON m.vault_own = a.\"id\"" }
}
