// Where the rows of an entity lie: all rows of its table, or those of some entities among others.

package import CipherSQLite

/// The rows of some entities of one table.
package struct EntityPlace: Sendable, Hashable {
  /// The table's name, which is that of the root.
  package let table: String
  /// The entities whose rows they are; empty for all rows of the table.
  let entities: [String]

  var tableName: SQLName { SQLName(table) }

  /// What is true of the rows; nil for all.
  /// - Parameter alias: What the table is called in the statement, where that is another name.
  package func condition(_ alias: SQLName? = nil) -> SQL? {
    guard !entities.isEmpty else { return nil }
    let names = SQL.joined(entities.map { "\(literal: $0)" })
    let owner: SQL = alias.map { "\($0)." } ?? ""
    return "\(owner)\(identifier: EntityColumn.name) IN (\(names))"
  }

  /// ` WHERE …`, or nothing.
  var filter: SQL { condition().map { " WHERE \($0)" } ?? "" }

  /// A condition that is asked of these rows alone.
  /// - Parameter alias: What the table is called in the statement, where that is another name.
  func own(_ condition: SQL, _ alias: SQLName? = nil) -> SQL {
    self.condition(alias).map { "(\(condition)) AND \($0)" } ?? condition
  }

  /// Their ids, in brackets.
  var ids: SQL { "(SELECT \"id\" FROM \(tableName)\(filter))" }

  /// What stands behind FROM: the table, or the rows as a table of their own.
  var rows: SQL {
    entities.isEmpty ? "\(tableName)" : "(SELECT * FROM \(tableName)\(filter))"
  }
}

extension Schema {
  /// The rows of an entity and of all below it.
  func place(of entity: String) -> EntityPlace {
    guard let found = self.entity(named: entity), found.parent != nil else {
      return EntityPlace(table: entity, entities: [])
    }
    return EntityPlace(
      table: root(of: found).name, entities: [entity] + descendants(of: found).map(\.name))
  }

  /// The rows of an entity itself, without those of the entities below it.
  package func ownPlace(of entity: String) -> EntityPlace {
    guard let found = self.entity(named: entity), isInFamily(found) else {
      return EntityPlace(table: entity, entities: [])
    }
    return EntityPlace(table: root(of: found).name, entities: [entity])
  }

  /// The entities that have a table.
  package var roots: [EntityDescription] { entities.filter { $0.parent == nil } }
}
