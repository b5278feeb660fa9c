// What the rows of a store must be like for a run: asked first and answered with numbers, where the engine would only
// say that a constraint failed. And the marks of ids, which a renaming takes along.

internal import CipherSQLite

extension MigrationCompiler {
  private var owners: ColumnOwners { madeOwners.value { ColumnOwners(after) } }

  /// A unique index over values that may be there twice: said with their number, before SQLite says it without.
  func uniqueCheck(
    _ index: TableInfo.Index, of table: TableInfo, _ former: TableInfo, _ origin: Origin
  ) -> [PlannedStatement] {
    guard index.isUnique, !wasUnique(index, former, origin), !isEmpty(index, of: table, origin) else {
      return []
    }
    let operations = mapping.trail.operations(of: members(of: table), index: index.columns)
    var check =
      isSame(index, of: table, origin)
      ? sameValues(index, of: table)
      : Self.repeatedValues(index, of: table, owners.owner(of: index.columns, in: table.name), operations)
    check.beforehand = repetitionsBefore(index, of: table, former, origin)
    return [PlannedStatement(statement: .mustBeEmpty(check), operations: operations)]
  }

  private static func repeatedValues(
    _ index: TableInfo.Index, of table: TableInfo, _ owner: (entity: String, properties: [String]),
    _ operations: [MigrationOperation]
  ) -> RowCheck {
    let names = owner.properties.joined(separator: ", ")
    let isFilled = operations.contains {
      if case .makeRequired(_, _, filling: _?) = $0 { true } else { false }
    }
    let remedy =
      isFilled
      ? "a filling is one value for all: give each object its own by a transform, then write: add index "
        + "\(owner.entity)(\(names)) unique" : "make them differ by a transform before"
    return RowCheck(
      repeated: groups(of: index.columns.map { SQLName($0) }, in: table), of: owner.entity, owner.properties,
      message:
        "%d values of \(owner.entity)(\(names)) are there more than once, and UNIQUE takes each once; \(remedy)"
    )
  }

  /// The same of columns that the run adds, in each row with their default: nothing could make those differ before.
  private func sameValues(_ index: TableInfo.Index, of table: TableInfo) -> RowCheck {
    let (entity, properties) = owners.owner(of: index.columns, in: table.name)
    let isThere = SQL.joined(index.columns.map { "\(identifier: $0) NOT NULL" }, by: " AND ")
    let names = properties.joined(separator: ", ")
    let question = RowCheck.Question(moreThanOneOf: "\(identifier: table.name) WHERE \(isThere)")
    return RowCheck(
      query: question.query, rows: question.rows,
      message:
        "%d objects of \(entity) would all have the same \(names), by its default, more than once where UNIQUE takes "
        + "each value once; add it without unique, give each object its own by a transform, then write: "
        + "add index \(entity)(\(names)) unique",
      rule: .unique, entity: entity, properties: properties)
  }

  /// What a unique index will refuse, asked of the table before the run; nil where the run makes the values, or brings or takes
  /// rows.
  private func repetitionsBefore(
    _ index: TableInfo.Index, of table: TableInfo, _ former: TableInfo, _ origin: Origin
  ) -> RowCheck.Question? {
    guard keepsRows else { return nil }
    if isSame(index, of: table, origin) {
      let owner = owners.owner(of: index.columns, in: table.name).entity
      return mapping.entities[owner].map { RowCheck.Question(moreThanOneOf: before.place(of: $0).rows) }
    }
    let columns = index.columns.compactMap { column in
      former.columns.first { quoted($0.name) == origin.expressions[column] }.map { SQLName($0.name) }
    }
    guard columns.count == index.columns.count else { return nil }
    return RowCheck.Question(repeated: Self.groups(of: columns, in: former))
  }

  /// Whether rows and links stay in the tables that they are in; those of tables that go aside.
  private var keepsRows: Bool {
    let finals = Set(mapping.entities.values)
    return mapping.moves.isEmpty && mapping.parentChange == nil
      && before.entities.allSatisfy { $0.parent == nil || finals.contains($0.name) }
  }

  /// The columns that the run makes in a table which holds what it held besides; nil where it does not.
  /// - Parameter former: The table of its name before the run.
  func columnsMade(in table: TableInfo, _ former: TableInfo) -> [String]? {
    guard keepsRows, members(of: table).allSatisfy({ mapping.entities[$0] ?? $0 == $0 }),
      let origin = origin(of: table), origin.table == table.name
    else { return nil }
    let made = table.columns.map(\.name).filter { origin.expressions[$0] != quoted($0) }
    return made.allSatisfy { name in !former.columns.contains { $0.name == name } } ? made : nil
  }

  /// The values of columns that are there more than once, behind `FROM`.
  private static func groups(of columns: [SQLName], in table: TableInfo) -> SQL {
    let isThere = SQL.joined(columns.map { "\($0) NOT NULL" }, by: " AND ")
    return "\(identifier: table.name) WHERE \(isThere) GROUP BY \(SQL.names(columns)) HAVING count(*) > 1"
  }

  /// Whether a column of an index is new and has nothing in any row: nothing is like no other nothing.
  private func isEmpty(_ index: TableInfo.Index, of table: TableInfo, _ origin: Origin) -> Bool {
    let (entity, properties) = owners.owner(of: index.columns, in: table.name)
    guard let declaring = after.entity(named: entity) else { return false }
    let paired = pairedColumns(of: table)
    return zip(index.columns, properties).contains { column, property in
      origin.expressions[column] == nil && declaring.attribute(named: property)?.defaultValue == nil
        && paired[column] == nil
    }
  }

  /// Whether all columns of an index are new and have a constant in each row of their entity.
  private func isSame(_ index: TableInfo.Index, of table: TableInfo, _ origin: Origin) -> Bool {
    let (entity, properties) = owners.owner(of: index.columns, in: table.name)
    guard let declaring = after.entity(named: entity) else { return false }
    return zip(index.columns, properties).allSatisfy { column, property in
      origin.expressions[column] == nil && declaring.attribute(named: property)?.defaultValue != nil
    }
  }

  /// Whether an index of before was over the same values: then they are known to differ. A plain copy has the type of before.
  private func wasUnique(_ index: TableInfo.Index, _ former: TableInfo, _ origin: Origin) -> Bool {
    let olds = index.columns.map { name in
      former.columns.first { quoted($0.name) == origin.expressions[name] }?.name
    }
    return former.indexes.contains { $0.isUnique && $0.columns.map(Optional.some) == olds }
  }

  func fillingCheck(_ required: SegmentMapping.RequiredColumn) -> PlannedStatement {
    if let goal = required.goal { return goalCheck(required, goal.place, goal.id) }
    return PlannedStatement(
      statement: .mustBeEmpty(
        RowCheck(
          .required, required.entity, [required.property], at: required.place,
          where: "\(written: required.column) IS NULL",
          message: "%d objects have no \(required.property); \(required.remedy)")),
      operations: [required.operation])
  }

  /// Whom a to-one is filled with must be there.
  private func goalCheck(
    _ required: SegmentMapping.RequiredColumn, _ goal: EntityPlace, _ id: Int64
  ) -> PlannedStatement {
    let condition: SQL = "\(written: required.column) IS NULL AND \(number: id) NOT IN \(goal.ids)"
    return PlannedStatement(
      statement: .mustBeEmpty(
        RowCheck(
          .leading, required.entity, [required.property], at: required.place, where: condition,
          message:
            "%d objects would get \(id) as their \(required.property), and there is none with this id; write the id of "
            + "one that is there")),
      operations: [required.operation])
  }

  /// That whole numbers are in the range of a narrower type: what the checks of types ask behind the run, asked before it.
  func fittingChecks() -> [PlannedStatement] {
    mapping.expressions.sorted { $0.key < $1.key }.flatMap { entity, properties in
      properties.keys.sorted().compactMap { fittingCheck(entity, $0) }
    }
  }

  /// nil for a property of which nothing is asked before.
  func fittingCheck(_ entity: String, _ property: String) -> PlannedStatement? {
    for operation in mapping.trail.operations(of: [entity], column: property) {
      guard let type = operation.rules.fittingType, type.isInteger,
        case .changed(let owner, let name) = operation.subject,
        let place = mapping.entities[entity].map(before.place),
        let column = mapping.former(entity, property),
        // A text that is a number becomes that number; only a whole number has to be in a range.
        mapping.entities[entity].flatMap({ before.entity(named: $0) })?.attribute(named: column)?.type
          .isInteger
          == true
      else { continue }
      let held = SQLName(column)
      return PlannedStatement(
        statement: .mustBeEmpty(
          RowCheck(
            .fitting, owner, [name], at: place, where: "\(held) NOT NULL AND NOT (\(type.holds(held)))",
            message: "%d values of \(owner)(\(name)) are none of that type; change them before")),
        operations: [operation])
    }
    return nil
  }

  /// A new column that takes no NULL and has nothing to put into the rows that are there.
  func emptinessCheck(
    _ column: TableInfo.Column, of table: TableInfo, _ former: TableInfo
  ) -> PlannedStatement? {
    guard column.isRequired, column.defaultSQL == nil else { return nil }
    let isToOne = table.key(of: column.name) != nil
    let (entity, property) = owners.owner(of: column.name, in: table.name)
    let advice =
      !isToOne
      ? FillingAdvice.attribute
      : pairedColumns(of: table)[column.name] == nil ? FillingAdvice.toOne : FillingAdvice.paired
    return PlannedStatement(
      statement: .mustBeEmpty(
        RowCheck(
          .required, entity, [property], at: EntityPlace(table: former.name, entities: []),
          message: "%d objects would have NULL in \(table.name).\(column.name), which is NOT NULL; "
            + advice)),
      operations: mapping.trail.operations(of: members(of: table), column: column.name))
  }

  /// The marks below which ids were given out. A new name begins at the larger of both marks, and no mark is ever
  /// taken away: an id that was given out under a name, be it of an entity that is gone, is not given out again.
  func highWaterMarks() -> [PlannedStatement] {
    var renamed = mapping.entities.filter { $0.key != $0.value && after.entity(named: $0.key)?.parent == nil }
      .map { (key: $0.key, value: $0.value) }
    // Entities with a parent have the marks of their roots: one that gets a name goes on above that of the name.
    for entity in after.entities where entity.parent != nil && mapping.entities[entity.name] != entity.name {
      renamed.append((after.root(of: entity.name), entity.name))
    }
    // And a name that one gives up keeps what was given out under it.
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
