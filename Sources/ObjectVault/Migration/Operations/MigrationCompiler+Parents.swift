// The statements for a new parent of an entity: which tables change, in which order. ParentRows has the
// statements for rows.

internal import CipherSQLite

extension MigrationCompiler {
  /// Statements before and after the changes of tables.
  struct ParentStatements {
    var checks: [PlannedStatement] = []
    /// Run before any table changes.
    var before: [PlannedStatement] = []
    /// Run after the changes, while the tables that will be dropped still exist.
    var after: [PlannedStatement] = []
  }

  /// The table that an entity leaves for another table: it is dropped once its rows are moved. nil for
  /// other changes.
  var tableMovingIntoParent: TableInfo? {
    guard let change = mapping.parentChange, change.way == .into else { return nil }
    return before.table(of: change.entity)
  }

  /// The new table of an entity that leaves its hierarchy. It is filled before other tables change. nil
  /// for other changes.
  var ownTable: TableInfo? {
    guard let change = mapping.parentChange, change.way == .out else { return nil }
    return after.entity(named: change.entity.name).map(after.table)
  }

  /// The tables that may refer to the rows that move to the new table: by a relationship to an ancestor
  /// whose objects these rows no longer are. Such references are cleared, and no trigger of these tables
  /// may fire while they are.
  var released: Set<String> {
    guard let change = mapping.parentChange, change.way == .out else { return [] }
    let left = Set(change.left.map(\.name))
    let owners = before.entities.filter { entity in
      entity.relationships.contains { $0.hasColumn && left.contains($0.destination) }
    }
    let joins = before.joinTables.filter { left.contains($0.source) || left.contains($0.target) }
    return Set(owners.map { before.root(of: $0.name) } + joins.map(\.name))
  }

  func parentStatements() -> ParentStatements {
    guard let change = mapping.parentChange else { return ParentStatements() }
    let rows = ParentRows(change, from: before, to: after)
    var statements = ParentStatements()
    statements.checks = planned(rows.checks)
    switch change.way {
    case .within:
      let triggers = before.withoutTriggers
      statements.before = planned(triggers.before + rows.statements + triggers.after)
    case .into:
      statements.before = planned(rows.passing)
      statements.after = planned(rows.statements + [rows.mark])
    case .out:
      guard let table = ownTable else { break }
      let creation = CompiledStatement.sql(table.createSQL(after.layout(ofTable: table.name)))
      statements.before = planned([creation] + rows.statements)
      // The table that the rows come from uses the names of the indexes until it has changed.
      statements.after = planned(
        table.indexes.map { .sql(table.indexSQL($0)) } + [rows.mark])
    }
    return statements
  }

  private func planned(_ statements: [CompiledStatement]) -> [PlannedStatement] {
    statements.map { PlannedStatement(statement: $0, operations: []) }
  }

  /// The SQL expression for the id of an object after the change; nil if the id does not change.
  /// - Parameters:
  ///   - column: A column, in quotes, of the table that is copied.
  ///   - entity: The entity that the column references.
  func movedID(_ column: String, of table: String, to entity: String) -> String? {
    guard let change = mapping.parentChange, change.way == .into, change.moves(entity) else { return nil }
    return ParentRows.newID("\(identifier: table).\(written: column)").text
  }
}
