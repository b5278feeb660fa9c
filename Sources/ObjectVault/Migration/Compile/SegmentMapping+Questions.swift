// What operations read from their segment, and a restriction of expressions to the rows of one entity.

internal import CipherSQLite

extension SegmentMapping {
  /// Whether an entity may have rows. An entity that the segment creates has none.
  func hasRows(_ entity: String) -> Bool { entities[entity] != nil }

  /// Whether the segment has an expression for a property, which gives every row a value.
  func isExpressed(_ entity: String, property name: String) -> Bool { expressions[entity]?[name] != nil }

  /// Whether the segment adds a property that has no value in any row yet, neither from a default nor
  /// from its inverse.
  /// - Parameter model: The model after the operations so far.
  func hasNoValuesYet(_ entity: String, property name: String, in model: Schema) -> Bool {
    guard isAdded(entity, property: name), !isExpressed(entity, property: name),
      let owner = model.entity(named: entity)
    else {
      return false
    }
    // If a property is added as required, the step is refused for existing rows.
    if let attribute = owner.attribute(named: name) {
      return attribute.isOptional && attribute.defaultValue == nil
    }
    guard let relationship = owner.relationship(named: name), !relationship.isRequired else { return false }
    return relationship.inverse.map { isAdded(relationship.destination, property: $0) } ?? true
  }

  /// Whether an operation drops a relationship whose inverse this segment adds, so that no table has the
  /// inverse yet.
  /// - Parameter model: The model before the operation.
  func hasAddedInverse(of subject: OperationSubject, in model: Schema) -> Bool {
    guard case .dropped(let entity, let name, isRelationship: true) = subject,
      let relationship = model.entity(named: entity)?.relationship(named: name),
      let inverse = relationship.inverse
    else { return false }
    return isAdded(relationship.destination, property: inverse)
  }

  /// Whether the segment adds a property or gives it an expression. Its values are not converted yet,
  /// because only storing a value in the column converts it.
  func isNew(_ entity: String, property name: String) -> Bool {
    isAdded(entity, property: name) || isExpressed(entity, property: name)
  }

  /// Whether an entity had a parent before the segment, and so was stored in another one's table.
  func hadParent(_ entity: String) -> Bool {
    entities[entity].flatMap { before.entity(named: $0) }?.parent != nil
  }

  /// Whether the segment already moves the links of a relationship or of its inverse.
  func movesLinks(of entity: String, _ name: String, in model: Schema) -> Bool {
    let inverse = model.entity(named: entity)?.relationship(named: name).flatMap { relationship in
      relationship.inverse.map { (relationship.destination, $0) }
    }
    return moves.contains { move in
      (move.entity, move.relationship) == (entity, name)
        || inverse.map { (move.entity, move.relationship) == $0 } ?? false
    }
  }

  /// Whether an operation of the segment already picks one of several links.
  var picks: Bool { moves.contains { !$0.picking.isEmpty } }

  /// Returns the column, in quotes, that a property had before the segment; nil for a property that had
  /// none.
  func column(_ entity: String, property name: String) -> String? {
    guard let former = former(entity, property: name),
      let owner = entities[entity].flatMap({ before.entity(named: $0) })
    else { return nil }
    guard let relationship = owner.relationship(named: former) else { return quoted(former) }
    return relationship.hasColumn ? quoted(RelationshipDescription.columnName(former)) : nil
  }

  /// Whether a property was a one-to-one without a column before the segment. If it has a column now, the
  /// segment fills that column by a look-up.
  func wasLookedUp(_ entity: String, property name: String) -> Bool {
    guard let former = former(entity, property: name) else { return false }
    return entities[entity].flatMap { before.entity(named: $0) }?.relationship(named: former)?.isLookedUp
      == true
  }

  /// Restricts an expression to the rows of an entity and its subentities. Other rows of the table get
  /// NULL.
  func ofOwnRows(_ expression: String, of entity: String) -> String {
    guard let condition = entities[entity].flatMap({ before.place(of: $0).condition() }) else {
      return expression
    }
    let sql: SQL = "CASE WHEN \(condition) THEN (\(written: expression)) END"
    return sql.text
  }
}
