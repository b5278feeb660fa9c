// What a model states about a table besides its columns, and the statements that create the table.

internal import CipherSQLite

/// The kind of rows that a table of a store has.
enum TableKind {
  /// Objects of an entity, with ids as primary key.
  case objects
  /// Links of a many-to-many: the ids of both ends, and positions where members have an order.
  case links
}

/// What a model states about a table that its columns do not show.
struct TableLayout {
  let kind: TableKind
  /// The collations of columns, by the column's name.
  let collations: [String: String]
  /// The columns of lazy attributes, which come after all others.
  let lazyColumns: Set<String>
}

extension Schema {
  /// Returns the layout of one of the model's tables.
  func layout(ofTable name: String) -> TableLayout {
    guard let entity = entity(named: name) else {
      return TableLayout(kind: .links, collations: [:], lazyColumns: [])
    }
    let attributes = hierarchy(of: entity).flatMap(\.attributes)
    let collations = attributes.compactMap { attribute in
      attribute.type.traits.collation.map { (attribute.name, $0) }
    }
    return TableLayout(
      kind: .objects, collations: Dictionary(collations) { first, _ in first },
      lazyColumns: Set(attributes.filter(\.isLazy).map(\.name)))
  }
}

extension TableInfo {
  /// Returns the statement that creates the table, without its indexes.
  ///
  /// - Parameter temporaryName: The name to create the table under. References of the table to itself
  ///   still use the final name.
  func createSQL(as temporaryName: String? = nil, _ layout: TableLayout) -> String {
    var parts = columns.map { definition($0, layout) }
    let table = SQLName(temporaryName ?? name)
    let sql: SQL
    switch layout.kind {
    case .objects: sql = "CREATE TABLE \(table) (\(SQL.joined(parts)))"
    case .links:
      parts.append("PRIMARY KEY (\(SQL.names(columns.filter(\.isPrimaryKey).map { SQLName($0.name) })))")
      sql = "CREATE TABLE \(table) (\(SQL.joined(parts))) WITHOUT ROWID"
    }
    return sql.text
  }

  /// Returns a column definition for CREATE TABLE and ADD COLUMN.
  func definition(_ column: Column, _ layout: TableLayout) -> SQL {
    var sql: SQL = "\(identifier: column.name) \(written: column.type)"
    if column.isPrimaryKey && layout.kind == .objects { sql.append(" PRIMARY KEY") }
    if let collation = layout.collations[column.name] { sql.append(" COLLATE \(written: collation)") }
    if column.isRequired { sql.append(" NOT NULL") }
    if let value = column.defaultSQL { sql.append(" DEFAULT \(written: value)") }
    if let key = foreignKeys.first(where: { $0.column == column.name }) {
      sql.append(" REFERENCES \(identifier: key.table)(\"id\")")
      if key.onDelete != "NO ACTION" { sql.append(" ON DELETE \(written: key.onDelete)") }
      sql.append(" DEFERRABLE INITIALLY DEFERRED")
    }
    return sql
  }

  func indexSQL(_ index: Index) -> String {
    let unique: SQL = index.isUnique ? "UNIQUE " : ""
    let columns = zip(index.columns, index.collations).map { column, collation -> SQL in
      collation.map { "\(identifier: column) COLLATE \(written: $0)" } ?? "\(identifier: column)"
    }
    let sql: SQL =
      "CREATE \(unique)INDEX \(identifier: index.name) ON \(identifier: name) (\(SQL.joined(columns)))"
    return sql.text
  }
}
