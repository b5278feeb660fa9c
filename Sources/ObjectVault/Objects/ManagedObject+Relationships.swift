// Relationships in memory: reading through faults, and writing on both sides. What the properties of to-manys give and take
// is in ManagedObject+ToMany.

internal import CipherSQLite

extension ManagedObject {
  // MARK: To-one

  @usableFromInline
  final func readToOne<Target: ManagedObject>(
    _ slot: UInt16, _ type: Target.Type, _ property: () -> AnyKeyPath
  )
    -> Target?
  {
    // What most loops find: the target was read before, and nothing was written since.
    if isInContext, !isOverlaid, let held = heldTarget(Int(slot)), held.state != .deleted,
      held.state != .invalid, held.isInContext,
      rowCell(Int(slot))?.int64 == held.rowID
    {
      return held as? Target
    }
    if let recording = extras?.recording { return recording.target(of: self, Int(slot), property) }
    if host == nil, overlay == nil { tellStray(Int(slot)) }
    guard let target = toOneTarget(Int(slot)), target.state != .deleted else { return nil }
    return target as? Target
  }

  @usableFromInline
  final func writeToOne(_ target: ManagedObject?, _ slot: UInt16) {
    let slot = Int(slot)
    guard let (relationship, host) = related(slot), host.accepts(target, for: self, relationship)
    else { return }
    if let inverse = relationship.inverseSlot, relationship.hasMembers {
      return writePartner(target, slot, inverse)
    }
    // Who is gone has no members to be taken out of: the save compares versions.
    let old = isUnset(slot) ? nil : toOneTarget(slot, tells: false)
    guard old !== target else { return }
    guard let inverse = relationship.inverseSlot else {
      return setStored(target.map { .integer($0.rowID) } ?? .null, slot)
    }
    if relationship.inverseIsLookedUp, target?.giveUpPartners(inverse, column: slot) == false { return }
    setStored(target.map { .integer($0.rowID) } ?? .null, slot)
    old?.touchedMembers(inverse).remove(self)
    target?.gain(self, inverse, isOrdered: relationship.inverseOrder != nil)
  }

  /// Whether a slot was not set yet, or to nil, as that of a new object: known without asking whom it leads to.
  private func isUnset(_ slot: Int) -> Bool {
    withOverlay { $0.changed.contains(slot) && $0.isNull(slot) } == true
  }

  // MARK: One-to-one

  /// Sets the end that has no column: the object at the other end has it.
  /// - Parameter column: Its slot there.
  private func writePartner(_ target: ManagedObject?, _ slot: Int, _ column: Int) {
    guard let target else {
      partner(slot)?.writeToOne(nil, UInt16(column))
      return
    }
    target.writeToOne(self, UInt16(column))
    // What was read of this end may be older than the row of the other one, which led here already.
    if let state = toMany[slot], state.isWhole, state.members?.contains(target) == false,
      target.leads(to: self, column)
    {
      state.adopt([target])
    }
  }

  /// The object that is looked up: the one whose column leads here.
  /// - Parameter slot: That of the end without a column.
  private func partner(_ slot: Int) -> ManagedObject? {
    guard host != nil, let column = entity?.slots[slot].relationship?.inverseSlot else { return nil }
    let state = loadedMembers(slot)
    func isPartner(_ object: ManagedObject) -> Bool {
      object.state != .deleted && object.leads(to: self, column)
    }
    // Where another context has given it a partner meanwhile, the one that it was given here goes first.
    return state.added.first(where: isPartner) ?? state.members?.first(where: isPartner)
  }

  /// A row was read that leads here. Where another partner was found before, or none, the next read asks again.
  final func isLedTo(by object: ManagedObject, _ slot: Int) {
    guard let state = toMany[slot], state.isWhole, state.members?.contains(object) == false,
      !state.removed.contains(object)
    else { return }
    state.forgetFetched()
  }

  /// Whether a to-one with a column leads to an object. The row of a fault is read, and may be gone.
  private func leads(to object: ManagedObject, _ column: Int) -> Bool {
    let id = storedValue(column)?.int64
    return id == object.rowID && state != .invalid
  }

  /// Takes the object out of the columns that lead to it, as another is about to.
  /// - Returns: Whether these could be read; else nothing is changed.
  private func giveUpPartners(_ slot: Int, column: Int) -> Bool {
    if hasNoMembers(slot) { return true }
    let state = loadedMembers(slot)
    guard let host, let partners = state.members else { return false }
    let present = partners.filter { $0.state != .invalid }
    for partner in present where partner.state == .fault {
      host.fire(partner)
      guard partner.state != .fault else { return false }
    }
    for partner in present where partner.leads(to: self, column) {
      // Of one that is about to be deleted the delete rules follow the references.
      if partner.state == .deleted {
        partner.overwrite(.null, column, nil)
      } else {
        partner.setStored(.null, column)
      }
      touchedMembers(slot).remove(partner)
    }
    return true
  }

  /// The object that a to-one refers to, as a fault if need be.
  /// - Parameter tells: Whether it is told that the row is gone, where it has to be read to know the class.
  final func toOneTarget(_ slot: Int, tells: Bool = true) -> ManagedObject? {
    guard state != .invalid, let relationship = entity?.slots[slot].relationship, let host else { return nil }
    if relationship.hasMembers { return partner(slot) }
    guard case .integer(let id) = storedValue(slot) ?? .null else { return nil }
    if let held = heldTarget(slot), held.rowID == id, held.isInContext, held.state != .invalid { return held }
    // A new object that was deleted again leaves nothing to fetch.
    if id < 0, host.find(relationship.destination, id) == nil { return nil }
    guard let target = host.object(relationship.destination, id, tells: tells) else { return nil }
    hold(target, slot)
    return target
  }

  /// The id of the object that a to-one refers to, where its row is to be fetched: for many in turn, whose targets' entity has
  /// no others below. Most of them have their rows, and nothing of their own.
  /// - Parameter map: The targets' map, in the context of this object.
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

  /// The relationship and the context of a change; nil, with the reason told, when the object takes none.
  final func related(_ slot: Int) -> (RelationshipMapping, any ObjectHost)? {
    guard let host, let relationship = entity?.slots[slot].relationship else {
      if overlay == nil { tellStrayWrite(slot) }
      return nil
    }
    guard host.takesChanges else { return nil }
    guard state == .inserted || state == .loaded || state == .fault else {
      host.note(StoreError.objectGone(entity: (entity ?? relationship.owner).name, rowID: rowID))
      return nil
    }
    // A to-one lies in the row, whose version the save has to know.
    if !relationship.hasMembers, state == .fault {
      host.fire(self)
      guard state == .loaded else { return nil }
    }
    return (relationship, host)
  }

  final func addMember(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    if members(relationship.slot).members?.contains(object) != true { connect(object, relationship) }
  }

  final func removeMember(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    if let inverse = relationship.inverseSlot, relationship.inverseHasColumn,
      object.toOneTarget(inverse) !== self
    {
      return
    }
    let state = members(relationship.slot)
    if isLinkToDeleted(object, relationship) {
      // The members in memory may lack links that a save has written.
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

  /// Whether an object may be taken out of a many-to-many although it is to be deleted: the link may be what denies the deletion.
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
    host?.link(self, object, relationship, isAdded: true, isKnown: isKnown)
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
    host?.link(self, object, relationship, isAdded: false, isKnown: isKnown)
  }

  /// Takes the object out of all its relationships, so that no delete rule reaches anybody.
  final func leaveEverybody() {
    for relationship in entity?.relationships ?? [] {
      if relationship.hasMembers {
        for member in loadedMembers(relationship.slot).members ?? [] { disconnect(member, relationship) }
      } else {
        writeToOne(nil, UInt16(relationship.slot))
      }
    }
  }

  /// The state of a to-many, made when it is first touched.
  package final func members(_ slot: Int) -> ToManyState {
    if let state = toMany[slot] { return state }
    // The members of a new object are all in memory.
    let state = ToManyState(
      isOrdered: entity?.slots[slot].relationship?.isOrdered == true, isNew: self.state == .inserted)
    setMembers(state, slot)
    if mayHaveGained {
      for member in host?.takeGained(of: self, slot) ?? [] { state.insert(member) }
    }
    return state
  }

  /// Whether it is known to have no members; asks nothing of the file.
  final func hasNoMembers(_ slot: Int) -> Bool {
    toMany[slot]?.isWholeAndEmpty ?? (state == .inserted && !mayHaveGained)
  }

  /// The state of a to-many that may differ from the file; nil of one that nobody has asked for, and that gained nobody.
  final func changedMembers(_ slot: Int) -> ToManyState? {
    if let state = toMany[slot] { return state }
    return mayHaveGained ? members(slot) : nil
  }

  /// The same, for a change: the object is kept alive until the change is saved.
  final func touchedMembers(_ slot: Int) -> ToManyState {
    host?.didTouchMembers(self)
    return members(slot)
  }

  /// Has a member more.
  private func gain(_ object: ManagedObject, _ slot: Int, isOrdered: Bool) {
    if let state = extras?.toMany[slot] {
      // Touched before, and without an order.
      if state.hasNews { return state.insert(object) }
    } else if !isOrdered {
      mayHaveGained = true
      host?.didGain(object, self, slot)
      return
    }
    let state = touchedMembers(slot)
    if state.needsMembers(for: object) { host?.fireMembers(of: self, slot, state) }
    state.insert(object)
  }

  /// The state of a to-many with its members fetched. When fetching fails the error is noted and the members
  /// stay unknown, so that a later read tries again.
  final func loadedMembers(_ slot: Int) -> ToManyState {
    let state = toMany[slot] ?? members(slot)
    if !state.isWhole { host?.fireMembers(of: self, slot, state) }
    return state
  }

  /// The objects at the other end, as far as they are in memory: of a new object all.
  final func related(by relationship: RelationshipMapping) -> [ManagedObject] {
    guard relationship.hasMembers else { return toOneTarget(relationship.slot).map { [$0] } ?? [] }
    return Array(members(relationship.slot).members ?? [])
  }

  /// Whether an object is at the other end, as far as that is in memory.
  final func isRelated(to object: ManagedObject, by relationship: RelationshipMapping) -> Bool {
    relationship.hasMembers
      ? members(relationship.slot).members?.contains(object) == true
      : toOneTarget(relationship.slot) === object
  }

  /// Takes the object out of the sets of those it is related to, when it is deleted.
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
}
