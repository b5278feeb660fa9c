// Taking back a to-one: who is at the other end hears of it.

internal import CipherSQLite

extension ObjectContext {
  /// Takes an object whose changes are about to go out of the members that it came to, and puts it back among those that it left.
  func takeBackReferences(of object: ManagedObject) {
    guard let entity = object.entity, entity.hasToOne, let overlay = object.overlay, object.hasRow else {
      return
    }
    for relationship in entity.relationships
    where !relationship.hasMembers && overlay.changed.contains(relationship.slot) {
      guard let inverse = relationship.inverseSlot else { continue }
      takeBackMember(object, relationship, inverse)
    }
  }

  private func takeBackMember(_ object: ManagedObject, _ relationship: RelationshipMapping, _ inverse: Int) {
    let (destination, slot) = (maps[relationship.destination.index], relationship.slot)
    let stored = object.rowValue(slot)?.int64.flatMap(destination.find)
    object.overlay?.int64(slot).flatMap(destination.find)?.changedMembers(inverse)?.takeBack(inserted: object)
    stored?.toMany[inverse]?.takeBack(removed: object)
    // Of a one-to-one nobody else can lead there then.
    guard relationship.inverseIsLookedUp, let rivals = stored?.toMany[inverse]?.members else { return }
    for rival in rivals where rival !== object && rival.overlay?.changed.contains(slot) == true {
      takeBack(rival, relationship, inverse)
    }
  }

  /// Puts one to-one back to what its row says.
  private func takeBack(_ object: ManagedObject, _ relationship: RelationshipMapping, _ inverse: Int) {
    guard let overlay = object.overlay else { return }
    let slot = relationship.slot
    index.wake(object)
    takeBackMember(object, relationship, inverse)
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
