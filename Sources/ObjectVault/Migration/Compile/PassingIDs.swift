// A table for the length of an operation: which id stands for which from now on.

internal import CipherSQLite

/// Pairs of ids that statements of one operation hand on: of each row its own id, once, and another one.
struct PassingIDs {
  /// The ids that rows have elsewhere, or that are made for them.
  static let moved = PassingIDs("_mig-moved")
  /// Who was picked of several.
  static let picked = PassingIDs("_mig-picked")

  /// The table. No entity can be called so that its copy has this name.
  let table: SQLName

  private init(_ name: String) { table = SQLName(name) }

  /// Makes the table of the pairs that a query gives: the own id, and the other one.
  /// - Parameter isFirst: Whether there may be several pairs with one own id, of which the first is taken.
  func making(_ query: SQL, ifFirst isFirst: Bool = false) -> [SQL] {
    [
      clearing, "CREATE TABLE \(table) (vault_own INTEGER PRIMARY KEY, vault_other INTEGER)",
      "INSERT\(isFirst ? " OR IGNORE" : "" as SQL) INTO \(table) \(query)",
    ]
  }

  /// Takes away a table of the name, whoever made it.
  var clearing: SQL { "DROP TABLE IF EXISTS \(table)" }

  /// Takes the table away.
  var ending: SQL { "DROP TABLE \(table)" }

  /// The other id of an own one.
  func other(of own: SQL) -> SQL { "(SELECT vault_other FROM \(table) WHERE vault_own = \(own))" }

  /// Joins a table that is called `a` with the pairs, as `m`.
  var joined: SQL { " JOIN \(table) AS m ON m.vault_own = a.\"id\"" }
}
