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
  /// - Throws: ``StoreError/objectGone(entity:rowID:)`` for an object that is deleted, for a temporary id
  ///   that this context has not given, and for a row that was read and does not exist;
  ///   ``StoreError/unknownEntity(name:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``; ``SQLError``.
  public func object<Object: ManagedObject>(with id: ObjectID<Object>) throws -> Object {
    guard let entity = entity(of: Object.self) else { throw StoreError.unknownEntity(name: "\(Object.self)") }
    if !entity.isInHierarchy, !id.isTemporary {
      let row = try mark.row(of: id)
      let map = maps[entity.index]
      let known = map.find(row) ?? promised(map, row)
      if known == nil ? row > 0 : known?.state == .fault, let fault = (known ?? map.add(row)) as? Object {
        return fault
      }
    }
    guard let found = try existing(id) else {
      throw StoreError.objectGone(entity: entity.name, rowID: id.rowID)
    }
    return found
  }
}

extension ManagedObject {
  /// The context that the object is in; nil for one that its own initializer created, and for one whose
  /// context no longer exists.
  public final var managedObjectContext: ObjectContext? { context }
}
