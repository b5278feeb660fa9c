// Schema operations -> statements for the engine that runs. Pure: it gets two models and opens nothing.
//
// All changes of a table in one run of operations are folded: ALTER where this engine can, else one rebuild.
// A rebuild never renames the old table away, and its foreign keys name final tables: both orders that look
// simpler break references on one engine or the other.

internal import CipherSQLite

/// A statement of a compiled step.
enum CompiledStatement: Hashable {
  case sql(String)
  /// Copies a table's rows, in slices of its ids; afterwards both have equally many.
  case copy(from: String, to: String, columns: [String], expressions: [String], keyed: Bool)
  /// Must count no row; else the step fails with this message, the count put in for `%d`, and the ids that the
  /// second query finds.
  case mustBeEmpty(query: String, rows: String, message: String)
  /// Data statements, run behind the authorizer.
  case data(String)
  /// One value that must be true.
  case require(text: String, query: String)
}

struct MigrationCompiler {
  let engine: Engine
  let before: Schema
  let after: Schema
  let mapping: SegmentMapping

  /// All statements, in order.
  func statements() -> [CompiledStatement] {
    let old = before.tables
    let new = after.tables
    var checks: [CompiledStatement] = []
    var copies: [CompiledStatement] = []
    var swaps: [CompiledStatement] = []
    var changes: [CompiledStatement] = []
    for property in mapping.mustBeFilled { checks += fillingCheck(property.entity, property.property) }

    var used: Set<String> = []
    for table in new {
      guard let origin = origin(of: table) else {
        changes += create(table)
        continue
      }
      used.insert(origin.table)
      guard let former = old.first(where: { $0.name == origin.table }) else { continue }
      if let alterations = alterations(from: former, to: table, origin) {
        changes += alterations
      } else {
        copies += rebuild(former, table, origin)
        swaps.append(.sql("DROP TABLE \(quoted(former.name))"))
        changes = swapIn(table, former) + changes
      }
    }
    let dropped = old.filter { !used.contains($0.name) }.map {
      CompiledStatement.sql("DROP TABLE \(quoted($0.name))")
    }
    return checks + copies + swaps + dropped + changes + renamedIDs()
  }

  // MARK: Origins

  private struct Origin {
    let table: String
    /// Final column -> expression over the columns before; absent columns get their default.
    var expressions: [String: String]
  }

  /// Where a final table's rows come from; nil for a new table.
  private func origin(of table: TableInfo) -> Origin? {
    if let entity = after.entity(named: table.name) {
      guard let former = mapping.entities[entity.name] else { return nil }
      var expressions = ["id": "\"id\"", "_version": "\"_version\""]
      for attribute in entity.attributes {
        if let expression = mapping.expressions[entity.name]?[attribute.name] {
          expressions[attribute.name] = expression
        } else if let name = mapping.properties[entity.name]?[attribute.name] {
          expressions[attribute.name] = quoted(name)
        }
      }
      for relationship in entity.relationships where !relationship.isToMany {
        guard let name = mapping.properties[entity.name]?[relationship.name],
          before.entity(named: former)?.relationship(named: name)?.isToMany == false
        else { continue }
        expressions["\(relationship.name)_id"] = quoted("\(name)_id")
      }
      return Origin(table: former, expressions: expressions)
    }
    return joinOrigin(of: table)
  }

  /// The join table that a final one was before: found by following one of its two ends.
  private func joinOrigin(of table: TableInfo) -> Origin? {
    for entity in after.entities {
      for relationship in entity.relationships {
        guard let (join, isSource) = after.joinTable(of: relationship, in: entity), join.name == table.name,
          let former = mapping.entities[entity.name].flatMap({ before.entity(named: $0) }),
          let name = mapping.properties[entity.name]?[relationship.name],
          let (old, wasSource) = former.relationship(named: name).flatMap({
            before.joinTable(of: $0, in: former)
          })
        else { continue }
        let straight = isSource == wasSource
        return Origin(
          table: old.name,
          expressions: [
            join.sourceColumn: quoted(straight ? old.sourceColumn : old.targetColumn),
            join.targetColumn: quoted(straight ? old.targetColumn : old.sourceColumn),
          ])
      }
    }
    return nil
  }

  /// The statements that bring a store of format 1 to format 2: the columns of links get their names.
  func linkStatements() -> [CompiledStatement] {
    after.joinTables.flatMap { join -> [CompiledStatement] in
      let (former, table) = (Schema.table(of: join.former), Schema.table(of: join))
      let origin = Origin(
        table: join.name,
        expressions: [
          join.sourceColumn: quoted(JoinTable.formerColumns.source),
          join.targetColumn: quoted(JoinTable.formerColumns.target),
        ])
      return rebuild(former, table, origin) + [.sql("DROP TABLE \(quoted(former.name))")]
        + swapIn(table, former)
    }
  }

  // MARK: Tables

  private func create(_ table: TableInfo) -> [CompiledStatement] {
    [.sql(table.createSQL(collations: after.collations(ofTable: table.name)))]
      + table.indexes.map { .sql(table.indexSQL($0)) }
  }

  private func rebuild(_ former: TableInfo, _ table: TableInfo, _ origin: Origin) -> [CompiledStatement] {
    let temporary = "_mig_\(table.name)"
    let columns = table.columns.map(\.name).filter { origin.expressions[$0] != nil }
    return [
      .sql("DROP TABLE IF EXISTS \(quoted(temporary))"),
      .sql(table.createSQL(as: temporary, collations: after.collations(ofTable: table.name))),
      .copy(
        from: former.name, to: temporary, columns: columns,
        expressions: columns.compactMap { origin.expressions[$0] },
        keyed: table.columns.contains { $0.name == "id" }),
    ]
  }

  private func swapIn(_ table: TableInfo, _ former: TableInfo) -> [CompiledStatement] {
    let rename = CompiledStatement.sql(
      "ALTER TABLE \(quoted("_mig_\(table.name)")) RENAME TO \(quoted(table.name))")
    // On newer engines a rename would rewrite what mentions the table; here everything names it already.
    let renames: [CompiledStatement] =
      engine.rewritesReferencesOnRename
      ? [.sql("PRAGMA legacy_alter_table = ON"), rename, .sql("PRAGMA legacy_alter_table = OFF")] : [rename]
    return renames
      + table.indexes.flatMap { uniqueCheck($0, of: table, former) + [.sql(table.indexSQL($0))] }
  }

  /// A new unique index over values that are there twice: said with their number, before SQLite says it without.
  private func uniqueCheck(_ index: TableInfo.Index, of table: TableInfo, _ former: TableInfo)
    -> [CompiledStatement]
  {
    guard index.isUnique, !former.indexes.contains(index) else { return [] }
    let columns = index.columns.map(quoted).joined(separator: ", ")
    let isThere = index.columns.map { "\(quoted($0)) NOT NULL" }.joined(separator: " AND ")
    let groups = "FROM \(quoted(table.name)) WHERE \(isThere) GROUP BY \(columns) HAVING count(*) > 1"
    return [
      .mustBeEmpty(
        query: "SELECT count(*) FROM (SELECT 1 \(groups))",
        rows: "SELECT max(\"id\") \(groups) ORDER BY 1 LIMIT 5",
        message:
          "%d values of \(table.name)(\(index.columns.joined(separator: ", "))) are there more than once, and "
          + "UNIQUE takes each once; make them differ by a transform before")
    ]
  }

  private func fillingCheck(_ entity: String, _ property: String) -> [CompiledStatement] {
    guard let table = mapping.entities[entity], let name = mapping.properties[entity]?[property] else {
      return []
    }
    let isToOne = before.entity(named: table)?.relationship(named: name) != nil
    let column = quoted(isToOne ? "\(name)_id" : name)
    return [
      .mustBeEmpty(
        query: "SELECT count(*) FROM \(quoted(table)) WHERE \(column) IS NULL",
        rows: "SELECT \"id\" FROM \(quoted(table)) WHERE \(column) IS NULL ORDER BY \"id\" LIMIT 5",
        message: "%d objects have no \(property); write: make \(entity).\(property) required filling VALUE")
    ]
  }

  private func renamedIDs() -> [CompiledStatement] {
    mapping.entities.filter { $0.key != $0.value }.sorted { $0.key < $1.key }.map { final, former in
      .sql("UPDATE vault_ids SET entity = '\(final)' WHERE entity = '\(former)'")
    }
  }

  // MARK: ALTER where it will do

  /// The statements that change a table in place; nil when it has to be rebuilt.
  private func alterations(from former: TableInfo, to table: TableInfo, _ origin: Origin)
    -> [CompiledStatement]?
  {
    guard former.name == table.name else { return nil }
    let oldCollations = before.collations(ofTable: former.name)
    let newCollations = after.collations(ofTable: table.name)
    var renames: [(old: String, new: String)] = []
    var added: [TableInfo.Column] = []
    var kept: Set<String> = []
    for column in table.columns {
      guard let expression = origin.expressions[column.name] else {
        added.append(column)
        continue
      }
      guard let old = former.columns.first(where: { quoted($0.name) == expression }) else { return nil }
      kept.insert(old.name)
      var same = old
      same.name = column.name
      guard same == column, oldCollations[old.name] == newCollations[column.name] else { return nil }
      let (was, now) = (former.key(of: old.name), table.key(of: column.name))
      guard was?.table == now?.table, was?.onDelete == now?.onDelete else { return nil }
      if old.name != column.name { renames.append((old.name, column.name)) }
    }
    let dropped = former.columns.filter { !kept.contains($0.name) }
    let taken = Set(former.columns.map(\.name))
    guard renames.isEmpty || engine.canRenameColumn, renames.allSatisfy({ !taken.contains($0.new) }),
      renames.allSatisfy({ former.key(of: $0.old) == nil }),
      dropped.isEmpty || engine.canDropColumn, dropped.allSatisfy({ former.key(of: $0.name) == nil }),
      added.allSatisfy({ canAdd($0, to: table, taken) })
    else { return nil }
    return inPlace(former, table, renames, dropped, added, newCollations)
  }

  private func inPlace(
    _ former: TableInfo, _ table: TableInfo, _ renames: [(old: String, new: String)],
    _ dropped: [TableInfo.Column], _ added: [TableInfo.Column], _ collations: [String: String]
  ) -> [CompiledStatement] {
    let name = quoted(table.name)
    var statements: [CompiledStatement] = []
    for index in former.indexes where !table.indexes.contains(index) {
      statements.append(.sql("DROP INDEX \(quoted(index.name))"))
    }
    for rename in renames {
      statements.append(
        .sql("ALTER TABLE \(name) RENAME COLUMN \(quoted(rename.old)) TO \(quoted(rename.new))"))
    }
    for column in dropped {
      statements.append(.sql("ALTER TABLE \(name) DROP COLUMN \(quoted(column.name))"))
    }
    for column in added {
      statements.append(.sql("ALTER TABLE \(name) ADD COLUMN \(table.columnSQL(column, collations))"))
    }
    for index in table.indexes where !former.indexes.contains(index) {
      statements += uniqueCheck(index, of: table, former) + [.sql(table.indexSQL(index))]
    }
    return statements
  }

  /// What ADD COLUMN takes on both engines: NULL, or a constant default; a reference only with NULL.
  private func canAdd(_ column: TableInfo.Column, to table: TableInfo, _ taken: Set<String>) -> Bool {
    guard !column.isPrimaryKey, !taken.contains(column.name) else { return false }
    if table.key(of: column.name) != nil { return !column.isRequired }
    return !column.isRequired || column.defaultSQL != nil
  }
}

extension TableInfo {
  func key(of column: String) -> ForeignKey? { foreignKeys.first { $0.column == column } }
}
