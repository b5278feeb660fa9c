// Changes of tables that the engine can make in place, without copying the table.

internal import CipherSQLite

extension MigrationCompiler {
  struct Alterations {
    let statements: [PlannedStatement]
    /// Whether the table keeps all former columns, with unchanged names.
    let keepsColumns: Bool
  }

  /// Returns the statements that change a table in place; nil if it has to be rebuilt.
  func alterations(from former: TableInfo, to table: TableInfo, _ origin: Origin)
    -> Alterations?
  {
    guard former.name == table.name else { return nil }
    let (oldLayout, layout) = (before.layout(ofTable: former.name), after.layout(ofTable: table.name))
    let columns = Dictionary(former.columns.map { (quoted($0.name), $0) }) { first, _ in first }
    var renames: [(old: String, new: String)] = []
    var added: [TableInfo.Column] = []
    var kept: Set<String> = []
    /// The former names of the columns that are lazy now.
    var stillLazy: Set<String> = []
    for column in table.columns {
      guard let expression = origin.expressions[column.name] else {
        added.append(column)
        continue
      }
      guard let old = columns[expression] else { return nil }
      kept.insert(old.name)
      if layout.lazyColumns.contains(column.name) { stillLazy.insert(old.name) }
      var same = old
      same.name = column.name
      guard same == column, oldLayout.collations[old.name] == layout.collations[column.name],
        // The copy brings the column after all others.
        !layout.lazyColumns.contains(column.name) || oldLayout.lazyColumns.contains(old.name)
      else { return nil }
      let (was, now) = (former.key(of: old.name), table.key(of: column.name))
      guard was?.table == now?.table, was?.onDelete == now?.onDelete else { return nil }
      if old.name != column.name { renames.append((old.name, column.name)) }
    }
    let dropped = former.columns.filter { !kept.contains($0.name) }
    let taken = Set(former.columns.map(\.name))
    guard renames.isEmpty || engine.canRenameColumn, renames.allSatisfy({ !taken.contains($0.new) }),
      renames.allSatisfy({ former.key(of: $0.old) == nil }),
      dropped.isEmpty || engine.canDropColumn, dropped.allSatisfy({ former.key(of: $0.name) == nil }),
      added.allSatisfy({ canAdd($0, to: table, taken) }),
      // A column that is not lazy any more would remain after one that still is.
      kept.isDisjoint(with: oldLayout.lazyColumns.subtracting(stillLazy)) || stillLazy.isEmpty,
      // ADD COLUMN would put the column after the lazy ones.
      added.allSatisfy({ layout.lazyColumns.contains($0.name) })
        || kept.isDisjoint(with: oldLayout.lazyColumns)
    else { return nil }
    return Alterations(
      statements: inPlace(
        former, to: table, renames: renames, dropped: dropped, added: added, layout: layout),
      keepsColumns: renames.isEmpty && dropped.isEmpty)
  }

  private func inPlace(
    _ former: TableInfo, to table: TableInfo, renames: [(old: String, new: String)],
    dropped: [TableInfo.Column], added: [TableInfo.Column], layout: TableLayout
  ) -> [PlannedStatement] {
    let name = SQLName(table.name)
    var statements: [PlannedStatement] = []
    for index in former.indexes where !table.indexes.contains(index) {
      statements.append(planned("DROP INDEX \(identifier: index.name)", table))
    }
    for rename in renames {
      statements.append(
        planned(
          "ALTER TABLE \(name) RENAME COLUMN \(identifier: rename.old) TO \(identifier: rename.new)", table))
    }
    for column in dropped {
      statements.append(planned("ALTER TABLE \(name) DROP COLUMN \(identifier: column.name)", table))
    }
    for column in added {
      statements.append(
        planned("ALTER TABLE \(name) ADD COLUMN \(table.definition(column, layout))", table))
    }
    return statements
  }

  /// Whether ADD COLUMN accepts the column in all engines. The column must be nullable or have a constant
  /// default; with a foreign key it must be nullable.
  private func canAdd(_ column: TableInfo.Column, to table: TableInfo, _ taken: Set<String>) -> Bool {
    guard !column.isPrimaryKey, !taken.contains(column.name) else { return false }
    if table.key(of: column.name) != nil { return !column.isRequired }
    return !column.isRequired || column.defaultSQL != nil
  }
}
