// Makes a relationship that references a merged entity reference the destination; it keeps its name.

internal import CipherSQLite

/// A relationship whose destination changes. A new relationship takes over its links, and then its name.
struct RedirectedRelationship {
  let end: MergeMapping.End
  let passing: RelationshipDescription

  init(_ end: MergeMapping.End, to destination: String, in model: Schema) {
    self.end = end
    let former = end.relationship
    let taken = Set(model.hierarchy(of: end.entity).flatMap(\.propertyNames))
    passing = RelationshipDescription(
      name: freeName("\(former.name)Merged", among: taken), destination: destination,
      isToMany: former.isToMany, deleteRule: former.deleteRule)
  }

  var making: MigrationOperation { .addRelationship(end.entity.name, passing) }

  /// Returns the statement that copies the links.
  /// - Parameters:
  ///   - model: A model that has both relationships.
  ///   - newID: Returns the id that an object of the merged entity has after the merge.
  func copy(in model: Schema, newID: (SQL) -> SQL) throws(ModelError) -> SQL {
    let former = end.relationship
    guard former.isToMany else {
      let column = SQLName(former.columnName)
      return
        "UPDATE \(identifier: model.root(of: end.entity.name)) SET \(identifier: passing.columnName) = \(newID("\(column)")) WHERE \(column) NOT NULL"
    }
    let (old, links) = (
      try model.links(of: former, in: end.entity), try model.links(of: passing, in: end.entity)
    )
    return
      "INSERT INTO \(links.table) (\(links.own), \(links.other)) SELECT l.\(old.own), \(newID("l.\(old.other)")) FROM \(old.table) AS l"
  }

  /// The operations that replace the former relationship with the new one.
  func closing(in model: Schema) -> [MigrationOperation] {
    let (entity, name) = (end.entity.name, end.relationship.name)
    let indexes = model.indexes(with: name, of: end.entity)
    return indexes.drops
      + [.dropRelationship(entity, name), .renameRelationship(entity, passing.name, to: name)]
      + (end.relationship.isRequired ? [.makeRequired(entity, name, filling: nil)] : [])
      + indexes.additions
  }
}

extension Schema {
  /// The operations that drop the indexes that contain a property, and those that add them again.
  func indexes(
    with property: String, of entity: EntityDescription
  ) -> (drops: [MigrationOperation], additions: [MigrationOperation]) {
    let own = self.entity(named: entity.name) ?? entity
    let found = ([own] + descendants(of: own)).flatMap { owner in
      owner.indexes.filter { $0.properties.contains(property) }.map { (owner.name, $0) }
    }
    return (
      found.map { .dropIndex($0.0, $0.1.properties, $0.1.comparing) }, found.map { .addIndex($0.0, $0.1) }
    )
  }

  /// The join table of a relationship, with its columns as seen from the entity.
  func links(of relationship: RelationshipDescription, in entity: EntityDescription) throws(ModelError) -> (
    table: SQLName, own: SQLName, other: SQLName
  ) {
    let owner = self.entity(named: entity.name) ?? entity
    guard let (join, isSource) = joinTable(of: relationship, in: owner) else {
      throw ModelError(reason: "\(entity.name).\(relationship.name) has no links of its own")
    }
    let columns = join.columns(from: isSource)
    return (join.tableName, columns.own, columns.other)
  }
}
