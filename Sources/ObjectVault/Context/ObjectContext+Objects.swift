// The objects of a context: those that are in memory, those with changes, and objects by their ids.

extension ObjectContext {
  /// The objects that are in memory, in no particular order: fetched ones, faults, new ones, and those to be
  /// deleted. A context does not keep objects without changes: they are in memory as long as something
  /// refers to them.
  ///
  /// Takes time in proportion to their number.
  public var registeredObjects: [ManagedObject] { maps.objects }

  /// The new objects that the next ``save()`` inserts, in the order of their insertion.
  ///
  /// Like the two lists below, it ends with the save, also inside ``Store/write(_:)``; there
  /// ``pendingChanges`` contains everything that is not committed.
  public var insertedObjects: [ManagedObject] { pending.inserted.filter { $0.state == .inserted } }

  /// The saved objects of which attributes or to-ones were changed since the last ``save()``, also if they
  /// were changed back. The links of many-to-manys are in ``pendingChanges``.
  public var updatedObjects: [ManagedObject] {
    pending.updated.filter { $0.state == .loaded && $0.overlay != nil }
  }

  /// The objects that the next ``save()`` deletes because they were passed to
  /// ``delete(_:)-(ManagedObject)``. Those that it deletes because of a delete rule are found by the save.
  public var deletedObjects: [ManagedObject] { pending.deleted.filter { $0.state == .deleted } }

  /// Returns the object with an id, without reading its row: an object that is not in memory is a fault,
  /// whose row is read when its first property is.
  ///
  /// ```swift
  /// let id = try await store.read { try $0.fetch(User.self).one().id }
  /// let owner = try context.object(with: id)
  /// context.insert(Item.self) { $0.owner = owner }
  /// ```
  ///
  /// Use it to refer to an object that is known to exist; ``existing(_:)->Object?`` finds out whether it
  /// does. If the entity has subentities, the row is read at once, because it determines the class.
  /// - Parameter id: The id of the object.
  /// - Returns: The object.
  /// - Throws: ``StoreError/objectGone(entity:rowID:)`` for an object that is deleted, and for a row that was
  ///   read and does not exist; ``StoreError/temporaryID(entity:)`` for the id of a new object of another
  ///   context; ``StoreError/unknownEntity(name:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``;
  ///   ``SQLError``.
  public func object<Object: ManagedObject>(with id: ObjectID<Object>) throws -> Object {
    guard let entity = entity(of: Object.self) else { throw StoreError.unknownEntity(name: "\(Object.self)") }
    guard let found = try object(of: entity, row: try row(of: id)) as? Object else {
      throw StoreError.objectGone(entity: entity.name, rowID: id.rowID)
    }
    return found
  }

  /// Returns the object with an id of any entity, for code that does not know the class: an editor, a list of
  /// conflicts.
  ///
  /// ```swift
  /// for conflict in try context.conflicts() {
  ///   let object = try context.object(with: conflict.id)
  ///   let mine: String = object["name"]
  ///   assert(conflict.theirs["name"] != .text(mine))
  /// }
  /// ```
  /// - Parameter id: The id of the object.
  /// - Returns: The object, as ``object(with:)->Object`` returns it; a ``DynamicObject`` in a store
  ///   that was opened without classes.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, and as ``object(with:)->Object``.
  public func object(with id: DynamicID) throws -> ManagedObject {
    let entity = try core.mapping.known(id.entity)
    guard let found = try object(of: entity, row: try row(of: id)) else {
      throw StoreError.objectGone(entity: entity.name, rowID: id.rowID)
    }
    return found
  }

  /// Returns the object of a row, as a fault if its class does not depend on the row; nil if there is none.
  private func object(of entity: EntityMapping, row: Int64?) throws -> ManagedObject? {
    guard let row else { return nil }
    if !entity.isInHierarchy {
      let map = maps[entity.index]
      let known = map.find(row) ?? promised(map, row)
      if known == nil ? row > 0 : known?.state == .fault { return known ?? map.add(row) }
    }
    return try existing(entity, row)
  }
}

extension ManagedObject {
  /// The context that the object is in; nil for one that its own initializer created, and for one whose
  /// context no longer exists.
  public final var managedObjectContext: ObjectContext? { context }
}
