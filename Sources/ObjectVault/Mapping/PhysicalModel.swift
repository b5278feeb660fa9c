// Where a schema keeps links and orders, and what the file does when a row goes. Its tables are in PhysicalTables.

internal import CipherSQLite

/// A many-to-many relationship: a table of its own, kept by one of its two sides. A class, as each link has it.
package final class JoinTable: Sendable {
  package let name: String
  let source: String
  /// The relationship of `source` that the table is named after.
  let relationship: String
  let target: String
  /// The column with the ids of `source`. Both are named after what they hold, so that nobody who writes SQL has
  /// to know which end keeps the table.
  package let sourceColumn: String
  package let targetColumn: String
  /// The column with the places of targets among the members of their source; nil for a relationship without an order.
  package let sourceOrder: String?
  /// The same of the inverse.
  package let targetOrder: String?
  /// What is run for each link, and for many at once.
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

/// The layout of a store's file, by number.
enum FileFormat {
  /// The one that this library writes, and the only one that it reads.
  static let current = 3
}

extension RelationshipDescription {
  /// The column of a to-one.
  package var columnName: String { Self.columnName(name) }
  /// The column of a to-one of this name.
  static func columnName(_ name: String) -> String { "\(name)_id" }
  /// The column beside that of a to-one of this name, with the places of objects among the members that the inverse has, where
  /// that has an order. No property begins with an underscore.
  static func orderColumnName(_ name: String) -> String { "_\(name)_position" }
}

extension Schema {
  /// The name of a to-many relationship's join table, and whether this side is its source; nil for one-to-many.
  /// - Parameter entity: The entity that declares it, or one that inherits it: links are those of the former.
  func joinName(of relationship: RelationshipDescription, in entity: EntityDescription) -> (
    name: String, isSource: Bool
  )? {
    guard relationship.isToMany else { return nil }
    let own = "\(declarerName(of: relationship, in: entity))_\(relationship.name)"
    guard let inverse = relationship.inverse else { return (own, true) }
    // One that leads elsewhere has a table with another, or will have: in the middle of a step a name may be claimed before the
    // relationship that had it is dropped.
    guard let back = self.entity(named: relationship.destination)?.relationship(named: inverse),
      back.isToMany,
      back.inverse == nil || back.inverse == relationship.name,
      back.destination == declarerName(of: relationship, in: entity)
    else { return nil }
    // Of two sides the one whose name comes first keeps the table: a rule that needs no declaration.
    let other = "\(relationship.destination)_\(inverse)"
    return own < other ? (own, true) : (other, false)
  }

  /// The name of the entity that declares a relationship which an entity has.
  private func declarerName(of relationship: RelationshipDescription, in entity: EntityDescription) -> String
  {
    entity.parent == nil ? entity.name : declarer(of: relationship.name, in: entity)?.name ?? entity.name
  }

  /// The join table of a to-many relationship, and whether this side is its source; nil for one-to-many.
  package func joinTable(of relationship: RelationshipDescription, in entity: EntityDescription) -> (
    JoinTable, Bool
  )? {
    guard let (_, isSource) = joinName(of: relationship, in: entity) else { return nil }
    let isOrdered = (own: relationship.isOrdered, inverse: inverse(of: relationship)?.isOrdered == true)
    let owner = declarerName(of: relationship, in: entity)
    guard !isSource, let inverse = relationship.inverse else {
      return (
        JoinTable(
          owner, relationship.name, relationship.destination, inverse: relationship.inverse,
          isOrdered: isOrdered),
        true
      )
    }
    return (
      JoinTable(
        relationship.destination, inverse, owner, inverse: relationship.name,
        isOrdered: (isOrdered.inverse, isOrdered.own)),
      false
    )
  }

  /// Whether the members of a to-many stand anywhere: they do not before its other end is there, in the middle of a step.
  func hasMembers(_ relationship: RelationshipDescription, of entity: EntityDescription) -> Bool {
    joinName(of: relationship, in: entity) != nil || inverse(of: relationship)?.hasColumn == true
  }

  /// The relationship at the other end that leads back.
  private func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    relationship.inverse.flatMap { entity(named: relationship.destination)?.relationship(named: $0) }
  }

  /// The column with the places of members that is kept beside a to-one; nil where its inverse has no order.
  package func orderColumn(of relationship: RelationshipDescription) -> String? {
    guard !relationship.isToMany, let inverse = inverse(of: relationship), inverse.isToMany, inverse.isOrdered
    else { return nil }
    return RelationshipDescription.orderColumnName(relationship.name)
  }

  /// All join tables, each once.
  var joinTables: [JoinTable] { joinTables(butOf: []) }

  /// The join tables but those that entities keep which are left out.
  func joinTables(butOf left: Set<String>) -> [JoinTable] {
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
