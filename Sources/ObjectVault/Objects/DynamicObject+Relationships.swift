// Relationships by their names.

extension DynamicObject {
  /// The object that a to-one leads to.
  public subscript(toOne name: String) -> DynamicObject? {
    get {
      do {
        let relationship = try relationship(name, isToMany: false)
        guard isReadable(name), let target = toOneTarget(relationship.slot), target.state != .deleted else {
          return nil
        }
        return target as? DynamicObject
      } catch {
        tell(error)
        return nil
      }
    }
    set {
      do {
        let relationship = try relationship(name, isToMany: false)
        if let newValue { try checkEntity(of: newValue, relationship) }
        if isReachable(name) { writeToOne(newValue, UInt16(relationship.slot)) }
      } catch { tell(error) }
    }
  }

  /// The members of a to-many. A change of one member is faster by ``add(_:to:)`` and ``remove(_:from:)``, which copy no set.
  public subscript(toMany name: String) -> Set<DynamicObject> {
    get {
      do {
        let relationship = try relationship(name, isToMany: true)
        guard isReadable(name) else { return [] }
        return readToMany(UInt16(relationship.slot), Set<DynamicObject>.self) { \DynamicObject.entityName }
      } catch {
        tell(error)
        return []
      }
    }
    set {
      do {
        let relationship = try relationship(name, isToMany: true)
        for object in newValue { try checkEntity(of: object, relationship) }
        if isReachable(name) { writeToMany(newValue, UInt16(relationship.slot)) }
      } catch { tell(error) }
    }
  }

  /// The members of an ordered to-many, in their order. What is written is the order from then on; of objects that it has twice
  /// the first one counts. By ``subscript(toMany:)`` they are a set, whose new members go to the end.
  ///
  /// ```swift
  /// object[ordered: "songs"].swapAt(0, 1)
  /// ```
  public subscript(ordered name: String) -> [DynamicObject] {
    get {
      do {
        let relationship = try orderedRelationship(name)
        guard isReadable(name) else { return [] }
        return readToMany(UInt16(relationship.slot), [DynamicObject].self) { \DynamicObject.entityName }
      } catch {
        tell(error)
        return []
      }
    }
    set {
      do {
        let relationship = try orderedRelationship(name)
        for object in newValue { try checkEntity(of: object, relationship) }
        if isReachable(name) { writeToMany(newValue, UInt16(relationship.slot)) }
      } catch { tell(error) }
    }
  }

  /// Sets a to-one, and keeps the inverse on both sides.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``, ``StoreError/propertyMisused(entity:property:reason:)``
  ///   for an object of another entity than the relationship leads to, ``StoreError/foreignObject(entity:property:)`` for
  ///   one of another context, a deleted one or one of no context; what ``set(_:to:)`` throws of either object.
  public func set(_ name: String, toOne object: DynamicObject?) throws {
    let relationship = try relationship(name, isToMany: false)
    try requireChangeable(name)
    if let object { try check(object, relationship) }
    if relationship.isLookedUp { try loadMembers(relationship.slot) }
    if relationship.inverseIsLookedUp, let inverse = relationship.inverseSlot {
      try object?.loadMembers(inverse)
    }
    writeToOne(object, UInt16(relationship.slot))
  }

  /// Adds an object to a to-many, in a time that does not depend on how many members there are.
  /// - Throws: As ``set(_:toOne:)``.
  public func add(_ object: DynamicObject, to name: String) throws {
    let relationship = try relationship(name, isToMany: true)
    try requireChangeable(name)
    try check(object, relationship)
    addMember(object, relationship)
  }

  /// Takes an object out of a to-many. An object that is no member stays as it is. Of a many-to-many the link to an object that is to
  /// be deleted is removed, too: it may be what denies the deletion.
  /// - Throws: As ``set(_:toOne:)``.
  public func remove(_ object: DynamicObject, from name: String) throws {
    let relationship = try relationship(name, isToMany: true)
    try requireChangeable(name)
    try checkEntity(of: object, relationship)
    if !isLinkToDeleted(object, relationship) { try check(object, relationship) }
    removeMember(object, relationship)
  }

  private func relationship(_ name: String, isToMany: Bool) throws(StoreError) -> RelationshipMapping {
    let slot = try slot(name)
    guard let relationship = origin?.slots[slot].relationship else {
      throw misused(name, "is an attribute; use [\"\(name)\"]")
    }
    if relationship.isToMany == isToMany { return relationship }
    throw misused(
      name,
      relationship.isToMany
        ? "has many members; use [toMany: \"\(name)\"]" : "leads to one object; use [toOne: \"\(name)\"]")
  }

  private func orderedRelationship(_ name: String) throws(StoreError) -> RelationshipMapping {
    let relationship = try relationship(name, isToMany: true)
    if relationship.isOrdered { return relationship }
    throw misused(name, "has members without an order; use [toMany: \"\(name)\"]")
  }

  /// Whether a relationship takes an object: what it would only tell is thrown.
  private func check(_ object: DynamicObject, _ relationship: RelationshipMapping) throws {
    try checkEntity(of: object, relationship)
    let isUsable = object.state == .inserted || object.state == .loaded || object.state == .fault
    guard object.host === host, isUsable else {
      throw StoreError.foreignObject(entity: entityName, property: relationship.name)
    }
    // Its own column is written, which asks for its row.
    if let inverse = relationship.inverseSlot, relationship.inverseHasColumn {
      try object.requireChangeable(relationship.destination.slots[inverse].name)
    }
  }

  /// What the compiler does for classes. An object of no context is refused by the relationship itself.
  private func checkEntity(of object: DynamicObject, _ relationship: RelationshipMapping) throws(StoreError) {
    let destination = relationship.destination
    // Of another store's model a name says which entity it is; the relationship refuses objects of other contexts.
    guard let origin = object.origin, origin.name != destination.name, !destination.includes(origin) else {
      return
    }
    throw misused(
      relationship.name, "leads to \(destination.name), and was given an object of \(object.entityName)")
  }

  /// Whether there is a context that knows what a relationship leads to; else that is told.
  private func isReadable(_ name: String) -> Bool {
    host?.reads?(entityName, name, rowID)
    if host == nil { StrayErrors.tell(.noContext(entity: entityName, property: name)) }
    return host != nil
  }
}
