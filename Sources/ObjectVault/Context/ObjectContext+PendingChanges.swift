// What a save would change, as the value that it yields then.

internal import CipherSQLite

extension ObjectContext {
  /// What ``save()`` would change, as far as it is known in memory: new objects have negative ids, and what delete rules
  /// take along besides is found by the save. An object that the save deletes stands among the deleted ones alone: a
  /// to-one that leads to it is nil, and no new link is one with it. Places of members in ordered relationships are numbers
  /// that the save finds: there are none here, though ``hasChanges`` says that members have moved.
  ///
  /// Inside ``Store/write(_:)`` it is all that the write has changed and not yet committed, whether it is in memory or a ``save()`` has
  /// put it into the file; new objects have their final ids.
  ///
  /// Costs time and memory in proportion to what is pending, or was written.
  public var pendingChanges: ChangeSet {
    let changes = changesInMemory
    do {
      guard var all = try withUncommitted({ try $0.collected() }) else { return changes }
      all.add(changes)
      return remaining(all.changes)
    } catch {
      note(error)
      return changes
    }
  }

  /// What differs from the file.
  private var changesInMemory: ChangeSet {
    var changes = ChangeSet(author: author, name: transactionName)
    for object in pending.inserted where object.state == .inserted {
      guard let entity = object.entity, let overlay = object.overlay else { continue }
      let values = Self.values(entity, entity.storedSlots) { remaining(overlay[$0], entity, $0) }
      changes.inserted.append(
        .init(entity: entity.name, rowID: object.knownRowID, values: values.filter { !$0.value.isNull }))
    }
    changes.updated = pending.updated.compactMap(update(of:))
    for object in pending.deleted where object.state == .deleted {
      guard let entity = object.entity else { continue }
      let slots = object.hasRow ? entity.storedSlots : []
      let values = Self.values(entity, slots) { object.rowValue($0) ?? .null }
      changes.deleted.append(
        .init(
          entity: entity.name, rowID: object.rowID, values: values.filter { !$0.value.isNull }))
    }
    addLinks(to: &changes)
    return changes
  }

  /// nil for an object that would be written as it is.
  private func update(of object: ManagedObject) -> ChangeSet.Update? {
    guard object.state == .loaded, let entity = object.entity, let overlay = object.overlay, object.hasRow
    else { return nil }
    let slots = entity.storedSlots.filter {
      overlay.changed.contains($0)
        && object.rowValue($0)?.isStored(as: remaining(overlay[$0], entity, $0)) == false
    }
    guard !slots.isEmpty else { return nil }
    return .init(
      entity: entity.name, rowID: object.rowID,
      old: Self.values(entity, slots) { object.rowValue($0) ?? .null },
      new: Self.values(entity, slots) { remaining(overlay[$0], entity, $0) })
  }

  private func addLinks(to changes: inout ChangeSet) {
    let ends = pending.links.values.filter { link in
      link.isLive && !(link.isAdded && (link.source.state == .deleted || link.target.state == .deleted))
    }.map { link in
      (link.join.link(link.source.knownRowID, link.target.knownRowID), link.isAdded)
    }.sorted {
      ($0.0.entity, $0.0.relationship, $0.0.source, $0.0.target)
        < ($1.0.entity, $1.0.relationship, $1.0.source, $1.0.target)
    }
    changes.linked = ends.filter(\.1).map(\.0)
    changes.unlinked = ends.filter { !$0.1 }.map(\.0)
  }

  /// What a property holds when all that is deleted is gone.
  private func remaining(_ value: SQLValue, _ entity: EntityMapping, _ slot: Int) -> SQLValue {
    guard let relationship = entity.slots[slot].relationship, case .integer(let id) = value else {
      return value
    }
    let target = maps[relationship.destination.index].find(id)
    // A new object that was deleted again is in no map.
    return target?.state == .deleted || (target == nil && id < 0) ? .null : known(value)
  }

  /// Changes of which some were written before others: nothing leads to what is deleted in memory alone.
  private func remaining(_ changes: ChangeSet) -> ChangeSet {
    var all = ChangeCollector()
    let isGone = { (entity: EntityMapping?, id: Int64) in
      entity.flatMap { self.maps[$0.index].find(id) }?.state == .deleted
    }
    let values = { (name: String, values: ChangeSet.Values) -> ChangeSet.Values in
      guard let entity = self.core.mapping.entity(named: name) else { return values }
      return Dictionary(
        uniqueKeysWithValues: values.map { property, value in
          let slot = entity.slot(named: property)
          return (property, slot.map { self.remaining(value, entity, $0) } ?? value)
        })
    }
    for row in changes.inserted { all.insert(row.entity, row.rowID, values(row.entity, row.values)) }
    for row in changes.updated {
      all.update(row.entity, row.rowID, old: row.old, new: values(row.entity, row.new))
    }
    for row in changes.deleted { all.delete(row.entity, row.rowID, row.values) }
    for link in changes.unlinked { all.unlink(link) }
    for link in changes.linked {
      let source = core.mapping.entity(named: link.entity)
      let target = source?.slot(named: link.relationship).flatMap {
        source?.slots[$0].relationship?.destination
      }
      if !isGone(source, link.source), !isGone(target, link.target) { all.link(link) }
    }
    var result = all.changes
    (result.author, result.name) = (author, transactionName)
    return result
  }

  private static func values(
    _ entity: EntityMapping, _ slots: [Int], _ value: (Int) -> SQLValue
  ) -> ChangeSet.Values {
    Dictionary(uniqueKeysWithValues: slots.map { (entity.slots[$0].name, value($0)) })
  }
}
