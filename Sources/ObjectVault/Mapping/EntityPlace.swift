// The rows of an entity in the file: all rows of its table, or the rows of certain entities in a shared
// table.

package import CipherSQLite

/// The rows of certain entities of one table.
package struct EntityPlace: Sendable, Hashable {
  /// The table's name, which is the name of the root entity.
  package let table: String
  /// The names of the entities; empty for all rows of the table.
  let entities: [String]

  var tableName: SQLName { SQLName(table) }

  /// Returns the condition that selects the rows; nil for all rows.
  /// - Parameter alias: The alias of the table in the statement, if it has one.
  package func condition(_ alias: SQLName? = nil) -> SQL? {
    guard !entities.isEmpty else { return nil }
    let names = SQL.joined(entities.map { "\(literal: $0)" })
    let owner: SQL = alias.map { "\($0)." } ?? ""
    return "\(owner)\(identifier: EntityColumn.name) IN (\(names))"
  }

  /// ` WHERE …`, or empty for all rows.
  var filter: SQL { condition().map { " WHERE \($0)" } ?? "" }

  /// Returns a condition that selects, of these rows, those for which `condition` is true.
  /// - Parameter alias: The alias of the table in the statement, if it has one.
  func condition(and condition: SQL, _ alias: SQLName? = nil) -> SQL {
    self.condition(alias).map { "(\(condition)) AND \($0)" } ?? condition
  }

  /// A subquery for the ids of the rows, in parentheses.
  var ids: SQL { "(SELECT \"id\" FROM \(tableName)\(filter))" }

  /// The rows as a source after FROM: the table, or a subquery.
  var rows: SQL {
    entities.isEmpty ? "\(tableName)" : "(SELECT * FROM \(tableName)\(filter))"
  }
}

extension Schema {
  /// Returns the rows of an entity and its descendants.
  func place(of entity: String) -> EntityPlace {
    guard let found = self.entity(named: entity), found.parent != nil else {
      return EntityPlace(table: entity, entities: [])
    }
    return EntityPlace(
      table: root(of: found).name, entities: [entity] + descendants(of: found).map(\.name))
  }

  /// Returns the rows of an entity itself, without those of its descendants.
  package func ownPlace(of entity: String) -> EntityPlace {
    guard let found = self.entity(named: entity), isInHierarchy(found) else {
      return EntityPlace(table: entity, entities: [])
    }
    return EntityPlace(table: root(of: found).name, entities: [entity])
  }

  /// The entities without a parent, each of which has a table.
  package var roots: [EntityDescription] { entities.filter { $0.parent == nil } }
}
