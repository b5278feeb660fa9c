// Scratch contexts: changes that another context takes over in memory, or that are thrown away.

internal import CipherSQLite

extension ObjectContext {
  /// Creates a context with the pending changes of this one, for changes that are either taken over or thrown
  /// away as a whole: a form with a Cancel button, a wizard, an import that is shown before it is accepted.
  ///
  /// ```swift
  /// let form = try context.makeScratch()
  /// let copy = try form.object(with: user.id)
  /// copy.name = "Bea"
  /// try context.takeChanges(of: form)  // or release `form`
  /// try context.save()
  /// ```
  ///
  /// A scratch context fetches, inserts, changes and deletes as any other one. It does not save: ``save()``
  /// and other calls that write throw ``StoreError/scratchNotSaved``. Its objects are its own: a new object
  /// of this context is ``counterpart(of:)`` there. Changes that are made in this context later are not
  /// visible in it.
  ///
  /// Takes time in proportion to the pending changes, and reads the rows of the changed objects.
  /// - Returns: The context.
  /// - Throws: ``StoreError/scratchNotSaved`` inside ``Store/read(_:)`` and ``Store/write(_:)``, which end
  ///   before a scratch context is of use; ``StoreError/objectGone(entity:rowID:)`` if the row of a changed
  ///   object no longer exists; ``SQLError``.
  public func makeScratch() throws -> ObjectContext {
    guard case .pooled = access else { throw StoreError.scratchNotSaved }
    let scratch = ObjectContext(core: core, access: access)
    scratch.notifiesObservers = notifiesObservers
    var transfer = ChangeTransfer(from: self, to: scratch, counterparts: [:])
    try transfer.run(checksVersions: false)
    var originals: [ObjectIdentifier: ScratchOrigin.Original] = [:]
    for object in insertedObjects {
      guard let copy = transfer.counterparts[ObjectIdentifier(object)] else { continue }
      originals[ObjectIdentifier(copy)] = .init(copy: copy, object: object)
    }
    let links = pending.links.values.filter(\.isLive).compactMap { link -> ScratchOrigin.Link? in
      guard let source = transfer.counterparts[ObjectIdentifier(link.source)],
        let target = transfer.counterparts[ObjectIdentifier(link.target)]
      else { return nil }
      return .init(
        sourceCopy: source, targetCopy: target, join: link.join, isAdded: link.isAdded,
        source: link.source, target: link.target)
    }
    scratch.scratchOrigin = ScratchOrigin(parent: self, originals: originals, links: links)
    return scratch
  }

  /// Makes the pending changes of a scratch context here, as one group of the undo manager. They are pending
  /// then, and ``save()`` writes them. The scratch context is empty afterwards, and its objects are
  /// ``ManagedObject/State/invalid``.
  ///
  /// Of an object that both contexts have changed, each property that the scratch context has changed gets
  /// its value. Nothing is taken over if another writer has committed a newer row of an object that the
  /// scratch context has changed: ``conflicts()`` and ``resolve(_:keeping:)`` of the scratch context settle
  /// that. Reads the rows of the changed objects that are not in memory, one by one.
  /// - Parameter scratch: A context that ``makeScratch()`` of this context has made.
  /// - Throws: ``StoreError/conflicts(_:)``; ``StoreError/objectGone(entity:rowID:)`` for a changed object
  ///   that was deleted here or in the store; ``StoreError/scratchOfAnother``; ``SQLError``. Nothing is taken
  ///   over then.
  public func takeChanges(of scratch: ObjectContext) throws {
    guard let origin = scratch.scratchOrigin, origin.parent === self else {
      throw StoreError.scratchOfAnother
    }
    if let refusal { throw refusal }
    if let first = scratch.faultErrors.first { throw first }
    var counterparts: [ObjectIdentifier: ManagedObject] = [:]
    for original in origin.originals.values where original.object.context === self {
      counterparts[ObjectIdentifier(original.copy)] = original.object
    }
    for link in origin.links {
      counterparts[ObjectIdentifier(link.sourceCopy)] = link.source
      counterparts[ObjectIdentifier(link.targetCopy)] = link.target
    }
    var transfer = ChangeTransfer(from: scratch, to: self, counterparts: counterparts)
    try notifyingObservers { try transfer.run(checksVersions: true) }
    scratch.scratchOrigin = ScratchOrigin(parent: self, originals: [:], links: [])
    scratch.reset()
  }

  /// Returns the object of this scratch context for a new object of the context that it was made of.
  /// - Parameter object: A new object of the other context, which existed when the scratch context was made.
  /// - Returns: The object; nil for any other object, and for one that was deleted here.
  public func counterpart<Object: ManagedObject>(of object: Object) -> Object? {
    let original = scratchOrigin?.originals.values.first { $0.object === object }
    return original.flatMap { $0.copy.state == .inserted ? $0.copy as? Object : nil }
  }

  /// Checks that the context may write to the store.
  /// - Throws: ``StoreError/readOnlyContext``, ``StoreError/scratchNotSaved``.
  func requireWritable() throws(StoreError) {
    guard canWrite else { throw .readOnlyContext }
    guard scratchOrigin == nil else { throw .scratchNotSaved }
  }
}

/// Makes the pending changes of one context in another one of the same store.
private struct ChangeTransfer {
  private let source: ObjectContext
  private let destination: ObjectContext
  /// The objects of the destination, by objects of the source.
  private(set) var counterparts: [ObjectIdentifier: ManagedObject]

  init(
    from source: ObjectContext, to destination: ObjectContext, counterparts: [ObjectIdentifier: ManagedObject]
  ) {
    (self.source, self.destination, self.counterparts) = (source, destination, counterparts)
  }

  /// Transfers the changes. After an error, nothing has changed.
  /// - Parameter checksVersions: Whether a newer row in the destination is a conflict.
  mutating func run(checksVersions: Bool) throws {
    let (inserted, updated) = (source.insertedObjects, source.updatedObjects)
    // What is deleted in both needs no second deletion.
    let deleted = source.deletedObjects.filter { object in
      let other = object.map.flatMap { destination.maps[$0.entity.index].find(object.rowID) }
      guard let other, other.state == .deleted else { return true }
      counterparts[ObjectIdentifier(object)] = other
      return false
    }
    let links = source.pending.links.values.filter(\.isLive)
    var conflicts: [Conflict] = []
    for object in updated + deleted {
      guard let conflict = try find(object), checksVersions else { continue }
      conflicts.append(conflict)
    }
    guard conflicts.isEmpty else { throw StoreError.conflicts(conflicts) }
    for object in links.flatMap({ [$0.source, $0.target] }) + source.pending.touched
    where object.state != .inserted && object.state != .deleted && object.state != .invalid {
      _ = try find(object)
    }
    try destination.oneUndo {
      for object in inserted where counterparts[ObjectIdentifier(object)] == nil {
        guard let entity = object.entity else { continue }
        counterparts[ObjectIdentifier(object)] = try destination.insert(entity) { _ in }
      }
      let present = Set(inserted.map { ObjectIdentifier($0) })
      let originals = source.scratchOrigin?.originals.values.map { $0 } ?? []
      let gone = originals.filter { !present.contains(ObjectIdentifier($0.copy)) }
      for object in inserted + updated { setAttributes(of: object) }
      for object in inserted + updated { setToOnes(of: object) }
      for link in links { set(link) }
      revertLinks(keeping: links)
      for owner in source.pending.touched { setOrders(of: owner) }
      for object in gone.map(\.object) + deleted.compactMap(counterpart) where isUsable(object) {
        destination.delete(object)
      }
      destination.pendingMetadata.values.merge(source.pendingMetadata.values) { $1 }
    }
  }

  private func isUsable(_ object: ManagedObject) -> Bool {
    object.context === destination
      && (object.state == .inserted || object.state == .loaded || object.state == .fault)
  }

  /// Finds the object of a saved row in the destination, and reads its row.
  /// - Returns: A conflict if the row in the destination is not the one that the source has changed.
  private mutating func find(_ object: ManagedObject) throws -> Conflict? {
    guard let entity = object.entity, object.rowID > 0 else { return nil }
    let map = destination.maps[entity.index]
    let found = map.find(object.rowID) ?? map.add(object.rowID)
    if found.state == .fault { try destination.load(found) }
    // An older row without changes is read again, as at its next access after a merge.
    if found.state == .loaded, found.overlay == nil, found.rowVersion != object.rowVersion {
      destination.refresh(found)
      try destination.load(found)
    }
    guard isUsable(found) else { throw StoreError.objectGone(entity: entity.name, rowID: object.rowID) }
    counterparts[ObjectIdentifier(object)] = found
    // No conflict here: the row with changes in the destination is older, and its save reports that.
    let isOlder = found.overlay != nil && found.rowVersion < object.rowVersion
    guard object.hasRow, found.rowVersion != object.rowVersion, !isOlder else { return nil }
    let changed = entity.storedSlots.filter { object.overlay?.changed.contains($0) == true }
    return Conflict(
      entity: entity.name, rowID: object.rowID, fetchedVersion: object.rowVersion,
      storedVersion: found.rowVersion, properties: changed.map { entity.slots[$0].name })
  }

  private func counterpart(_ object: ManagedObject) -> ManagedObject? {
    counterparts[ObjectIdentifier(object)]
  }

  private func setAttributes(of object: ManagedObject) {
    guard let entity = object.entity, let other = counterpart(object), let overlay = object.overlay else {
      return
    }
    for slot in entity.storedSlots where !entity.isToOne[slot] && overlay.changed.contains(slot) {
      if let error = overlay.refused?[slot] {
        other.refuse(error, slot)
      } else if let value = object.storedValue(slot), other.storedValue(slot)?.isStored(as: value) != true {
        other.setStored(value, slot)
      }
    }
  }

  private func setToOnes(of object: ManagedObject) {
    guard let entity = object.entity, let other = counterpart(object), let overlay = object.overlay else {
      return
    }
    for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
      guard let target = object.toOneTarget(slot), target.state != .invalid else {
        other.writeToOne(nil, UInt16(slot))
        continue
      }
      // A target that is deleted stays the target: its delete rule may concern this object.
      if let known = counterpart(target), let relationship = entity.slots[slot].relationship {
        if isUsable(known) {
          other.writeToOne(known, UInt16(slot))
        } else if known.state == .deleted {
          other.refer(to: known, relationship)
        }
      } else if target.state != .deleted, let relationship = entity.slots[slot].relationship,
        let found = destination.target(of: relationship, target.rowID, tells: true)
      {
        other.writeToOne(found, UInt16(slot))
      } else {
        other.writeToOne(nil, UInt16(slot))
      }
    }
  }

  private func set(_ link: PendingLink) {
    guard let source = counterpart(link.source), let target = counterpart(link.target), isUsable(source),
      isUsable(target),
      let relationship = destination.core.mapping.relationships.first(where: {
        $0.join?.table === link.join && $0.join?.isSource == true
      })
    else { return }
    if link.isAdded { source.connect(target, relationship) } else { source.disconnect(target, relationship) }
  }

  /// Changes pending links of the destination back that the scratch context got as copies and does not have
  /// any more.
  private func revertLinks(keeping present: [PendingLink]) {
    struct Key: Hashable {
      let join: ObjectIdentifier
      let source: ObjectIdentifier
      let target: ObjectIdentifier
      let isAdded: Bool
    }
    func key(_ join: JoinTable, from source: ManagedObject, to target: ManagedObject, isAdded: Bool) -> Key {
      Key(
        join: ObjectIdentifier(join), source: ObjectIdentifier(source), target: ObjectIdentifier(target),
        isAdded: isAdded)
    }
    let kept = Set(present.map { key($0.join, from: $0.source, to: $0.target, isAdded: $0.isAdded) })
    for link in source.scratchOrigin?.links ?? []
    where !kept.contains(key(link.join, from: link.sourceCopy, to: link.targetCopy, isAdded: link.isAdded)) {
      set(
        PendingLink(
          source: link.sourceCopy, target: link.targetCopy, join: link.join, isAdded: !link.isAdded,
          isKnown: true))
    }
  }

  /// Gives the members of ordered to-manys the order that they have in the source.
  private func setOrders(of owner: ManagedObject) {
    guard let entity = owner.entity, let other = counterpart(owner), isUsable(other) else { return }
    for relationship in entity.relationships where relationship.isOrdered {
      guard let order = owner.toMany[relationship.slot]?.order?.objects,
        order.allSatisfy({ $0.state != .invalid })
      else { continue }
      let members = order.filter { $0.state != .deleted }.compactMap { member in
        counterpart(member) ?? destination.target(of: relationship, member.rowID, tells: true)
      }
      other.writeToMany(members, UInt16(relationship.slot))
    }
  }
}
