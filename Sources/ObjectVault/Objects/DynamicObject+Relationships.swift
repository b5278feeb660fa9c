// Access to the relationships of a DynamicObject by name.

extension DynamicObject {
  /// The object that a to-one refers to; nil if there is none or it is to be deleted.
  ///
  /// Neither the getter nor the setter throws: an error goes to ``ObjectContext/faultErrors``, and the
  /// next save throws it.
  /// - Parameter name: The name of the to-one.
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

  /// The members of a to-many, as a set.
  ///
  /// To change single members, ``add(_:to:)`` and ``remove(_:from:)`` are faster, because they copy no
  /// set. Errors go to ``ObjectContext/faultErrors``.
  /// - Parameter name: The name of the to-many.
  public subscript(toMany name: String) -> Set<DynamicObject> {
    get {
      do {
        let relationship = try relationship(name, isToMany: true)
        guard isReadable(name) else { return [] }
        return readToMany(UInt16(relationship.slot), as: Set<DynamicObject>.self) {
          \DynamicObject.entityName
        }
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

  /// The members of an ordered to-many, in their order.
  ///
  /// Setting it sets the members and their order. Duplicates are dropped; the first occurrence wins.
  /// ``subscript(toMany:)`` gives the members as a set; members that are added through it go to the end
  /// of the order. Errors go to ``ObjectContext/faultErrors``.
  ///
  /// ```swift
  /// object[ordered: "songs"].swapAt(0, 1)
  /// ```
  /// - Parameter name: The name of the ordered to-many.
  public subscript(ordered name: String) -> [DynamicObject] {
    get {
      do {
        let relationship = try orderedRelationship(name)
        guard isReadable(name) else { return [] }
        return readToMany(UInt16(relationship.slot), as: [DynamicObject].self) { \DynamicObject.entityName }
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

  /// Sets a to-one, and updates the inverse of the former and the new target.
  /// - Parameters:
  ///   - name: The name of the to-one.
  ///   - object: The new target; nil for none.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``;
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` if the property is not such a
  ///   relationship, or the object is not of its destination;
  ///   ``StoreError/foreignObject(entity:property:)`` if the object belongs to another context or to
  ///   none, or is deleted; the errors of ``ManagedObject/set(_:to:)`` for either object.
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

  /// Adds an object to a to-many, in a time that does not depend on the number of members.
  /// - Parameters:
  ///   - object: The new member.
  ///   - name: The name of the to-many.
  /// - Throws: As ``set(_:toOne:)``.
  public func add(_ object: DynamicObject, to name: String) throws {
    let relationship = try relationship(name, isToMany: true)
    try requireChangeable(name)
    try check(object, relationship)
    addMember(object, relationship)
  }

  /// Removes an object from a to-many.
  ///
  /// If the object is not a member, nothing changes. In a many-to-many the link to an object that is to
  /// be deleted can be removed too, because that link may be the reason why a delete rule refuses the
  /// deletion.
  /// - Parameters:
  ///   - object: The member.
  ///   - name: The name of the to-many.
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
      throw misused(name, reason: "is an attribute; use [\"\(name)\"]")
    }
    if relationship.isToMany == isToMany { return relationship }
    throw misused(
      name,
      reason: relationship.isToMany
        ? "is a to-many; use [toMany: \"\(name)\"]" : "is a to-one; use [toOne: \"\(name)\"]")
  }

  private func orderedRelationship(_ name: String) throws(StoreError) -> RelationshipMapping {
    let relationship = try relationship(name, isToMany: true)
    if relationship.isOrdered { return relationship }
    throw misused(name, reason: "is not ordered; use [toMany: \"\(name)\"]")
  }

  /// Checks whether a relationship accepts an object, and throws what a setter would only report.
  private func check(_ object: DynamicObject, _ relationship: RelationshipMapping) throws {
    try checkEntity(of: object, relationship)
    let isUsable = object.state == .inserted || object.state == .loaded || object.state == .fault
    guard object.host === host, isUsable else {
      throw StoreError.foreignObject(entity: entityName, property: relationship.name)
    }
    // The inverse's column is in that object's row, so the row must be in memory.
    if let inverse = relationship.inverseSlot, relationship.inverseHasColumn {
      try object.requireChangeable(relationship.destination.slots[inverse].name)
    }
  }

  /// Checks that an object is of the relationship's destination, as the compiler does for classes. An
  /// object without an entity passes here: the setter refuses objects without a context.
  private func checkEntity(of object: DynamicObject, _ relationship: RelationshipMapping) throws(StoreError) {
    let destination = relationship.destination
    // An object of another store may have another EntityMapping, so the names are compared. The setter
    // refuses objects of other contexts anyway.
    guard let origin = object.origin, origin.name != destination.name, !destination.includes(origin) else {
      return
    }
    throw misused(
      relationship.name,
      reason: "refers to \(destination.name), but was given an object of \(object.entityName)")
  }

  /// Notifies the observer of reads. Returns whether the object is in a context, which is needed to read
  /// a relationship; if not, the error is reported.
  private func isReadable(_ name: String) -> Bool {
    host?.reads?(entityName, name, rowID)
    if host == nil { ContextlessErrors.tell(.noContext(entity: entityName, property: name)) }
    return host != nil
  }
}
