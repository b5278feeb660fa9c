// Preflight checks of existing rows. They run first and report numbers of rows, while the engine would
// report only a failed constraint. This file also has the statement that adjusts the high-water marks of
// ids after renamings.

internal import CipherSQLite

extension MigrationCompiler {
  private var owners: ColumnOwners { cachedOwners.value { ColumnOwners(after) } }

  /// Returns the check of a unique index over values that may repeat. The check counts the repeated
  /// values; SQLite reports only that there are some.
  func uniqueCheck(
    _ index: TableInfo.Index, of table: TableInfo, from former: TableInfo, origin: Origin
  ) -> [PlannedStatement] {
    guard index.isUnique else { return [] }
    let kept = keptColumns(of: table, former, origin)
    let owner = owners.owner(of: index.columns, in: table.name)
    let looking = inverseOfOneToOne(owner)
    guard !wasUnique(index, in: former, kept: kept), !isEmpty(index, of: table, owner: owner, origin: origin),
      // The values come from a look-up by a unique index, so no value repeats.
      looking == nil || !mapping.wasLookedUp(owner.entity, property: owner.properties[0]),
      // A move that makes one link of several has a check of its own: see LinkMove.
      !mapping.moves.contains(where: { looking?.entity == $0.entity && looking?.name == $0.relationship })
    else { return [] }
    let operations =
      looking.map { blamed(for: index, of: table, lookedUpAs: $0) }
      ?? mapping.trail.operations(of: members(of: table), index: index.columns)
    let isSame = isSame(index, owner: owner, origin: origin)
    var check =
      isSame
      ? Self.sharedDefaultCheck(index, of: table, owner)
      : looking.map {
        Self.sharedTargetCheck(
          index, of: table, owner: owner, lookedUpAs: "\($0.entity).\($0.name)", operations: operations)
      }
        ?? Self.repeatedValuesCheck(index, of: table, owner: owner, operations: operations)
    check.beforehand =
      isSame ? sharedDefaultQuestion(owner.entity) : repeatedValuesQuestion(index, of: former, kept)
    return [PlannedStatement(statement: .mustBeEmpty(check), operations: operations)]
  }

  /// Returns the inverse if an index is over the column of a one-to-one, such as `Author.passport` for
  /// `Passport.owner`; else nil.
  private func inverseOfOneToOne(_ owner: (entity: String, properties: [String])) -> (
    entity: String, name: String
  )? {
    guard owner.properties.count == 1, let entity = after.entity(named: owner.entity),
      let relationship = entity.relationship(named: owner.properties[0]), relationship.isOneToOne
    else { return nil }
    return relationship.inverse.map { (relationship.destination, $0) }
  }

  private static func sharedTargetCheck(
    _ index: TableInfo.Index, of table: TableInfo, owner: (entity: String, properties: [String]),
    lookedUpAs other: String, operations: [MigrationOperation]
  ) -> RowCheck {
    let name = "\(owner.entity).\(owner.properties[0])"
    let remedy =
      hasBackfill(operations)
      ? "filling makes all rows refer to the same object; assign the objects with a transform, then make it "
        + "required"
      : "first use a transform that clears all but one of the references to each object"
    return RowCheck(
      repeated: groups(of: index.columns.map { SQLName($0) }, in: table), of: owner.entity, owner.properties,
      message:
        "%d objects are referenced more than once by \(name), but \(other) allows one; \(remedy)")
  }

  private static func hasBackfill(_ operations: [MigrationOperation]) -> Bool {
    operations.contains { if case .makeRequired(_, _, filling: _?) = $0 { true } else { false } }
  }

  /// Returns the operations that can make the targets of a one-to-one repeat: a backfill, or the operation
  /// that adds the inverse.
  private func blamed(
    for index: TableInfo.Index, of table: TableInfo, lookedUpAs end: (entity: String, name: String)
  )
    -> [MigrationOperation]
  {
    let all = mapping.trail.operations(of: members(of: table), index: index.columns)
    if Self.hasBackfill(all) { return all }
    let column = RelationshipDescription.columnName(end.name)
    let makers = mapping.trail.operations(of: [end.entity], column: column).filter {
      if case .made = $0.subject { true } else { false }
    }
    return makers.isEmpty ? all : makers
  }

  private static func repeatedValuesCheck(
    _ index: TableInfo.Index, of table: TableInfo, owner: (entity: String, properties: [String]),
    operations: [MigrationOperation]
  ) -> RowCheck {
    let names = owner.properties.joined(separator: ", ")
    let remedy =
      hasBackfill(operations)
      ? "filling gives all objects the same value; give each its own with a transform, then write: add index "
        + "\(owner.entity)(\(names)) unique" : "first make all values differ with a transform"
    return RowCheck(
      repeated: groups(of: index.columns.map { SQLName($0) }, in: table), of: owner.entity, owner.properties,
      message:
        "%d values of \(owner.entity)(\(names)) occur more than once, but must be unique; \(remedy)"
    )
  }

  /// Returns the check for columns that the segment adds with a default. All rows get equal values, so
  /// two rows are too many; no earlier step could have made the values differ.
  private static func sharedDefaultCheck(
    _ index: TableInfo.Index, of table: TableInfo, _ owner: (entity: String, properties: [String])
  ) -> RowCheck {
    let (entity, properties) = owner
    let names = properties.joined(separator: ", ")
    return RowCheck(
      .init(moreThanOneOf: "\(identifier: table.name) WHERE \(isThere(index.columns.map { SQLName($0) }))"),
      message:
        "%d objects of \(entity) would all have the default of \(names), but it must be unique; add it "
        + "without unique, give each object its own value with a transform, then write: add index "
        + "\(entity)(\(names)) unique",
      rule: .unique, entity: entity, properties: properties)
  }

  /// Returns the query by which a plan counts repeated values, on the table before the segment; nil if the
  /// segment computes the values or moves rows.
  private func repeatedValuesQuestion(
    _ index: TableInfo.Index, of former: TableInfo, _ kept: [String: String]
  ) -> RowCheck.Question? {
    let columns = index.columns.compactMap { kept[$0] }.map { SQLName($0) }
    guard keepsRowsInTables, columns.count == index.columns.count else { return nil }
    return RowCheck.Question(groups: Self.groups(of: columns, in: former))
  }

  /// Returns the query by which a plan checks new columns with a default. All rows get equal values, so the
  /// query counts the rows if there is more than one. Nil for a new entity, or if the segment moves rows.
  private func sharedDefaultQuestion(_ entity: String) -> RowCheck.Question? {
    guard keepsRowsInTables, let former = mapping.entities[entity] else { return nil }
    return RowCheck.Question(moreThanOneOf: before.place(of: former).rows)
  }

  /// Whether no row and no link moves to another table, and no rows are removed from a table that stays.
  private var keepsRowsInTables: Bool {
    let finals = Set(mapping.entities.values)
    return mapping.moves.isEmpty && mapping.parentChange == nil
      && before.entities.allSatisfy { $0.parent == nil || finals.contains($0.name) }
  }

  /// Returns the columns that keep their stored values and their collation, each with its former name.
  private func keptColumns(of table: TableInfo, _ former: TableInfo, _ origin: Origin) -> [String: String] {
    let (was, now) = (before.layout(ofTable: former.name), after.layout(ofTable: table.name))
    let olds = Dictionary(former.columns.map { (quoted($0.name), $0) }) { first, _ in first }
    return table.columns.reduce(into: [:]) { kept, column in
      guard let old = origin.expressions[column.name].flatMap({ olds[$0] }), old.type == column.type,
        was.collations[old.name] == now.collations[column.name]
      else { return }
      kept[column.name] = old.name
    }
  }

  /// Returns the columns of a table whose names are new: added and renamed ones.
  /// - Parameter former: The table with this name before the segment.
  /// - Returns: nil if the segment also changes the values of other columns, moves links, moves or
  ///   deletes rows, or renames an entity of the table.
  func columnsAdded(to table: TableInfo, _ former: TableInfo) -> [String]? {
    guard keepsRowsInTables, members(of: table).allSatisfy({ mapping.entities[$0] ?? $0 == $0 }),
      let origin = origin(of: table), origin.table == table.name
    else { return nil }
    let kept = keptColumns(of: table, former, origin)
    let added = table.columns.map(\.name).filter { kept[$0] != $0 }
    return added.allSatisfy { name in !former.columns.contains { $0.name == name } } ? added : nil
  }

  /// Returns the text after `FROM` of a query for the groups of two or more rows that have equal values
  /// in some columns.
  private static func groups(of columns: [SQLName], in table: TableInfo) -> SQL {
    "\(identifier: table.name) WHERE \(isThere(columns)) GROUP BY \(SQL.names(columns)) HAVING count(*) > 1"
  }

  private static func isThere(_ columns: [SQLName]) -> SQL {
    SQL.joined(columns.map { "\($0) NOT NULL" }, by: " AND ")
  }

  /// Whether a column of an index is new and NULL in every row: NULLs are never equal in a unique index.
  private func isEmpty(
    _ index: TableInfo.Index, of table: TableInfo, owner: (entity: String, properties: [String]),
    origin: Origin
  ) -> Bool {
    // A moved row or link may have a value.
    guard keepsRowsInTables, let entity = after.flattenedEntity(named: owner.entity) else { return false }
    return zip(index.columns, owner.properties).contains { column, property in
      origin.expressions[column] == nil && entity.attribute(named: property)?.defaultValue == nil
    }
  }

  /// Whether all columns of an index are new and have a default, so that all rows of their entity get
  /// equal values.
  private func isSame(
    _ index: TableInfo.Index, owner: (entity: String, properties: [String]), origin: Origin
  ) -> Bool {
    guard let entity = after.flattenedEntity(named: owner.entity) else { return false }
    return zip(index.columns, owner.properties).allSatisfy { column, property in
      origin.expressions[column] == nil && entity.attribute(named: property)?.defaultValue != nil
    }
  }

  /// Whether a unique index existed over the values before, so that they are known to differ.
  private func wasUnique(_ index: TableInfo.Index, in former: TableInfo, kept: [String: String]) -> Bool {
    let olds = index.columns.map { kept[$0] }
    return former.indexes.contains { $0.isUnique && $0.columns.map(Optional.some) == olds }
  }

  /// Returns the check that a column has no NULL, or that its backfill value exists.
  func fillingCheck(_ required: SegmentMapping.RequiredColumn) -> PlannedStatement {
    if let goal = required.goal { return backfillTargetCheck(required, in: goal.place, id: goal.id) }
    return PlannedStatement(
      statement: .mustBeEmpty(
        RowCheck(
          .required, of: required.entity, [required.property], at: required.place,
          where: "\(written: required.column) IS NULL",
          message: "%d objects have no \(required.property); \(required.remedy)")),
      operations: [required.operation])
  }

  /// Returns the check that the backfill value of a to-one is the id of an existing row.
  private func backfillTargetCheck(
    _ required: SegmentMapping.RequiredColumn, in goal: EntityPlace, id: Int64
  ) -> PlannedStatement {
    let condition: SQL = "\(written: required.column) IS NULL AND \(number: id) NOT IN \(goal.ids)"
    return PlannedStatement(
      statement: .mustBeEmpty(
        RowCheck(
          .leading, of: required.entity, [required.property], at: required.place, where: condition,
          message:
            "%d objects would get \(id) as their \(required.property), but no object has this id; write the "
            + "id of an existing object")),
      operations: [required.operation])
  }

  /// Returns the checks that whole numbers fit into a narrower type. Only a plan uses these; in a run,
  /// the type checks find the same faults afterwards.
  func fittingChecks() -> [PlannedStatement] {
    mapping.expressions.sorted { $0.key < $1.key }.flatMap { entity, properties in
      properties.keys.sorted().compactMap { fittingCheck(entity, property: $0) }
    }
  }

  /// Returns the check that the values of one property fit its narrower type; nil if they need no check.
  func fittingCheck(_ entity: String, property: String) -> PlannedStatement? {
    for operation in mapping.trail.operations(of: [entity], column: property) {
      guard let type = operation.rules.fittingType, type.isInteger,
        case .changed(let owner, let name) = operation.subject,
        let place = mapping.entities[entity].map(before.place),
        let column = mapping.former(entity, property: property),
        // Only a former integer type is checked: its values have to be in the new range. A numeric string
        // becomes a number only when the new column stores it, so it cannot be checked beforehand.
        mapping.entities[entity].flatMap({ before.entity(named: $0) })?.attribute(named: column)?.type
          .isInteger
          == true
      else { continue }
      let held = SQLName(column)
      return PlannedStatement(
        statement: .mustBeEmpty(
          RowCheck(
            .fitting, of: owner, [name], at: place, where: "\(held) NOT NULL AND NOT (\(type.holds(held)))",
            message: "%d values of \(owner)(\(name)) are not valid for the new type; first change them")),
        operations: [operation])
    }
    return nil
  }

  /// Returns the check that the table is empty, which a new NOT NULL column without a default requires.
  func emptinessCheck(
    _ column: TableInfo.Column, of table: TableInfo, _ former: TableInfo
  ) -> PlannedStatement? {
    guard column.isRequired, column.defaultSQL == nil else { return nil }
    let isToOne = table.key(of: column.name) != nil
    let (entity, property) = owners.owner(of: column.name, in: table.name)
    let advice = isToOne ? BackfillAdvice.toOne : BackfillAdvice.attribute
    return PlannedStatement(
      statement: .mustBeEmpty(
        RowCheck(
          .required, of: entity, [property], at: EntityPlace(table: former.name, entities: []),
          message: "%d objects would have NULL in \(table.name).\(column.name), which is NOT NULL; "
            + advice)),
      operations: mapping.trail.operations(of: members(of: table), column: column.name))
  }

  /// Returns the statement that adjusts the high-water marks of renamed entities. A new name gets the
  /// larger of two marks: its own, if it has one, and that of the former name. No mark is ever removed. So
  /// an id that was issued under any name is never issued again, even if its entity was dropped.
  func highWaterMarks() -> [PlannedStatement] {
    var renamed = mapping.entities.filter { $0.key != $0.value && after.entity(named: $0.key)?.parent == nil }
      .map { (key: $0.key, value: $0.value) }
    // The ids of an entity with a parent come from its root entity. If a subentity is new or has a new
    // name, the root entity gets the mark of this name, if that is larger.
    for entity in after.entities where entity.parent != nil && mapping.entities[entity.name] != entity.name {
      renamed.append((after.root(of: entity.name), entity.name))
    }
    // A name that no subentity has any more gets the mark of the root entity, so that ids issued under
    // this name are not issued again.
    let finals = Dictionary(mapping.entities.map { ($0.value, $0.key) }) { first, _ in first }
    for entity in before.entities where entity.parent != nil && finals[entity.name] != entity.name {
      renamed.append((entity.name, before.root(of: entity.name)))
    }
    renamed.sort { ($0.key, $0.value) < ($1.key, $1.value) }
    guard !renamed.isEmpty else { return [] }
    return [
      PlannedStatement(
        statement: .sql(IdentifierTable.renaming(renamed.map { ($0.key, $0.value) })),
        operations: mapping.trail.operations(of: Set(renamed.map(\.key))))
    ]
  }
}
