// The invariants of pending changes between two calls. Tests check them after each step.

extension PendingChanges {
  /// Returns the broken invariants as sentences, for tests; empty if there are none.
  /// - Parameter objects: All live objects of the context.
  package func violations(among objects: [ManagedObject]) -> [String] {
    var found: [String] = []
    for (name, list) in [("inserted", inserted), ("updated", updated), ("deleted", deleted)]
    where Set(list).count != list.count {
      found.append("an object is in the list of the \(name) twice")
    }
    let new = inserted.filter { $0.state == .inserted }
    if inserted.count - new.count != forgotten {
      found.append("\(inserted.count - new.count) inserted objects are no longer new, not \(forgotten)")
    }
    let refreshed = updated.filter { $0.overlay == nil }.count
    if refreshed != self.refreshed {
      found.append("\(refreshed) updated objects have no changes any more, not \(self.refreshed)")
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
    if (object.state == .inserted) != isNew {
      found.append("is inserted, or is in the list of the inserted, but not both")
    }
    if (object.state == .deleted) != isDeleted {
      found.append("is deleted, or is in the list of the deleted, but not both")
    }
    if object.state == .loaded, object.overlay != nil, !isUpdated {
      found.append("has changes, but is not in the list of the updated")
    }
    // The flag of an object that is to be deleted has no effect: the object accepts no changes any more.
    if object.isRegistered != isUpdated, object.state != .deleted {
      found.append("has a wrong flag for being in the list of the updated")
    }
    if object.rowID <= nextTemporaryID || (object.rowID > firstTemporaryID && object.rowID <= 0) {
      found.append("has an id that was not issued")
    }
    object.toMany.forEach { state in
      guard state.isChanged, !touched.contains(object) else { return }
      found.append("has other members than the file, but is not recorded as changed")
    }
    return found
  }

  private func violation(of gain: GainedMembers.Gain) -> String? {
    let (owner, member) = (gain.owner, gain.member)
    guard let relationship = owner.entity?.slots[gain.slot].relationship, owner.state != .deleted else {
      return nil
    }
    if owner.toMany[gain.slot] != nil || !owner.mayHaveGained || relationship.isOrdered {
      return "a member of \(owner.nameOfEntity) \(owner.rowID) is not in the place where it is looked up"
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
    return leadsHere ? nil : "a member of \(owner.nameOfEntity) \(owner.rowID) refers to another object"
  }

  private var linkViolations: [String] {
    links.flatMap { key, link -> [String] in
      var found: [String] = []
      if key.source != ObjectIdentifier(link.source) || key.target != ObjectIdentifier(link.target)
        || key.table != link.join.name
      {
        found.append("a link has the key of another link")
      }
      return found
    }
  }
}
