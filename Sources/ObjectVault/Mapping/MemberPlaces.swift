// The statements for the positions of members in ordered relationships. A position is stored next to the
// column of the member's to-one, or in the table of links. MemberOrdering, in Saving, decides the
// numbers.

internal import CipherSQLite

private let idName = SQLName("id")

extension RelationshipMapping {
  /// The table of positions, with the columns of the owner's id, the member's id and the position; nil
  /// for a relationship without an order.
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

  /// Returns the query for the id of one member of an owner, as an expression.
  /// - Parameters:
  ///   - owner: The owner's id.
  ///   - index: The number of members before it.
  ///   - isFromEnd: Whether members are counted from the last one.
  func elementSQL(of owner: SQL, at index: Int, isFromEnd: Bool) -> SQL {
    guard let (table, own, member, place) = places else { return "NULL" }
    let order: SQL = isFromEnd ? "\(place) DESC, \(member) DESC" : "\(place), \(member)"
    return
      "(SELECT \(member) FROM \(table) WHERE \(own) = \(owner) ORDER BY \(order) LIMIT 1 OFFSET \(number: index))"
  }

  /// The query for the highest position of one owner's members. Like all statements in this file, it is
  /// empty for a relationship without an order.
  var lastPlaceSQL: String {
    guard let (table, owner, _, place) = places else { return "" }
    return ("SELECT max(\(place)) FROM \(table) WHERE \(owner) = ?" as SQL).text
  }

  /// Returns the query for owners, members and positions of the members of `owners` owners, in order.
  func placesSQL(owners: Int) -> String {
    guard let (table, owner, member, place) = places else { return "" }
    let sql: SQL =
      "SELECT \(owner), \(member), \(place) FROM \(table) WHERE \(owner) IN (\(parameters: owners)) ORDER BY \(owner), \(place), \(member)"
    return sql.text
  }

  /// Returns the query for owners, members and positions of `members` members of any owners, in order.
  func placesSQL(members: Int) -> String {
    guard let (table, owner, member, place) = places else { return "" }
    let sql: SQL =
      "SELECT \(owner), \(member), \(place) FROM \(table) WHERE \(member) IN (\(parameters: members)) AND \(owner) NOT NULL ORDER BY \(owner), \(place), \(member)"
    return sql.text
  }

  /// Returns the query for owners, members and positions of `members` members of one owner, whose id is
  /// the last parameter.
  func placesOfOwnerSQL(members: Int) -> String {
    guard let (table, owner, member, place) = places else { return "" }
    let sql: SQL =
      "SELECT \(owner), \(member), \(place) FROM \(table) WHERE \(member) IN (\(parameters: members)) AND \(owner) = ?"
    return sql.text
  }

  /// The query for the position of a member of an owner.
  var placeValueSQL: String {
    guard let (table, owner, member, place) = places else { return "" }
    return ("SELECT \(place) FROM \(table) WHERE \(member) = ? AND \(owner) = ?" as SQL).text
  }

  /// The statement that sets the position of a member of an owner. The member's version stays the same,
  /// because the position belongs to the relationship.
  var placeSQL: String {
    guard let (table, owner, member, place) = places else { return "" }
    return ("UPDATE \(table) SET \(place) = ? WHERE \(member) = ? AND \(owner) = ?" as SQL).text
  }
}
