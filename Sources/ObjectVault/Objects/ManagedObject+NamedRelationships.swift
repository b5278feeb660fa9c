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
    guard let host else { throw unreachable(name) }
    let relationship = try relationship(name, isToMany: false)
    guard case .integer(let id) = try value(name) else { return nil }
    let destination = relationship.destination
    var target = host.find(destination, id)
    if target == nil, destination.hasChildren {
      // The class of the target depends on its row. It is read here, where an error can be thrown.
      target = try host.target(withID: id, of: destination)
      if target == nil { throw StoreError.objectGone(entity: destination.name, rowID: id) }
    }
    return withExtendedLifetime(target) {
      readToOne(UInt16(relationship.slot), as: ManagedObject.self) { \ManagedObject.objectState }
    }
  }

  /// Returns the members of a to-many, by the relationship's name.
  /// - Parameter name: The name of the to-many.
  /// - Returns: The members: of an ordered to-many in its order, otherwise by their ids. Those that are to be
  ///   deleted are left out.
  /// - Throws: As ``relatedObject(_:)``.
  public func relatedObjects(_ name: String) throws -> [ManagedObject] {
    if isDraft { return draft[try draftRelationship(name, isToMany: true).slot] }
    let relationship = try relationship(name, isToMany: true)
    guard let host else { throw unreachable(name) }
    host.reads?(nameOfEntity, name, rowID)
    if isUnread { try load() }
    if state == .invalid { throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID) }
    try loadMembers(relationship.slot)
    return relatedList(relationship)
  }

  /// Returns the members of a to-many as the getter of a class does, and in the order of
  /// ``relatedObjects(_:)``.
  final func relatedList(_ relationship: RelationshipMapping) -> [ManagedObject] {
    let slot = UInt16(relationship.slot)
    if relationship.isOrdered {
      return readToMany(slot, as: [ManagedObject].self) { \ManagedObject.objectState }
    }
    return readToMany(slot, as: Set<ManagedObject>.self) { \ManagedObject.objectState }
      .sorted { $0.rowID.isOlderRowID(than: $1.rowID) }
  }

  /// Sets a to-one, and updates the inverse of the former and the new target. A target that is not inserted
  /// yet is inserted.
  /// - Parameters:
  ///   - name: The name of the to-one.
  ///   - object: The new target; nil for none.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``;
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` if the property is not such a
  ///   relationship, or the object is not of its destination;
  ///   ``StoreError/foreignObject(entity:property:)`` if the object belongs to another context, has left its
  ///   context, or is deleted; ``StoreError/unknownEntity(name:)`` or
  ///   ``StoreError/cannotInsert(entity:reason:)`` if it is not inserted yet and cannot be; the errors of
  ///   ``ManagedObject/set(_:to:)`` for either object.
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

  /// Adds an object to a to-many, in a time that does not depend on the number of members. An object that is
  /// not inserted yet is inserted.
  /// - Parameters:
  ///   - object: The new member.
  ///   - name: The name of the to-many.
  /// - Throws: As ``set(_:toOne:)``.
  public func add(_ object: ManagedObject, to name: String) throws {
    if isDraft { return try changeDraft(name, by: object, isAdded: true) }
    let relationship = try relationship(name, isToMany: true)
    try requireChangeable(name)
    try check(object, relationship)
    addMember(object, relationship)
  }

  /// Removes an object from a to-many.
  ///
  /// If the object is not a member, or is not inserted yet, nothing changes. In a many-to-many the link to an
  /// object that is to be deleted can be removed too, because that link may be the reason why a delete rule
  /// refuses the deletion.
  /// - Parameters:
  ///   - object: The member.
  ///   - name: The name of the to-many.
  /// - Throws: As ``set(_:toOne:)``.
  public func remove(_ object: ManagedObject, from name: String) throws {
    if isDraft { return try changeDraft(name, by: object, isAdded: false) }
    let relationship = try relationship(name, isToMany: true)
    try requireChangeable(name)
    try checkEntity(of: object, relationship)
    // An object that is in no context yet is no member.
    if object.isDraft { return }
    if !isLinkToDeleted(object, relationship) { try check(object, relationship) }
    removeMember(object, relationship)
  }

  private func changeDraft(_ name: String, by object: ManagedObject, isAdded: Bool) throws {
    let slot = try draftRelationship(name, isToMany: true, with: object).slot
    changeDraft(object, slot, isAdded: isAdded)
  }

  /// Returns a relationship by its name.
  /// - Parameter isToMany: Whether it is to be a to-many; nil for either.
  final func relationship(_ name: String, isToMany: Bool? = nil) throws(StoreError) -> RelationshipMapping {
    let slot = try slot(name)
    guard let relationship = origin?.slots[slot].relationship else { throw attributeMisused(name) }
    if let isToMany, relationship.isToMany != isToMany {
      throw misused(name, reason: hint(relationship.isToMany, name))
    }
    return relationship
  }

  private func attributeMisused(_ name: String) -> StoreError {
    misused(name, reason: "is an attribute; use [\"\(name)\"]")
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
      throw attributeMisused(name)
    }
    if (number != .one) != isToMany { throw misused(name, reason: hint(number != .one, name)) }
    let destination = ClassDescription.of(target).entityName
    if let object, !ClassDescription.of(type(of: object)).isEntity(destination) {
      throw wrongEntity(name, destination: destination, of: object)
    }
    return property
  }

  /// Checks whether a relationship accepts an object, and throws what a setter would only report.
  private func check(_ object: ManagedObject, _ relationship: RelationshipMapping) throws {
    try checkEntity(of: object, relationship)
    // The setter inserts an object that is not inserted yet.
    if object.isDraft {
      if let refusal = host?.refusal(ofDraft: object) { throw refusal }
      return
    }
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
    throw wrongEntity(relationship.name, destination: destination.name, of: object)
  }

  private func wrongEntity(_ name: String, destination: String, of object: ManagedObject) -> StoreError {
    misused(name, reason: "refers to \(destination), but was given an object of \(object.nameOfEntity)")
  }
}
