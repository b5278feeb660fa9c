// Where a file stores the links and the order of a to-many, for code that reads the file without objects.

/// A table of links, or a table with the column of a to-one, seen from one end.
package struct LinkPlace: Sendable, Hashable {
  package let table: String
  /// The column with the ids of this end.
  package let own: String
  /// The column with the ids of the other end.
  package let other: String
  /// The column with the positions of members; nil where the relationship has no order. Members are
  /// sorted by position and then by id.
  package let order: String?
}

extension Schema {
  /// Returns the table of a relationship's links; nil for a relationship without one.
  func linkPlace(of relationship: RelationshipDescription, in entity: EntityDescription) -> LinkPlace? {
    guard let (table, isSource) = joinTable(of: relationship, in: entity) else { return nil }
    return LinkPlace(
      table: table.name, own: isSource ? table.sourceColumn : table.targetColumn,
      other: isSource ? table.targetColumn : table.sourceColumn,
      order: isSource ? table.sourceOrder : table.targetOrder)
  }

  /// Returns the table with the positions of an ordered relationship's members; nil for one without an
  /// order.
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
