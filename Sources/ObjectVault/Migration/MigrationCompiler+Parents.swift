// What a change of an entity's parent does to rows: they come into another table under new ids, they get a table of their
// own, or they stay and hold other values.

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

/// The rows of an entity whose parent changes, and of all below it.
private struct ParentRows {
  private let change: ParentChange
  private let before: Schema
  private let after: Schema
  private(set) var checks: [CompiledStatement] = []

  /// Where they lie before, and afterwards.
  private let old: EntityPlace
  private let new: EntityPlace

  init(_ change: ParentChange, _ before: Schema, _ after: Schema) {
    (self.change, self.before, self.after) = (change, before, after)
    old =
      before.root(of: change.entity.name) == change.entity.name
      ? EntityPlace(table: change.entity.name, entities: []) : before.place(of: change.entity.name)
    new = after.place(of: change.entity.name)
    checks = gained.compactMap(check) + release.checks + ownChecks
  }

  /// The id that an object has from now on.
  static func newID(_ id: SQL) -> SQL {
    "(SELECT vault_other FROM \(PassingTable.name) WHERE vault_own = \(id))"
  }

  // MARK: What is asked before

  private enum Gained {
    case attribute(AttributeDescription, own: AttributeDescription?)
    case toOne(RelationshipDescription)
  }

  /// What the rows inherit and did not.
  private var gained: [Gained] {
    change.joined.flatMap { above in
      above.attributes.map {
        .attribute($0, own: change.way == .into ? change.entity.attribute(named: $0.name) : nil)
      }
        + above.relationships.filter { !$0.isToMany }.map { .toOne($0) }
    }
  }

  private func check(_ gained: Gained) -> CompiledStatement? {
    let (name, condition): (String, SQL?)
    switch gained {
    case .attribute(let attribute, let own):
      guard !attribute.isOptional, attribute.defaultValue == nil, own?.isOptional != false else { return nil }
      (name, condition) = (attribute.name, own.map { "\(identifier: $0.name) IS NULL" })
    case .toOne(let relationship):
      guard relationship.isRequired else { return nil }
      (name, condition) = (relationship.name, nil)
    }
    let conditions = [old.condition(), condition].compactMap { $0 }
    let filter: SQL = conditions.isEmpty ? "" : " WHERE \(SQL.joined(conditions, by: " AND "))"
    return .check(
      query: "SELECT count(*) FROM \(old.tableName)\(filter)",
      rows: "SELECT \"id\" FROM \(old.tableName)\(filter) ORDER BY \"id\" LIMIT 5",
      message:
        "%d objects of \(change.entity.name) would have no \(name), which \(change.parent ?? "") requires; fill it "
        + "before, or make it optional")
  }

  private var release: RowRelease {
    RowRelease(of: change.names, from: change.left, staying: change.way == .within, in: before)
  }

  /// To-ones of the rows that lead to what one of them is no more.
  private var astray: [(entity: EntityDescription, relationship: RelationshipDescription)] {
    guard change.way == .out else { return [] }
    let left = Set(change.left.map(\.name))
    return (change.left + change.moved).flatMap { entity in
      entity.relationships.filter { !$0.isToMany && left.contains($0.destination) }.map { (entity, $0) }
    }
  }

  private func isAstray(_ column: SQL) -> SQL {
    "\(column) IN (SELECT \"id\" FROM \(old.tableName)\(old.filter))"
  }

  private var ownChecks: [CompiledStatement] {
    astray.filter(\.relationship.isRequired).map { entity, relationship in
      let own: SQL = old.condition().map { "\($0) AND " } ?? ""
      let filter: SQL = "\(own)\(isAstray("\(identifier: relationship.columnName)"))"
      return .check(
        query: "SELECT count(*) FROM \(old.tableName) WHERE \(filter)",
        rows: "SELECT \"id\" FROM \(old.tableName) WHERE \(filter) ORDER BY \"id\" LIMIT 5",
        message: "%d objects lead by \(relationship.name), which is required, to an object that is no "
          + "\(relationship.destination) any more; let them lead elsewhere by a transform before")
    }
  }

  // MARK: Statements

  /// The ids that rows get in another table.
  var passing: [CompiledStatement] {
    let table = PassingTable.name
    let statements: [SQL] = [
      PassingTable.drop, "CREATE TABLE \(table) (vault_own INTEGER PRIMARY KEY, vault_other INTEGER)",
      "INSERT INTO \(table) SELECT \"id\", \"id\" + \(IdentifierTable.highest(of: new.table)) FROM \(old.tableName)",
    ]
    return statements.map { .sql($0.text) }
  }

  var statements: [CompiledStatement] {
    switch change.way {
    case .within: (release.statements + rewriting).map { .sql($0.text) }
    case .into: ([insertion] + [PassingTable.end]).map { .sql($0.text) }
    case .out:
      ([insertion] + release.statements + ["DELETE FROM \(old.tableName)\(old.filter)"]).map { .sql($0.text) }
    }
  }

  /// The mark of a table of its own is not below that of the table that its ids come from.
  var mark: CompiledStatement {
    .sql(IdentifierTable.renaming([(change.entity.name, old.table)]))
  }

  /// What the rows do not inherit any more is empty, and what they inherit has its default.
  private var rewriting: [SQL] {
    var settings: [SQL] = []
    for above in change.left {
      settings += above.attributes.map { "\(identifier: $0.name) = NULL" }
      for relationship in above.relationships where !relationship.isToMany {
        settings.append("\(identifier: relationship.columnName) = NULL")
        if let order = before.orderColumn(of: relationship) { settings.append("\(identifier: order) = NULL") }
      }
    }
    for case .attribute(let attribute, _) in gained {
      if let value = attribute.defaultValue {
        settings.append("\(identifier: attribute.name) = \(written: value.sql)")
      }
    }
    return settings.isEmpty ? [] : ["UPDATE \(old.tableName) SET \(SQL.joined(settings))\(old.filter)"]
  }

  /// The rows in the table that they lie in afterwards.
  private var insertion: SQL {
    var (columns, values): ([SQL], [SQL]) = (
      ["\"id\"", "\"_version\""],
      [change.way == .into ? "m.vault_other" : "a.\"id\"", "a.\"_version\""]
    )
    if after.entity(named: new.table).map(after.isInFamily) == true {
      columns.append("\(identifier: EntityColumn.name)")
      values.append(
        change.moved.count > 1 || change.way == .out
          ? "a.\(identifier: EntityColumn.name)" : "\(literal: change.entity.name)")
    }
    for case .attribute(let attribute, let own) in gained {
      let filling: SQL? = attribute.defaultValue.map { "\(written: $0.sql)" }
      guard own != nil || filling != nil else { continue }
      columns.append("\(identifier: attribute.name)")
      let value: SQL = "a.\(identifier: attribute.name)"
      if own == nil {
        values.append(filling ?? "NULL")
      } else if let filling, !attribute.isOptional {
        values.append("ifnull(\(value), \(filling))")
      } else {
        values.append(value)
      }
    }
    for entity in change.moved { addOwn(of: entity, &columns, &values) }
    let passing: SQL =
      change.way == .into ? " JOIN \(PassingTable.name) AS m ON m.vault_own = a.\"id\"" : ""
    let filter: SQL = old.condition(SQLName("a")).map { " WHERE \($0)" } ?? ""
    return
      "INSERT INTO \(new.tableName) (\(SQL.joined(columns))) SELECT \(SQL.joined(values)) FROM \(old.tableName) AS a\(passing)\(filter)"
  }

  /// The columns of what an entity declares afterwards.
  private func addOwn(of former: EntityDescription, _ columns: inout [SQL], _ values: inout [SQL]) {
    guard let entity = after.entity(named: former.name) else { return }
    for attribute in entity.attributes {
      columns.append("\(identifier: attribute.name)")
      values.append("a.\(identifier: attribute.name)")
    }
    for relationship in entity.relationships where !relationship.isToMany {
      let value: SQL = "a.\(identifier: relationship.columnName)"
      columns.append("\(identifier: relationship.columnName)")
      if change.way == .into, change.moves(relationship.destination) {
        values.append(Self.newID(value))
      } else if astray.contains(where: { $0.relationship.name == relationship.name }) {
        values.append("CASE WHEN \(isAstray(value)) THEN NULL ELSE \(value) END")
      } else {
        values.append(value)
      }
      if let order = after.orderColumn(of: relationship) {
        columns.append("\(identifier: order)")
        values.append("a.\(identifier: order)")
      }
    }
  }
}
