// What operations read from their segment, and an expression for the rows of one entity.

internal import CipherSQLite

extension SegmentMapping {
  /// Whether an entity may have rows: an entity that the segment created has none.
  func hasRows(_ entity: String) -> Bool { entities[entity] != nil }

  /// Whether an expression of the segment gives every row a value.
  func isExpressed(_ entity: String, property name: String) -> Bool { expressions[entity]?[name] != nil }

  /// Whether the segment added a property and no row has a value of it yet, neither by a default nor by
  /// its inverse.
  /// - Parameter model: The model so far.
  func isGivenNothing(_ entity: String, property name: String, in model: Schema) -> Bool {
    guard isAdded(entity, property: name), !isExpressed(entity, property: name),
      let owner = model.entity(named: entity)
    else {
      return false
    }
    // A property that is added as required is refused where rows exist.
    if let attribute = owner.attribute(named: name) {
      return attribute.isOptional && attribute.defaultValue == nil
    }
    guard let relationship = owner.relationship(named: name), !relationship.isRequired else { return false }
    return relationship.inverse.map { isAdded(relationship.destination, property: $0) } ?? true
  }

  /// Whether an operation drops a relationship whose inverse the segment has added but not created yet.
  /// - Parameter model: The model before the operation.
  func hasAddedInverse(of subject: OperationSubject, in model: Schema) -> Bool {
    guard case .dropped(let entity, let name, isRelationship: true) = subject,
      let relationship = model.entity(named: entity)?.relationship(named: name),
      let inverse = relationship.inverse
    else { return false }
    return isAdded(relationship.destination, property: inverse)
  }

  /// Whether the segment added a property or gave it an expression. Its values are not converted yet: only
  /// a column converts what is stored in it.
  func isNew(_ entity: String, property name: String) -> Bool {
    isAdded(entity, property: name) || isExpressed(entity, property: name)
  }

  /// Whether an entity had a parent before, and so shared the table of another one.
  func hadParent(_ entity: String) -> Bool {
    entities[entity].flatMap { before.entity(named: $0) }?.parent != nil
  }

  /// Whether the segment already moves links of a relationship, or of its inverse.
  func movesLinks(of entity: String, _ name: String, in model: Schema) -> Bool {
    let inverse = model.entity(named: entity)?.relationship(named: name).flatMap { relationship in
      relationship.inverse.map { (relationship.destination, $0) }
    }
    return moves.contains { move in
      (move.entity, move.relationship) == (entity, name)
        || inverse.map { (move.entity, move.relationship) == $0 } ?? false
    }
  }

  /// Whether the segment already picks one of several links.
  var picks: Bool { moves.contains { !$0.picking.isEmpty } }

  /// Returns the column that a property had before the segment; nil for an added property, and for one
  /// without a column.
  func column(_ entity: String, property name: String) -> String? {
    guard let former = former(entity, property: name),
      let owner = entities[entity].flatMap({ before.entity(named: $0) })
    else { return nil }
    guard let relationship = owner.relationship(named: former) else { return quoted(former) }
    return relationship.hasColumn ? quoted(RelationshipDescription.columnName(former)) : nil
  }

  /// Whether a property was, before the segment, the end of a one-to-one without a column. If it has a
  /// column now, the segment fills it.
  func wasLookedUp(_ entity: String, property name: String) -> Bool {
    guard let former = former(entity, property: name) else { return false }
    return entities[entity].flatMap { before.entity(named: $0) }?.relationship(named: former)?.isLookedUp
      == true
  }

  /// Restricts an expression to the rows of an entity and its subentities; other rows of the table get
  /// NULL.
  func ofOwnRows(_ expression: String, of entity: String) -> String {
    guard let condition = entities[entity].flatMap({ before.place(of: $0).condition() }) else {
      return expression
    }
    let sql: SQL = "CASE WHEN \(condition) THEN (\(written: expression)) END"
    return sql.text
  }
}
