// The tables that a schema has in a file, with their columns, indexes and foreign keys: one for each entity without a parent,
// which those below it lie in too, and one for the links of each many-to-many.

package import CipherSQLite

extension Schema {
  /// The tables that the schema has in a file, sorted by name.
  package var tables: [TableInfo] {
    (roots.map(table) + joinTables.map(table)).sorted { $0.name < $1.name }
  }

  /// The tables but those of entities that are left out, and of the links that these keep.
  func tables(but left: Set<String>) -> [TableInfo] {
    guard !left.isEmpty else { return tables }
    let joins = joinTables(butOf: left)
    return (roots.filter { !left.contains($0.name) }.map(table) + joins.map(table)).sorted {
      $0.name < $1.name
    }
  }

  /// The table that an entity's objects lie in: that of its root.
  func table(of entity: EntityDescription) -> TableInfo {
    let root = root(of: entity)
    var table = TableDraft()
    table.columns = [
      TableInfo.Column(name: "id", type: "INTEGER", isRequired: false, defaultSQL: nil, isPrimaryKey: true),
      TableInfo.Column(
        name: "_version", type: "INTEGER", isRequired: true, defaultSQL: "1", isPrimaryKey: false),
    ]
    let below = descendants(of: root)
    if !below.isEmpty {
      // SQL that names no entity means the root: so statements of a time before there were others stay right, and a first
      // child needs no copy of the table.
      table.columns.append(
        TableInfo.Column(
          name: EntityColumn.name, type: "TEXT", isRequired: true,
          defaultSQL: DefaultValue.text(root.name).sql, isPrimaryKey: false))
      table.indexes.append(
        Self.index(root.name, [EntityColumn.name], columns: [EntityColumn.name], false))
    }
    add(root, to: &table)
    for entity in below { add(entity, to: &table) }
    return TableInfo(
      name: root.name, columns: table.columns, foreignKeys: table.foreignKeys, indexes: table.indexes)
  }

  private struct TableDraft {
    var columns: [TableInfo.Column] = []
    var foreignKeys: [TableInfo.ForeignKey] = []
    var indexes: [TableInfo.Index] = []
  }

  /// Adds what an entity declares itself.
  private func add(_ entity: EntityDescription, to table: inout TableDraft) {
    // Rows of other entities have nothing there: what is required of an entity with a parent, saves and checks see to, and its
    // defaults are written by those who insert.
    let isRoot = entity.parent == nil
    for attribute in entity.attributes {
      table.columns.append(
        TableInfo.Column(
          name: attribute.name, type: attribute.type.traits.sqlType,
          isRequired: isRoot && !attribute.isOptional,
          defaultSQL: isRoot ? attribute.defaultValue?.sql : nil, isPrimaryKey: false))
      if attribute.isUnique || attribute.isIndexed {
        table.indexes.append(
          Self.index(entity.name, [attribute.name], columns: [attribute.name], attribute.isUnique))
      }
    }
    for relationship in entity.relationships where relationship.hasColumn {
      let column = relationship.columnName
      table.columns.append(
        TableInfo.Column(
          name: column, type: "INTEGER", isRequired: isRoot && relationship.isRequired, defaultSQL: nil,
          isPrimaryKey: false))
      table.foreignKeys.append(
        TableInfo.ForeignKey(
          column: column, table: root(of: relationship.destination),
          onDelete: deleteAction(of: relationship, in: entity)))
      let order = orderColumn(of: relationship)
      if let order { table.columns.append(Self.orderColumn(order)) }
      let isUnique = relationship.isOneToOne
      // One that was asked for is the same.
      if isUnique, entity.hasUniqueIndex(over: relationship.name) { continue }
      table.indexes.append(
        Self.index(
          entity.name, [relationship.name], columns: [column] + (order.map { [$0] } ?? []), isUnique))
    }
    guard !entity.indexes.isEmpty else { return }
    let all = flattened(entity)
    for index in entity.indexes {
      let columns = index.properties.map { all.relationship(named: $0)?.columnName ?? $0 }
      table.indexes.append(Self.index(entity.name, index.properties, columns: columns, index.isUnique))
    }
  }

  /// The names of the indexes that an entity's to-ones have by themselves.
  func ownIndexNames(ofToOnesOf entity: EntityDescription) -> [String] {
    entity.relationships.compactMap { relationship in
      let isUnique = relationship.isOneToOne
      guard relationship.hasColumn, !isUnique || !entity.hasUniqueIndex(over: relationship.name) else {
        return nil
      }
      return Self.indexName(entity.name, [relationship.name], isUnique)
    }
  }

  private static func index(
    _ entity: String, _ properties: [String], columns: [String], _ isUnique: Bool
  ) -> TableInfo.Index {
    TableInfo.Index(name: indexName(entity, properties, isUnique), columns: columns, isUnique: isUnique)
  }

  static func indexName(_ entity: String, _ properties: [String], _ isUnique: Bool) -> String {
    "\(isUnique ? "ux" : "ix")_\(entity)_\(properties.joined(separator: "_"))"
  }

  static func targetIndexName(_ join: String) -> String { "ix_\(join)_target" }
  static func orderIndexName(_ join: String) -> String { "ix_\(join)_order" }

  private static func orderColumn(_ name: String) -> TableInfo.Column {
    TableInfo.Column(name: name, type: "INTEGER", isRequired: false, defaultSQL: nil, isPrimaryKey: false)
  }

  func table(of join: JoinTable) -> TableInfo {
    let column = {
      TableInfo.Column(name: $0, type: "INTEGER", isRequired: true, defaultSQL: nil, isPrimaryKey: true)
    }
    let orders = [join.sourceOrder, join.targetOrder].compactMap { $0 }
    var indexes = [
      TableInfo.Index(
        name: Self.targetIndexName(join.name),
        columns: [join.targetColumn] + (join.targetOrder.map { [$0] } ?? []),
        isUnique: false)
    ]
    // The last place of a source's members is read at each addition.
    if let order = join.sourceOrder {
      indexes.append(
        TableInfo.Index(
          name: Self.orderIndexName(join.name), columns: [join.sourceColumn, order], isUnique: false))
    }
    return TableInfo(
      name: join.name,
      columns: [column(join.sourceColumn), column(join.targetColumn)] + orders.map(Self.orderColumn),
      foreignKeys: [
        .init(column: join.sourceColumn, table: root(of: join.source), onDelete: "CASCADE"),
        .init(column: join.targetColumn, table: root(of: join.target), onDelete: "CASCADE"),
      ],
      indexes: indexes)
  }
}

extension EntityDescription {
  /// Whether a unique index over one property alone was declared.
  fileprivate func hasUniqueIndex(over name: String) -> Bool {
    indexes.contains(IndexDescription(properties: [name], isUnique: true))
  }
}
