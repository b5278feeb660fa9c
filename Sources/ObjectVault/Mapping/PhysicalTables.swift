// The tables of a schema in a file, with their columns, indexes and foreign keys: one for each root
// entity, which its descendants share, and one for the links of each many-to-many.

package import CipherSQLite

extension Schema {
  /// The tables of the schema in a file, sorted by name.
  package var tables: [TableInfo] {
    (roots.map(table) + joinTables.map(table)).sorted { $0.name < $1.name }
  }

  /// Returns the tables, except those of excluded entities, and of links whose source is an excluded
  /// entity.
  func tables(but left: Set<String>) -> [TableInfo] {
    guard !left.isEmpty else { return tables }
    let joins = joinTables(butOf: left)
    return (roots.filter { !left.contains($0.name) }.map(table) + joins.map(table)).sorted {
      $0.name < $1.name
    }
  }

  /// Returns the table of an entity's objects, which is the table of its root.
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
      // The default is the root's name. So INSERT statements from before the first child stay correct,
      // and adding the first child need not copy the table, unless it has lazy columns.
      table.columns.append(
        TableInfo.Column(
          name: EntityColumn.name, type: "TEXT", isRequired: true,
          defaultSQL: DefaultValue.text(root.name).sql, isPrimaryKey: false))
      table.indexes.append(
        Self.index(of: root.name, over: [EntityColumn.name], columns: [EntityColumn.name], isUnique: false))
    }
    add(root, to: &table)
    for entity in below { add(entity, to: &table) }
    return TableInfo(
      name: root.name, columns: table.columns + table.lazyColumns, foreignKeys: table.foreignKeys,
      indexes: table.indexes)
  }

  private struct TableDraft {
    var columns: [TableInfo.Column] = []
    /// The columns of lazy attributes. They come after all others, so that the engine reads the other
    /// columns of a row without the pages of the large values.
    var lazyColumns: [TableInfo.Column] = []
    var foreignKeys: [TableInfo.ForeignKey] = []
    var indexes: [TableInfo.Index] = []
  }

  /// Adds the columns, indexes and foreign keys of what an entity declares itself.
  private func add(_ entity: EntityDescription, to table: inout TableDraft) {
    // The columns of an entity with a parent are NULL in the rows of other entities, so they have neither
    // NOT NULL nor a default. Saves and checks enforce required values, and the code that inserts rows
    // writes the defaults.
    let isRoot = entity.parent == nil
    for attribute in entity.attributes {
      let column = TableInfo.Column(
        name: attribute.name, type: attribute.type.traits.sqlType,
        isRequired: isRoot && !attribute.isOptional,
        defaultSQL: isRoot ? attribute.defaultValue?.sql : nil, isPrimaryKey: false)
      if attribute.isLazy { table.lazyColumns.append(column) } else { table.columns.append(column) }
      if attribute.isUnique || attribute.isIndexed {
        table.indexes.append(
          Self.index(
            of: entity.name, over: [attribute.name], columns: [attribute.name], isUnique: attribute.isUnique))
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
      // A declared unique index over the property replaces the index of a one-to-one.
      if isUnique, entity.hasUniqueIndex(over: relationship.name) { continue }
      table.indexes.append(
        Self.index(
          of: entity.name, over: [relationship.name], columns: [column] + (order.map { [$0] } ?? []),
          isUnique: isUnique))
    }
    guard !entity.indexes.isEmpty else { return }
    let all = flattened(entity)
    for index in entity.indexes {
      let columns = index.properties.map { all.relationship(named: $0)?.columnName ?? $0 }
      let collations = index.properties.map { name in
        all.attribute(named: name)?.type == .string ? index.comparing.collation : nil
      }
      table.indexes.append(
        TableInfo.Index(
          name: Self.indexName(of: entity.name, index), columns: columns, collations: collations,
          isUnique: index.isUnique))
    }
  }

  /// Returns the names of the indexes that an entity's to-ones have without a declaration.
  func ownIndexNames(ofToOnesOf entity: EntityDescription) -> [String] {
    entity.relationships.compactMap { relationship in
      let isUnique = relationship.isOneToOne
      guard relationship.hasColumn, !isUnique || !entity.hasUniqueIndex(over: relationship.name) else {
        return nil
      }
      return Self.indexName(of: entity.name, over: [relationship.name], isUnique: isUnique)
    }
  }

  private static func index(
    of entity: String, over properties: [String], columns: [String], isUnique: Bool
  ) -> TableInfo.Index {
    TableInfo.Index(
      name: indexName(of: entity, over: properties, isUnique: isUnique), columns: columns, isUnique: isUnique)
  }

  static func indexName(of entity: String, over properties: [String], isUnique: Bool) -> String {
    "\(isUnique ? "ux" : "ix")_\(entity)_\(properties.joined(separator: "_"))"
  }

  /// Returns the name of a declared index. Indexes over the same properties that compare differently have
  /// different names.
  static func indexName(of entity: String, _ index: IndexDescription) -> String {
    let name = indexName(of: entity, over: index.properties, isUnique: index.isUnique)
    guard let collation = index.comparing.collation else { return name }
    return "ix\(collation.dropFirst("vault_fold_".count))" + name.dropFirst(2)
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
    // Each addition of a member reads the last position of the source's members.
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
  /// Returns whether a unique index over this property alone is declared.
  fileprivate func hasUniqueIndex(over name: String) -> Bool {
    indexes.contains(IndexDescription(properties: [name], isUnique: true))
  }
}
