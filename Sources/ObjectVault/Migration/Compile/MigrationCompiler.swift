// Compiles schema operations to statements for the present engine. It takes two models and opens no file.
//
// A segment is a sequence of operations without a data block between them (see SegmentMapping). All changes
// that it makes to a table are made together: by ALTER if this engine can, else by one rebuild. A rebuild
// never renames the old table, and the new table's foreign keys have the final table names from the start:
// simpler procedures, such as renaming the old table first, break references on one of the engines.
// Preflight checks of rows are in MigrationCompiler+Checks, raw objects in MigrationCompiler+RawObjects.

internal import CipherSQLite

struct MigrationCompiler {
  let engine: Engine
  let before: Schema
  let after: Schema
  let mapping: SegmentMapping
  /// The owners of the columns after the segment. Computed on demand, because few segments need them.
  let cachedOwners = ComputedOnce<ColumnOwners>()

  /// Entities whose tables and links are unchanged. The segment ignores these; in most steps, most
  /// entities are untouched.
  let untouched: Set<String>

  init(engine: Engine, before: Schema, after: Schema, mapping: SegmentMapping) {
    (self.engine, self.before, self.after, self.mapping) = (engine, before, after, mapping)
    untouched = Self.untouchedEntities(before: before, after: after, mapping: mapping)
  }

  /// The changes of tables, in the order in which they run.
  private struct TableWork {
    var copies: [PlannedStatement] = []
    var swaps: [PlannedStatement] = []
    var changes: [PlannedStatement] = []
    /// Created after all values are written, because a unique index has to check the final values.
    var indexes: [PlannedStatement] = []
    /// The former tables that remain, or whose rows another table gets.
    var used: Set<String> = []
    /// The names, in lower case, of the tables whose change requires that raw objects that name them are
    /// created again.
    var moved: Set<String> = []
    /// The names, in lower case, of other tables that change.
    var touched: Set<String> = []
  }

  /// Returns all statements, in order.
  func statements() -> [PlannedStatement] {
    let old = before.tables(but: untouched)
    let checks = mapping.requiredColumns.map(fillingCheck) + moveChecks() + valueChecks()
    var work = TableWork()
    let parents = parentStatements()
    for table in after.tables(but: untouched) where table.name != ownTable?.name {
      add(table, among: old, to: &work)
    }
    let unused = old.filter { !work.used.contains($0.name) && $0.name != tableMovingIntoParent?.name }
    work.moved.formUnion(unused.map { $0.name.lowercased() })
    let dropped = unused.map {
      PlannedStatement(statement: .sql("DROP TABLE \(quoted($0.name))"), operations: [])
    }
    let leaving = leave(&work)
    let (removals, rewrites) = (hierarchyRemovals(), hierarchyRewrites())
    // Updates of rows must not fire triggers, so the triggers on these tables are dropped meanwhile.
    for rewrite in rewrites { work.moved.insert(rewrite.table.lowercased()) }
    let raw = rawStatements(changed: work.moved, touched: work.touched.union(work.moved))
    let (picking, pickingCleanup) = pickingStatements()
    // Raw objects are dropped after the copies, because an expression of a copy may read a view. A change
    // of a parent contains no SQL that the author of a step wrote, so there they are dropped first.
    guard mapping.parentChange == nil else {
      return parents.checks + raw.drops + parents.before + work.copies + work.swaps + dropped + work.changes
        + work.indexes + parents.after + leaving + raw.creations
    }
    return checks + removals + picking + work.copies + pickingCleanup + raw.drops + work.swaps + dropped
      + work.changes + rewrites.map(\.statement) + work.indexes + highWaterMarks() + raw.creations
  }

  /// Creates a table, or changes the former table into it.
  private func add(_ table: TableInfo, among old: [TableInfo], to work: inout TableWork) {
    guard let origin = origin(of: table), let former = old.first(where: { $0.name == origin.table }) else {
      if let filled = movedLinks(to: table) {
        work.copies += filled
        work.changes = renameToFinalName(table) + work.changes
      } else {
        work.changes.append(planned(text: table.createSQL(after.layout(ofTable: table.name)), table))
      }
      work.indexes += table.indexes.map { makeIndex($0, table) }
      work.moved.insert(table.name.lowercased())
      return
    }
    work.used.insert(former.name)
    if let alterations = alterations(from: former, to: table, origin) {
      let made = makeIndexes(table, from: former, origin: origin, but: former.indexes)
      work.changes += alterations.statements
      work.indexes += made
      if !alterations.keepsColumns { work.moved.insert(former.name.lowercased()) }
      if !(alterations.statements + made).isEmpty { work.touched.insert(former.name.lowercased()) }
    } else {
      work.moved.formUnion([former.name.lowercased(), table.name.lowercased()])
      work.copies += rebuild(former, as: table, origin: origin)
      work.swaps.append(planned("DROP TABLE \(identifier: former.name)", table))
      work.changes = renameToFinalName(table) + work.changes
      work.indexes += makeIndexes(table, from: former, origin: origin)
    }
  }

  /// Drops the table of an entity that moves into its parent's table, and before that its indexes.
  /// Records the tables of a change of parent in `work`.
  private func leave(_ work: inout TableWork) -> [PlannedStatement] {
    if let table = ownTable {
      work.moved.formUnion([table.name, before.root(of: table.name)].map { $0.lowercased() })
      work.moved.formUnion(released.map { $0.lowercased() })
    }
    guard let table = tableMovingIntoParent else { return [] }
    work.moved.formUnion([table.name.lowercased(), after.root(of: table.name).lowercased()])
    // The table that the rows move to will have indexes with these names.
    work.swaps += table.indexes.map { planned("DROP INDEX \(identifier: $0.name)", table) }
    return [planned("DROP TABLE \(identifier: table.name)", table)]
  }

  private static func untouchedEntities(
    before: Schema, after: Schema, mapping: SegmentMapping
  ) -> Set<String> {
    guard mapping.moves.isEmpty, mapping.parentChange == nil else { return [] }
    let old = Dictionary(before.entities.map { ($0.name, $0) }) { first, _ in first }
    var same = Set(
      after.entities.filter { old[$0.name] == $0 && mapping.keepsNames(of: $0) }.map(\.name))
    removeIncompleteHierarchies(of: before, after, &same)
    // The delete rule for a row depends on the inverse, so the entities at both ends must be unchanged.
    var untouched = same.filter { name in
      old[name]?.relationships.allSatisfy { same.contains($0.destination) } ?? false
    }
    removeIncompleteHierarchies(of: before, after, &untouched)
    return untouched
  }

  // MARK: Tables

  func planned(_ sql: SQL, _ table: TableInfo) -> PlannedStatement {
    planned(text: sql.text, table)
  }

  // The label `text:` is necessary: without it a literal would be a String, and an SQL value in it would
  // be inserted as its description.
  private func planned(text: String, _ table: TableInfo) -> PlannedStatement {
    // No operation is about a table of links itself, so the operations on its ends are named.
    let operations =
      after.entity(named: table.name) == nil
      ? self.operations(on: table) : mapping.trail.operations(of: members(of: table))
    return PlannedStatement(statement: .sql(text), operations: operations)
  }

  private func makeIndex(_ index: TableInfo.Index, _ table: TableInfo) -> PlannedStatement {
    PlannedStatement(
      statement: .sql(table.indexSQL(index)),
      operations: mapping.trail.operations(of: members(of: table), index: index.columns))
  }

  /// Returns the statements that create the table's indexes, each unique one preceded by its check.
  /// - Parameter kept: Indexes that exist already.
  private func makeIndexes(
    _ table: TableInfo, from former: TableInfo, origin: Origin, but kept: [TableInfo.Index] = []
  ) -> [PlannedStatement] {
    table.indexes.filter { !kept.contains($0) }.flatMap {
      uniqueCheck($0, of: table, from: former, origin: origin) + [makeIndex($0, table)]
    }
  }

  /// Returns the final name of a table, for its temporary name.
  static func finalName(of temporary: String) -> String {
    String(temporary.dropFirst("_mig_".count))
  }

  private func rebuild(_ former: TableInfo, as table: TableInfo, origin: Origin) -> [PlannedStatement] {
    let temporary = "_mig_\(table.name)"
    let columns = table.columns.map(\.name).filter { origin.expressions[$0] != nil }
    let expressions = columns.compactMap { origin.expressions[$0] }
    var copy = PlannedStatement(
      statement: .copy(
        RowCopy(
          source: former.name, target: temporary, columns: columns, expressions: expressions,
          // A window function must see all rows, so a copy with one is not made in slices.
          isKeyed: columns.contains("id") && !expressions.contains(where: SQLScanner.hasWindow))),
      operations: columns.filter { isComputed($0, of: former, origin) }.flatMap {
        mapping.trail.operations(of: members(of: table), column: $0)
      })
    for column in table.columns {
      let operations = mapping.trail.operations(of: members(of: table), column: column.name)
      if !operations.isEmpty { copy.columns[column.name] = operations }
    }
    return table.columns.filter { origin.expressions[$0.name] == nil }
      .compactMap { emptinessCheck($0, of: table, former) } + [
        planned("DROP TABLE IF EXISTS \(identifier: temporary)", table),
        planned(text: table.createSQL(as: temporary, after.layout(ofTable: table.name)), table),
        copy,
      ]
  }

  /// Whether the values of a column of the new table are more than a copy of an old column.
  private func isComputed(_ column: String, of former: TableInfo, _ origin: Origin) -> Bool {
    guard let expression = origin.expressions[column] else { return true }
    return !former.columns.contains { quoted($0.name) == expression }
  }

  private func renameToFinalName(_ table: TableInfo) -> [PlannedStatement] {
    let rename = planned(
      "ALTER TABLE \(identifier: "_mig_\(table.name)") RENAME TO \(identifier: table.name)", table)
    // Newer engines would rewrite the references to the renamed table. This is turned off, because all
    // SQL has the final name already.
    return engine.rewritesReferencesOnRename
      ? [
        planned("PRAGMA legacy_alter_table = ON", table), rename,
        planned("PRAGMA legacy_alter_table = OFF", table),
      ]
      : [rename]
  }
}

extension TableInfo {
  func key(of column: String) -> ForeignKey? { foreignKeys.first { $0.column == column } }
}
