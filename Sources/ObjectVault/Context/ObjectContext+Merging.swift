// Shows what others have committed in the objects that are in memory.

internal import CipherSQLite

extension ObjectContext {
  /// Shows what another context of the store has committed, in the objects that are in memory here.
  ///
  /// ```swift
  /// for await change in store.changes() {
  ///   context.mergeChanges(change)
  /// }
  /// ```
  ///
  /// Objects without changes become faults if their values are older, and are read again when they are next
  /// needed; those whose rows were deleted become ``ManagedObject/State/invalid``. Members of to-manys are
  /// read again. An object with changes stays as it is, and a save of it meets the conflict: see
  /// <doc:conflicts>. Reads nothing. Takes time in proportion to the changes; after
  /// ``StoreChange/missed(commits:)`` and ``StoreChange/changedElsewhere``, in proportion to the objects in
  /// memory, all of which are read again when they are next needed.
  /// ``automaticallyMergesChanges`` does this by itself.
  /// - Parameter change: An element of ``Store/changes(bufferingUpTo:)``, also of this context itself.
  public func mergeChanges(_ change: StoreChange) { notifyingObservers { merge(change) } }

  /// Merges a change, inside of a call that notifies observers.
  func merge(_ change: StoreChange) {
    guard case .committed(let changes) = change else { return forgetCleanRows() }
    for row in changes.inserted {
      guard let entity = core.mapping.entity(named: row.entity) else { continue }
      readMembersAgain(ofTargetsIn: row.values, entity)
    }
    for update in changes.updated {
      guard let entity = core.mapping.entity(named: update.entity) else { continue }
      readMembersAgain(ofTargetsIn: update.old, entity)
      readMembersAgain(ofTargetsIn: update.new, entity)
      if let object = maps[entity.index].find(update.rowID), !isCurrent(object, update.new) {
        forgetClean(object)
      }
    }
    for row in changes.deleted {
      guard let entity = core.mapping.entity(named: row.entity) else { continue }
      readMembersAgain(ofTargetsIn: row.values, entity)
      guard let object = maps[entity.index].find(row.rowID), object.overlay == nil, object.state != .deleted
      else { continue }
      if entity.isInManyToMany { deletions.append(object) }
      forgetClean(object)
      object.loseRow()
    }
    for link in changes.linked + changes.unlinked { readMembersAgain(of: link) }
    for place in changes.placed {
      guard let entity = core.mapping.entity(named: place.entity),
        let slot = entity.slot(named: place.relationship)
      else { continue }
      readMembersAgain(of: maps[entity.index].find(place.owner), slot)
    }
    for entity in changes.changedBySQL.compactMap(core.mapping.entity(named:)) {
      for object in entity.branch.flatMap({ maps[$0.index].all }) { forgetClean(object) }
    }
  }

  /// Makes all objects without changes faults, and lets members be read again.
  func forgetCleanRows() {
    for object in maps.objects where object.overlay == nil && object.state != .deleted { refresh(object) }
    for object in maps.objects where object.state == .loaded {
      for slot in object.entity?.relationships.map(\.slot) ?? [] { readMembersAgain(of: object, slot) }
    }
  }

  /// Whether an object in memory has these values already.
  private func isCurrent(_ object: ManagedObject, _ values: ChangeSet.Values) -> Bool {
    guard object.state == .loaded, let entity = object.entity else { return false }
    return values.allSatisfy { name, value in
      guard let slot = entity.slot(named: name), let cell = object.packedCell(slot) else { return false }
      return !cell.isAbsent && cell.value.isStored(as: value)
    }
  }

  /// Makes an object without changes a fault.
  private func forgetClean(_ object: ManagedObject) {
    if object.overlay == nil { forget(object) }
  }

  /// Lets the members of the objects that to-ones refer to be read again.
  private func readMembersAgain(ofTargetsIn values: ChangeSet.Values, _ entity: EntityMapping) {
    for relationship in entity.relationships where !relationship.hasMembers {
      guard let inverse = relationship.inverseSlot, let id = values[relationship.name]?.int64 else {
        continue
      }
      readMembersAgain(of: maps[relationship.destination.index].find(id), inverse)
    }
  }

  private func readMembersAgain(of link: ChangeSet.Link) {
    guard let entity = core.mapping.entity(named: link.entity),
      let relationship = entity.slot(named: link.relationship).flatMap({ entity.slots[$0].relationship })
    else { return }
    readMembersAgain(of: maps[entity.index].find(link.source), relationship.slot)
    if let inverse = relationship.inverseSlot {
      readMembersAgain(of: maps[relationship.destination.index].find(link.target), inverse)
    }
  }

  /// Lets the members of a to-many be read again. Members that were added or removed here stay so.
  private func readMembersAgain(of owner: ManagedObject?, _ slot: Int) {
    guard let owner, owner.state != .inserted, let state = owner.toMany[slot], state.isWhole else { return }
    didRefresh(owner)
    if !state.isChanged, !state.isRearranged {
      state.forget()
    } else if state.order == nil {
      state.discardFetched()
    }
  }
}
