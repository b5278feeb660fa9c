// The tables of a schema: what a schema means in the file. Migrations compare with it, and create from it.

internal import CipherSQLite

/// A many-to-many relationship: a table of its own, kept by one of its two sides.
package struct JoinTable {
  let name: String
  let source: String
  /// The relationship of `source` that the table is named after.
  let relationship: String
  let target: String
  /// The column with the ids of `source`. Both are named after what they hold, so that nobody who writes SQL has
  /// to know which end keeps the table.
  let sourceColumn: String
  let targetColumn: String
  /// The column with the places of targets among the members of their source; nil for a relationship without an order.
  let sourceOrder: String?
  /// The same of the inverse.
  let targetOrder: String?
  /// What is run for each link.
  let statements: LinkStatements

  /// The table of a relationship of `source`.
  /// - Parameter isOrdered: Whether the relationship has an order, and whether its inverse has.
  init(
    _ source: String, _ relationship: String, _ target: String, inverse: String?,
    isOrdered: (own: Bool, inverse: Bool) = (false, false)
  ) {
    sourceOrder = isOrdered.own ? Self.orderColumn(source, relationship) : nil
    targetOrder = isOrdered.inverse ? inverse.map { Self.orderColumn(target, $0) } : nil
    name = "\(source)_\(relationship)"
    (self.source, self.relationship, self.target) = (source, relationship, target)
    if source != target {
      (sourceColumn, targetColumn) = ("\(source)_id", "\(target)_id")
    } else {
      // Of an entity with itself: a row holds a member of the one relationship, and of the other.
      targetColumn = "\(relationship)_id"
      let other = inverse ?? source
      sourceColumn = other.lowercased() == relationship.lowercased() ? "\(other)_owner_id" : "\(other)_id"
    }
    statements = LinkStatements(SQLName(name), SQLName(sourceColumn), SQLName(targetColumn))
  }

  private init(former table: JoinTable) {
    (name, source, relationship, target) = (table.name, table.source, table.relationship, table.target)
    (sourceColumn, targetColumn) = (Self.formerColumns.source, Self.formerColumns.target)
    (sourceOrder, targetOrder) = (table.sourceOrder, table.targetOrder)
    statements = LinkStatements(SQLName(name), SQLName(sourceColumn), SQLName(targetColumn))
  }

  /// The table as stores of format 1 have it.
  var former: JoinTable { JoinTable(former: self) }
  /// What every join table's columns were called in stores of format 1.
  static let formerColumns = (source: "source_id", target: "target_id")

  /// Named after the whole property: of an entity with itself, and of two entities whose relationships have one name, both
  /// ends may have an order.
  private static func orderColumn(_ entity: String, _ relationship: String) -> String {
    "\(entity)_\(relationship)_position"
  }

  var tableName: SQLName { SQLName(name) }

  /// The columns, seen from one end: its own ids, and those of the other end.
  func columns(from isSource: Bool) -> (own: SQLName, other: SQLName) {
    let (source, target) = (SQLName(sourceColumn), SQLName(targetColumn))
    return isSource ? (source, target) : (target, source)
  }

  /// The column with the places of members, seen from one end; nil where that end has no order.
  func order(from isSource: Bool) -> SQLName? { (isSource ? sourceOrder : targetOrder).map { SQLName($0) } }
}

extension JoinTable: Hashable {
  package static func == (left: JoinTable, right: JoinTable) -> Bool {
    left.name == right.name && left.source == right.source && left.relationship == right.relationship
      && left.target == right.target && left.sourceColumn == right.sourceColumn
      && left.targetColumn == right.targetColumn
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// The layout of a store's file.
enum FileFormat {
  /// The one that this library writes; 1 named the columns of links `source_id` and `target_id`.
  static let current = 2
}

extension RelationshipDescription {
  /// The column of a to-one.
  var columnName: String { Self.columnName(name) }
  /// The column of a to-one of this name.
  static func columnName(_ name: String) -> String { "\(name)_id" }
  /// The column beside that of a to-one of this name, with the places of objects among the members that the inverse has, where
  /// that has an order. No property begins with an underscore.
  static func orderColumnName(_ name: String) -> String { "_\(name)_position" }
}

extension Schema {
  /// The name of a to-many relationship's join table, and whether this side is its source; nil for one-to-many.
  func joinName(of relationship: RelationshipDescription, in entity: EntityDescription) -> (
    name: String, isSource: Bool
  )? {
    guard relationship.isToMany else { return nil }
    let own = "\(entity.name)_\(relationship.name)"
    guard let inverse = relationship.inverse else { return (own, true) }
    guard self.entity(named: relationship.destination)?.relationship(named: inverse)?.isToMany == true else {
      return nil
    }
    // Of two sides the one whose name comes first keeps the table: a rule that needs no declaration.
    let other = "\(relationship.destination)_\(inverse)"
    return own < other ? (own, true) : (other, false)
  }

  /// The join table of a to-many relationship, and whether this side is its source; nil for one-to-many.
  func joinTable(of relationship: RelationshipDescription, in entity: EntityDescription) -> (JoinTable, Bool)?
  {
    guard let (_, isSource) = joinName(of: relationship, in: entity) else { return nil }
    let isOrdered = (own: relationship.isOrdered, inverse: inverse(of: relationship)?.isOrdered == true)
    guard !isSource, let inverse = relationship.inverse else {
      return (
        JoinTable(
          entity.name, relationship.name, relationship.destination, inverse: relationship.inverse,
          isOrdered: isOrdered),
        true
      )
    }
    return (
      JoinTable(
        relationship.destination, inverse, entity.name, inverse: relationship.name,
        isOrdered: (isOrdered.inverse, isOrdered.own)),
      false
    )
  }

  /// The relationship at the other end that leads back.
  private func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    relationship.inverse.flatMap { entity(named: relationship.destination)?.relationship(named: $0) }
  }

  /// The column with the places of members that is kept beside a to-one; nil where its inverse has no order.
  func orderColumn(of relationship: RelationshipDescription) -> String? {
    guard !relationship.isToMany, let inverse = inverse(of: relationship), inverse.isToMany, inverse.isOrdered
    else { return nil }
    return RelationshipDescription.orderColumnName(relationship.name)
  }

  /// All join tables, each once.
  var joinTables: [JoinTable] { joinTables(butOf: []) }

  /// The join tables but those that entities keep which are left out.
  private func joinTables(butOf left: Set<String>) -> [JoinTable] {
    entities.flatMap { entity -> [JoinTable] in
      guard !left.contains(entity.name) else { return [] }
      return entity.relationships.compactMap { relationship in
        guard joinName(of: relationship, in: entity)?.isSource == true else { return nil }
        return joinTable(of: relationship, in: entity)?.0
      }
    }
  }

  /// What SQLite does to a row when the row that its to-one refers to is deleted.
  func deleteAction(of relationship: RelationshipDescription, in entity: EntityDescription) -> String {
    let back = relationship.inverse.flatMap {
      self.entity(named: relationship.destination)?.relationship(named: $0)
    }
    switch back?.deleteRule ?? .nullify {
    case .cascade: return "CASCADE"
    case .nullify: return relationship.isRequired ? "NO ACTION" : "SET NULL"
    case .deny: return "NO ACTION"
    }
  }

  /// The column with the places of a to-many's members; nil for one without an order.
  func orderColumn(of relationship: RelationshipDescription, in entity: EntityDescription) -> String? {
    guard relationship.isToMany, relationship.isOrdered else { return nil }
    if let (join, isSource) = joinTable(of: relationship, in: entity) {
      return isSource ? join.sourceOrder : join.targetOrder
    }
    return relationship.inverse.map(RelationshipDescription.orderColumnName)
  }

  /// The tables that the schema has in a file, sorted by name.
  var tables: [TableInfo] { tables(format: FileFormat.current) }

  /// The tables that the schema has in a file of this format.
  func tables(format: Int) -> [TableInfo] {
    let joins = joinTables.map { format < 2 ? $0.former : $0 }
    return (entities.map(table) + joins.map(Self.table)).sorted { $0.name < $1.name }
  }

  /// The tables but those of entities that are left out, and of the links that these keep.
  func tables(but left: Set<String>) -> [TableInfo] {
    guard !left.isEmpty else { return tables }
    let joins = joinTables(butOf: left)
    return (entities.filter { !left.contains($0.name) }.map(table) + joins.map(Self.table)).sorted {
      $0.name < $1.name
    }
  }

  func table(of entity: EntityDescription) -> TableInfo {
    var columns = [
      TableInfo.Column(name: "id", type: "INTEGER", isRequired: false, defaultSQL: nil, isPrimaryKey: true),
      TableInfo.Column(
        name: "_version", type: "INTEGER", isRequired: true, defaultSQL: "1", isPrimaryKey: false),
    ]
    var indexes: [TableInfo.Index] = []
    var keys: [TableInfo.ForeignKey] = []
    for attribute in entity.attributes {
      columns.append(
        TableInfo.Column(
          name: attribute.name, type: attribute.type.traits.sqlType, isRequired: !attribute.isOptional,
          defaultSQL: attribute.defaultValue?.sql, isPrimaryKey: false))
      if attribute.isUnique || attribute.isIndexed {
        indexes.append(
          Self.index(entity.name, [attribute.name], columns: [attribute.name], attribute.isUnique))
      }
    }
    for relationship in entity.relationships where !relationship.isToMany {
      let column = relationship.columnName
      columns.append(
        TableInfo.Column(
          name: column, type: "INTEGER", isRequired: relationship.isRequired, defaultSQL: nil,
          isPrimaryKey: false))
      keys.append(
        TableInfo.ForeignKey(
          column: column, table: relationship.destination,
          onDelete: deleteAction(of: relationship, in: entity)))
      let order = orderColumn(of: relationship)
      if let order { columns.append(Self.orderColumn(order)) }
      indexes.append(
        Self.index(entity.name, [relationship.name], columns: [column] + (order.map { [$0] } ?? []), false))
    }
    for index in entity.indexes {
      let columns = index.properties.map { entity.relationship(named: $0)?.columnName ?? $0 }
      indexes.append(Self.index(entity.name, index.properties, columns: columns, index.isUnique))
    }
    return TableInfo(name: entity.name, columns: columns, foreignKeys: keys, indexes: indexes)
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

  static func table(of join: JoinTable) -> TableInfo {
    let column = {
      TableInfo.Column(name: $0, type: "INTEGER", isRequired: true, defaultSQL: nil, isPrimaryKey: true)
    }
    let orders = [join.sourceOrder, join.targetOrder].compactMap { $0 }
    var indexes = [
      TableInfo.Index(
        name: targetIndexName(join.name),
        columns: [join.targetColumn] + (join.targetOrder.map { [$0] } ?? []),
        isUnique: false)
    ]
    // The last place of a source's members is read at each addition.
    if let order = join.sourceOrder {
      indexes.append(
        TableInfo.Index(
          name: orderIndexName(join.name), columns: [join.sourceColumn, order], isUnique: false))
    }
    return TableInfo(
      name: join.name,
      columns: [column(join.sourceColumn), column(join.targetColumn)] + orders.map(orderColumn),
      foreignKeys: [
        .init(column: join.sourceColumn, table: join.source, onDelete: "CASCADE"),
        .init(column: join.targetColumn, table: join.target, onDelete: "CASCADE"),
      ],
      indexes: indexes)
  }
}

extension DefaultValue {
  /// The value as an SQL literal.
  var sql: String {
    switch self {
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value): ("\(literal: value)" as SQL).text
    }
  }
}
