// Where a file keeps the links and the order of a to-many, for those who read it without objects.

/// A table of links, or one with a to-one, seen from one end.
package struct LinkPlace: Sendable, Hashable {
  package let table: String
  /// The column with the ids of this end.
  package let own: String
  /// The column with those of the other one.
  package let other: String
  /// The column with the places of members, by which they are sorted, and then by their ids; nil where the relationship has
  /// no order.
  package let order: String?
}

extension Schema {
  /// The table of a relationship's links; nil for one that has none.
  func linkPlace(of relationship: RelationshipDescription, in entity: EntityDescription) -> LinkPlace? {
    guard let (table, isSource) = joinTable(of: relationship, in: entity) else { return nil }
    return LinkPlace(
      table: table.name, own: isSource ? table.sourceColumn : table.targetColumn,
      other: isSource ? table.targetColumn : table.sourceColumn,
      order: isSource ? table.sourceOrder : table.targetOrder)
  }

  /// The table with the places of an ordered relationship's members; nil for one without an order.
  func orderPlace(of relationship: RelationshipDescription, in entity: EntityDescription) -> LinkPlace? {
    guard let order = orderColumn(of: relationship, in: entity) else { return nil }
    if let place = linkPlace(of: relationship, in: entity) { return place }
    return relationship.inverse.map { inverse in
      LinkPlace(
        table: root(of: relationship.destination), own: RelationshipDescription.columnName(inverse),
        other: "id",
        order: order)
    }
  }
}
