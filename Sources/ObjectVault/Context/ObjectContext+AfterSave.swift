// Updates the objects in memory after a save was written.

internal import CipherSQLite

extension ObjectContext {
  /// Updates the objects in memory to the rows that a save has written.
  func adopt(_ plan: SavePlan) {
    if let observers {
      for object in insertedObjects + updatedObjects {
        // A to-one may get the final id of its target.
        observers.didChange(object, isOnlyState: object.entity?.hasToOne != true)
      }
    }
    for (object, overlay) in plan.released { object.overlay = overlay }
    for (entity, ids) in plan.ids.ranges { maps[entity.index].highest = ids.last }
    adoptRows(plan)
    pending.settleMembers()
    updateReleased(plan.deletion)
    forgetDeleted(plan)
    // Refreshed objects are not among the plan's updated ones.
    for object in pending.updated where object.overlay == nil { object.isRegistered = false }
    changePending { $0.clear() }
  }

  // MARK: Rows

  private func adoptRows(_ plan: SavePlan) {
    var packer = RowPacker(
      firstPageBytes: plan.updated.contains { $0.objects.count > 8 } ? 65_536 : 512, pageBytes: 65_536)
    for (entity, objects) in plan.inserted {
      let map = maps[entity.index]
      objects.forEachUnretained { object in
        let version = plan.revived.isEmpty ? nil : plan.revived[object]
        adopt(object, of: entity, by: plan, version: version ?? RowVersions.first, packer: &packer)
        settle(object, in: map, by: plan)
      }
    }
    for (entity, objects) in plan.updated {
      // The slots that the last object changed: mostly the next object changed the same ones.
      var (changed, slots): (SlotSet, [Int]) = (SlotSet(), [])
      objects.forEachUnretained { object in
        let isDone = object.withOverlay { overlay in
          if overlay.changed != changed {
            changed = overlay.changed
            slots = entity.storedSlots.filter(changed.contains)
          }
          resolve(overlay, of: entity, by: plan)
          return object.putIntoRow(overlay, slots)
        }
        let version = RowVersions.next(object.rowVersion)
        guard isDone == true else {
          return adopt(object, of: entity, by: plan, version: version, packer: &packer)
        }
        object.overlay = nil
        object.rowVersion = version
        object.isRegistered = false
      }
    }
  }

  /// Replaces temporary ids in to-ones by the final ids.
  @inline(__always) private func resolve(_ overlay: Overlay, of entity: EntityMapping, by plan: SavePlan) {
    guard entity.hasToOne else { return }
    for slot in entity.storedSlots where entity.isToOne[slot] {
      if let id = overlay.int64(slot), id < 0 { overlay[slot] = .integer(plan.ids.final(id)) }
    }
  }

  private func adopt(
    _ object: ManagedObject, of entity: EntityMapping, by plan: SavePlan, version: Int64,
    packer: inout RowPacker
  ) {
    let row = object.withOverlay { overlay in
      // This changes the overlay, which is not needed afterwards.
      resolve(overlay, of: entity, by: plan)
      // The values of a new object become its row. The row of an updated object is packed from row and
      // overlay, next to the other rows of the save: the memory of the changed values may be fragmented.
      return !object.hasRow
        ? overlay.values.packed
        : packer.pack(slotCount: entity.slotCount) {
          overlay.changed.contains($0) ? overlay.values.cell($0) : object.packedCell($0)
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
  private func settle(_ object: ManagedObject, in map: IdentityMap, by plan: SavePlan) {
    map.remove(object.rowID, object)
    let temporary = object.rowID
    object.rowID = plan.ids.final(temporary)
    if temporary < 0 { settledIDs.add(object.rowID, for: temporary) }
    map.insert(object, for: object.rowID)
    object.state = .loaded
  }

  // MARK: Deletions

  /// Updates the objects whose to-one the save has set to nil by SQL and not in memory: their rows in
  /// memory are outdated. Objects without changes become faults. The others get the new version, and nil
  /// as the to-one's value unless the to-one is among their changes.
  private func updateReleased(_ deletion: PlannedDeletion) {
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

  /// Makes the objects of deleted rows invalid, and removes them from the member sets that they are in.
  private func forgetDeleted(_ plan: SavePlan) {
    guard !plan.deletion.isEmpty else { return }
    for entity in core.mapping.entities {
      for object in plan.deletion.going(entity).compactMap({ maps[entity.index].find($0) }) {
        leaveMemberSets(object, of: entity, by: plan)
        discard(object)
      }
    }
  }

  /// Removes a deleted object from the member sets of the objects that it refers to. The sets of
  /// many-to-manys cannot be found from the object, nor can any set if the object's row was never
  /// fetched. These sets remove the object at their next read, by the deletion log.
  private func leaveMemberSets(_ object: ManagedObject, of entity: EntityMapping, by plan: SavePlan) {
    let isKnown = object.hasRow || object.overlay != nil
    if entity.isInManyToMany || (!isKnown && entity.hasToOne) { deletions.append(object) }
    guard isKnown else { return }
    for relationship in entity.relationships where !relationship.hasMembers {
      guard let inverse = relationship.inverseSlot, !relationship.inverseHasColumn,
        case .integer(let id) = plan.resolved(object.storedValue(relationship.slot) ?? .null),
        let owner = maps[relationship.destination.index].find(id), let state = owner.toMany[inverse]
      else { continue }
      state.leave(object)
      // A deletion by an object was told before.
      if object.state != .deleted { didRefresh(owner) }
    }
  }
}
