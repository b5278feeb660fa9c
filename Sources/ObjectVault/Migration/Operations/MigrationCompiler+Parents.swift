// What a change of an entity's parent does to tables, and when: what it does to rows is in ParentRows.

internal import CipherSQLite

extension MigrationCompiler {
  /// Statements around the changes of tables.
  struct ParentStatements {
    var checks: [PlannedStatement] = []
    /// Before any table changes.
    var before: [PlannedStatement] = []
    /// Behind the changes, while the tables that go are still there.
    var behind: [PlannedStatement] = []
  }

  /// The table of an entity that comes into another one: it goes when its rows are there.
  var leavingTable: TableInfo? {
    guard let change = mapping.parentChange, change.way == .into else { return nil }
    return before.table(of: change.entity)
  }

  /// The table of an entity that gets its own: its rows are there before others change.
  var ownTable: TableInfo? {
    guard let change = mapping.parentChange, change.way == .out else { return nil }
    return after.entity(named: change.entity.name).map(after.table)
  }

  /// The tables of those who led to rows that get a table of their own as to what these are no more: their triggers wait for
  /// nothing that lets go of them.
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
    let rows = ParentRows(change, before, after)
    var statements = ParentStatements()
    statements.checks = planned(rows.checks)
    switch change.way {
    case .within:
      let triggers = before.withoutTriggers
      statements.before = planned(triggers.before + rows.statements + triggers.after)
    case .into:
      statements.before = planned(rows.passing)
      statements.behind = planned(rows.statements)
    case .out:
      guard let table = ownTable else { break }
      let creation = CompiledStatement.sql(table.createSQL(after.layout(ofTable: table.name)))
      statements.before = planned([creation] + rows.statements)
      // Their names are those of indexes of the table that the rows come from, until that has changed.
      statements.behind = planned(
        table.indexes.map { .sql(table.indexSQL($0)) } + [rows.mark])
    }
    return statements
  }

  private func planned(_ statements: [CompiledStatement]) -> [PlannedStatement] {
    statements.map { PlannedStatement(statement: $0, operations: []) }
  }

  /// What the id of an object is from now on, where an expression gives it.
  /// - Parameters:
  ///   - column: A column, in quotes, of the table that is copied.
  ///   - entity: What it leads to.
  func movedID(_ column: String, of table: String, to entity: String) -> String? {
    guard let change = mapping.parentChange, change.way == .into, change.moves(entity) else { return nil }
    return ParentRows.newID("\(identifier: table).\(written: column)").text
  }
}
