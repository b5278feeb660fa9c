// After the commit: memory is made to agree with what was written.

internal import CipherSQLite

extension ObjectContext {
  /// Makes memory agree with what was written.
  func adopt(_ plan: SavePlan) {
    if !plan.extent.isPartial || !plan.deletion.isEmpty { pending.wakeAll() }
    let givenUp = pending.resting.hasWanting || !plan.wanting.isEmpty ? rowsGivenUp(plan) : []
    for (object, overlay) in plan.released { object.overlay = overlay }
    for (entity, ids) in plan.ids.ranges { maps[entity.index].highest = ids.last }
    let written =
      plan.leftOut.isEmpty
      ? plan.inserted : plan.inserted.map { ($0, $1.filter { !plan.leftOut.contains($0) }) }
    // Where nothing stays pending, each gets its id with its row: a pass over all objects waits for the memory of each.
    let isComplete =
      plan.leftOut.isEmpty && plan.heldBack.isEmpty && (plan.extent.deletes || pending.deleted.isEmpty)
    adoptRows(written, plan, settling: isComplete)
    // To-ones of what stays pending may hold temporary ids: they are resolved while all objects still have theirs.
    for object in plan.leftOut { resolveReferences(of: object, plan) }
    for object in plan.heldBack.keys { resolveReferences(of: object, plan) }
    if !plan.extent.deletes { for object in pending.deleted { resolveReferences(of: object, plan) } }
    for object in plan.leftOut { if let map = object.map { settle(object, map, plan) } }
    if !isComplete {
      for (entity, objects) in written {
        let map = maps[entity.index]
        for object in objects { settleNew(object, map, plan) }
      }
    }
    let unsaved = plan.leftOut.union(plan.heldBack.lazy.filter { Self.holdsReference($0, $1) }.map(\.key))
    changePending { $0.settleMembers(but: unsaved) }
    forgetReleased(plan.deletion)
    forgetDeleted(plan)
    if plan.extent.isPartial { flushed?.append(contentsOf: written.flatMap(\.objects)) }
    let (inserted, updated) = (pending.awake.inserted, pending.awake.updated)
    // Those that were refreshed are not among the updated ones any more.
    for object in updated where object.overlay == nil { object.isRegistered = false }
    let inserts = plan.leftOut.isEmpty ? [] : inserted.filter { $0.state == .inserted }
    let updates =
      plan.heldBack.isEmpty ? [] : (updated + plan.newlyChanged).filter { plan.heldBack[$0] != nil }
    changePending {
      $0.keep(
        inserted: inserts, updated: updates, deleted: plan.extent.deletes ? [] : $0.deleted,
        resting: plan.extent.isPartial ? plan.resting : [:])
      $0.wakeWanting(givenUp)
      if !plan.deletion.isEmpty, !plan.wanting.isEmpty { $0.lookAgain() }
    }
  }

  /// The rows that have other unique values than before.
  private func rowsGivenUp(_ plan: SavePlan) -> [RowPlace] {
    plan.updated.flatMap { entity, objects in
      objects.filter { !plan.givenUp(entity, $0).isEmpty }.map {
        RowPlace(table: entity.root.index, id: $0.rowID)
      }
    }
  }

  // MARK: Rows

  private func adoptRows(_ inserted: [EntityObjects], _ plan: SavePlan, settling: Bool) {
    var packer = RowPacker(
      firstPageBytes: plan.updated.contains { $0.objects.count > 8 } ? 65_536 : 512, pageBytes: 65_536)
    for (entity, objects) in inserted {
      let map = maps[entity.index]
      objects.forEachLent { object in
        adopt(object, entity, plan, version: RowVersions.first, &packer)
        if settling { settleNew(object, map, plan) }
      }
    }
    for (entity, objects) in plan.updated {
      // Of what the last object changed, mostly the same as the next one.
      var (changed, slots): (SlotSet, [Int]) = (SlotSet(), [])
      objects.forEachLent { object in
        if let held = plan.held(object) { return adopt(object, entity, plan, but: held, &packer) }
        let isDone = object.withOverlay { overlay in
          if overlay.changed != changed {
            changed = overlay.changed
            slots = entity.storedSlots.filter(changed.contains)
          }
          resolve(overlay, entity, plan)
          return object.putIntoRow(overlay, slots)
        }
        let version = RowVersions.next(object.rowVersion)
        guard isDone == true else { return adopt(object, entity, plan, version: version, &packer) }
        object.overlay = nil
        object.rowVersion = version
        object.isRegistered = false
      }
    }
  }

  /// References to what was new lead to its final id.
  @inline(__always) private func resolve(_ overlay: Overlay, _ entity: EntityMapping, _ plan: SavePlan) {
    guard entity.hasToOne else { return }
    for slot in entity.storedSlots where entity.isToOne[slot] {
      if let id = overlay.int64(slot), id < 0 { overlay[slot] = .integer(plan.ids.final(id)) }
    }
  }

  private func adopt(
    _ object: ManagedObject, _ entity: EntityMapping, _ plan: SavePlan, version: Int64,
    _ packer: inout RowPacker
  ) {
    let row = object.withOverlay { overlay in
      // The overlay is given up with this.
      resolve(overlay, entity, plan)
      // What was written to a new object is its row. That of another is put together out of both, beside those of the same
      // save: where the changes lie many others may have come and gone.
      return !object.hasRow
        ? overlay.values.packed
        : packer.pack(slotCount: entity.slotCount) {
          overlay.changed.contains($0) ? overlay.values.cell($0) : object.rowCell($0)
        }
    }
    guard let row else { return }
    unsafe object.row = unsafe row.cells
    object.page = row.page
    object.overlay = nil
    object.rowVersion = version
    object.isRegistered = false
  }

  /// The same for an object of which some properties stay pending.
  private func adopt(
    _ object: ManagedObject, _ entity: EntityMapping, _ plan: SavePlan, but held: SlotSet,
    _ packer: inout RowPacker
  ) {
    guard let overlay = object.overlay else { return }
    let written = overlay.changed.subtracting(held)
    let whole = Overlay(slotCount: entity.slots.count, changed: written, run: overlay.run)
    for slot in entity.storedSlots where written.contains(slot) { whole[slot] = overlay[slot] }
    object.overlay = whole
    adopt(
      object, entity, plan,
      version: written.isEmpty ? object.rowVersion : RowVersions.next(object.rowVersion), &packer)
    overlay.changed = held
    object.overlay = overlay
    object.isRegistered = true
  }

  private func settleNew(_ object: ManagedObject, _ map: IdentityMap, _ plan: SavePlan) {
    settle(object, map, plan)
    object.state = .loaded
  }

  /// Gives an object its final id.
  private func settle(_ object: ManagedObject, _ map: IdentityMap, _ plan: SavePlan) {
    map.remove(object.rowID, object)
    object.rowID = plan.ids.final(object.rowID)
    map.insert(object, for: object.rowID)
  }

  /// What stays pending refers to what was saved by its final id from now on.
  private func resolveReferences(of object: ManagedObject, _ plan: SavePlan) {
    guard let overlay = object.overlay, let entity = object.entity, entity.hasToOne else { return }
    for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
      overlay[slot] = plan.resolved(overlay[slot])
    }
  }

  private static func holdsReference(_ object: ManagedObject, _ slots: SlotSet) -> Bool {
    guard let entity = object.entity else { return false }
    return entity.storedSlots.contains { entity.isToOne[$0] && slots.contains($0) }
  }

  // MARK: Deletions

  /// Objects of rows that lost a reference by SQL are fetched again when they are next needed: what they hold,
  /// and their version, is older than the row.
  private func forgetReleased(_ deletion: PlannedDeletion) {
    for (entity, slot, ids) in deletion.released {
      for object in ids.compactMap(maps[entity].find) where object.state == .loaded {
        if let overlay = object.overlay {
          object.rowVersion = RowVersions.next(object.rowVersion)
          guard maps[entity].entity.includes(object.entity), !overlay.changed.contains(slot) else { continue }
          overlay[slot] = .null
          overlay.changed.insert(slot)
        } else {
          forget(object)
        }
      }
    }
  }

  /// Objects of deleted rows become invalid and leave the sets they are in.
  private func forgetDeleted(_ plan: SavePlan) {
    guard !plan.deletion.isEmpty else { return }
    for entity in core.mapping.entities {
      for object in plan.deletion.going(entity).compactMap({ maps[entity.index].find($0) }) {
        leaveSets(object, entity, plan)
        discard(object)
      }
    }
  }

  /// Takes an object that is going out of the sets of those it refers to. Whom it does not know to have it looks for
  /// itself, when its set is read after a deletion: by a link, or where its row was never fetched.
  private func leaveSets(_ object: ManagedObject, _ entity: EntityMapping, _ plan: SavePlan) {
    let isKnown = object.hasRow || object.overlay != nil
    if entity.isInJoins || (!isKnown && entity.hasToOne) { deletions.append(object) }
    guard isKnown else { return }
    for relationship in entity.relationships where !relationship.isToMany {
      guard let inverse = relationship.inverseSlot, relationship.inverseIsToMany,
        case .integer(let id) = plan.resolved(object.storedValue(relationship.slot) ?? .null),
        let state = maps[relationship.destination.index].find(id)?.toMany[inverse]
      else { continue }
      state.leave(object)
    }
  }
}
