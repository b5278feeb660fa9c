// Relationships by their names, for code that does not know the class of an object.

internal import CipherSQLite

extension ManagedObject {
  /// Returns the object that a to-one refers to, by the relationship's name.
  ///
  /// ```swift
  /// let owner = try status.relatedObject("user")
  /// ```
  /// - Parameter name: The name of the to-one.
  /// - Returns: The object; nil if there is none or it is to be deleted.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``;
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` if the property is no to-one;
  ///   ``StoreError/objectGone(entity:rowID:)``, ``StoreError/noContext(entity:property:)``; ``SQLError``.
  public func relatedObject(_ name: String) throws -> ManagedObject? {
    if isDraft { return draft[try draftRelationship(name, isToMany: false).slot].first }
    let relationship = try relationship(name, isToMany: false)
    guard case .integer = try value(name) else { return nil }
    return readToOne(UInt16(relationship.slot), as: ManagedObject.self) { \ManagedObject.objectState }
  }

  /// Returns the members of a to-many, by the relationship's name.
  /// - Parameter name: The name of the to-many.
  /// - Returns: The members: of an ordered to-many in its order, otherwise by their ids. Those that are to be
  ///   deleted are left out.
  /// - Throws: As ``relatedObject(_:)``.
  public func relatedObjects(_ name: String) throws -> [ManagedObject] {
    if isDraft { return draft[try draftRelationship(name, isToMany: true).slot] }
    let relationship = try relationship(name, isToMany: true)
    guard let host else { throw StoreError.noContext(entity: nameOfEntity, property: name) }
    host.reads?(nameOfEntity, name, rowID)
    if isUnread { try load() }
    if state == .deleted || state == .invalid {
      throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID)
    }
    try loadMembers(relationship.slot)
    return relatedList(relationship.slot)
  }

  /// Returns the members of a to-many that are in memory.
  final func relatedList(_ slot: Int) -> [ManagedObject] {
    if entity?.slots[slot].relationship?.isOrdered == true {
      return readToMany(UInt16(slot), as: [ManagedObject].self) { \ManagedObject.objectState }
    }
    return readToMany(UInt16(slot), as: Set<ManagedObject>.self) { \ManagedObject.objectState }
      .sorted { $0.rowID.isOlderRowID(than: $1.rowID) }
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
  public func set(_ name: String, toOne object: ManagedObject?) throws {
    if isDraft {
      return draft[try draftRelationship(name, isToMany: false, with: object).slot] =
        object.map { [$0] } ?? []
    }
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
  public func add(_ object: ManagedObject, to name: String) throws {
    if isDraft { return draft.add(object, try draftRelationship(name, isToMany: true, with: object).slot) }
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
  public func remove(_ object: ManagedObject, from name: String) throws {
    if isDraft {
      let slot = try draftRelationship(name, isToMany: true, with: object).slot
      return changeDraft(object, slot, isAdded: false)
    }
    let relationship = try relationship(name, isToMany: true)
    try requireChangeable(name)
    try checkEntity(of: object, relationship)
    // An object that is in no context yet is no member.
    if object.isDraft { return }
    if !isLinkToDeleted(object, relationship) { try check(object, relationship) }
    removeMember(object, relationship)
  }

  /// Returns a relationship by its name.
  final func relationship(_ name: String, isToMany: Bool) throws(StoreError) -> RelationshipMapping {
    let slot = try slot(name)
    guard let relationship = origin?.slots[slot].relationship else {
      throw misused(name, reason: "is an attribute; use [\"\(name)\"]")
    }
    if relationship.isToMany != isToMany { throw misused(name, reason: hint(relationship.isToMany, name)) }
    return relationship
  }

  private func hint(_ isToMany: Bool, _ name: String) -> String {
    switch (isToMany, self is DynamicObject) {
    case (true, true): "is a to-many; use [toMany: \"\(name)\"]"
    case (false, true): "is a to-one; use [toOne: \"\(name)\"]"
    case (true, false): "is a to-many; use relatedObjects(\"\(name)\")"
    case (false, false): "is a to-one; use relatedObject(\"\(name)\")"
    }
  }

  /// Returns a relationship of an object that is in no context yet.
  /// - Parameter object: The object that it is to refer to, whose class is checked.
  private func draftRelationship(_ name: String, isToMany: Bool, with object: ManagedObject? = nil)
    throws(StoreError) -> PropertyDeclaration
  {
    let property = try draftProperty(name)
    guard case .relationship(let target, let number, _, _, _) = property.kind else {
      throw misused(name, reason: "is an attribute; use [\"\(name)\"]")
    }
    if (number != .one) != isToMany { throw misused(name, reason: hint(number != .one, name)) }
    let isOther = object.map { object in
      !ClassDescription.of(type(of: object)).isEntity(ClassDescription.of(target).entityName)
    }
    if let object, isOther == true {
      throw misused(name, reason: "refers to \(target), but was given an object of \(object.nameOfEntity)")
    }
    return property
  }

  /// Checks whether a relationship accepts an object, and throws what a setter would only report.
  private func check(_ object: ManagedObject, _ relationship: RelationshipMapping) throws {
    try checkEntity(of: object, relationship)
    // The setter inserts an object that is in no context yet.
    if object.isDraft { return }
    let isUsable = object.state == .inserted || object.state == .loaded || object.state == .fault
    guard object.host === host, isUsable else {
      throw StoreError.foreignObject(entity: nameOfEntity, property: relationship.name)
    }
    // The inverse's column is in that object's row, so the row must be in memory.
    if let inverse = relationship.inverseSlot, relationship.inverseHasColumn {
      try object.requireChangeable(relationship.destination.slots[inverse].name)
    }
  }

  /// Checks that an object is of the relationship's destination, as the compiler does for classes. An
  /// object that has left its context passes here if its entity is unknown: the setter refuses it.
  final func checkEntity(of object: ManagedObject, _ relationship: RelationshipMapping) throws(StoreError) {
    let destination = relationship.destination
    // An object of another store may have another EntityMapping, so the names are compared. The setter
    // refuses objects of other contexts anyway.
    if object.isDraft {
      // A store that was opened without classes has no objects of classes.
      let isClass = !(self is DynamicObject)
      if isClass, ClassDescription.of(type(of: object)).isEntity(destination.name) { return }
    } else {
      guard let origin = object.origin, origin.name != destination.name, !destination.includes(origin) else {
        return
      }
    }
    throw misused(
      relationship.name,
      reason: "refers to \(destination.name), but was given an object of \(object.nameOfEntity)")
  }
}
