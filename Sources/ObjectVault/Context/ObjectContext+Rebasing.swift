// Gives changed objects the rows that the store has by now, as the new base of their changes.

internal import CipherSQLite

/// The changes of objects that can be undone if the save fails for which they were made.
struct Rebasing {
  private var steps: [() -> Void] = []
  private var copied: Set<ObjectIdentifier> = []

  /// Restores the members of a to-many on undo, as they are at the first call.
  mutating func keep(_ state: ToManyState) {
    guard copied.insert(ObjectIdentifier(state)).inserted else { return }
    let copy = state.copy()
    onUndo { state.restore(copy) }
  }

  mutating func onUndo(_ step: @escaping () -> Void) { steps.append(step) }

  /// Undoes the changes, the last one first.
  func undo() { for step in steps.reversed() { step() } }
}

extension ObjectContext {
  /// Settles a conflict of one object.
  func rebase(
    _ found: ConflictingObject, keeping resolution: ConflictResolution, recording changes: inout Rebasing
  ) throws {
    let (object, entity) = (found.object, found.entity)
    let given = try values(resolution, of: entity)
    let keepsMine =
      switch resolution {
      case .mine, .onlyMine: true
      case .theirs, .onlyTheirs, .values: false
      }
    guard let stored = found.stored else {
      if keepsMine || given != nil { return revive(object, entity, with: given ?? [:], recording: &changes) }
      return loseChanges(object, entity, recording: &changes)
    }
    if object.state == .deleted {
      if keepsMine {
        restoreOnUndo(object, recording: &changes)
        return take(stored, for: object)
      }
      keep(object, recording: &changes)
      guard let given else { return }
      return rebase(object, entity, onto: stored, writing: given, recording: &changes)
    }
    guard let overlay = object.overlay else { return }
    var writing = given ?? [:]
    for slot in entity.storedSlots where given == nil {
      let mine = overlay.changed.contains(slot) ? overlay[slot] : nil
      let former = object.packedCell(slot).flatMap { $0.isAbsent ? nil : $0.value }
      // A lazy attribute may have been written without being read. Another value is then theirs.
      let isTheirs = (former ?? mine).map { !stored.value(slot).isStored(as: $0) } ?? false
      let kept: SQLValue? =
        switch resolution {
        case .mine: mine
        case .theirs: isTheirs ? nil : mine
        case .onlyMine: mine ?? former
        case .onlyTheirs, .values: nil
        }
      if let kept, overlay.refused?[slot] != nil || !stored.value(slot).isStored(as: kept) {
        writing[slot] = kept
      }
    }
    rebase(object, entity, onto: stored, writing: writing, recording: &changes)
  }

  /// Returns the values of a resolution by slot; nil if it has none.
  private func values(_ resolution: ConflictResolution, of entity: EntityMapping) throws
    -> [Int: SQLValue]?
  {
    guard case .values(let values) = resolution else { return nil }
    var found: [Int: SQLValue] = [:]
    for (name, value) in values {
      guard let slot = entity.slot(named: name), entity.storedSlots.contains(slot) else {
        throw StoreError.noProperty(
          entity: entity.name, property: name,
          similar: nearest(name, among: entity.storedSlots.map { entity.slots[$0].name }))
      }
      do {
        if let attribute = entity.slots[slot].attribute {
          found[slot] = try attribute.type.stored(value)
        } else if value.isNull || value.int64 != nil {
          found[slot] = value
        } else {
          throw UnstorableValue(description: "a to-one is the id of an object")
        }
      } catch let error as UnstorableValue {
        throw StoreError.propertyMisused(
          entity: entity.name, property: name, reason: "cannot be stored: \(error)")
      }
    }
    return found
  }

  /// Gives an object another row, and the values that it differs in.
  func rebase(
    _ object: ManagedObject, _ entity: EntityMapping, onto stored: StoredRow, writing: [Int: SQLValue],
    recording changes: inout Rebasing
  ) {
    restoreOnUndo(object, recording: &changes)
    for relationship in entity.relationships where !relationship.hasMembers {
      let slot = relationship.slot
      moveMember(
        object, of: relationship, to: (writing[slot] ?? stored.value(slot)).int64, recording: &changes)
    }
    let refused = object.overlay?.refused?.filter { writing[$0.key] != nil }
    index.wake(object)
    take(stored, for: object)
    object.state = .loaded
    guard !writing.isEmpty else {
      if object.isRegistered, object.overlay != nil { pending.didRefresh() }
      return object.overlay = nil
    }
    let overlay = Overlay(slotCount: entity.slotCount, run: run)
    for (slot, value) in writing {
      overlay[slot] = value
      overlay.changed.insert(slot)
    }
    if refused?.isEmpty == false { overlay.refused = refused }
    overlay.isObserved = recordsChanges
    let wasClean = object.overlay == nil
    object.overlay = overlay
    if wasClean { didWrite(object, isFirst: true) }
  }

  // Safe: the object retains the page of its row.
  private func take(_ stored: StoredRow, for object: ManagedObject) {
    unsafe object.row = unsafe stored.cells
    (object.page, object.rowVersion, object.isPartial) = (stored.page, stored.version, false)
  }

  /// Makes an object new again, because its row was deleted elsewhere: the save inserts it with its id.
  private func revive(
    _ object: ManagedObject, _ entity: EntityMapping, with given: [Int: SQLValue],
    recording changes: inout Rebasing
  ) {
    let overlay = Overlay(slotCount: entity.slotCount, changed: entity.allStored, run: run)
    for slot in entity.storedSlots {
      let former = object.packedCell(slot).flatMap { $0.isAbsent ? nil : $0.value } ?? .null
      let mine = object.overlay.flatMap { $0.changed.contains(slot) ? $0[slot] : nil }
      overlay[slot] = given[slot] ?? mine ?? former
    }
    overlay.refused = object.overlay?.refused
    overlay.isObserved = recordsChanges
    restoreOnUndo(object, recording: &changes)
    index.wake(object)
    (object.overlay, object.state, object.isPartial) = (overlay, .inserted, false)
    object.dropRow()
    object.toMany.forEach { state in
      // Its rows were deleted, or refer to it no more.
      guard !state.isChanged else { return }
      changes.keep(state)
      state.forget()
    }
    pending.didInsert(object)
  }

  /// Discards the changes of an object whose row was deleted elsewhere.
  private func loseChanges(
    _ object: ManagedObject, _ entity: EntityMapping, recording changes: inout Rebasing
  ) {
    restoreOnUndo(object, recording: &changes)
    for relationship in entity.relationships where !relationship.hasMembers {
      moveMember(object, of: relationship, to: nil, recording: &changes)
    }
    index.wake(object)
    pending.didRefresh()
    (object.overlay, object.state) = (nil, .invalid)
  }

  /// Takes back the deletion of an object; its row is read again when it is next needed.
  private func keep(_ object: ManagedObject, recording changes: inout Rebasing) {
    // Undone after the object has its row again.
    changes.onUndo { [self] in
      deletions.restart()
      pending.didDelete(object)
      object.leaveRelationships()
    }
    restoreOnUndo(object, recording: &changes)
    object.state = .loaded
    object.rejoinRelationships(restoresOrders: false)
    revertReferences(of: object)
    forget(object)
    deletions.restart()
  }

  /// Restores the row, the changes and the state of an object if the save fails.
  private func restoreOnUndo(_ object: ManagedObject, recording changes: inout Rebasing) {
    let (state, overlay, page, version) = (object.state, object.overlay, object.page, object.rowVersion)
    let isPartial = object.isPartial
    let cells = unsafe object.row
    observers?.didChange(object)
    changes.onUndo { [self] in
      observers?.didChange(object)
      index.wake(object)
      if object.isRegistered, overlay != nil, object.overlay == nil { pending.didChangeAgain() }
      if object.isRegistered, overlay == nil, object.overlay != nil { pending.didRefresh() }
      unsafe object.row = unsafe cells
      (object.page, object.rowVersion, object.isPartial) = (page, version, isPartial)
      (object.state, object.overlay) = (state, overlay)
    }
  }

  /// Moves an object from the members of the target that its to-one has now to those of another one.
  private func moveMember(
    _ object: ManagedObject, of relationship: RelationshipMapping, to new: Int64?,
    recording changes: inout Rebasing
  ) {
    guard let inverse = relationship.inverseSlot else { return }
    let map = maps[relationship.destination.index]
    let former = object.packedCell(relationship.slot)?.int64
    let written = object.overlay.flatMap { overlay in
      overlay.changed.contains(relationship.slot) ? overlay[relationship.slot] : nil
    }
    let shown = written.map(\.int64) ?? former
    guard shown != new else { return }
    let targets = Set([shown, former, new].compactMap { $0 }.compactMap(map.find))
    for target in targets {
      guard let state = target.changedMembers(inverse) else { continue }
      changes.keep(state)
      observers?.didChange(target)
      if target.rowID == shown { state.takeBack(inserted: object) }
      if target.rowID == former { state.takeBack(removed: object) }
      if target.rowID == new { state.adopt(member: object) } else { state.leave(object) }
    }
  }
}
