// Schema operations -> statements for the engine that runs. Pure: it gets two models and opens nothing.
//
// All changes of a table in one run of operations are folded: ALTER where this engine can, else one rebuild.
// A rebuild never renames the old table away, and its foreign keys name final tables: both orders that look
// simpler break references on one engine or the other. What is asked of rows before is in MigrationCompiler+Checks, what
// becomes of raw objects in MigrationCompiler+RawObjects.

internal import CipherSQLite

struct MigrationCompiler {
  let engine: Engine
  let before: Schema
  let after: Schema
  let mapping: SegmentMapping
  /// Who declares the columns of the tables after: few runs ask.
  let madeOwners = MadeOnce<ColumnOwners>()

  /// Entities whose tables are as they were, and whose links are: the run has nothing to do with them, as a step has with most.
  let untouched: Set<String>

  init(engine: Engine, before: Schema, after: Schema, mapping: SegmentMapping) {
    (self.engine, self.before, self.after, self.mapping) = (engine, before, after, mapping)
    untouched = Self.untouchedEntities(before, after, mapping)
  }

  /// What is done to tables, in the order in which it is done.
  private struct TableWork {
    var copies: [PlannedStatement] = []
    var swaps: [PlannedStatement] = []
    var changes: [PlannedStatement] = []
    /// Behind what the rows get: an index tells then who has the same.
    var indexes: [PlannedStatement] = []
    /// The tables of before that are there afterwards.
    var used: Set<String> = []
    /// The tables of which a raw object that names them has to be made anew, in lower case.
    var moved: Set<String> = []
    var touched: Set<String> = []
  }

  /// All statements, in order.
  func statements() -> [PlannedStatement] {
    let old = before.tables(but: untouched)
    let checks = mapping.mustBeFilled.map(fillingCheck) + moveChecks() + valueChecks()
    var work = TableWork()
    let parents = parentStatements()
    for table in after.tables(but: untouched) where table.name != ownTable?.name {
      add(table, among: old, to: &work)
    }
    let unused = old.filter { !work.used.contains($0.name) && $0.name != leavingTable?.name }
    work.moved.formUnion(unused.map { $0.name.lowercased() })
    let dropped = unused.map {
      PlannedStatement(statement: .sql("DROP TABLE \(quoted($0.name))"), operations: [])
    }
    let leaving = leave(&work)
    let (removals, rewrites) = (familyRemovals(), familyRewrites())
    // What changes rows of a table is nothing that a trigger waits for.
    for rewrite in rewrites { work.moved.insert(rewrite.table.lowercased()) }
    let raw = rawStatements(changed: work.moved, touched: work.touched.union(work.moved))
    let (picking, unpicking) = pickings()
    // Behind the copies, whose expressions may read a view.
    guard mapping.parentChange == nil else {
      return parents.checks + raw.drops + parents.before + work.copies + work.swaps + dropped + work.changes
        + work.indexes + parents.behind + leaving + raw.creations
    }
    return checks + removals + picking + work.copies + unpicking + raw.drops + work.swaps + dropped
      + work.changes + rewrites.map(\.statement) + work.indexes + highWaterMarks() + raw.creations
  }

  /// Makes a table, or what it was before into it.
  private func add(_ table: TableInfo, among old: [TableInfo], to work: inout TableWork) {
    guard let origin = origin(of: table), let former = old.first(where: { $0.name == origin.table }) else {
      if let filled = movedLinks(to: table) {
        work.copies += filled
        work.changes = swapIn(table) + work.changes
      } else {
        work.changes.append(planned(text: table.createSQL(after.layout(ofTable: table.name)), table))
      }
      work.indexes += table.indexes.map { makeIndex($0, table) }
      work.moved.insert(table.name.lowercased())
      return
    }
    work.used.insert(former.name)
    if let alterations = alterations(from: former, to: table, origin) {
      let made = makeIndexes(table, former, origin, but: former.indexes)
      work.changes += alterations.statements
      work.indexes += made
      if !alterations.keepsColumns { work.moved.insert(former.name.lowercased()) }
      if !(alterations.statements + made).isEmpty { work.touched.insert(former.name.lowercased()) }
    } else {
      work.moved.formUnion([former.name.lowercased(), table.name.lowercased()])
      work.copies += rebuild(former, table, origin)
      work.swaps.append(planned("DROP TABLE \(identifier: former.name)", table))
      work.changes = swapIn(table) + work.changes
      work.indexes += makeIndexes(table, former, origin)
    }
  }

  /// What goes when entities get another parent, and the names that leave with it.
  private func leave(_ work: inout TableWork) -> [PlannedStatement] {
    if let table = ownTable {
      work.moved.formUnion([table.name, before.root(of: table.name)].map { $0.lowercased() })
      work.moved.formUnion(released.map { $0.lowercased() })
    }
    guard let table = leavingTable else { return [] }
    work.moved.formUnion([table.name.lowercased(), after.root(of: table.name).lowercased()])
    // Their names are those of indexes of the table that the rows come into.
    work.swaps += table.indexes.map { planned("DROP INDEX \(identifier: $0.name)", table) }
    return [planned("DROP TABLE \(identifier: table.name)", table)]
  }

  private static func untouchedEntities(
    _ before: Schema, _ after: Schema, _ mapping: SegmentMapping
  ) -> Set<String> {
    guard mapping.moves.isEmpty, mapping.parentChange == nil else { return [] }
    let old = Dictionary(before.entities.map { ($0.name, $0) }) { first, _ in first }
    var same = Set(
      after.entities.filter { old[$0.name] == $0 && mapping.keepsNames(of: $0) }.map(\.name))
    leaveOutRelatives(of: before, after, &same)
    // What becomes of a row when another one goes is said at the other end.
    var untouched = same.filter { name in
      old[name]?.relationships.allSatisfy { same.contains($0.destination) } ?? false
    }
    leaveOutRelatives(of: before, after, &untouched)
    return untouched
  }

  // MARK: Tables

  func planned(_ sql: SQL, _ table: TableInfo) -> PlannedStatement {
    planned(text: sql.text, table)
  }

  // With a label: a literal would be a String where both are possible, and SQL in it a description.
  private func planned(text: String, _ table: TableInfo) -> PlannedStatement {
    // A table of links has no operations of its own.
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

  /// - Parameter kept: Those that are there.
  private func makeIndexes(
    _ table: TableInfo, _ former: TableInfo, _ origin: Origin, but kept: [TableInfo.Index] = []
  ) -> [PlannedStatement] {
    table.indexes.filter { !kept.contains($0) }.flatMap {
      uniqueCheck($0, of: table, former, origin) + [makeIndex($0, table)]
    }
  }

  /// The table that a temporary one becomes.
  static func finalName(of temporary: String) -> String {
    String(temporary.dropFirst("_mig_".count))
  }

  private func rebuild(_ former: TableInfo, _ table: TableInfo, _ origin: Origin) -> [PlannedStatement] {
    let temporary = "_mig_\(table.name)"
    let columns = table.columns.map(\.name).filter { origin.expressions[$0] != nil }
    let expressions = columns.compactMap { origin.expressions[$0] }
    var copy = PlannedStatement(
      statement: .copy(
        RowCopy(
          source: former.name, target: temporary, columns: columns, expressions: expressions,
          // What looks at other rows sees all of them in one piece alone.
          isKeyed: columns.contains("id") && !expressions.contains(where: SQLScanner.spansRows))),
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

  /// Whether a column of the new table is more than a copy of one of the old table.
  private func isComputed(_ column: String, of former: TableInfo, _ origin: Origin) -> Bool {
    guard let expression = origin.expressions[column] else { return true }
    return !former.columns.contains { quoted($0.name) == expression }
  }

  private func swapIn(_ table: TableInfo) -> [PlannedStatement] {
    let rename = planned(
      "ALTER TABLE \(identifier: "_mig_\(table.name)") RENAME TO \(identifier: table.name)", table)
    // On newer engines a rename would rewrite what mentions the table; here everything names it already.
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
