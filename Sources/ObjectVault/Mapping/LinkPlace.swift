// Where a file keeps the links of a many-to-many, for those who read it without objects.

/// A table of links, seen from one end.
package struct LinkPlace: Sendable, Hashable {
  package let table: String
  /// The column with the ids of this end.
  package let own: String
  /// The column with those of the other one.
  package let other: String
}

extension Schema {
  /// The table of a relationship's links; nil for one that has none.
  func linkPlace(
    of relationship: RelationshipDescription, in entity: EntityDescription, format: Int
  ) -> LinkPlace? {
    guard let (join, isSource) = joinTable(of: relationship, in: entity) else { return nil }
    let table = format < 2 ? join.former : join
    return LinkPlace(
      table: table.name, own: isSource ? table.sourceColumn : table.targetColumn,
      other: isSource ? table.targetColumn : table.sourceColumn)
  }
}
