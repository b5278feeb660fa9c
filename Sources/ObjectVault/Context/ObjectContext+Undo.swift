// Records changes for the undo manager of a context, and changes them back.

internal import CipherSQLite

extension ObjectContext {
  /// Records the context's changes, to undo and redo them; nil by default. Changes that were made before it
  /// is set are not recorded.
  ///
  /// Setting another one, or nil, forgets what could be undone. See <doc:undo>.
  public var undoManager: ContextUndoManager? {
    get { undoes }
    set {
      if let undoes, undoes !== newValue {
        undoes.removeAll()
        undoes.context = nil
      }
      // An undo manager belongs to one context: it leaves the former one, and starts anew here.
      if let newValue, newValue !== undoes {
        newValue.context?.undoManager = nil
        newValue.removeAll()
      }
      undoes = newValue
      newValue?.context = self
      observeOverlays()
    }
  }

  /// Changes back the latest group of changes: see ``ContextUndoManager``. Without an undo manager, or with
  /// nothing to undo, it does nothing.
  ///
  /// The changes are pending afterwards, also if the group was saved before. Takes about as long as the
  /// changes themselves. Each undo of a group with members of an ordered to-many takes time in proportion to
  /// all members: delete many of them in one group.
  /// - Parameter overwriting: Whether values are changed back that other writers have changed since. They
  ///   are seen if the object was fetched or refreshed again.
  /// - Throws: ``StoreError/undoRefused(reason:conflicts:)`` if an object of the group no longer exists, if
  ///   other writers have changed its properties and are not to be overwritten, or inside of a group; nothing
  ///   is undone then. ``StoreError/readOnlyContext``; ``SQLError`` if a row cannot be read.
  public func undo(overwriting: Bool = false) throws { try reverse(redoing: false, overwriting) }

  /// Makes the group of changes again that was undone last, as ``undo(overwriting:)`` does.
  /// - Parameter overwriting: Whether values are changed that other writers have changed since.
  /// - Throws: As ``undo(overwriting:)``.
  public func redo(overwriting: Bool = false) throws { try reverse(redoing: true, overwriting) }

  private func reverse(redoing: Bool, _ overwriting: Bool) throws {
    guard let undoes else { return }
    try notifyingObservers { try reverse(undoes, redoing: redoing, overwriting) }
  }

  private func reverse(_ undoes: ContextUndoManager, redoing: Bool, _ overwriting: Bool) throws {
    if let refusal { throw refusal }
    guard !undoes.isInGroup, hookRun == nil else {
      throw StoreError.undoRefused(
        reason: "Inside of a group of changes and of a hook, nothing can be undone", conflicts: [])
    }
    guard let group = undoes.take(redoing: redoing) else { return }
    do {
      try check(group, overwriting)
    } catch {
      undoes.putBack(group, redoing: redoing)
      throw error
    }
    undoes.reversing(group, redoing: redoing) { reverse(group) }
  }

  /// Checks that the objects of a group can be changed back.
  private func check(_ group: UndoGroup, _ overwriting: Bool) throws {
    let returning = Set(group.removed.map(\.object))
    var gone: [ManagedObject] = []
    for object in Set(group.values.map(\.object) + group.links.flatMap { [$0.owner, $0.member] }) {
      if returning.contains(object) { continue }
      if object.state == .fault { do { try load(object) } catch StoreError.objectGone {} }
      if object.context !== self || object.state == .invalid || object.state == .deleted {
        gone.append(object)
      }
    }
    guard gone.isEmpty else {
      let names = gone.prefix(8).map { "\($0.nameOfEntity) \($0.rowID)" }.sorted().joined(separator: ", ")
      throw StoreError.undoRefused(
        reason: "\(names) no longer \(gone.count == 1 ? "exists" : "exist")", conflicts: [])
    }
    guard !overwriting else { return }
    var names: [ManagedObject: [String]] = [:]
    for value in group.values where !returning.contains(value.object) {
      if value.latest?.isPresent(in: value.object, value.slot) == false,
        !value.former.isPresent(in: value.object, value.slot),
        !group.hookPlaces.contains(UndoGroup.Place(value.object, value.slot))
      {
        names[value.object, default: []].append(value.object.entity?.slots[value.slot].name ?? "")
      }
    }
    guard !names.isEmpty else { return }
    let conflicts = names.map { object, properties in
      Conflict(
        entity: object.nameOfEntity, rowID: object.rowID, fetchedVersion: object.rowVersion,
        storedVersion: object.rowVersion, properties: properties.sorted())
    }.sorted { ($0.entity, $0.rowID) < ($1.entity, $1.rowID) }
    throw StoreError.undoRefused(
      reason:
        "These values are no longer those that the change left: another writer or a refresh has changed "
        + "them", conflicts: conflicts)
  }

  /// Changes a group back. All of it is recorded, in the group of the opposite direction.
  private func reverse(_ group: UndoGroup) {
    // Objects first, so that relationships can refer to them.
    if !group.removed.isEmpty { changePending { $0.dropForgotten() } }
    for removed in group.removed { bringBack(removed) }
    if !group.removed.isEmpty {
      deletions.restart()
      changePending { $0.dropKept() }
    }
    for removed in group.removed {
      for (slot, value) in removed.values { write(value, to: removed.object, slot, onlyToOnes: true) }
      for link in removed.links where isUsable(link.owner) && isUsable(link.member) {
        // A set in memory may still have an object that was deleted.
        if removed.object.state == .inserted, link.member === removed.object {
          link.owner.toMany[link.relationship.slot]?.leave(link.member)
        }
        link.owner.addMember(link.member, link.relationship)
      }
    }
    for value in group.values.reversed() { write(value.former, to: value.object, value.slot) }
    for link in group.links.reversed() where isUsable(link.owner) && isUsable(link.member) {
      if link.isAdded {
        link.owner.disconnect(link.member, link.relationship)
      } else {
        link.owner.connect(link.member, link.relationship)
      }
    }
    for object in group.inserted.reversed() where isUsable(object) {
      // What its hook would change is part of the group.
      objectsBeingDeleted.insert(object)
      remove(object)
      objectsBeingDeleted.remove(object)
    }
    for order in group.orders where isUsable(order.owner) {
      willArrange(order.owner, order.slot)
      order.owner.members(order.slot).restore(
        order: order.members, isRearranged: order.isRearranged,
        isOfThisSave: order.saveCount == undoes?.saveCount)
      didTouchMembers(order.owner)
    }
    for object in Set(group.values.map(\.object) + group.removed.map(\.object)) { dropEqualChanges(object) }
  }

  private func isUsable(_ object: ManagedObject) -> Bool {
    object.context === self
      && (object.state == .inserted || object.state == .loaded || object.state == .fault)
  }

  private func write(
    _ value: FormerValue, to object: ManagedObject, _ slot: Int, onlyToOnes: Bool = false
  ) {
    guard isUsable(object), let entity = object.entity else { return }
    guard entity.isToOne[slot] else {
      if !onlyToOnes, case .stored(let stored) = value { object.setStored(stored, slot) }
      return
    }
    switch value {
    case .target(let target):
      if isUsable(target) {
        object.writeToOne(target, UInt16(slot))
      } else if target.state == .deleted, let relationship = entity.slots[slot].relationship {
        // The next undo takes the deletion back.
        object.refer(to: target, relationship)
      }
    case .stored(let stored):
      guard let id = stored.int64, id > 0, let destination = entity.slots[slot].relationship else {
        return object.writeToOne(nil, UInt16(slot))
      }
      if let target = target(of: destination, id, tells: false) { object.writeToOne(target, UInt16(slot)) }
    }
  }

  // MARK: Objects

  /// Makes a deleted object an object of the context again: with its row if the deletion was not saved,
  /// otherwise as a new object with its id. To-ones and links are set afterwards.
  private func bringBack(_ removed: RemovedObject) {
    let object = removed.object
    switch object.state {
    case .deleted:
      object.state = object.hasRow ? .loaded : .fault
      object.rejoinRelationships(restoresOrders: true)
      index.wake(object)
    case .invalid, .detached, .fault, .loaded, .inserted:
      guard object.map == nil || object.state == .invalid else { break }
      object.leaveMap()
      object.map = removed.map
      object.state = .inserted
      object.dropExtras()
      object.dropRow()
      (object.isPartial, object.isRegistered) = (false, false)
      if object.rowID <= 0 { object.rowID = pending.makeTemporaryID(table: removed.map.table) }
      let entity = removed.map.entity
      let overlay = Overlay(slotCount: entity.slotCount, changed: entity.allStored, run: run)
      for (slot, value) in removed.values {
        if case .stored(let stored) = value, !entity.isToOne[slot] { overlay[slot] = stored }
      }
      overlay.isObserved = true
      object.overlay = overlay
      removed.map.insert(object, for: object.rowID)
      pending.didInsert(object)
    }
    recordInsertion(of: object)
  }

  /// Drops the changes of an object that equal its row: after an undo it is as it was fetched.
  private func dropEqualChanges(_ object: ManagedObject) {
    guard object.state == .loaded, object.hasRow, let overlay = object.overlay, overlay.refused == nil,
      let entity = object.entity
    else { return }
    for slot in entity.storedSlots where overlay.changed.contains(slot) {
      guard let cell = object.packedCell(slot), !cell.isAbsent, cell.value.isStored(as: overlay[slot]) else {
        continue
      }
      overlay.changed.remove(slot)
    }
    if overlay.changed.isEmpty { discardPendingValues(of: object) }
  }

  /// Discards the pending values of an object, which equal its row.
  func discardPendingValues(of object: ManagedObject) {
    index.wake(object)
    if object.isRegistered { pending.didRefresh() }
    observers?.didChange(object, isOnlyState: true)
    object.overlay = nil
  }

  // MARK: Recording

  /// Records that an object was inserted.
  func recordInsertion(of object: ManagedObject) {
    observers?.didChange(object)
    undoes?.recorder?.didInsert(object)
    tellLogs { $0.didInsert(object) }
  }

  /// As ``oneUndo(_:)``, for objects.
  func undoable(_ body: () -> Void) { oneUndo(body) }

  /// Runs `body`, whose changes are one group of the undo manager, and of which observers are notified
  /// afterwards.
  func oneUndo<Result>(_ body: () throws -> Result) rethrows -> Result {
    try notifyingObservers {
      if let undoes { try undoes.call(body) } else { try body() }
    }
  }

  func willWrite(_ object: ManagedObject, _ slot: Int) {
    tellChange(of: object, slot)
    undoes?.recorder?.willWrite(object, slot) { formerValue(of: object, slot) }
  }

  func willArrange(_ owner: ManagedObject, _ slot: Int) {
    tellChange(of: owner, slot)
    recordOrder(of: owner, slot)
  }

  /// Records the order of the members of an ordered to-many.
  private func recordOrder(of owner: ManagedObject, _ slot: Int) {
    guard owner.entity?.slots[slot].relationship?.isOrdered == true else { return }
    undoes?.recorder?.willOrder(owner, slot) {
      let state = owner.loadedMembers(slot)
      guard let order = state.order else { return nil }
      return UndoGroup.Order(
        owner: owner, slot: slot, members: order.objects, isRearranged: state.isRearranged,
        saveCount: undoes?.saveCount ?? 0)
    }
  }

  /// Records an object that is about to be deleted, with what is needed to bring it back, and applies the
  /// delete rules of a saved object.
  /// - Returns: The objects that its delete rules delete.
  func recordRemoval(_ object: ManagedObject) -> [ManagedObject] {
    if object.state == .fault { fire(object) }
    guard object.state == .inserted || object.state == .loaded, let map = object.map else { return [] }
    let entity = map.entity
    undoes?.recorder?.willRemove(object) {
      RemovedObject(
        object: object, map: map,
        values: entity.storedSlots.compactMap { slot in formerValue(of: object, slot).map { (slot, $0) } },
        links: links(of: object, entity))
    }
    for relationship in entity.relationships {
      // The places of its members, and its places among the members of others.
      if relationship.isOrdered { recordOrder(of: object, relationship.slot) }
      guard let inverse = relationship.inverseSlot, relationship.inverseOrder != nil else { continue }
      for owner in object.related(by: relationship) { recordOrder(of: owner, inverse) }
    }
    for referrer in entity.danglingReferrers {
      for other in referrers(referrer, to: object) where isUsable(other) && other !== object {
        other.writeToOne(nil, UInt16(referrer.slot))
      }
    }
    return object.state == .inserted ? [] : applyDeleteRules(of: object)
  }

  /// Returns the links of an object, and those of others to it that it does not know itself.
  private func links(of object: ManagedObject, _ entity: EntityMapping) -> [UndoGroup.Link] {
    var found: [UndoGroup.Link] = []
    for relationship in entity.relationships where relationship.join != nil {
      let state = object.loadedMembers(relationship.slot)
      for member in state.order?.objects ?? Array(state.members ?? []) {
        found.append(.init(owner: object, member: member, relationship: relationship, isAdded: true))
      }
    }
    for relationship in core.mapping.relationships
    where relationship.inverseSlot == nil && relationship.destination.includes(entity) {
      guard let (table, isSource) = relationship.join, isSource else { continue }
      for owner in objects(
        relationship.owner,
        related: { related in
          try related.linked(table, isSource: false, of: RowIDSet([object.rowID])).map(\.other)
        })
      {
        if relationship.isOrdered { recordOrder(of: owner, relationship.slot) }
        found.append(.init(owner: owner, member: object, relationship: relationship, isAdded: true))
      }
    }
    return found
  }

  /// Returns the present value of a slot; nil if it could not be read.
  func formerValue(of object: ManagedObject, _ slot: Int) -> FormerValue? {
    guard let value = object.storedValue(slot) else { return nil }
    guard let id = value.int64, let relationship = object.entity?.slots[slot].relationship,
      let target = maps[relationship.destination.index].find(id)
    else { return .stored(value) }
    return .target(target)
  }

  /// Applies the delete rules of a saved object at once, so that the undo knows what they change.
  /// - Returns: The objects that they delete.
  private func applyDeleteRules(of object: ManagedObject) -> [ManagedObject] {
    guard let entity = object.entity else { return [] }
    var cascaded: [ManagedObject] = []
    for relationship in entity.relationships {
      let others =
        relationship.hasMembers
        ? Array(object.loadedMembers(relationship.slot).members ?? []) : object.related(by: relationship)
      switch relationship.deleteRule {
      case .cascade: cascaded += others.filter { $0.state != .deleted }
      case .deny: break
      case .nullify:
        guard let inverse = relationship.inverseSlot, relationship.inverseHasColumn else { continue }
        for other in others where isUsable(other) { other.writeToOne(nil, UInt16(inverse)) }
      }
    }
    return cascaded
  }

  /// Returns the objects whose to-one without an inverse refers to an object, in the file and in memory.
  private func referrers(_ relationship: RelationshipMapping, to object: ManagedObject) -> [ManagedObject] {
    let target = RowIDSet([object.rowID])
    return objects(relationship.owner) { related in
      try related.changedReferrers(relationship.owner, relationship.slot, to: target).map(\.other)
        + related.storedReferrers(relationship.owner, relationship.slot, to: target).map(\.other)
    }
  }

  /// Returns objects of an entity by the ids that a search for related rows finds.
  private func objects(
    _ entity: EntityMapping, related search: (inout RelatedRows) throws -> [Int64]
  ) -> [ManagedObject] {
    do {
      index.update(pending)
      let ids = try withConnection { connection in
        var related = RelatedRows(
          pending, maps: maps, reader: ConnectionReader(connection: connection), index: index)
        return try search(&related)
      }
      let map = maps[entity.index]
      let known = ids.compactMap(map.find)
      let others = ids.filter { $0 > 0 && map.find($0) == nil }.sorted()
      let read = others.isEmpty ? [] : try scan(entity).rows(others)
      for object in known where object.state == .fault { try load(object) }
      return known + read
    } catch {
      note(error)
      return []
    }
  }
}
