// The values of to-many properties: a set, or an array if the members have an order.

internal import CipherSQLite

extension ManagedObject {
  @usableFromInline
  final func readToMany<Members: RelatedMembers>(
    _ slot: UInt16, as type: Members.Type, property: () -> AnyKeyPath
  )
    -> Members
  {
    if let recording = extras?.recording {
      return recording.members(of: self, slot: Int(slot), target: Members.Member.self, property) { objects in
        Members(related: objects.compactMap { $0 as? Members.Member })
      }
    }
    if isDraft { return Members(related: draft[Int(slot)].compactMap { $0 as? Members.Member }) }
    if isTracked { noteReadOfMembers(Int(slot)) }
    tellIfGone()
    if Members.isOrdered {
      let list = memberList(slot, Members.Member.self)
      return list as? Members ?? Members(related: list)
    }
    let set = memberSet(slot, Members.Member.self)
    return set as? Members ?? Members(related: Array(set))
  }

  @usableFromInline
  final func writeToMany<Members: RelatedMembers>(_ new: Members, _ slot: UInt16) {
    if isDraft {
      var seen: Set<ObjectIdentifier> = []
      return draft[Int(slot)] = new.related.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
    guard let (relationship, host) = related(Int(slot)) else { return }
    host.undoable {
      if Members.isOrdered {
        write(new.related, relationship)
      } else {
        write(new as? Set<Members.Member> ?? Set(new.related), relationship)
      }
    }
  }

  // MARK: Sets

  private func memberSet<Target: ManagedObject>(_ slot: UInt16, _ type: Target.Type) -> Set<Target> {
    guard let host, entity != nil else {
      if overlay == nil { tellStray(Int(slot)) }
      return []
    }
    let state = loadedMembers(Int(slot))
    if let typed = state.typed as? Members<Target> {
      if state.seenDeletions == host.deletionCount { return typed.set }
      if let deleted = host.deletions(since: state.seenDeletions) {
        for object in deleted {
          if object.state == .invalid { state.leave(object) } else { state.removeTyped(object) }
        }
        state.seenDeletions = host.deletionCount
        return typed.set
      }
    }
    if state.seenDeletions != host.deletionCount { state.removeInvalid() }
    let members = Set(
      (state.members ?? []).lazy.compactMap { $0.state == .deleted ? nil : $0 as? Target })
    state.typed = Members(members)
    state.seenDeletions = host.deletionCount
    return members
  }

  private func write<Target: ManagedObject>(_ new: Set<Target>, _ relationship: RelationshipMapping) {
    let (added, removed) = difference(new, relationship)
    for object in removed { disconnect(object, relationship) }
    for object in added { connect(object, relationship) }
  }

  /// Returns the objects that a new set adds to the members, and the members that it lacks. The old set
  /// is released on return: if it were still retained when the members change, it would be copied as a
  /// whole.
  private func difference<Target: ManagedObject>(
    _ new: Set<Target>, _ relationship: RelationshipMapping
  ) -> (added: [Target], removed: [Target]) {
    var (added, removed): ([Target], [Target]) = ([], [])
    // If there are no members yet, nothing is compared, and no set of members is created.
    let isFirst = hasNoMembers(relationship.slot)
    let old = isFirst ? [] : memberSet(UInt16(relationship.slot), Target.self)
    // If the members cannot be read, nothing is changed. Otherwise members that the new set lacks would
    // stay.
    guard isFirst || members(relationship.slot).isWhole else { return ([], []) }
    for object in new where !old.contains(object) { added.append(object) }
    if new.count - added.count < old.count {
      for object in old where !new.contains(object) { removed.append(object) }
    }
    // A set has no order: new members are appended in the order of their creation.
    if relationship.isOrdered { added.sort { $0.rowID.isOlderRowID(than: $1.rowID) } }
    return (added, removed)
  }

  // MARK: Lists

  private func memberList<Target: ManagedObject>(_ slot: UInt16, _ type: Target.Type) -> [Target] {
    guard let host, entity != nil else {
      if overlay == nil { tellStray(Int(slot)) }
      return []
    }
    let state = loadedMembers(Int(slot))
    guard state.members != nil else { return [] }
    if let typed = state.typed as? MemberList<Target>, typed.list != nil,
      let deleted = host.deletions(since: state.seenDeletions)
    {
      for object in deleted {
        if object.state == .invalid { state.leave(object) } else { state.removeTyped(object) }
      }
      state.seenDeletions = host.deletionCount
      if let list = typed.list { return list }
    }
    if state.seenDeletions != host.deletionCount { state.removeInvalid() }
    let list = (state.order?.objects ?? []).compactMap { $0.state == .deleted ? nil : $0 as? Target }
    state.typed = MemberList(list)
    state.seenDeletions = host.deletionCount
    return list
  }

  private func write<Target: ManagedObject>(_ new: [Target], _ relationship: RelationshipMapping) {
    // If the members cannot be read, nothing is changed. Otherwise members that the list lacks would
    // stay.
    guard loadedMembers(relationship.slot).isWhole else { return }
    if let added = additions(new, relationship) {
      for object in added { connect(object, relationship) }
      return
    }
    var seen: Set<Target> = []
    let wanted = new.filter { seen.insert($0).inserted }
    let old = Set(memberList(UInt16(relationship.slot), Target.self))
    let removed = old.filter { !seen.contains($0) }
    for object in removed { disconnect(object, relationship) }
    for object in wanted where !old.contains(object) { connect(object, relationship) }
    if host?.recordsChanges == true { host?.willArrange(self, relationship.slot) }
    if members(relationship.slot).arrange(wanted) { host?.didTouchMembers(self) }
  }

  /// Puts the members of an inserted object into the order that its draft had.
  final func arrangeDraft(_ wanted: [ManagedObject], _ relationship: RelationshipMapping) {
    if members(relationship.slot).arrange(wanted) { host?.didTouchMembers(self) }
  }

  /// Returns the objects that a list appends to the members; nil if it differs from the members in any
  /// other way. The old list is released on return: if it were still retained when the members change, it
  /// would be copied as a whole.
  private func additions<Target: ManagedObject>(_ new: [Target], _ relationship: RelationshipMapping)
    -> [Target]?
  {
    let old = memberList(UInt16(relationship.slot), Target.self)
    guard new.count >= old.count else { return nil }
    for index in old.indices where old[index] !== new[index] { return nil }
    var seen: Set<Target> = []
    let present = members(relationship.slot).members ?? []
    return new[old.count...].filter { !present.contains($0) && seen.insert($0).inserted }
  }
}
