// The invariants of pending changes between two calls. Tests check them after each step.

extension PendingChanges {
  /// Returns the broken invariants as sentences, for tests; empty if there are none.
  /// - Parameter objects: All live objects of the context.
  package func violations(among objects: [ManagedObject]) -> [String] {
    var found: [String] = []
    for (name, list) in [("inserted", inserted), ("updated", updated), ("deleted", deleted)]
    where Set(list).count != list.count {
      found.append("an object is twice among the \(name)")
    }
    let new = inserted.filter { $0.state == .inserted }
    if inserted.count - new.count != forgotten {
      found.append("\(inserted.count - new.count) objects are forgotten, not \(forgotten)")
    }
    let refreshed = updated.filter { $0.overlay == nil }.count
    if refreshed != self.refreshed {
      found.append("\(refreshed) objects have no change any more, not \(self.refreshed)")
    }
    let (isNew, isUpdated, isDeleted) = (Set(new), Set(updated), Set(deleted))
    for object in objects {
      found += violations(
        of: object, isNew: isNew.contains(object), isUpdated: isUpdated.contains(object),
        isDeleted: isDeleted.contains(object)
      ).map { "\(object.entity?.name ?? "?") \(object.rowID), \(object.state), \($0)" }
    }
    return found + linkViolations + gained.all.compactMap(violation)
  }

  private func violations(
    of object: ManagedObject, isNew: Bool, isUpdated: Bool, isDeleted: Bool
  ) -> [String] {
    var found: [String] = []
    if (object.state == .inserted) != isNew { found.append("is new, or is said to be") }
    if (object.state == .deleted) != isDeleted { found.append("is deleted, or is said to be") }
    if object.state == .loaded, object.overlay != nil, !isUpdated { found.append("changed unheard") }
    // An object that is to be deleted accepts no changes any more.
    if object.isRegistered != isUpdated, object.state != .deleted {
      found.append("does not know whether it is pending")
    }
    if object.rowID <= nextTemporaryID || (object.rowID > firstTemporaryID && object.rowID <= 0) {
      found.append("has an id that was not given out")
    }
    object.toMany.forEach { state in
      guard state.isChanged, !touched.contains(object) else { return }
      found.append("has other members than the file, and nobody knows")
    }
    return found
  }

  private func violation(of gain: GainedMembers.Gain) -> String? {
    let (owner, member) = (gain.owner, gain.member)
    guard let relationship = owner.entity?.slots[gain.slot].relationship, owner.state != .deleted else {
      return nil
    }
    if owner.toMany[gain.slot] != nil || !owner.mayHaveGained || relationship.isOrdered {
      return "a member of \(owner.nameOfEntity) \(owner.rowID) is not where it is looked for"
    }
    if let join = relationship.join {
      let (source, target) = join.isSource ? (owner, member) : (member, owner)
      let key = LinkKey(
        table: join.table.name, source: ObjectIdentifier(source), target: ObjectIdentifier(target))
      return links[key] == nil ? "a member without a link" : nil
    }
    guard let slot = relationship.inverseSlot, member.state != .deleted else { return nil }
    let leadsHere =
      member.overlay?.changed.contains(slot) == true && member.overlay?.int64(slot) == owner.rowID
    return leadsHere ? nil : "a member of \(owner.nameOfEntity) \(owner.rowID) is related to another"
  }

  private var linkViolations: [String] {
    links.flatMap { key, link -> [String] in
      var found: [String] = []
      if key.source != ObjectIdentifier(link.source) || key.target != ObjectIdentifier(link.target)
        || key.table != link.join.name
      {
        found.append("a link has another's key")
      }
      return found
    }
  }
}
