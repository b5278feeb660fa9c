// Where a schema stores links and orders, and what the file does when a row is deleted. The tables are in
// PhysicalTables.

internal import CipherSQLite

/// The table of links of a many-to-many relationship. It is named after one of the two ends, the source.
/// A class, because every link refers to it.
package final class JoinTable: Sendable {
  package let name: String
  /// The entity that the table is named after.
  let source: String
  /// The relationship of `source` that the table is named after.
  let relationship: String
  /// The entity at the other end.
  let target: String
  /// The column with the ids of `source`. Both columns are named after their contents, so that people who
  /// write SQL need not know which end is the source.
  package let sourceColumn: String
  /// The column with the ids of `target`.
  package let targetColumn: String
  /// The column with the positions of targets among the members of their source; nil when the
  /// relationship has no order.
  package let sourceOrder: String?
  /// The column with the positions of sources among the members of their target; nil when the inverse has
  /// no order.
  package let targetOrder: String?
  /// The statements for single links, and for many at once.
  let statements: LinkStatements

  /// Creates the table of a relationship of `source`.
  /// - Parameter isOrdered: Whether the relationship and its inverse have an order.
  init(
    source: String, relationship: String, target: String, inverse: String?,
    isOrdered: (own: Bool, inverse: Bool) = (false, false)
  ) {
    sourceOrder = isOrdered.own ? Self.orderColumn(entity: source, relationship: relationship) : nil
    targetOrder = isOrdered.inverse ? inverse.map { Self.orderColumn(entity: target, relationship: $0) } : nil
    name = "\(source)_\(relationship)"
    (self.source, self.relationship, self.target) = (source, relationship, target)
    if source != target {
      (sourceColumn, targetColumn) = ("\(source)_id", "\(target)_id")
    } else {
      // A relationship of an entity with itself: the columns are named after the two relationships.
      targetColumn = "\(relationship)_id"
      let other = inverse ?? source
      sourceColumn = other.lowercased() == relationship.lowercased() ? "\(other)_owner_id" : "\(other)_id"
    }
    statements = LinkStatements(SQLName(name), source: SQLName(sourceColumn), target: SQLName(targetColumn))
  }

  /// Returns the name of a column of positions. It contains the entity and the relationship, because both
  /// ends may have an order, and their columns need different names. The ends may belong to one entity, or
  /// their relationships may have the same name.
  private static func orderColumn(entity: String, relationship: String) -> String {
    "\(entity)_\(relationship)_position"
  }

  var tableName: SQLName { SQLName(name) }

  /// Returns the column with the ids of one end, and the column with those of the other end.
  func columns(from isSource: Bool) -> (own: SQLName, other: SQLName) {
    let (source, target) = (SQLName(sourceColumn), SQLName(targetColumn))
    return isSource ? (source, target) : (target, source)
  }

  /// Returns the column with the positions of members, seen from one end; nil where that end has no
  /// order.
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

/// The version of the layout of a store's file.
enum FileFormat {
  /// The version of stores without a history.
  static let plain = 3
  /// The version of stores with a history. Releases that know no history refuse it: they would write past
  /// the history.
  static let withHistory = 4
  /// The versions that this library reads.
  static let supported = plain...withHistory

  /// Returns the version for a model.
  static func version(of model: Schema) -> Int {
    model.entities.contains { $0.history != nil } ? withHistory : plain
  }
}

extension RelationshipDescription {
  /// The name of a to-one's column.
  package var columnName: String { Self.columnName(name) }
  /// Returns the name of the column of a to-one.
  static func columnName(_ name: String) -> String { "\(name)_id" }
  /// Returns the name of the column next to a to-one's column. If the inverse is ordered, this column has
  /// the position of each row among the inverse's members. Property names never begin with an underscore.
  static func orderColumnName(_ name: String) -> String { "_\(name)_position" }
}

extension Schema {
  /// Returns the name of a to-many's join table, and whether this end is its source; nil for a to-one and
  /// a one-to-many.
  /// - Parameter entity: The entity that declares the relationship, or one that inherits it. The table is
  ///   named after the declaring entity.
  func joinName(of relationship: RelationshipDescription, in entity: EntityDescription) -> (
    name: String, isSource: Bool
  )? {
    guard relationship.isToMany else { return nil }
    let own = "\(declarerName(of: relationship, in: entity))_\(relationship.name)"
    guard let inverse = relationship.inverse else { return (own, true) }
    // If the inverse names another relationship as its own inverse, this end has no join table. This
    // occurs in the middle of a step: relationship A already names B as its inverse, while B still names
    // C, which a later operation drops.
    guard let back = self.entity(named: relationship.destination)?.relationship(named: inverse),
      back.isToMany,
      back.inverse == nil || back.inverse == relationship.name,
      back.destination == declarerName(of: relationship, in: entity)
    else { return nil }
    // The end whose name comes first is the source: a rule that needs no declaration.
    let other = "\(relationship.destination)_\(inverse)"
    return own < other ? (own, true) : (other, false)
  }

  /// Returns the name of the entity that declares a relationship of an entity.
  private func declarerName(of relationship: RelationshipDescription, in entity: EntityDescription) -> String
  {
    entity.parent == nil ? entity.name : declarer(of: relationship.name, in: entity)?.name ?? entity.name
  }

  /// Returns the join table of a to-many, and whether this end is its source; nil for a to-one and a
  /// one-to-many.
  package func joinTable(of relationship: RelationshipDescription, in entity: EntityDescription) -> (
    JoinTable, Bool
  )? {
    guard let (_, isSource) = joinName(of: relationship, in: entity) else { return nil }
    let isOrdered = (own: relationship.isOrdered, inverse: inverse(of: relationship)?.isOrdered == true)
    let owner = declarerName(of: relationship, in: entity)
    guard !isSource, let inverse = relationship.inverse else {
      return (
        JoinTable(
          source: owner, relationship: relationship.name, target: relationship.destination,
          inverse: relationship.inverse,
          isOrdered: isOrdered),
        true
      )
    }
    return (
      JoinTable(
        source: relationship.destination, relationship: inverse, target: owner, inverse: relationship.name,
        isOrdered: (isOrdered.inverse, isOrdered.own)),
      false
    )
  }

  /// Returns whether the file stores the members of a to-many. It does not if the inverse does not exist
  /// yet, which occurs in the middle of a step.
  func hasMembers(_ relationship: RelationshipDescription, of entity: EntityDescription) -> Bool {
    joinName(of: relationship, in: entity) != nil || inverse(of: relationship)?.hasColumn == true
  }

  /// Returns the inverse of a relationship; nil when it has none, or the model does not contain it.
  private func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    relationship.inverse.flatMap { entity(named: relationship.destination)?.relationship(named: $0) }
  }

  /// Returns the column that is next to a to-one's column and has the positions of its rows among the
  /// inverse's members; nil where the inverse has no order.
  package func orderColumn(of relationship: RelationshipDescription) -> String? {
    guard !relationship.isToMany, let inverse = inverse(of: relationship), inverse.isToMany, inverse.isOrdered
    else { return nil }
    return RelationshipDescription.orderColumnName(relationship.name)
  }

  /// All join tables, each listed once.
  var joinTables: [JoinTable] { joinTables(butOf: []) }

  /// Returns the join tables, except those whose source is an excluded entity.
  func joinTables(butOf left: Set<String>) -> [JoinTable] {
    entities.flatMap { entity -> [JoinTable] in
      guard !left.contains(entity.name) else { return [] }
      return entity.relationships.compactMap { relationship in
        guard joinName(of: relationship, in: entity)?.isSource == true else { return nil }
        return joinTable(of: relationship, in: entity)?.0
      }
    }
  }

  /// Returns the foreign key action on a row when the row that its to-one references is deleted.
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

  /// Returns the column with the positions of a to-many's members; nil for a relationship without an
  /// order.
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
