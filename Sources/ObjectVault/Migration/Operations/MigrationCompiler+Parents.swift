// How a new parent of an entity changes tables, and in which order. ParentRows has what it does to rows.

internal import CipherSQLite

extension MigrationCompiler {
  /// Statements before and after the changes of tables.
  struct ParentStatements {
    var checks: [PlannedStatement] = []
    /// Run before any table changes.
    var before: [PlannedStatement] = []
    /// Run after the changes, while the tables that will be dropped still exist.
    var behind: [PlannedStatement] = []
  }

  /// The table of an entity that moves into another table: dropped once its rows are there.
  var leavingTable: TableInfo? {
    guard let change = mapping.parentChange, change.way == .into else { return nil }
    return before.table(of: change.entity)
  }

  /// The table of an entity that gets its own: it is filled before other tables change.
  var ownTable: TableInfo? {
    guard let change = mapping.parentChange, change.way == .out else { return nil }
    return after.entity(named: change.entity.name).map(after.table)
  }

  /// The tables with references to rows that get their own table, declared for an entity that the rows no
  /// longer belong to. The references are cleared, and no trigger of these tables may fire for that.
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
      statements.behind = planned(rows.statements + [rows.mark])
    case .out:
      guard let table = ownTable else { break }
      let creation = CompiledStatement.sql(table.createSQL(after.layout(ofTable: table.name)))
      statements.before = planned([creation] + rows.statements)
      // Index names are taken by the table that the rows come from until that table has changed.
      statements.behind = planned(
        table.indexes.map { .sql(table.indexSQL($0)) } + [rows.mark])
    }
    return statements
  }

  private func planned(_ statements: [CompiledStatement]) -> [PlannedStatement] {
    statements.map { PlannedStatement(statement: $0, operations: []) }
  }

  /// The id of an object after the change, where it is given by an expression; nil when it does not change.
  /// - Parameters:
  ///   - column: A column, in quotes, of the table that is copied.
  ///   - entity: The entity that the column references.
  func movedID(_ column: String, of table: String, to entity: String) -> String? {
    guard let change = mapping.parentChange, change.way == .into, change.moves(entity) else { return nil }
    return ParentRows.newID("\(identifier: table).\(written: column)").text
  }
}
