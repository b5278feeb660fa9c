// What a save changes in memory before it writes, and how a failed one takes that back.
//
// The delete rules hold in memory first, so that objects that lose a reference are written by the normal
// updates, with their versions compared. Until the commit nothing is discarded: on any error everything is
// pending as it was.

internal import CipherSQLite

/// What a save changed in memory, in the order of the changes.
struct SaveMarks {
  struct Release {
    let object: ManagedObject
    let slot: Int
    let former: SQLValue
    let wasChanged: Bool
    let hadOverlay: Bool
    let wasRegistered: Bool
  }
  var states: [(object: ManagedObject, former: ManagedObject.State)] = []
  var releases: [Release] = []
  /// The loaded objects by the target of a to-one, made when one is asked for a second time.
  fileprivate var referrers: [ObjectIdentifier: [Int: Referrers]] = [:]

  fileprivate enum Referrers {
    case askedOnce
    case known([Int64: [ManagedObject]])
  }
}

extension SaveOperation {
  /// Runs `body`, and on an error undoes what was marked.
  func undoOnError(_ body: () throws -> Void) throws {
    let (deleted, updated) = (context.deleted.count, context.updated.count)
    do { try body() } catch {
      for release in marks.releases.reversed() { undo(release) }
      for (object, former) in marks.states.reversed() { object.state = former }
      context.deleted.removeSubrange(deleted...)
      context.updated.removeSubrange(updated...)
      if !marks.states.isEmpty { context.deletions.restart() }
      throw error
    }
  }

  private func undo(_ release: SaveMarks.Release) {
    guard release.hadOverlay, let overlay = release.object.overlay else {
      release.object.overlay = nil
      release.object.isRegistered = release.wasRegistered
      return
    }
    overlay.values[release.slot] = release.former
    if !release.wasChanged { overlay.changed.remove(release.slot) }
  }

  /// Marks every loaded object that goes with a deleted one, and sets references of the others to nil.
  ///
  /// Level by level, so that each level looks through the loaded objects once, however many it deletes.
  func markVictimsInMemory() throws {
    guard !context.deleted.isEmpty else { return }
    var level = context.deleted
    var denying: [(ManagedObject, RelationshipMapping)] = []
    while !level.isEmpty {
      var next: [ManagedObject] = []
      for (entity, objects) in grouped(level) {
        let ids = Set(objects.map(\.rowID))
        let rows = ids.filter { $0 > 0 }.subtracting(victims[entity.index])
        victims[entity.index].formUnion(rows)
        if !rows.isEmpty { levels.append((entity.index, rows.sorted())) }
        for relationship in entity.slots.compactMap(\.relationship) {
          if relationship.deleteRule == .deny {
            // Rows are asked for by SQL; a new object has none.
            denying += objects.lazy.filter { $0.rowID < 0 }.map { ($0, relationship) }
            continue
          }
          for member in membersInMemory(objects, ids, relationship) {
            if relationship.deleteRule == .nullify {
              release(member, from: relationship, ids)
            } else if take(member) {
              next.append(member)
            }
          }
        }
        for referrer in entity.danglingReferrers {
          for member in referring(referrer.owner, referrer.slot, ids) { release(member, referrer.slot) }
        }
      }
      level = next
    }
    for (object, relationship) in denying {
      let left = object.related(by: relationship).count { $0.state != .deleted }
      guard left == 0 else {
        throw StoreError.deleteDenied(
          entity: relationship.owner.name, property: relationship.name, count: left)
      }
    }
  }

  /// Objects in memory at the other end of a relationship of deleted objects.
  private func membersInMemory(
    _ objects: [ManagedObject], _ ids: Set<Int64>, _ relationship: RelationshipMapping
  ) -> [ManagedObject] {
    if !relationship.isToMany {
      return objects.compactMap { object in
        guard object.row != nil || object.overlay != nil,
          case .integer(let id) = object.storedValue(relationship.slot) ?? .null
        else { return nil }
        return context.maps[relationship.destination.index].find(id)
      }
    }
    if relationship.join != nil {
      return objects.flatMap { object in
        object.toMany[relationship.slot].map { $0.members ?? $0.added } ?? []
      }
    }
    return relationship.inverseSlot.map { referring(relationship.destination, $0, ids) } ?? []
  }

  /// The loaded objects whose to-one leads to one of `ids`. Fetches nothing.
  private func referring(_ entity: EntityMapping, _ slot: Int, _ ids: Set<Int64>) -> [ManagedObject] {
    switch marks.referrers[ObjectIdentifier(entity)]?[slot] {
    case nil:
      marks.referrers[ObjectIdentifier(entity), default: [:]][slot] = .askedOnce
      return context.maps[entity.index].all.filter { target(of: $0, slot).map(ids.contains) ?? false }
    case .askedOnce:
      // A deep hierarchy asks once for each level: looking through all objects each time would be quadratic.
      var known: [Int64: [ManagedObject]] = [:]
      for object in context.maps[entity.index].all {
        if let id = target(of: object, slot) { known[id, default: []].append(object) }
      }
      marks.referrers[ObjectIdentifier(entity)]?[slot] = .known(known)
      return found(known, slot, ids)
    case .known(let known): return found(known, slot, ids)
    }
  }

  private func found(
    _ known: [Int64: [ManagedObject]], _ slot: Int, _ ids: Set<Int64>
  ) -> [ManagedObject] {
    ids.flatMap { id in (known[id] ?? []).filter { target(of: $0, slot) == id } }
  }

  private func target(of object: ManagedObject, _ slot: Int) -> Int64? {
    guard object.state == .loaded || object.state == .inserted,
      case .integer(let id) = object.storedValue(slot) ?? .null
    else { return nil }
    return id
  }

  /// Marks an object for deletion; false when it is marked already.
  private func take(_ object: ManagedObject) -> Bool {
    switch object.state {
    case .inserted where object.rowID < 0: doomed.append(object)
    case .inserted, .loaded, .fault: context.deleted.append(object)
    case .deleted, .invalid, .detached: return false
    }
    marks.states.append((object, object.state))
    object.state = .deleted
    if object.entity?.isInJoins == true { context.deletions.append(object) }
    return true
  }

  /// - Parameter ids: Who goes; a member that has somebody else by now keeps them.
  private func release(_ member: ManagedObject, from relationship: RelationshipMapping, _ ids: Set<Int64>) {
    guard let inverse = relationship.inverseSlot, !relationship.inverseIsToMany,
      target(of: member, inverse).map(ids.contains) == true
    else { return }
    release(member, inverse)
  }

  /// Sets a to-one to nil. A fault is left to the file.
  func release(_ object: ManagedObject, _ slot: Int) {
    guard object.state == .loaded || object.state == .inserted else { return }
    let overlay = object.overlay
    marks.releases.append(
      SaveMarks.Release(
        object: object, slot: slot, former: overlay?.values[slot] ?? .null,
        wasChanged: overlay?.changed.contains(slot) ?? false, hadOverlay: overlay != nil,
        wasRegistered: object.isRegistered))
    object.overwrite(.null, slot, nil)
  }
}
