// Inverse relationships: an inverse that one end declares is set at both ends, and exactly one end of a
// one-to-one has the column.

extension Schema {
  /// Sets at both ends what one end of a relationship declares. Call it after every change of
  /// relationships.
  mutating func completeInverses() {
    for owner in entities.indices {
      for place in entities[owner].relationships.indices { completeInverse(of: owner, at: place) }
    }
  }

  private mutating func completeInverse(of owner: Int, at place: Int) {
    let relationship = entities[owner].relationships[place]
    guard let (other, back) = end(inverseTo: relationship, of: entities[owner]) else {
      // A part of a model may lack the entity at the other end. In this case, the flags stay as they are.
      if relationship.inverse == nil || entityIndex(relationship.destination) != nil {
        entities[owner].relationships[place].isLookedUp = false
        entities[owner].relationships[place].isOneToOne = false
      }
      return
    }
    let inverse = entities[other].relationships[back]
    entities[other].relationships[back].inverse = relationship.name
    let isPair = !relationship.isToMany && !inverse.isToMany
    // If both ends name an inverse, the end that comes first by name gets the column. Entities are
    // visited in the order of their names, so the first visit decides. Relationships of one entity are
    // visited in the order of declaration, so their names are compared.
    let isLast = owner == other && relationship.name > inverse.name
    let isLookedUp =
      relationship.isLookedUp != inverse.isLookedUp
      ? relationship.isLookedUp : inverse.inverse == nil || isLast
    entities[owner].relationships[place].isLookedUp = isPair && isLookedUp
    entities[owner].relationships[place].isOneToOne = isPair && !isLookedUp
    guard isPair else { return }
    entities[other].relationships[back].isLookedUp = !isLookedUp
    entities[other].relationships[back].isOneToOne = isLookedUp
  }

  /// Returns the index of the entity that has the inverse of a relationship, and the inverse's index in
  /// that entity; nil when the relationship names no inverse, or when the two are no valid pair.
  private func end(inverseTo relationship: RelationshipDescription, of entity: EntityDescription) -> (
    Int, Int
  )? {
    guard let inverse = relationship.inverse, let other = entityIndex(relationship.destination),
      let back = entities[other].relationships.firstIndex(where: { $0.name == inverse }),
      entities[other].relationships[back].destination == entity.name,
      entities[other].relationships[back].inverse ?? relationship.name == relationship.name,
      relationship.destination != entity.name || inverse != relationship.name
    else { return nil }
    return (other, back)
  }
}

extension RelationshipDescription {
  /// The relationship as a step writes it: a step does not state which end has the column.
  var written: RelationshipDescription {
    var copy = self
    (copy.isLookedUp, copy.isOneToOne) = (false, false)
    return copy
  }
}

extension Schema {
  /// Returns an entity as a step writes it: of a one-to-one, only the end without the column names its
  /// inverse.
  /// - Parameter isThere: Returns, for the names of an entity and a relationship, whether the
  ///   relationship exists already and has no inverse. Then the end that is added must name it as its
  ///   inverse, although that end has the column.
  func written(_ entity: EntityDescription, isThere: (String, String) -> Bool = { _, _ in false })
    -> EntityDescription
  {
    var copy = entity
    copy.relationships = entity.relationships.map { written($0, isThere: isThere) }
    return copy
  }

  /// Returns a relationship as a step writes it: see ``written(_:isThere:)``.
  func written(
    _ relationship: RelationshipDescription, isThere: (String, String) -> Bool = { _, _ in false }
  ) -> RelationshipDescription {
    var copy = relationship.written
    if relationship.isOneToOne, let inverse = relationship.inverse,
      !isThere(relationship.destination, inverse)
    {
      copy.inverse = nil
    }
    return copy
  }
}
