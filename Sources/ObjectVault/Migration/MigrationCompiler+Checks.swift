// What the rows of a store must be like for a run: asked first and answered with numbers, where the engine would only
// say that a constraint failed. And the marks of ids, which a renaming takes along.

internal import CipherSQLite

extension MigrationCompiler {
  /// A unique index over values that may be there twice: said with their number, before SQLite says it without.
  func uniqueCheck(
    _ index: TableInfo.Index, of table: TableInfo, _ former: TableInfo, _ origin: Origin
  ) -> [PlannedStatement] {
    guard index.isUnique, !wasUnique(index, former, origin) else { return [] }
    let columns = index.columns.map { SQLName($0) }
    let isThere = SQL.joined(columns.map { "\($0) NOT NULL" }, by: " AND ")
    let groups: SQL =
      "FROM \(identifier: table.name) WHERE \(isThere) GROUP BY \(SQL.names(columns)) HAVING count(*) > 1"
    let check = CompiledStatement.check(
      query: "SELECT count(*) FROM (SELECT 1 \(groups))",
      rows: "SELECT max(\"id\") \(groups) ORDER BY 1 LIMIT 5",
      message:
        "%d values of \(table.name)(\(index.columns.joined(separator: ", "))) are there more than once, and "
        + "UNIQUE takes each once; make them differ by a transform before")
    return [
      PlannedStatement(
        statement: check, operations: mapping.trail.operations(of: members(of: table), index: index.columns))
    ]
  }

  /// Whether an index of before was over the same values: then they are known to differ. A plain copy has the type of before.
  private func wasUnique(_ index: TableInfo.Index, _ former: TableInfo, _ origin: Origin) -> Bool {
    let olds = index.columns.map { name in
      former.columns.first { quoted($0.name) == origin.expressions[name] }?.name
    }
    return former.indexes.contains { $0.isUnique && $0.columns.map(Optional.some) == olds }
  }

  func fillingCheck(_ required: SegmentMapping.RequiredColumn) -> PlannedStatement {
    let table = required.place.tableName
    let own: SQL = required.place.condition().map { " AND \($0)" } ?? ""
    let isMissing: SQL = "\(written: required.column) IS NULL\(own)"
    var (entity, name) = ("", "")
    if case .makeRequired(let owner, let property, _) = required.operation {
      (entity, name) = (owner, property)
    }
    return PlannedStatement(
      statement: .check(
        query: "SELECT count(*) FROM \(table) WHERE \(isMissing)",
        rows: "SELECT \"id\" FROM \(table) WHERE \(isMissing) ORDER BY \"id\" LIMIT 5",
        message: "%d objects have no \(name); write: make \(entity).\(name) required filling VALUE"),
      operations: [required.operation])
  }

  /// A new column that takes no NULL and has nothing to put into the rows that are there.
  func emptinessCheck(
    _ column: TableInfo.Column, of table: TableInfo, _ former: TableInfo
  ) -> PlannedStatement? {
    guard column.isRequired, column.defaultSQL == nil else { return nil }
    let isToOne = table.key(of: column.name) != nil
    return PlannedStatement(
      statement: .check(
        query: "SELECT count(*) FROM \(identifier: former.name)",
        rows: "SELECT \"id\" FROM \(identifier: former.name) ORDER BY \"id\" LIMIT 5",
        message: "%d objects would have NULL in \(table.name).\(column.name), which is NOT NULL; "
          + (isToOne
            ? "add it without required, fill it, then make it required" : "give it a default, or optional")),
      operations: mapping.trail.operations(of: members(of: table), column: column.name))
  }

  /// The marks below which ids were given out. A new name begins at the larger of both marks, and no mark is ever
  /// taken away: an id that was given out under a name, be it of an entity that is gone, is not given out again.
  func highWaterMarks() -> [PlannedStatement] {
    // Entities with a parent have the marks of their roots.
    let renamed = mapping.entities.filter { $0.key != $0.value && after.entity(named: $0.key)?.parent == nil }
      .sorted { $0.key < $1.key }
    guard !renamed.isEmpty else { return [] }
    return [
      PlannedStatement(
        statement: .sql(IdentifierTable.renaming(renamed.map { ($0.key, $0.value) })),
        operations: mapping.trail.operations(of: Set(renamed.map(\.key))))
    ]
  }
}
