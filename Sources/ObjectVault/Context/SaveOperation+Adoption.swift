// After the commit: memory is made to agree with what was written.

internal import CipherSQLite

extension SaveOperation {
  /// Makes memory agree with what was written.
  func finish() {
    let count = (inserted + updated).reduce(0) { $0 + $1.objects.count }
    var packer = RowPacker(firstPageBytes: count > 8 ? 65_536 : 512)
    // To-ones of saved objects may hold temporary ids: they are resolved while all objects still have theirs.
    if !leftOut.isEmpty {
      inserted = inserted.map { entity, objects in (entity, objects.filter { !leftOut.contains($0) }) }
    }
    for (entity, objects) in inserted {
      for object in objects { adopt(object, entity, version: RowVersions.first, &packer) }
    }
    for (entity, objects) in updated {
      for object in objects {
        if let slots = held(object) {
          adopt(object, entity, but: slots, &packer)
        } else {
          adopt(object, entity, version: RowVersions.next(object.rowVersion), &packer)
        }
      }
    }
    for object in leftOut { resolveReferences(of: object) }
    for object in heldBack.keys { resolveReferences(of: object) }
    if !deletes { for object in context.deleted { resolveReferences(of: object) } }
    for object in leftOut { if let map = object.map { settle(object, map) } }
    for (entity, objects) in inserted {
      let map = context.maps[entity.index]
      for object in objects {
        settle(object, map)
        object.state = .loaded
      }
    }
    let unsaved = leftOut.union(heldBack.lazy.filter { Self.holdsReference($0, $1) }.map(\.key))
    settleMembers(but: unsaved)
    forgetReleased()
    for object in doomed { context.discard(object) }
    forgetVictims()
    if isPartial { context.flushed?.append(contentsOf: inserted.flatMap(\.objects)) }
    // Those that were refreshed are not among the updated ones any more.
    for object in context.updated where object.overlay == nil { object.isRegistered = false }
    context.keepPending(
      inserted: leftOut.isEmpty ? [] : context.inserted.filter { $0.state == .inserted },
      updated: heldBack.isEmpty ? [] : context.updated.filter { heldBack[$0] != nil },
      deleted: deletes ? [] : context.deleted)
  }

  /// The members of to-manys are as the store has them, but for those that were left out. Whom a flush has looked at
  /// only waits for these: the next one looks at nobody twice, however many there are.
  private func settleMembers(but unsaved: Set<ManagedObject>) {
    for object in context.waiting.keys.filter({ !unsaved.contains($0) }) {
      context.touched.formUnion(context.waiting.removeValue(forKey: object) ?? [])
    }
    for object in context.touched {
      for state in object.toMany.values {
        state.didSave(but: unsaved)
        for other in state.added { context.waiting[other, default: []].insert(object) }
        for other in state.removed { context.waiting[other, default: []].insert(object) }
      }
    }
  }

  private static func holdsReference(_ object: ManagedObject, _ slots: SlotSet) -> Bool {
    guard let entity = object.entity else { return false }
    return entity.storedSlots.contains { entity.isToOne[$0] && slots.contains($0) }
  }

  /// Gives an object its final id.
  private func settle(_ object: ManagedObject, _ map: IdentityMap) {
    map.remove(object.rowID, object)
    object.rowID = finalID(object.rowID)
    map.insert(object, for: object.rowID)
  }

  /// What stays pending refers to what was saved by its final id from now on.
  private func resolveReferences(of object: ManagedObject) {
    guard let overlay = object.overlay, let entity = object.entity, entity.hasToOne else { return }
    for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
      overlay.values[slot] = resolved(overlay.values[slot])
    }
  }

  private func adopt(
    _ object: ManagedObject, _ entity: EntityMapping, version: Int64, _ packer: inout RowPacker
  ) {
    guard let overlay = object.overlay else { return }
    // The overlay is given up with this: it becomes the whole row.
    if object.row != nil || entity.hasToOne {
      for slot in entity.storedSlots {
        if !overlay.changed.contains(slot), let row = object.row {
          overlay.values[slot] = RowCell(row: row, slot: slot).value
        } else if entity.isToOne[slot] {
          overlay.values[slot] = resolved(overlay.values[slot])
        }
      }
    }
    object.row = packer.pack(overlay.values)
    object.page = packer.page
    object.overlay = nil
    object.rowVersion = version
    object.isRegistered = false
  }

  /// The same for an object of which some properties stay pending.
  private func adopt(
    _ object: ManagedObject, _ entity: EntityMapping, but held: SlotSet, _ packer: inout RowPacker
  ) {
    guard let overlay = object.overlay else { return }
    let written = overlay.changed.subtracting(held)
    let whole = Overlay(slotCount: entity.slots.count, changed: written, run: overlay.run)
    for slot in entity.storedSlots where written.contains(slot) { whole.values[slot] = overlay.values[slot] }
    object.overlay = whole
    adopt(
      object, entity, version: written.isEmpty ? object.rowVersion : RowVersions.next(object.rowVersion),
      &packer)
    overlay.changed = held
    object.overlay = overlay
    object.isRegistered = true
  }
}
