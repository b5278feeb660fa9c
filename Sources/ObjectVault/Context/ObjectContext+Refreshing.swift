// Refreshing with pending changes, and reverting a changed to-one at both ends.

internal import CipherSQLite

extension ObjectContext {
  /// Reads the row of an object again, and keeps its changes if they are to be merged.
  ///
  /// With `mergeChanges`, the object gets the row that the store has now, and what was set here stays set:
  /// the next save does not conflict with what others have committed so far. An object whose row was deleted
  /// is not changed. Without it, this is ``refresh(_:)``.
  /// - Parameters:
  ///   - object: An object of this context; others are ignored.
  ///   - mergeChanges: Whether its changes are kept.
  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)``, ``SQLError``; the object is then unchanged.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
    guard object.context === self else { return }
    guard mergeChanges, object.state == .loaded, object.overlay != nil else { return refresh(object) }
    try notifyingObservers { try merge([object]) }
  }

  /// Shows what others have committed, for example another process. Objects without changes are read again
  /// when they are next needed. The rows of objects with changes are read now, and the changes are kept, as
  /// by ``refresh(_:mergeChanges:)``.
  ///
  /// One query for 500 changed objects. Members of to-manys are read again when they are next needed; a
  /// to-many with changes keeps the members that it has in memory.
  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)``, ``SQLError``; the objects with changes are then
  ///   unchanged.
  public func refreshAll() throws {
    try notifyingObservers {
      for object in maps.objects where object.overlay == nil && object.state != .deleted { refresh(object) }
      try merge(updatedObjects)
      for object in maps.objects where object.state == .loaded {
        object.forgetFetchedMembers()
        observers?.didChange(object)
      }
    }
  }

  /// Removes all objects from the context, and discards all changes. The objects become
  /// ``ManagedObject/State/invalid``; fetch new ones. ``faultErrors`` becomes empty.
  ///
  /// Takes time in proportion to the objects in memory; the file is not read.
  public func reset() { notifyingObservers(removeAll) }

  private func removeAll() {
    discardCount += 1
    let objects = maps.objects
    (faultErrors, deniedDeletions) = ([], DeniedDeletions())
    do { try keepAssignedIDs() } catch { note(error) }
    deletions.restart()
    for object in objects { discard(object) }
    undoes?.removeAll()
    pendingMetadata.values = [:]
    changePending { $0.clear() }
  }

  /// Gives changed objects the rows that the store has now, and keeps all that was set here.
  private func merge(_ objects: [ManagedObject]) throws {
    let found = try withConnection { try conflictingObjects(objects, on: $0) }
    var changes = Rebasing()
    for conflict in found where conflict.stored != nil {
      try rebase(conflict, keeping: .mine, recording: &changes)
    }
  }

  /// Reverts the to-ones of an object whose changes are about to be discarded: removes it from the
  /// members of its present targets, and adds it to the members of the targets in its row.
  func revertReferences(of object: ManagedObject) {
    guard let entity = object.entity, entity.hasToOne, let overlay = object.overlay, object.hasRow else {
      return
    }
    for relationship in entity.relationships
    where !relationship.hasMembers && overlay.changed.contains(relationship.slot) {
      guard let inverse = relationship.inverseSlot else { continue }
      revertMember(object, of: relationship, inverse: inverse)
    }
  }

  private func revertMember(_ object: ManagedObject, of relationship: RelationshipMapping, inverse: Int) {
    let (destination, slot) = (maps[relationship.destination.index], relationship.slot)
    let stored = object.rowValue(slot)?.int64.flatMap(destination.find)
    let present = object.overlay?.int64(slot).flatMap(destination.find)
    for owner in [stored, present].compactMap({ $0 }) { didRefresh(owner) }
    present?.changedMembers(inverse)?.takeBack(inserted: object)
    stored?.toMany[inverse]?.takeBack(removed: object)
    // In a one-to-one, an object that took the same target meanwhile is reverted, too.
    guard relationship.inverseIsLookedUp, let stored, let state = stored.toMany[inverse] else { return }
    for rival in state.members ?? state.added
    where rival !== object && rival.overlay?.int64(slot) == stored.rowID {
      takeBack(rival, of: relationship, inverse: inverse)
    }
  }

  /// Reverts one to-one to the value in its row.
  private func takeBack(_ object: ManagedObject, of relationship: RelationshipMapping, inverse: Int) {
    guard let overlay = object.overlay else { return }
    let slot = relationship.slot
    index.wake(object)
    revertMember(object, of: relationship, inverse: inverse)
    didRefresh(object)
    overlay[slot] = object.rowValue(slot) ?? .null
    overlay.refused?[slot] = nil
    guard object.hasRow else { return }
    overlay.changed.remove(slot)
    if overlay.changed.isEmpty {
      if object.isRegistered { pending.didRefresh() }
      object.overlay = nil
    }
  }
}
