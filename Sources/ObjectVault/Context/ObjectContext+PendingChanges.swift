// The changes that a save would write, as a change set.

internal import CipherSQLite

extension ObjectContext {
  /// The changes that ``save()`` would write, as far as they are known in memory.
  ///
  /// New objects have negative ids, and rows that delete rules affect beyond the objects in memory are
  /// only found by the save. An object that the save deletes is listed only as deleted: a to-one to it is
  /// nil, and no new link refers to it. Places of members in ordered relationships are determined by the
  /// save and are not included, although ``hasChanges`` is true when members have moved.
  ///
  /// Inside ``Store/write(_:)`` these are all uncommitted changes of the write, whether they are in
  /// memory or written by a ``save()``; new objects have their final ids.
  ///
  /// Takes time and memory in proportion to what is pending or was written.
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

  /// The differences between the objects in memory and the file.
  private var changesInMemory: ChangeSet {
    var changes = ChangeSet(author: author, name: transactionName)
    for object in pending.inserted where object.state == .inserted {
      guard let entity = object.entity, let overlay = object.overlay else { continue }
      let values = Self.values(of: entity, slots: entity.storedSlots) {
        remaining(overlay[$0], of: entity, slot: $0)
      }
      changes.inserted.append(
        .init(entity: entity.name, rowID: object.visibleRowID, values: values.filter { !$0.value.isNull }))
    }
    do {
      try readLazyValues(of: pending.updated + pending.deleted) { object, slot in
        object.state == .deleted || object.overlay?.changed.contains(slot) == true
      }
    } catch { note(error) }
    changes.updated = pending.updated.compactMap(update(of:))
    for object in pending.deleted where object.state == .deleted {
      guard let entity = object.entity else { continue }
      let slots = object.hasRow ? entity.storedSlots : []
      let values = Self.values(of: entity, slots: slots) { object.packedCell($0)?.value ?? .null }
      changes.deleted.append(
        .init(
          entity: entity.name, rowID: object.rowID, values: values.filter { !$0.value.isNull }))
    }
    addLinks(to: &changes)
    return changes
  }

  /// Returns the update of an object; nil if its values in memory equal its row.
  private func update(of object: ManagedObject) -> ChangeSet.Update? {
    guard object.state == .loaded, let entity = object.entity, let overlay = object.overlay, object.hasRow
    else { return nil }
    let slots = entity.storedSlots.filter {
      overlay.changed.contains($0)
        && object.packedCell($0)?.value.isStored(as: remaining(overlay[$0], of: entity, slot: $0)) == false
    }
    guard !slots.isEmpty else { return nil }
    return .init(
      entity: entity.name, rowID: object.rowID,
      old: Self.values(of: entity, slots: slots) { object.packedCell($0)?.value ?? .null },
      new: Self.values(of: entity, slots: slots) { remaining(overlay[$0], of: entity, slot: $0) })
  }

  private func addLinks(to changes: inout ChangeSet) {
    let ends = pending.links.values.filter { link in
      link.isLive && !(link.isAdded && (link.source.state == .deleted || link.target.state == .deleted))
    }.map { link in
      (link.join.link(from: link.source.visibleRowID, to: link.target.visibleRowID), link.isAdded)
    }.sorted {
      ($0.0.entity, $0.0.relationship, $0.0.source, $0.0.target)
        < ($1.0.entity, $1.0.relationship, $1.0.source, $1.0.target)
    }
    changes.linked = ends.filter(\.1).map(\.0)
    changes.unlinked = ends.filter { !$0.1 }.map(\.0)
  }

  /// Returns the value that a property will have after all pending deletions.
  private func remaining(_ value: SQLValue, of entity: EntityMapping, slot: Int) -> SQLValue {
    guard let relationship = entity.slots[slot].relationship, case .integer(let id) = value else {
      return value
    }
    let target = maps[relationship.destination.index].find(id)
    // A new object that was deleted again is in no map.
    return target?.state == .deleted || (target == nil && id < 0) ? .null : known(value)
  }

  /// Returns changes without references to objects whose deletion is not written yet.
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
          return (property, slot.map { self.remaining(value, of: entity, slot: $0) } ?? value)
        })
    }
    for row in changes.inserted {
      all.insert(row.entity, rowID: row.rowID, values: values(row.entity, row.values))
    }
    for row in changes.updated {
      all.update(row.entity, rowID: row.rowID, old: row.old, new: values(row.entity, row.new))
    }
    for row in changes.deleted { all.delete(row.entity, rowID: row.rowID, values: row.values) }
    for link in changes.unlinked { all.unlink(link) }
    for link in changes.linked {
      let source = core.mapping.entity(named: link.entity)
      let target = source?.slot(named: link.relationship).flatMap {
        source?.slots[$0].relationship?.destination
      }
      if !isGone(source, link.source), !isGone(target, link.target) { all.link(link) }
    }
    all.changedBySQL = Set(changes.changedBySQL)
    var result = all.changes
    (result.author, result.name) = (author, transactionName)
    return result
  }

  private static func values(
    of entity: EntityMapping, slots: [Int], _ value: (Int) -> SQLValue
  ) -> ChangeSet.Values {
    Dictionary(uniqueKeysWithValues: slots.map { (entity.slots[$0].name, value($0)) })
  }
}
