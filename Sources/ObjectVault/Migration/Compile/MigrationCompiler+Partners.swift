// The second end of a one-to-one, which a to-one gets that was there before: it says what the first one says.

internal import CipherSQLite

extension MigrationCompiler {
  /// Fills the columns of new to-ones out of those that lead to them. Where two rows lead to one, the run is refused behind
  /// it: see ``PartnerWatch``.
  func partnerPairings() -> [(table: String, statement: PlannedStatement)] {
    partners { pairing($0, of: $1, $2) }
  }

  /// The columns of new to-ones that are filled so in a table.
  func pairedColumns(of table: TableInfo) -> Set<String> {
    madePairs.value {
      partners { relationship, entity, _ in (after.root(of: entity.name), relationship.columnName) }
        .reduce(into: [:]) { $0[$1.0, default: []].insert($1.1) }
    }[table.name] ?? []
  }

  /// Each new to-one whose other end is a to-one that was there, with what that was called.
  private func partners<Result>(
    _ make: (RelationshipDescription, EntityDescription, (entity: String, property: String)) -> Result
  ) -> [Result] {
    guard mapping.moves.isEmpty, mapping.parentChange == nil else { return [] }
    return after.entities.filter { !untouched.contains($0.name) && mapping.entities[$0.name] != nil }
      .flatMap { entity in
        entity.relationships.compactMap { relationship in
          former(of: relationship, in: entity).map { make(relationship, entity, $0) }
        }
      }
  }

  private func former(of relationship: RelationshipDescription, in entity: EntityDescription)
    -> (entity: String, property: String)?
  {
    guard let inverse = relationship.inverse, after.isOneToOne(entity.name, relationship.name),
      mapping.former(entity.name, relationship.name) == nil,
      let former = mapping.entities[relationship.destination],
      let name = mapping.former(relationship.destination, inverse),
      before.entity(named: former)?.relationship(named: name)?.isToMany == false
    else { return nil }
    return (former, name)
  }

  private func pairing(
    _ relationship: RelationshipDescription, of entity: EntityDescription,
    _ former: (entity: String, property: String)
  ) -> (table: String, statement: PlannedStatement) {
    let (table, other) = (after.root(of: entity.name), after.root(of: relationship.destination))
    let column = RelationshipDescription.columnName(relationship.name)
    let back = RelationshipDescription.columnName(relationship.inverse ?? former.property)
    let sql: SQL = """
      UPDATE \(identifier: table) SET \(identifier: column) = (SELECT p."id" FROM \(identifier: other) AS p \
      WHERE p.\(identifier: back) = \(identifier: table)."id") \
      WHERE "id" IN (SELECT p.\(identifier: back) FROM \(identifier: other) AS p)
      """
    return (
      table,
      PlannedStatement(
        statement: .sql(sql.text),
        operations: mapping.trail.operations(of: [entity.name], column: column))
    )
  }
}
