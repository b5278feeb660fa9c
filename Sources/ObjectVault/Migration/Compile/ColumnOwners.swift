// Who declares what the columns of a table hold: for messages, which speak of entities and their properties.

/// The entities that declare the columns and the unique keys of tables, of all of them in one walk over a model.
struct ColumnOwners {
  /// What is declared in one table; of entities that declare the same, the first by name.
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
      // What an index is over may be inherited.
      let all = keys.isEmpty ? entity : schema.flattened(entity)
      for key in keys {
        let columns = key.map { all.relationship(named: $0)?.columnName ?? $0 }
        if table.keys[columns] == nil { table.keys[columns] = (entity.name, key) }
      }
      tables[schema.root(of: entity).name] = table
    }
  }

  /// The entity that declares the property which a column holds, and that property; the names of the table and of the
  /// column where nobody does.
  func owner(of column: String, in table: String) -> (entity: String, property: String) {
    tables[table]?.columns[column] ?? (table, column)
  }

  /// The entity that declares what has to be there once in some columns, and its properties.
  func owner(of columns: [String], in table: String) -> (entity: String, properties: [String]) {
    tables[table]?.keys[columns] ?? (table, columns)
  }
}
