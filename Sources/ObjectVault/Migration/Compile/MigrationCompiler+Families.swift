// The rows of entities that share a table: what a run changes of some rows of it and not of others. Columns of the file say
// nothing of that, so that each of these is a statement of its own, or a question before.

internal import CipherSQLite

extension MigrationCompiler {
  /// The entities of a table, by their names after the run; a table of links is by itself.
  func members(of table: TableInfo) -> Set<String> {
    guard let root = after.entity(named: table.name) else { return [table.name] }
    return Set(after.family(of: root).map(\.name))
  }

  /// Takes entities out whose relatives are not among the same ones: they lie in a table that changes.
  static func leaveOutRelatives(of before: Schema, _ after: Schema, _ same: inout Set<String>) {
    for model in [before, after] {
      for family in model.families {
        let names = family.map(\.name)
        if !same.isSuperset(of: names) { same.subtract(names) }
      }
    }
  }

  /// Entities with a parent that were there before, by their names after.
  var keptChildren: [(entity: EntityDescription, former: String)] {
    guard after.hasFamilies else { return [] }
    return after.entities.compactMap { entity in
      guard entity.parent != nil, !untouched.contains(entity.name),
        let former = mapping.entities[entity.name]
      else { return nil }
      return (entity, former)
    }
  }

  // MARK: Before

  /// New properties that rows must have a value of and get none.
  func valueChecks() -> [PlannedStatement] {
    keptChildren.flatMap { entity, former -> [PlannedStatement] in
      let missing =
        entity.attributes.filter { !$0.isOptional && $0.defaultValue == nil }.map {
          ($0.name, $0.name, false)
        }
        + entity.relationships.filter { $0.hasColumn && $0.isRequired }.map { ($0.name, $0.columnName, true) }
      let place = before.place(of: former)
      return missing.filter {
        mapping.former(entity.name, $0.0) == nil && !mapping.isExpressed(entity.name, $0.0)
      }.map { name, column, isToOne in
        PlannedStatement(
          statement: .mustBeEmpty(
            RowCheck(
              .required, entity.name, [name], at: place,
              message: "%d objects of \(entity.name) would have no \(name), which is required; "
                + (isToOne ? FillingAdvice.toOne : FillingAdvice.attribute))),
          operations: mapping.trail.operations(of: [entity.name], column: column))
      }
    }
  }

  /// What takes the rows of dropped entities out of a table that stays, and lets go of them who led to them as to one of an
  /// entity above.
  func familyRemovals() -> [PlannedStatement] {
    guard before.hasFamilies else { return [] }
    let finals = Set(mapping.entities.values)
    let gone = before.entities.filter { $0.parent != nil && !finals.contains($0.name) }
    guard !gone.isEmpty else { return [] }
    let triggers = before.withoutTriggers
    var statements: [CompiledStatement] = []
    for entity in gone {
      let release = RowRelease(of: [entity.name], from: before.ancestors(of: entity), in: before)
      statements += release.checks + triggers.before + release.statements.map { .sql($0.text) }
      let place = before.ownPlace(of: entity.name)
      let deletion: SQL = "DELETE FROM \(place.tableName)\(place.filter)"
      statements += [.sql(deletion.text)] + triggers.after
    }
    let names = Set(gone.map { mapping.dropped.entities[$0.name] ?? $0.name })
    return statements.map {
      PlannedStatement(statement: $0, operations: mapping.trail.operations(of: names))
    }
  }

  // MARK: Behind the changes of tables

  /// New names of entities in the rows, and the defaults of new properties: the column has none, as other rows have nothing
  /// there.
  func familyRewrites() -> [(table: String, statement: PlannedStatement)] {
    keptFamilies.flatMap { root in newNames(in: root).map { (root.name, $0) } } + newValues()
  }

  /// The roots of rows that say of which entity they are, before and after.
  private var keptFamilies: [EntityDescription] {
    guard after.hasFamilies, before.hasFamilies else { return [] }
    return after.roots.filter { root in
      !untouched.contains(root.name) && after.isInFamily(root)
        && mapping.entities[root.name].flatMap { before.entity(named: $0) }.map(before.isInFamily) == true
    }
  }

  private func newNames(in root: EntityDescription) -> [PlannedStatement] {
    let renamed = after.family(of: root).compactMap { entity in
      mapping.entities[entity.name].flatMap { $0 == entity.name ? nil : (old: $0, new: entity.name) }
    }
    guard !renamed.isEmpty else { return [] }
    let column = SQLName(EntityColumn.name)
    let cases = SQL.joined(renamed.map { "WHEN \(literal: $0.old) THEN \(literal: $0.new)" }, by: " ")
    let names = SQL.joined(renamed.map { "\(literal: $0.old)" })
    // All at once: names may go round in a circle.
    let sql: SQL =
      "UPDATE \(identifier: root.name) SET \(column) = CASE \(column) \(cases) END WHERE \(column) IN (\(names))"
    return [
      PlannedStatement(
        statement: .sql(sql.text), operations: mapping.trail.operations(of: Set(renamed.map(\.new))))
    ]
  }

  private func newValues() -> [(table: String, statement: PlannedStatement)] {
    keptChildren.flatMap { entity, _ -> [(table: String, statement: PlannedStatement)] in
      let place = after.place(of: entity.name)
      return entity.attributes.compactMap { attribute -> (table: String, statement: PlannedStatement)? in
        guard let value = attribute.defaultValue, mapping.former(entity.name, attribute.name) == nil,
          !mapping.isExpressed(entity.name, attribute.name)
        else { return nil }
        let sql: SQL =
          "UPDATE \(place.tableName) SET \(identifier: attribute.name) = \(written: value.sql)\(place.filter)"
        return (
          place.table,
          PlannedStatement(
            statement: .sql(sql.text),
            operations: mapping.trail.operations(of: [entity.name], column: attribute.name))
        )
      }
    }
  }
}

/// What lets go of rows that will be no objects of some entities any more, before the tables change.
struct RowRelease {
  /// That nobody has to lead to them.
  private(set) var checks: [CompiledStatement] = []
  private(set) var statements: [SQL] = []

  /// - Parameters:
  ///   - names: The entities whose rows they are, which lie in one table.
  ///   - left: The entities that they are of no more.
  ///   - staying: Whether they stay where they are, with all but what those declare.
  init(of names: [String], from left: [EntityDescription], staying: Bool = false, in model: Schema) {
    guard let first = names.first else { return }
    let place = EntityPlace(table: model.root(of: first), entities: names)
    let rows: SQL = "SELECT \"id\" FROM \(place.tableName)\(place.filter)"
    let targets = Set(left.map(\.name))
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.hasColumn && targets.contains(relationship.destination) {
        let goes = !staying || targets.contains(entity.name)
        release(relationship, of: entity, rows, goes ? names : [], in: model)
      }
    }
    for join in model.joinTables {
      for (entity, column) in [(join.source, join.sourceColumn), (join.target, join.targetColumn)]
      where targets.contains(entity) {
        statements.append("DELETE FROM \(join.tableName) WHERE \(identifier: column) IN (\(rows))")
      }
    }
  }

  private mutating func release(
    _ relationship: RelationshipDescription, of entity: EntityDescription, _ rows: SQL, _ gone: [String],
    in model: Schema
  ) {
    let column = SQLName(relationship.columnName)
    let owner = model.place(of: entity.name)
    var condition: SQL = "\(column) IN (\(rows))"
    // Those that go as well lead nowhere afterwards.
    if owner.table == gone.first.map(model.root(of:)),
      let going = EntityPlace(table: owner.table, entities: gone).condition()
    {
      condition = "\(condition) AND NOT (\(going))"
    }
    if relationship.isRequired {
      checks.append(
        .check(
          .init(rows: "\(owner.tableName) WHERE \(condition)"),
          message:
            "%d objects of \(entity.name) lead by \(relationship.name), which is required, to objects that are no "
            + "\(relationship.destination) any more; let them lead elsewhere by a transform before",
          .leading, of: entity.name, [relationship.name]))
      return
    }
    var settings: [SQL] = ["\(column) = NULL"]
    if let order = model.orderColumn(of: relationship) { settings.append("\(identifier: order) = NULL") }
    statements.append("UPDATE \(owner.tableName) SET \(SQL.joined(settings)) WHERE \(condition)")
  }
}
