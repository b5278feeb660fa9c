// Finds the entity and the property that a column belongs to, because messages name those.

/// The entities that declare the columns and unique keys of all tables, collected in one pass over a
/// model.
struct ColumnOwners {
  /// The declarations of one table. If several entities declare one column or key, the first by name
  /// counts.
  private struct Table {
    var columns: [String: (entity: String, property: String)] = [:]
    var keys: [[String]: (entity: String, properties: [String])] = [:]
  }

  private var tables: [String: Table] = [:]

  init(_ schema: Schema) {
    for entity in schema.entities.sorted(by: { $0.name < $1.name }) {
      var table = tables[schema.root(of: entity).name] ?? Table()
      for attribute in entity.attributes where table.columns[attribute.name] == nil {
        table.columns[attribute.name] = (entity.name, attribute.name)
      }
      for toOne in entity.relationships where toOne.hasColumn && table.columns[toOne.columnName] == nil {
        table.columns[toOne.columnName] = (entity.name, toOne.name)
      }
      let keys = entity.uniqueKeys
      // A key may include inherited properties.
      let all = keys.isEmpty ? entity : schema.flattened(entity)
      for key in keys {
        let columns = key.map { all.relationship(named: $0)?.columnName ?? $0 }
        if table.keys[columns] == nil { table.keys[columns] = (entity.name, key) }
      }
      tables[schema.root(of: entity).name] = table
    }
  }

  /// Returns the entity and the property that declare a column; if there is no declaration, the names of
  /// the table and the column.
  func owner(of column: String, in table: String) -> (entity: String, property: String) {
    tables[table]?.columns[column] ?? (table, column)
  }

  /// Returns the entity and the properties of the unique key over some columns; if there is no
  /// declaration, the names of the table and the columns.
  func owner(of columns: [String], in table: String) -> (entity: String, properties: [String]) {
    tables[table]?.keys[columns] ?? (table, columns)
  }
}
