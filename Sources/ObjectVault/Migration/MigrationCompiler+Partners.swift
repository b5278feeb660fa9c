// The second end of a one-to-one, which a to-one gets that was there before: it says what the first one says.

internal import CipherSQLite

extension MigrationCompiler {
  /// Fills the columns of new to-ones out of those that lead to them. Where two rows lead to one, the run is refused behind
  /// it: see ``PartnerWatch``.
  func partnerPairings() -> [(table: String, statement: PlannedStatement)] {
    guard mapping.move == nil, mapping.parentChange == nil else { return [] }
    return after.entities.filter { !untouched.contains($0.name) && mapping.entities[$0.name] != nil }
      .flatMap { entity in
        entity.relationships.compactMap { pairing($0, of: entity) }
      }
  }

  private func pairing(
    _ relationship: RelationshipDescription, of entity: EntityDescription
  ) -> (table: String, statement: PlannedStatement)? {
    guard let inverse = relationship.inverse, after.isOneToOne(entity.name, relationship.name),
      mapping.former(entity.name, relationship.name) == nil,
      let former = mapping.entities[relationship.destination],
      let name = mapping.former(relationship.destination, inverse),
      before.entity(named: former)?.relationship(named: name)?.isToMany == false
    else { return nil }
    let (table, other) = (after.root(of: entity.name), after.root(of: relationship.destination))
    let column = RelationshipDescription.columnName(relationship.name)
    let back = RelationshipDescription.columnName(inverse)
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
