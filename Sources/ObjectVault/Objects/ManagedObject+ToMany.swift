// What the properties of to-manys give and take: a set, or a list where the members have an order.

internal import CipherSQLite

extension ManagedObject {
  @usableFromInline
  final func readToMany<Members: RelatedMembers>(
    _ slot: UInt16, _ type: Members.Type, _ property: () -> AnyKeyPath
  )
    -> Members
  {
    if let recording = extras?.recording {
      return recording.members(of: self, Int(slot), Members.Member.self, property) { objects in
        Members(related: objects.compactMap { $0 as? Members.Member })
      }
    }
    if Members.isOrdered {
      let list = memberList(slot, Members.Member.self)
      return list as? Members ?? Members(related: list)
    }
    let set = memberSet(slot, Members.Member.self)
    return set as? Members ?? Members(related: Array(set))
  }

  @usableFromInline
  final func writeToMany<Members: RelatedMembers>(_ new: Members, _ slot: UInt16) {
    guard let (relationship, _) = related(Int(slot)) else { return }
    if Members.isOrdered {
      write(new.related, relationship)
    } else {
      write(new as? Set<Members.Member> ?? Set(new.related), relationship)
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
          if object.state == .invalid { state.leave(object) } else { state.leaveTyped(object) }
        }
        state.seenDeletions = host.deletionCount
        return typed.set
      }
    }
    if state.seenDeletions != host.deletionCount { state.leaveInvalid() }
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

  /// What a set has more and less than the members. The old set is let go on return: held any longer it would
  /// be copied whole when the members change.
  private func difference<Target: ManagedObject>(
    _ new: Set<Target>, _ relationship: RelationshipMapping
  ) -> (added: [Target], removed: [Target]) {
    var (added, removed): ([Target], [Target]) = ([], [])
    // What a new object gets first is compared with nothing: no set is made to be returned to nobody.
    let isFirst = hasNoMembers(relationship.slot)
    let old = isFirst ? [] : memberSet(UInt16(relationship.slot), Target.self)
    // Where the members cannot be read nothing is changed: what a set has less than they would stay.
    guard isFirst || members(relationship.slot).isWhole else { return ([], []) }
    for object in new where !old.contains(object) { added.append(object) }
    if new.count - added.count < old.count {
      for object in old where !new.contains(object) { removed.append(object) }
    }
    // A set says nothing of an order: new members come in that of their making.
    if relationship.isOrdered { added.sort { $0.wasMade(before: $1) } }
    return (added, removed)
  }

  /// By ids, and new objects behind, whose temporary ids fall.
  private func wasMade(before other: ManagedObject) -> Bool {
    (rowID < 0 ? 1 : 0, rowID.magnitude) < (other.rowID < 0 ? 1 : 0, other.rowID.magnitude)
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
        if object.state == .invalid { state.leave(object) } else { state.leaveTyped(object) }
      }
      state.seenDeletions = host.deletionCount
      if let list = typed.list { return list }
    }
    if state.seenDeletions != host.deletionCount { state.leaveInvalid() }
    let list = (state.order?.objects ?? []).compactMap { $0.state == .deleted ? nil : $0 as? Target }
    state.typed = MemberList(list)
    state.seenDeletions = host.deletionCount
    return list
  }

  private func write<Target: ManagedObject>(_ new: [Target], _ relationship: RelationshipMapping) {
    // If the members cannot be read, nothing is changed: those that the list lacks would stay.
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
    if members(relationship.slot).arrange(wanted) { host?.didTouchMembers(self) }
  }

  /// What a list has more than the members, where it goes on behind them; nil where it differs otherwise. The old list is let
  /// go on return: held any longer it would be copied whole when the members change.
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
