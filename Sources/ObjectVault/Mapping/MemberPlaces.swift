// The statements about the places of members in ordered relationships: beside the reference of a member, or in the table
// of links. The numbers themselves are decided by MemberOrdering, in Saving.

internal import CipherSQLite

private let idName = SQLName("id")

extension RelationshipMapping {
  /// The table of places, with the columns of the owner's id, the member's id and the place; nil for a relationship without
  /// an order.
  private var places: (table: SQLName, owner: SQLName, member: SQLName, place: SQLName)? {
    guard let order else { return nil }
    switch storage {
    case .column: return nil
    case .inverseColumn(let column): return (destination.table, column, idName, order)
    case .join(let table, let isSource):
      let (own, other) = table.columns(from: isSource)
      return (table.tableName, own, other, order)
    }
  }

  /// The last place of one owner's members; empty for a relationship without an order, as all of these.
  var lastPlaceSQL: String {
    guard let (table, owner, _, place) = places else { return "" }
    return ("SELECT max(\(place)) FROM \(table) WHERE \(owner) = ?" as SQL).text
  }

  /// Owners, members and places of so many owners' members, in their order.
  func placesSQL(owners: Int) -> String {
    guard let (table, owner, member, place) = places else { return "" }
    let sql: SQL =
      "SELECT \(owner), \(member), \(place) FROM \(table) WHERE \(owner) IN (\(parameters: owners)) ORDER BY \(owner), \(place), \(member)"
    return sql.text
  }

  /// The same of so many members, whoever has them.
  func placesSQL(members: Int) -> String {
    guard let (table, owner, member, place) = places else { return "" }
    let sql: SQL =
      "SELECT \(owner), \(member), \(place) FROM \(table) WHERE \(member) IN (\(parameters: members)) AND \(owner) NOT NULL ORDER BY \(owner), \(place), \(member)"
    return sql.text
  }

  /// The same of so many members of one owner, which is the last value.
  func placesOfOwnerSQL(members: Int) -> String {
    guard let (table, owner, member, place) = places else { return "" }
    let sql: SQL =
      "SELECT \(owner), \(member), \(place) FROM \(table) WHERE \(member) IN (\(parameters: members)) AND \(owner) = ?"
    return sql.text
  }

  /// The place of a member of an owner.
  var placeValueSQL: String {
    guard let (table, owner, member, place) = places else { return "" }
    return ("SELECT \(place) FROM \(table) WHERE \(member) = ? AND \(owner) = ?" as SQL).text
  }

  /// Another place for a member of an owner. The member is no other version by that: its place is the relationship's.
  var placeSQL: String {
    guard let (table, owner, member, place) = places else { return "" }
    return ("UPDATE \(table) SET \(place) = ? WHERE \(member) = ? AND \(owner) = ?" as SQL).text
  }
}
