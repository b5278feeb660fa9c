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
    if let recording = overlay?.recording { return recording.target(of: self, Int(slot), property) }
    if host == nil, overlay == nil { tellStray(Int(slot)) }
    guard let target = toOneTarget(Int(slot)), target.state != .deleted else { return nil }
    return target as? Target
  }

  @usableFromInline
  final func writeToOne(_ target: ManagedObject?, _ slot: UInt16) {
    let slot = Int(slot)
    guard let (relationship, host) = related(slot), host.accepts(target, for: self, relationship)
    else { return }
    // Who is gone has no members to be taken out of: the save compares versions.
    let old = isUnset(slot) ? nil : toOneTarget(slot, tells: false)
    guard old !== target else { return }
    var former: ManagedObject?
    if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
      // All ends lie in rows. Where one of these cannot be read nothing is changed at any of them.
      guard old?.isReadable(in: host) != false, target?.isReadable(in: host) != false,
        target?.state != .invalid
      else { return }
      former = target?.toOneTarget(inverse)
      guard former?.isReadable(in: host) != false else { return }
    }
    setStored(target.map { .integer($0.rowID) } ?? .null, slot)
    guard let inverse = relationship.inverseSlot else { return }
    if relationship.inverseIsToMany {
      old?.touchedMembers(inverse).remove(self)
      target?.gain(self, inverse, isOrdered: relationship.inverseOrder != nil)
    } else {
      old?.lose(inverse)
      // The target's former partner loses it.
      if former !== self { former?.lose(slot) }
      target?.setPartner(.integer(rowID), inverse)
    }
  }

  /// Whether it is known what its row holds, or that it is gone. The row of a fault is read; the reason why it cannot be read is
  /// told.
  private func isReadable(in host: any ObjectHost) -> Bool {
    if state == .fault { host.fire(self) }
    return state != .fault
  }

  /// Whether a slot was not set yet, or to nil, as that of a new object: known without asking whom it leads to.
  private func isUnset(_ slot: Int) -> Bool {
    withOverlay { $0.changed.contains(slot) && $0.isNull(slot) } == true
  }

  /// Sets one end of a one-to-one because the other end was set. A change even where memory holds that value: the other end
  /// did not, so that one of the two is older than its row, and the save has to compare the versions of both.
  private func setPartner(_ value: SQLValue, _ slot: Int) {
    setStored(value, slot)
    if overlay == nil, state == .loaded { overwrite(value, slot, nil, evenIfSame: true) }
  }

  /// Sets a to-one to nil because the partner has another one now; also of an object that is about to be deleted,
  /// whose delete rules follow its references.
  private func lose(_ slot: Int) {
    if state != .deleted {
      setPartner(.null, slot)
    } else if hasRow || overlay != nil {
      overwrite(.null, slot, nil)
    }
  }

  /// The object that a to-one refers to, as a fault if need be.
  /// - Parameter tells: Whether it is told that the row is gone, where it has to be read to know the class.
  final func toOneTarget(_ slot: Int, tells: Bool = true) -> ManagedObject? {
    guard state != .invalid, let relationship = entity?.slots[slot].relationship, let host,
      case .integer(let id) = storedValue(slot) ?? .null
    else { return nil }
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
    guard attached == 0, state == .loaded, !map.isShared, let id = rowCell(slot)?.int64, id > 0 else {
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
    if !relationship.isToMany, state == .fault {
      host.fire(self)
      guard state == .loaded else { return nil }
    }
    return (relationship, host)
  }

  final func addMember(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    if members(relationship.slot).members?.contains(object) != true { connect(object, relationship) }
  }

  final func removeMember(_ object: ManagedObject, _ relationship: RelationshipMapping) {
    if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany,
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
    if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
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
    if let inverse = relationship.inverseSlot, !relationship.inverseIsToMany {
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
      if relationship.isToMany {
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
    guard relationship.isToMany else { return toOneTarget(relationship.slot).map { [$0] } ?? [] }
    return Array(members(relationship.slot).members ?? [])
  }

  /// Whether an object is at the other end, as far as that is in memory.
  final func isRelated(to object: ManagedObject, by relationship: RelationshipMapping) -> Bool {
    relationship.isToMany
      ? members(relationship.slot).members?.contains(object) == true
      : toOneTarget(relationship.slot) === object
  }

  /// Takes the object out of the sets of those it is related to, when it is deleted.
  final func leaveRelationships() {
    guard let entity else { return }
    for (slot, info) in entity.slots.enumerated() {
      guard let relationship = info.relationship, let inverse = relationship.inverseSlot else { continue }
      if relationship.isToMany {
        guard relationship.inverseIsToMany else { continue }
        for member in changedMembers(slot)?.members ?? [] { member.touchedMembers(inverse).remove(self) }
      } else if relationship.inverseIsToMany {
        toOneTarget(slot, tells: false)?.touchedMembers(inverse).remove(self)
      }
    }
  }
}
