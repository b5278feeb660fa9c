// Finds the table that the rows of a final table come from and, for each column that is not new, the
// expression that gives its values.

internal import CipherSQLite

extension MigrationCompiler {
  struct Origin {
    /// The table before the segment.
    let table: String
    /// For each final column, the expression over the former columns. A column without an expression gets
    /// its default.
    var expressions: [String: String]
  }

  /// Returns the origin of the rows of a final table; nil for a new table.
  func origin(of table: TableInfo) -> Origin? {
    if let root = after.entity(named: table.name) {
      guard let former = mapping.entities[root.name] else { return nil }
      var origin = Origin(table: former, expressions: ["id": "\"id\"", "_version": "\"_version\""])
      if before.entity(named: former).map(before.isInHierarchy) == true {
        origin.expressions[EntityColumn.name] = quoted(EntityColumn.name)
      }
      for entity in after.hierarchy(of: root) { addOrigins(of: entity, to: &origin.expressions) }
      return origin
    }
    return joinOrigin(of: table.name)
  }

  /// Adds the origins of the columns of the properties that an entity itself declares.
  private func addOrigins(of entity: EntityDescription, to expressions: inout [String: String]) {
    // The rows of these entities come from another table.
    if let change = mapping.parentChange, change.way == .into, change.moves(entity.name) { return }
    for attribute in entity.attributes {
      if let expression = mapping.expressions[entity.name]?[attribute.name] {
        expressions[attribute.name] = expression
      } else if let name = mapping.former(entity.name, property: attribute.name) {
        expressions[attribute.name] = quoted(name)
      }
    }
    for relationship in entity.relationships where relationship.hasColumn {
      if mapping.isAdded(entity.name, property: relationship.name) {
        expressions[relationship.columnName] = mapping.expressions[entity.name]?[relationship.name]
        continue
      }
      guard let name = mapping.former(entity.name, property: relationship.name),
        let former = mapping.entities[entity.name],
        let old = before.entity(named: former)?.relationship(named: name), !old.isToMany
      else { continue }
      guard old.hasColumn else {
        expressions[relationship.columnName] = lookUp(old, of: former)
        continue
      }
      expressions[RelationshipDescription.columnName(relationship.name)] =
        mapping.expressions[entity.name]?[relationship.name]
        ?? movedID(
          quoted(RelationshipDescription.columnName(name)), of: before.root(of: former),
          to: relationship.destination)
        ?? quoted(RelationshipDescription.columnName(name))
      if let order = after.orderColumn(of: relationship), let inverse = relationship.inverse,
        let back = after.entity(named: relationship.destination)?.relationship(named: inverse),
        let column = orderOrigin(of: back, in: relationship.destination)
      {
        expressions[order] = quoted(column)
      }
    }
    for move in mapping.moves {
      for (column, expression) in move.columns(of: entity.name) { expressions[column] = expression }
    }
  }

  /// Returns the expression for a to-one that had no column: the id of the row whose inverse refers to
  /// this row.
  private func lookUp(_ relationship: RelationshipDescription, of entity: String) -> String? {
    guard let column = relationship.inverse.map(RelationshipDescription.columnName) else { return nil }
    let own: SQL = "\(identifier: before.root(of: entity)).\"id\""
    let sql: SQL =
      "(SELECT l.\"id\" FROM \(identifier: before.root(of: relationship.destination)) AS l WHERE l.\(identifier: column) = \(own))"
    return sql.text
  }

  /// Returns the origin of a final table of links, found by a relationship at either end; nil for a new
  /// table.
  func joinOrigin(of table: String) -> Origin? {
    for entity in after.entities {
      for relationship in entity.relationships {
        guard after.joinName(of: relationship, in: entity)?.name == table,
          let (join, isSource) = after.joinTable(of: relationship, in: entity),
          let former = mapping.entities[entity.name].flatMap({ before.entity(named: $0) }),
          let name = mapping.former(entity.name, property: relationship.name),
          let (old, wasSource) = former.relationship(named: name).flatMap({
            before.joinTable(of: $0, in: former)
          })
        else { continue }
        let hasSameDirection = isSource == wasSource
        var expressions = [
          join.sourceColumn: quoted(hasSameDirection ? old.sourceColumn : old.targetColumn),
          join.targetColumn: quoted(hasSameDirection ? old.targetColumn : old.sourceColumn),
        ]
        for (column, end) in [(join.sourceColumn, join.source), (join.targetColumn, join.target)] {
          if let moved = expressions[column].flatMap({ movedID($0, of: old.name, to: end) }) {
            expressions[column] = moved
          }
        }
        let inverse = relationship.inverse.flatMap {
          after.entity(named: relationship.destination)?.relationship(named: $0)
        }
        for (end, owner, isSource) in [
          (relationship, entity.name, isSource), (inverse, relationship.destination, !isSource),
        ] as [(RelationshipDescription?, String, Bool)] {
          guard let end, let order = isSource ? join.sourceOrder : join.targetOrder else { continue }
          expressions[order] = orderOrigin(of: end, in: owner).map { quoted($0) }
        }
        return Origin(table: old.name, expressions: expressions)
      }
    }
    return nil
  }

  /// Returns the former column with the positions of a relationship's members, in the table that its
  /// links come from; nil if the relationship was not ordered, if its links are new, or if the positions
  /// were stored with another inverse.
  func orderOrigin(of relationship: RelationshipDescription, in entity: String) -> String? {
    guard let former = mapping.entities[entity].flatMap({ before.entity(named: $0) }),
      let name = mapping.former(entity, property: relationship.name),
      let old = former.relationship(named: name),
      old.isToMany, old.isOrdered
    else { return nil }
    if let (join, wasSource) = before.joinTable(of: old, in: former) {
      guard let owner = after.entity(named: entity), after.joinName(of: relationship, in: owner) != nil else {
        return nil
      }
      return wasSource ? join.sourceOrder : join.targetOrder
    }
    // The positions are stored with the inverse, a to-one. They remain only if it is the former inverse.
    guard let inverse = relationship.inverse, let column = old.inverse,
      mapping.former(relationship.destination, property: inverse) == column,
      after.entity(named: relationship.destination)?.relationship(named: inverse)?.hasColumn == true
    else { return nil }
    return RelationshipDescription.orderColumnName(column)
  }
}
