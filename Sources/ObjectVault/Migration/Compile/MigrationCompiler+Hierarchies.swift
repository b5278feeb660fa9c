// Changes of only some rows of a table that several entities share. Columns and constraints apply to all
// rows of the table, so such a change needs a statement of its own, or a check before it.

internal import CipherSQLite

extension MigrationCompiler {
  /// Returns the entities of a table, with their names after the segment; for a table of links, the
  /// table's name.
  func members(of table: TableInfo) -> Set<String> {
    guard let root = after.entity(named: table.name) else { return [table.name] }
    return Set(after.hierarchy(of: root).map(\.name))
  }

  /// Removes from `same` all entities of an inheritance hierarchy if one of them is not in `same`,
  /// because the table that they share changes.
  static func removeIncompleteHierarchies(of before: Schema, _ after: Schema, _ same: inout Set<String>) {
    for model in [before, after] {
      for hierarchy in model.hierarchies {
        let names = hierarchy.map(\.name)
        if !same.isSuperset(of: names) { same.subtract(names) }
      }
    }
  }

  /// The entities that have a parent and existed before the segment, each with its former name.
  var keptChildren: [(entity: EntityDescription, former: String)] {
    guard after.hasHierarchies else { return [] }
    return after.entities.compactMap { entity in
      guard entity.parent != nil, !untouched.contains(entity.name),
        let former = mapping.entities[entity.name]
      else { return nil }
      return (entity, former)
    }
  }

  // MARK: Before

  /// Returns the checks of new required properties for which existing rows get no value.
  func valueChecks() -> [PlannedStatement] {
    keptChildren.flatMap { entity, former -> [PlannedStatement] in
      let missing =
        entity.attributes.filter { !$0.isOptional && $0.defaultValue == nil }.map {
          ($0.name, $0.name, false)
        }
        + entity.relationships.filter { $0.hasColumn && $0.isRequired }.map { ($0.name, $0.columnName, true) }
      let place = before.place(of: former)
      return missing.filter {
        mapping.former(entity.name, property: $0.0) == nil
          && !mapping.isExpressed(entity.name, property: $0.0)
      }.map { name, column, isToOne in
        PlannedStatement(
          statement: .mustBeEmpty(
            RowCheck(
              .required, of: entity.name, [name], at: place,
              message: "%d objects of \(entity.name) would have no \(name), which is required; "
                + (isToOne ? BackfillAdvice.toOne : BackfillAdvice.attribute))),
          operations: mapping.trail.operations(of: [entity.name], column: column))
      }
    }
  }

  /// Returns the statements that delete the rows of dropped entities from a table that remains. The first
  /// statements remove the references to these rows: a relationship to an ancestor of a dropped entity may
  /// refer to them.
  func hierarchyRemovals() -> [PlannedStatement] {
    guard before.hasHierarchies else { return [] }
    let finals = Set(mapping.entities.values)
    let gone = before.entities.filter { $0.parent != nil && !finals.contains($0.name) }
    guard !gone.isEmpty else { return [] }
    let triggers = before.withoutTriggers
    var statements: [CompiledStatement] = []
    for entity in gone {
      let release = ReferenceCleanup(of: [entity.name], from: before.ancestors(of: entity), in: before)
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

  // MARK: After the changes of tables

  /// Returns the statements that rewrite the names of entities in rows, and those that set the defaults
  /// of new properties. The columns themselves have no defaults, because rows of other entities must have
  /// NULL.
  func hierarchyRewrites() -> [(table: String, statement: PlannedStatement)] {
    keptHierarchies.flatMap { root in newNames(in: root).map { (root.name, $0) } } + newValues()
  }

  /// The root entities whose tables have the column with the row's entity both before and after the
  /// segment.
  private var keptHierarchies: [EntityDescription] {
    guard after.hasHierarchies, before.hasHierarchies else { return [] }
    return after.roots.filter { root in
      !untouched.contains(root.name) && after.isInHierarchy(root)
        && mapping.entities[root.name].flatMap { before.entity(named: $0) }.map(before.isInHierarchy) == true
    }
  }

  private func newNames(in root: EntityDescription) -> [PlannedStatement] {
    let renamed = after.hierarchy(of: root).compactMap { entity in
      mapping.entities[entity.name].flatMap { $0 == entity.name ? nil : (old: $0, new: entity.name) }
    }
    guard !renamed.isEmpty else { return [] }
    let column = SQLName(EntityColumn.name)
    let cases = SQL.joined(renamed.map { "WHEN \(literal: $0.old) THEN \(literal: $0.new)" }, by: " ")
    let names = SQL.joined(renamed.map { "\(literal: $0.old)" })
    // One statement for all renamings, because entities may exchange names.
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
        guard let value = attribute.defaultValue,
          mapping.former(entity.name, property: attribute.name) == nil,
          !mapping.isExpressed(entity.name, property: attribute.name)
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

/// Releases rows that will no longer be objects of some entities: removes the references to these rows,
/// before the tables change.
struct ReferenceCleanup {
  /// The checks that no required relationship refers to the rows.
  private(set) var checks: [CompiledStatement] = []
  private(set) var statements: [SQL] = []

  /// Creates the statements that release the rows.
  /// - Parameters:
  ///   - names: The entities of the rows, which share one table.
  ///   - left: The entities that the rows will no longer belong to.
  ///   - staying: Whether the rows remain in the table, and lose only the properties of the entities in
  ///     `left`.
  init(of names: [String], from left: [EntityDescription], staying: Bool = false, in model: Schema) {
    guard let first = names.first else { return }
    let place = EntityPlace(table: model.root(of: first), entities: names)
    let rows: SQL = "SELECT \"id\" FROM \(place.tableName)\(place.filter)"
    let targets = Set(left.map(\.name))
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.hasColumn && targets.contains(relationship.destination) {
        let goes = !staying || targets.contains(entity.name)
        release(relationship, of: entity, rows: rows, gone: goes ? names : [], in: model)
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
    _ relationship: RelationshipDescription, of entity: EntityDescription, rows: SQL, gone: [String],
    in model: Schema
  ) {
    let column = SQLName(relationship.columnName)
    let owner = model.place(of: entity.name)
    var condition: SQL = "\(column) IN (\(rows))"
    // Excludes rows that are themselves released: they lose this relationship anyway.
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
            "%d objects of \(entity.name) refer through \(relationship.name), which is required, to objects "
            + "that will no longer be of \(relationship.destination); first make them refer to other objects "
            + "with a transform",
          rule: .leading, of: entity.name, [relationship.name]))
      return
    }
    var settings: [SQL] = ["\(column) = NULL"]
    if let order = model.orderColumn(of: relationship) { settings.append("\(identifier: order) = NULL") }
    statements.append("UPDATE \(owner.tableName) SET \(SQL.joined(settings)) WHERE \(condition)")
  }
}
