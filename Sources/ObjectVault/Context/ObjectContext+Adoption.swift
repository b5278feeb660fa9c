// After the commit: memory is made to agree with what was written.

internal import CipherSQLite

extension ObjectContext {
  /// Makes memory agree with what was written.
  func adopt(_ plan: SavePlan) {
    for (object, overlay) in plan.released { object.overlay = overlay }
    for (entity, ids) in plan.ids.ranges { maps[entity.index].highest = ids.last }
    adoptRows(plan)
    pending.settleMembers()
    forgetReleased(plan.deletion)
    forgetDeleted(plan)
    // Those that were refreshed are not among the updated ones of the plan.
    for object in pending.updated where object.overlay == nil { object.isRegistered = false }
    changePending { $0.clear() }
  }

  // MARK: Rows

  private func adoptRows(_ plan: SavePlan) {
    var packer = RowPacker(
      firstPageBytes: plan.updated.contains { $0.objects.count > 8 } ? 65_536 : 512, pageBytes: 65_536)
    for (entity, objects) in plan.inserted {
      let map = maps[entity.index]
      objects.forEachLent { object in
        adopt(object, entity, plan, version: RowVersions.first, &packer)
        settle(object, map, plan)
      }
    }
    for (entity, objects) in plan.updated {
      // Of what the last object changed, mostly the same as the next one.
      var (changed, slots): (SlotSet, [Int]) = (SlotSet(), [])
      objects.forEachLent { object in
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

  /// Gives an object its final id.
  private func settle(_ object: ManagedObject, _ map: IdentityMap, _ plan: SavePlan) {
    map.remove(object.rowID, object)
    object.rowID = plan.ids.final(object.rowID)
    map.insert(object, for: object.rowID)
    object.state = .loaded
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
    for relationship in entity.relationships where !relationship.hasMembers {
      guard let inverse = relationship.inverseSlot, !relationship.inverseHasColumn,
        case .integer(let id) = plan.resolved(object.storedValue(relationship.slot) ?? .null),
        let state = maps[relationship.destination.index].find(id)?.toMany[inverse]
      else { continue }
      state.leave(object)
    }
  }
}
