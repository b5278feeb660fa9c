// Reverts a changed to-one at both ends.

internal import CipherSQLite

extension ObjectContext {
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
    object.overlay?.int64(slot).flatMap(destination.find)?.changedMembers(inverse)?.takeBack(inserted: object)
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
