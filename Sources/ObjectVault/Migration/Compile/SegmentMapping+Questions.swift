// What operations ask of the run that they are to belong to, and the expressions that they make.

internal import CipherSQLite

extension SegmentMapping {
  /// Whether an entity may have rows: one that the run has made has none.
  func hasRows(_ entity: String) -> Bool { entities[entity] != nil }

  /// Whether every row has what an expression of the run makes.
  func isExpressed(_ entity: String, _ name: String) -> Bool { expressions[entity]?[name] != nil }

  /// Whether the run has added a property that no row has a value of yet: not by a default, nor by its other end.
  /// - Parameter model: The model so far.
  func isGivenNothing(_ entity: String, _ name: String, in model: Schema) -> Bool {
    guard isAdded(entity, name), !isExpressed(entity, name), let owner = model.entity(named: entity) else {
      return false
    }
    // What is required from its addition is refused where rows are there.
    if let attribute = owner.attribute(named: name) {
      return attribute.isOptional && attribute.defaultValue == nil
    }
    guard let relationship = owner.relationship(named: name), !relationship.isRequired else { return false }
    return relationship.inverse.map { isAdded(relationship.destination, $0) } ?? true
  }

  /// Whether an operation drops one of two inverses whose other one the run has yet to make.
  /// - Parameter model: The model before the operation.
  func hasAddedInverse(of subject: OperationSubject, in model: Schema) -> Bool {
    guard case .dropped(let entity, let name, isRelationship: true) = subject,
      let relationship = model.entity(named: entity)?.relationship(named: name),
      let inverse = relationship.inverse
    else { return false }
    return isAdded(relationship.destination, inverse)
  }

  /// Whether it added a property, or gave it an expression: only a column converts what is put into it to its type.
  func isNew(_ entity: String, _ name: String) -> Bool {
    isAdded(entity, name) || isExpressed(entity, name)
  }

  /// Whether an entity lay in the table of another one before.
  func hadParent(_ entity: String) -> Bool {
    entities[entity].flatMap { before.entity(named: $0) }?.parent != nil
  }

  /// Whether the run keeps links of a relationship elsewhere already, or those of its other end.
  func movesLinks(of entity: String, _ name: String, in model: Schema) -> Bool {
    let inverse = model.entity(named: entity)?.relationship(named: name).flatMap { relationship in
      relationship.inverse.map { (relationship.destination, $0) }
    }
    return moves.contains { move in
      (move.entity, move.relationship) == (entity, name)
        || inverse.map { (move.entity, move.relationship) == $0 } ?? false
    }
  }

  /// Whether the run picks who stays of several already.
  var picks: Bool { moves.contains { !$0.picking.isEmpty } }

  /// The column that a property had before the run; nil when it was added in it, or has no column.
  func column(_ entity: String, _ name: String) -> String? {
    guard let former = former(entity, name),
      let owner = entities[entity].flatMap({ before.entity(named: $0) })
    else { return nil }
    guard let relationship = owner.relationship(named: former) else { return quoted(former) }
    return relationship.hasColumn ? quoted(RelationshipDescription.columnName(former)) : nil
  }

  /// Whether a property was the end of a one-to-one without a column before the run. A column that it has now, the run fills.
  func wasLookedUp(_ entity: String, _ name: String) -> Bool {
    guard let former = former(entity, name) else { return false }
    return entities[entity].flatMap { before.entity(named: $0) }?.relationship(named: former)?.isLookedUp
      == true
  }

  /// An expression for the rows of an entity and of those below it: the other rows of the table have nothing there.
  func ofOwnRows(_ expression: String, _ entity: String) -> String {
    guard let condition = entities[entity].flatMap({ before.place(of: $0).condition() }) else {
      return expression
    }
    let sql: SQL = "CASE WHEN \(condition) THEN (\(written: expression)) END"
    return sql.text
  }
}
