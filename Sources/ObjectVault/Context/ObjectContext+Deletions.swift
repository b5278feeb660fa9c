// Deletions. A saved object is marked, and the save applies its delete rules; a new object is removed at
// once.

internal import CipherSQLite

extension ObjectContext {
  /// Marks an object for deletion by the next save.
  ///
  /// The save applies delete rules: to objects in memory one by one, to other rows by SQL. A new object
  /// has no row, so it is removed at once and its delete rules are applied at once. If a rule denies the
  /// deletion of the object, or of a new object that it cascades to, nothing is deleted until the save.
  /// The save then decides about all denied deletions together with the other deletions, and throws if
  /// one is still denied. Deleting a new object twice is no error.
  /// - Parameter object: The object to delete. An object of another context is not deleted, and an error
  ///   is noted in ``faultErrors``.
  public func delete(_ object: ManagedObject) {
    guard object.context === self else {
      // A new object that was deleted or rolled back before: no error.
      if object.rowID >= 0 || object.extras?.former?.host !== self { note(object.strayDeletion) }
      return
    }
    guard acceptsChanges else { return }
    undoable {
      guard object.state == .inserted else { return remove(object) }
      let deletions = NewDeletions([object], denied: deniedDeletions)
      if deletions.goes(object) { remove(object) } else { deniedDeletions.add(deletions) }
    }
  }

  /// Deletes the new objects whose deletion was denied and no longer is. A save calls this before it
  /// deletes the saved objects.
  /// - Returns: The error for the first object that still cannot be deleted; nil if there is none.
  func settleDeniedDeletions() throws -> StoreError? {
    guard !deniedDeletions.isEmpty else { return nil }
    let former = deniedDeletions
    // Objects that only these deletions retain are released on return, when nothing is being changed.
    defer { withExtendedLifetime(former) {} }
    // Some of the objects may have been deleted since their deletion was denied.
    let deletions = NewDeletions(
      former.objects.filter { $0.state == .inserted }, with: try cascadedObjects())
    deniedDeletions = DeniedDeletions()
    undoable { for object in former.objects where deletions.goes(object) { remove(object) } }
    deniedDeletions.add(deletions)
    return deletions.denial
  }

  /// Returns the objects in memory that the deletions of saved objects cascade to, through other objects
  /// in memory and rows in the file.
  private func cascadedObjects() throws -> [ManagedObject] {
    guard !pending.deleted.isEmpty else { return [] }
    let deletion = try cascades()
    return core.mapping.entities.flatMap { entity in
      deletion.going(entity).compactMap(maps[entity.index].find)
    }
  }

  /// Returns what the deletions of saved objects delete: their rows, and those that they cascade to.
  func cascades() throws -> PlannedDeletion {
    try withConnection { connection in
      var related = RelatedRows(pending, maps: maps, reader: ConnectionReader(connection: connection))
      var deletion = PlannedDeletion(entityCount: maps.count)
      try related.followCascades(of: pending.deletedIDs(), in: core.mapping, into: &deletion)
      return deletion
    }
  }

  /// Removes a new object and all objects that it cascades to, or marks a saved object for deletion. The
  /// save applies the delete rules of saved objects.
  func remove(_ object: ManagedObject) {
    var waiting = [object]
    let count = discardCount
    while let object = waiting.popLast() {
      prepareForDeletion(object)
      // The hook may have rolled back, which ends the deletion.
      if discardCount != count { return }
      index.wake(object)
      if undoes != nil { waiting += recordRemoval(object) }
      switch object.state {
      case .inserted: waiting += forget(object)
      case .fault, .loaded:
        object.leaveRelationships()
        object.state = .deleted
        didLoseRow(of: object)
        pending.didDelete(object)
        if object.entity?.isInManyToMany == true { deletions.append(object) }
      case .deleted, .invalid, .detached: break
      }
    }
  }

  /// Removes a new object whose configuration failed, after it has left all relationships.
  func dismiss(_ object: ManagedObject) {
    undoes?.didDismiss(object)
    // It was never an object for the program, so its hook is not called.
    objectsBeingDeleted.insert(object)
    let leave = {
      object.leaveAllRelationships()
      self.delete(object)
    }
    if let undoes { undoes.unrecorded(leave) } else { leave() }
    objectsBeingDeleted.remove(object)
  }

  /// Removes a new object.
  /// - Returns: The objects that its delete rules cascade to.
  private func forget(_ object: ManagedObject) -> [ManagedObject] {
    guard let entity = object.entity else { return [] }
    var taken: [ManagedObject] = []
    for relationship in entity.relationships {
      let others = object.related(by: relationship)
      if relationship.deleteRule == .cascade { taken += others }
      guard let inverse = relationship.inverseSlot, relationship.inverseHasColumn else { continue }
      for other in others where other.state == .inserted || other.state == .loaded {
        other.overwrite(.null, at: inverse, error: nil)
      }
    }
    object.leaveRelationships()
    if entity.isInManyToMany { deletions.append(object) }
    // A row that was deleted elsewhere may be inserted again: the object is then in both lists.
    if object.isRegistered, object.overlay != nil { pending.didRefresh() }
    discard(object)
    changePending { $0.didDiscardNew() }
    return taken
  }
}
