// Relationships in memory: reading through faults, and writing both ends. The properties of to-manys are
// in ManagedObject+ToMany.

internal import CipherSQLite

extension ManagedObject {
  // MARK: To-one

  @usableFromInline
  final func readToOne<Target: ManagedObject>(
    _ slot: UInt16, as type: Target.Type, property: () -> AnyKeyPath
  ) -> Target? {
    let target = targetOfGetter(slot, as: type, property)
    if isTracked { noteReadOfTarget(Int(slot)) }
    return target
  }

  @inline(__always)
  private final func targetOfGetter<Target: ManagedObject>(
    _ slot: UInt16, as type: Target.Type, _ property: () -> AnyKeyPath
  ) -> Target? {
    // The most common case in loops: the target was read before, and nothing was written since.
    if isInContext, !isOverlaid, let held = heldTarget(Int(slot)), held.state != .deleted,
      held.state != .invalid, held.isInContext,
      rowCell(Int(slot))?.int64 == held.rowID
    {
      return held as? Target
    }
    if let recording = extras?.recording { return recording.target(of: self, slot: Int(slot), property) }
    if isDraft { return draft[Int(slot)].first as? Target }
    if host == nil, overlay == nil { tellStray(Int(slot)) }
    guard let target = toOneTarget(Int(slot)) else {
      tellIfGone()
      return nil
    }
    return target.state == .deleted ? nil : target as? Target
  }

  @usableFromInline
  final func writeToOne(_ target: ManagedObject?, _ slot: UInt16) {
    let slot = Int(slot)
    if isDraft { return draft[slot] = target.map { [$0] } ?? [] }
    guard let (relationship, host) = related(slot), host.accepts(target, for: self, relationship)
    else { return }
    if host.recordsChanges {
      host.undoable { refer(to: target, relationship) }
    } else {
      refer(to: target, relationship)
    }
  }

  /// Writes a to-one without checking whether the target may be used.
  final func refer(to target: ManagedObject?, _ relationship: RelationshipMapping) {
    let slot = relationship.slot
    if let inverse = relationship.inverseSlot, relationship.hasMembers {
      return writePartner(target, slot: slot, column: inverse)
    }
    // A missing row of the old target is not reported: such a target has no members to update. If this
    // object's row has changed in the file, the save finds another version there and reports a conflict.
    let old = isUnset(slot) ? nil : toOneTarget(slot, tells: false)
    guard old !== target else { return }
    guard let inverse = relationship.inverseSlot else {
      return setStored(target.map { .integer($0.rowID) } ?? .null, slot)
    }
    if relationship.inverseIsLookedUp, target?.clearReferencesOfPartners(inverse, column: slot) == false {
      return
    }
    setStored(target.map { .integer($0.rowID) } ?? .null, slot)
    old?.touchedMembers(inverse).remove(self)
    target?.gain(self, inverse, isOrdered: relationship.inverseOrder != nil)
  }

  /// Whether nil was written to the slot, as on a new object. Needs no look-up of the target.
  private func isUnset(_ slot: Int) -> Bool {
    withOverlay { $0.changed.contains(slot) && $0.isNull(slot) } == true
  }

  // MARK: One-to-one

  /// Sets a one-to-one that has no column: its inverse has the column, in the target's row.
  /// - Parameter column: The slot of the inverse.
  private func writePartner(_ target: ManagedObject?, slot: Int, column: Int) {
    guard let target else {
      partner(slot)?.writeToOne(nil, UInt16(column))
      return
    }
    target.writeToOne(self, UInt16(column))
    // The members in memory may be older than the target's row, which referred to this object already.
    if let state = toMany[slot], state.isWhole, state.members?.contains(target) == false,
      target.leads(to: self, column)
    {
      state.adopt([target])
    }
  }

  /// Returns the target of a one-to-one without a column: the object whose column refers to this object.
  /// - Parameter slot: The slot of the one-to-one without a column.
  private func partner(_ slot: Int) -> ManagedObject? {
    guard host != nil, let column = entity?.slots[slot].relationship?.inverseSlot else { return nil }
    let state = loadedMembers(slot)
    func isPartner(_ object: ManagedObject) -> Bool {
      object.state != .deleted && object.leads(to: self, column)
    }
    // If another context has written another partner meanwhile, the partner that was set here takes
    // precedence.
    return state.added.first(where: isPartner) ?? state.members?.first(where: isPartner)
  }

  /// Called when the row of `object` was read, and its column refers to this object. If the members in
  /// memory do not include `object`, they are discarded, and the next read fetches them.
  final func noteReference(by object: ManagedObject, _ slot: Int) {
    guard let state = toMany[slot], state.isWhole, state.members?.contains(object) == false,
      !state.removed.contains(object)
    else { return }
    state.discardFetched()
    host?.didRefresh(self)
  }

  /// Whether the column of a to-one refers to `object`. Fetches the row of a fault; false if the row does
  /// not exist.
  private func leads(to object: ManagedObject, _ column: Int) -> Bool {
    let id = storedValue(column)?.int64
    return id == object.rowID && state != .invalid
  }

  /// Clears the columns that refer to this object, because another object is about to refer to it.
  /// - Returns: Whether the partners could be read. If not, nothing is changed.
  private func clearReferencesOfPartners(_ slot: Int, column: Int) -> Bool {
    if hasNoMembers(slot) { return true }
    let state = loadedMembers(slot)
    guard let host, let partners = state.members else { return false }
    let present = partners.filter { $0.state != .invalid }
    for partner in present where partner.state == .fault {
      host.fire(partner)
      guard partner.state != .fault else { return false }
    }
    for partner in present where partner.leads(to: self, column) {
      // setStored would refuse an object that is to be deleted, but delete rules follow its references.
      if partner.state == .deleted {
        partner.overwrite(.null, at: column, error: nil)
      } else {
        partner.setStored(.null, column)
      }
      touchedMembers(slot).remove(partner)
    }
    return true
  }

  /// Returns the target of a to-one, as a fault if its row is not in memory.
  /// - Parameter tells: Whether a missing row is reported. It is noticed only if the target's class
  ///   depends on the row, because otherwise the row is not read.
  final func toOneTarget(_ slot: Int, tells: Bool = true) -> ManagedObject? {
    guard state != .invalid, let relationship = entity?.slots[slot].relationship, let host else { return nil }
    if relationship.hasMembers { return partner(slot) }
    guard case .integer(let id) = storedValue(slot) ?? .null else { return nil }
    if let held = heldTarget(slot), held.rowID == id, held.isInContext, held.state != .invalid { return held }
    // A new object that was deleted before a save has no row to fetch.
    if id < 0, host.find(relationship.destination, id) == nil { return nil }
    guard let target = host.target(of: relationship, id, tells: tells) else { return nil }
    hold(target, slot)
    return target
  }

  /// Returns the id of a to-one's target if the target's row must be fetched, and keeps the target alive.
  /// For prefetches, which call this for many owners; the destination must have no subentities. The fast
  /// path is for an owner with a row and no attachment, as most have.
  /// - Parameter map: The map of the destination, in the context of this object.
  final func toOneFault(_ slot: Int, in map: IdentityMap) -> Int64? {
    guard attached.isEmpty, state == .loaded, !map.isShared, let id = rowCell(slot)?.int64, id > 0 else {
      guard let target = toOneTarget(slot), target.isUnread else { return nil }
      return target.rowID
    }
    if let known = unsafe map.reference(id) {
      // Retained once, for the reference that is kept.
      return unsafe known._withUnsafeGuaranteedRef { target in
        hold(target, slot)
        return target.isUnread ? id : nil
      }
    }
    hold(map.add(id), slot)
    return id
  }

  // MARK: To-many

  /// Returns the relationship and the context for a change; nil, with the reason reported, if the object
  /// accepts none.
  final func related(_ slot: Int) -> (RelationshipMapping, any ObjectHost)? {
    guard let host, let relationship = entity?.slots[slot].relationship else {
      if overlay == nil { tellStrayWrite(slot) }
      return nil
    }
    guard host.acceptsChanges else { return nil }
    guard state == .inserted || state == .loaded || state == .fault else {
      host.note(StoreError.objectGone(entity: (entity ?? relationship.owner).name, rowID: rowID))
      return nil
    }
    // The column of a to-one is in this object's row, and the save needs the row's version.
    if !relationship.hasMembers, state == .fault {
      host.fire(self)
      guard state == .loaded else { return nil }
    }
    return (relationship, host)
  }

  final func addMember(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    guard members(relationship.slot).members?.contains(object) != true else { return }
    host?.undoable { connect(object, relationship) }
  }

  final func removeMember(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    host?.undoable { removePresent(object, relationship) }
  }

  private func removePresent(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    if let inverse = relationship.inverseSlot, relationship.inverseHasColumn,
      object.toOneTarget(inverse) !== self
    {
      return
    }
    let state = members(relationship.slot)
    if isLinkToDeleted(object, relationship) {
      // The members in memory may lack links that an earlier save has written.
      let isKnown = relationship.inverseSlot.flatMap { object.toMany[$0]?.members?.contains(self) }
      guard isKnown != false || state.members?.contains(object) == true || state.removed.contains(object)
      else { return }
    } else {
      guard host?.accepts(object, for: self, relationship) == true,
        state.members?.contains(object) != false
      else { return }
    }
    disconnect(object, relationship)
  }

  /// Whether an object may be removed from a many-to-many although it is to be deleted: the link may be
  /// the reason why a delete rule refuses the deletion.
  final func isLinkToDeleted(_ object: ManagedObject, _ relationship: RelationshipMapping) -> Bool {
    relationship.join != nil && object.state == .deleted && object.host === host
  }

  final func connect(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    guard host?.accepts(object, for: self, relationship) == true else { return }
    if let inverse = relationship.inverseSlot, relationship.inverseHasColumn {
      object.writeToOne(self, UInt16(inverse))
      return
    }
    let isKnown = toMany[relationship.slot]?.isWhole ?? (state == .inserted)
    gain(object, relationship.slot, isOrdered: relationship.isOrdered)
    if let inverse = relationship.inverseSlot {
      let isOrdered = object.entity?.slots[inverse].relationship?.isOrdered == true
      object.gain(self, inverse, isOrdered: isOrdered)
    }
    host?.link(self, to: object, by: relationship, isAdded: true, isKnown: isKnown)
  }

  final func disconnect(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    if let inverse = relationship.inverseSlot, relationship.inverseHasColumn {
      object.writeToOne(nil, UInt16(inverse))
      return
    }
    let state = touchedMembers(relationship.slot)
    let isKnown = state.isWhole
    state.remove(object)
    if let inverse = relationship.inverseSlot { object.touchedMembers(inverse).remove(self) }
    host?.link(self, to: object, by: relationship, isAdded: false, isKnown: isKnown)
  }

  /// Removes the object from all its relationships, so that its delete rules affect no other object.
  final func leaveAllRelationships() {
    for relationship in entity?.relationships ?? [] {
      if relationship.hasMembers {
        for member in loadedMembers(relationship.slot).members ?? [] { disconnect(member, relationship) }
      } else {
        writeToOne(nil, UInt16(relationship.slot))
      }
    }
  }

  /// Returns the state of a to-many, created on first use.
  package final func members(_ slot: Int) -> ToManyState {
    if let state = toMany[slot] { return state }
    // A new object has all of its members in memory.
    let state = ToManyState(
      isOrdered: entity?.slots[slot].relationship?.isOrdered == true, isNew: self.state == .inserted)
    setMembers(state, slot)
    if mayHaveGained {
      for member in host?.takeGained(of: self, slot) ?? [] { state.insert(member) }
    }
    return state
  }

  /// Whether there are certainly no members. Reads nothing from the file.
  final func hasNoMembers(_ slot: Int) -> Bool {
    toMany[slot]?.isWholeAndEmpty ?? (state == .inserted && !mayHaveGained)
  }

  /// Returns the state of a to-many that may differ from the file; nil if its members were never read and
  /// none were added.
  final func changedMembers(_ slot: Int) -> ToManyState? {
    if let state = toMany[slot] { return state }
    return mayHaveGained ? members(slot) : nil
  }

  /// Returns the state of a to-many for a change. The object is kept alive until the change is saved.
  final func touchedMembers(_ slot: Int) -> ToManyState {
    if let host {
      if host.recordsChanges { host.willArrange(self, slot) }
      host.didTouchMembers(self)
    }
    return members(slot)
  }

  /// Adds a member to a to-many in memory.
  private func gain(_ object: ManagedObject, _ slot: Int, isOrdered: Bool) {
    if let state = extras?.toMany[slot] {
      // The owner is already in `PendingChanges.touched`, and the to-many has no order.
      if state.hasUnmergedMembers {
        if let host, host.recordsChanges { host.willArrange(self, slot) }
        return state.insert(object)
      }
    } else if !isOrdered {
      mayHaveGained = true
      host?.didGain(object, owner: self, slot: slot)
      return
    }
    let state = touchedMembers(slot)
    if state.needsMembers(for: object) { host?.fireMembers(of: self, slot, state) }
    state.insert(object)
  }

  /// Returns the state of a to-many with its members fetched. If fetching fails, the error is noted and
  /// the members stay unknown, so that the next read tries again.
  final func loadedMembers(_ slot: Int) -> ToManyState {
    let state = toMany[slot] ?? members(slot)
    if !state.isWhole { host?.fireMembers(of: self, slot, state) }
    return state
  }

  /// Returns the related objects; for a to-many, its members if they are in memory, as on a new object.
  final func related(by relationship: RelationshipMapping) -> [ManagedObject] {
    guard relationship.hasMembers else { return toOneTarget(relationship.slot).map { [$0] } ?? [] }
    return Array(members(relationship.slot).members ?? [])
  }

  /// Whether an object is related to this one. For a to-many: among the members in memory.
  final func isRelated(to object: ManagedObject, by relationship: RelationshipMapping) -> Bool {
    relationship.hasMembers
      ? members(relationship.slot).members?.contains(object) == true
      : toOneTarget(relationship.slot) === object
  }

  /// Removes the object from the members of the objects that it is related to, when it is deleted.
  final func leaveRelationships() {
    guard let entity else { return }
    for (slot, info) in entity.slots.enumerated() {
      guard let relationship = info.relationship, let inverse = relationship.inverseSlot else { continue }
      if relationship.hasMembers {
        guard !relationship.inverseHasColumn else { continue }
        for member in changedMembers(slot)?.members ?? [] { member.touchedMembers(inverse).remove(self) }
      } else if !relationship.inverseHasColumn {
        toOneTarget(slot, tells: false)?.touchedMembers(inverse).remove(self)
      }
    }
  }

  /// Makes the object a member of the objects that it is related to again, when its deletion is taken back:
  /// the opposite of ``leaveRelationships()``.
  /// - Parameter restoresOrders: Whether the caller restores the orders of members afterwards.
  final func rejoinRelationships(restoresOrders: Bool) {
    guard let entity else { return }
    for (slot, info) in entity.slots.enumerated() {
      guard let relationship = info.relationship, let inverse = relationship.inverseSlot else { continue }
      if relationship.hasMembers {
        guard !relationship.inverseHasColumn else { continue }
        for member in changedMembers(slot)?.members ?? [] {
          let isPending = host?.hasPendingLink(self, to: member, by: relationship) == true
          member.changedMembers(inverse)?.takeBack(
            removed: self, isPending: isPending, restoresOrder: restoresOrders)
        }
      } else if !relationship.inverseHasColumn {
        let isPending = overlay?.changed.contains(slot) == true
        toOneTarget(slot, tells: false)?.changedMembers(inverse)?.takeBack(
          removed: self, isPending: isPending, restoresOrder: restoresOrders)
      }
    }
  }
}
