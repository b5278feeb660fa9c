// Taking back one end of a relationship: the other end goes with it, or the next save would write half.

internal import CipherSQLite

extension ObjectContext {
  /// Puts the changed to-ones of an object back to what its row says, and whoever is at the other end with them.
  func takeBackReferences(of object: ManagedObject) {
    guard let entity = object.entity, entity.hasToOne, let overlay = object.overlay, object.hasRow else {
      return
    }
    for relationship in entity.relationships
    where !relationship.isToMany && overlay.changed.contains(relationship.slot) {
      guard let inverse = relationship.inverseSlot else { continue }
      if relationship.inverseIsToMany {
        let destination = maps[relationship.destination.index]
        let (new, old) = (overlay[relationship.slot].int64, storedTarget(object, relationship.slot))
        new.flatMap(destination.find)?.changedMembers(inverse)?.takeBack(inserted: object)
        old.flatMap(destination.find)?.toMany[inverse]?.takeBack(removed: object)
      } else {
        takeBackPartners(of: object, relationship, inverse)
      }
    }
  }

  /// One-to-ones change in chains: who got a partner took it from somebody, who has another one now. All that hangs
  /// together goes back.
  private func takeBackPartners(of object: ManagedObject, _ relationship: RelationshipMapping, _ inverse: Int)
  {
    var waiting = [(object: object, isOwner: true)]
    while let (object, isOwner) = waiting.popLast() {
      let (slot, destination) =
        isOwner ? (relationship.slot, relationship.destination) : (inverse, relationship.owner)
      guard let overlay = object.overlay, overlay.changed.contains(slot) else { continue }
      index.wake(object)
      let stored = storedTarget(object, slot)
      for id in [overlay[slot].int64, stored] {
        if let partner = id.flatMap(maps[destination.index].find) { waiting.append((partner, !isOwner)) }
      }
      // Whoever is met again leads to nobody then.
      overlay[slot] = stored.map { .integer($0) } ?? .null
      overlay.refused?[slot] = nil
      guard object.hasRow else { continue }
      overlay.changed.remove(slot)
      if overlay.changed.isEmpty {
        if object.isRegistered { pending.didRefresh() }
        object.overlay = nil
      }
    }
  }

  private func storedTarget(_ object: ManagedObject, _ slot: Int) -> Int64? {
    object.rowValue(slot)?.int64
  }
}
