// The second end of a one-to-one, which a to-one gets that was there before: it says what the first one says.

internal import CipherSQLite

extension MigrationCompiler {
  /// Fills the columns of new to-ones out of those that lead to them. Where two rows lead to one, the run is refused behind
  /// it: see ``PartnerWatch``.
  func partnerPairings() -> [(table: String, statement: PlannedStatement)] {
    partners { pairing($0, of: $1, $2) }
  }

  /// Asks the rows, as the changes of the run leave them, whether two lead to one, which is refused behind all steps.
  /// - Parameter fillings: The operations before the run that gave all rows of a to-one the same object, of the same step.
  func partnerChecks(behind fillings: [MigrationOperation]) -> [PlannedStatement] {
    partners { relationship, entity, _ in
      let (other, inverse) = (relationship.destination, relationship.inverse ?? "")
      let place = after.place(of: other)
      let column = RelationshipDescription.columnName(inverse)
      let back = SQLName(column)
      // References that lead nowhere are not refused.
      let led: SQL = "\(back) IN (SELECT p.\"id\" FROM \(after.place(of: entity.name).tableName) AS p)"
      let rows: SQL =
        "FROM \(place.tableName) WHERE \(SQL.joined([place.condition(), led].compactMap { $0 }, by: " AND "))"
      let filling = (fillings + mapping.trail.operations(of: [other], column: column))
        .last { $0.isFilling(other, inverse) }
      let check =
        filling == nil
        ? Self.severalCheck(relationship, of: entity, rows, back)
        : Self.filledCheck(relationship, of: entity, rows, back)
      return PlannedStatement(
        statement: .mustBeEmpty(check),
        operations: filling.map { [$0] }
          ?? mapping.trail.operations(of: [entity.name], column: relationship.columnName))
    }
  }

  private static func severalCheck(
    _ relationship: RelationshipDescription, of entity: EntityDescription, _ rows: SQL, _ back: SQLName
  ) -> RowCheck {
    let groups: SQL = "\(rows) GROUP BY \(back) HAVING count(*) > 1"
    return RowCheck(
      query: ("SELECT count(*) FROM (SELECT 1 \(groups))" as SQL).text,
      rows: ("SELECT \(back) \(groups) ORDER BY 1 LIMIT 5" as SQL).text,
      message: "%d objects of \(entity.name) are led to by several of "
        + "\(relationship.destination).\(relationship.inverse ?? ""), and \(relationship.name) is to be one; "
        + "let one lead to each before",
      rule: .single, entity: entity.name, properties: [relationship.name])
  }

  /// Of those whom one filling leads to one object, all but one are refused.
  private static func filledCheck(
    _ relationship: RelationshipDescription, of entity: EntityDescription, _ rows: SQL, _ back: SQLName
  ) -> RowCheck {
    let (other, inverse) = (relationship.destination, relationship.inverse ?? "")
    let refused: SQL = "\(rows) AND \"id\" NOT IN (SELECT min(\"id\") \(rows) GROUP BY \(back))"
    return RowCheck(
      query: ("SELECT count(*) \(refused)" as SQL).text,
      rows: ("SELECT \"id\" \(refused) ORDER BY \"id\" LIMIT 5" as SQL).text,
      message:
        "%d objects of \(other) would lead to one of \(entity.name) that another one leads to, and "
        + "\(entity.name).\(relationship.name) leads back to one; \(FillingAdvice.oneToOne(other, inverse))",
      rule: .single, entity: other, properties: [inverse])
  }

  /// The columns of new to-ones that are filled so in a table, with the operations that make them.
  func pairedColumns(of table: TableInfo) -> [String: String] {
    madePairs.value { pairedColumnsByTable() }[table.name] ?? [:]
  }

  private func pairedColumnsByTable() -> [String: [String: String]] {
    partners { relationship, entity, _ in (relationship, entity) }.reduce(into: [:]) { tables, pair in
      let operations = mapping.trail.operations(of: [pair.1.name], column: pair.0.columnName)
      tables[after.root(of: pair.1.name), default: [:]][pair.0.columnName] =
        operations.map(\.summary).joined(separator: "; ")
    }
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

extension MigrationOperation {
  /// Whether it gives all rows of a property that have nothing one value.
  func isFilling(_ entity: String, _ name: String) -> Bool {
    if case .makeRequired(entity, name, filling: _?) = self { true } else { false }
  }
}
