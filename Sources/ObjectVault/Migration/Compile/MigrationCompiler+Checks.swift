// What the rows of a store must be like for a run: asked first and answered with numbers, where the engine would only
// say that a constraint failed. And the marks of ids, which a renaming takes along.

internal import CipherSQLite

extension MigrationCompiler {
  private var owners: ColumnOwners { madeOwners.value { ColumnOwners(after) } }

  /// A unique index over values that may be there twice: said with their number, before SQLite says it without.
  func uniqueCheck(
    _ index: TableInfo.Index, of table: TableInfo, _ former: TableInfo, _ origin: Origin
  ) -> [PlannedStatement] {
    guard index.isUnique, !wasUnique(index, former, origin) else { return [] }
    let operations = mapping.trail.operations(of: members(of: table), index: index.columns)
    var check =
      isSame(index, of: table, origin)
      ? sameValues(index, of: table)
      : Self.repeatedValues(index, of: table, owners.owner(of: index.columns, in: table.name), operations)
    check.isBehind = true
    check.foreseen = foreseenRepetitions(index, of: table, former, origin)
    return [PlannedStatement(statement: .mustBeEmpty(check), operations: operations)]
  }

  private static func repeatedValues(
    _ index: TableInfo.Index, of table: TableInfo, _ owner: (entity: String, properties: [String]),
    _ operations: [MigrationOperation]
  ) -> RowCheck {
    let columns = index.columns.map { SQLName($0) }
    let isThere = SQL.joined(columns.map { "\($0) NOT NULL" }, by: " AND ")
    let names = owner.properties.joined(separator: ", ")
    let isFilled = operations.contains {
      if case .makeRequired(_, _, filling: _?) = $0 { true } else { false }
    }
    let remedy =
      isFilled
      ? "a filling is one value for all: give each object its own by a transform, then write: add index "
        + "\(owner.entity)(\(names)) unique" : "make them differ by a transform before"
    return RowCheck(
      repeated:
        "FROM \(identifier: table.name) WHERE \(isThere) GROUP BY \(SQL.names(columns)) HAVING count(*) > 1",
      of: owner.entity, owner.properties,
      message:
        "%d values of \(owner.entity)(\(names)) are there more than once, and UNIQUE takes each once; \(remedy)"
    )
  }

  /// The same of columns that the run adds, in each row with their default: nothing could make those differ before.
  private func sameValues(_ index: TableInfo.Index, of table: TableInfo) -> RowCheck {
    let (entity, properties) = owners.owner(of: index.columns, in: table.name)
    let isThere = SQL.joined(index.columns.map { "\(identifier: $0) NOT NULL" }, by: " AND ")
    let rows: SQL = "FROM \(identifier: table.name) WHERE \(isThere)"
    let names = properties.joined(separator: ", ")
    return RowCheck(
      query: ("SELECT CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END \(rows)" as SQL).text,
      rows: ("SELECT \"id\" \(rows) ORDER BY \"id\" LIMIT 5" as SQL).text,
      message:
        "%d objects of \(entity) would all have the same \(names), by its default, more than once where UNIQUE takes "
        + "each value once; add it without unique, give each object its own by a transform, then write: "
        + "add index \(entity)(\(names)) unique",
      rule: .unique, entity: entity, properties: properties)
  }

  /// Which values expressions of the run will make more than once, asked of the rows that they are computed from.
  /// - Returns: nil where no expression makes a column of the index: what is there can be told then. And where nobody knows it
  ///   before: a function of the app makes one, or rows or links come from elsewhere.
  private func foreseenRepetitions(
    _ index: TableInfo.Index, of table: TableInfo, _ former: TableInfo, _ origin: Origin
  ) -> RowCheck.Question? {
    guard index.columns.contains(where: { isComputed($0, of: former, origin) }), mapping.moves.isEmpty,
      !tablesOfMovedRows().contains(table.name)
    else { return nil }
    let (paired, layout) = (pairedColumns(of: table), after.layout(ofTable: table.name))
    var (given, kept, groups): ([SQL], [SQL], [SQL]) = ([], [], [])
    for name in index.columns {
      guard let expression = origin.expressions[name], !expression.contains(Conversion.function),
        paired[name] == nil, let column = table.columns.first(where: { $0.name == name })
      else { return nil }
      given.append("(\(written: expression)) AS \(identifier: name)")
      kept.append("\(column.kept(SQLName(name))) AS \(identifier: name)")
      let collation: SQL = layout.collations[name].map { " COLLATE \(written: $0)" } ?? ""
      groups.append("\(identifier: name)\(collation)")
    }
    let isThere = SQL.joined(index.columns.map { "\(identifier: $0) NOT NULL" }, by: " AND ")
    let rows: SQL =
      "SELECT \"id\", \(SQL.joined(kept)) FROM (SELECT \"id\", \(SQL.joined(given)) FROM \(identifier: former.name))"
    return RowCheck.Question(
      repeated: "FROM (\(rows)) WHERE \(isThere) GROUP BY \(SQL.joined(groups)) HAVING count(*) > 1")
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

extension TableInfo.Column {
  /// What the column makes of a value that is put into it, as far as that changes what it is equal to: the engine converts to
  /// the type of a column, and an expression has none.
  fileprivate func kept(_ value: SQLName) -> SQL {
    // A text that is no number stays one. The comparison tells: it converts what a column would, and nothing else
    // (sqlite.org/datatype3.html, 4.2), where CAST makes 12 of '12a' and 0 of 'a'.
    let isNumber: SQL = "typeof(\(value)) = 'text' AND CAST(\(value) AS NUMERIC) = \(value)"
    return switch type {
    case "TEXT":
      "CASE WHEN typeof(\(value)) IN ('integer', 'real') THEN CAST(\(value) AS TEXT) ELSE \(value) END"
    case "INTEGER": "CASE WHEN \(isNumber) THEN CAST(\(value) AS NUMERIC) ELSE \(value) END"
    case "REAL":
      "CASE WHEN typeof(\(value)) = 'integer' OR \(isNumber) THEN CAST(\(value) AS REAL) ELSE \(value) END"
    default: "\(value)"
    }
  }
}
