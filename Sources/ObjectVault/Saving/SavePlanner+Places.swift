// Plans the places that a save writes for the members of ordered relationships.

internal import CipherSQLite

extension SavePlanner {
  /// Plans the places of new and moved members. New members are placed after the last member. For that,
  /// only two kinds of places are read: that of the last member, and those of new members that the file
  /// already has as members. If the members of an owner were reordered, all their places are read.
  mutating func planPlaces() throws {
    guard mapping.hasOrder else { return }
    for entity in mapping.entities {
      for relationship in entity.relationships where relationship.isOrdered {
        var places: [MemberPlace] = []
        for owner in pending.touched where owner.entity === entity && isThere(owner) {
          guard let state = owner.toMany[relationship.slot], let order = state.order else { continue }
          let new = state.unplaced.filter(isThere)
          guard !new.isEmpty || order.isRearranged else { continue }
          places += try self.places(new, in: relationship, of: owner, state: state, order: order)
        }
        guard !places.isEmpty else { continue }
        places.sort { ($0.owner, $0.member) < ($1.owner, $1.member) }
        plan.places.append(PlannedPlaces(relationship: relationship, members: places))
      }
    }
  }

  private func isThere(_ object: ManagedObject) -> Bool {
    switch object.state {
    case .inserted, .loaded, .fault: !plan.deletes(object) && plan.ids.final(object.rowID) > 0
    case .deleted, .invalid, .detached: false
    }
  }

  private func places(
    _ new: [ManagedObject], in relationship: RelationshipMapping, of owner: ManagedObject,
    state: ToManyState, order: MemberOrder<ManagedObject>
  ) throws -> [MemberPlace] {
    let id = plan.ids.final(owner.rowID)
    if !order.isRearranged {
      let stored = try storeState(new, relationship, of: owner)
      let after = new.map { plan.ids.final($0.rowID) }.filter { stored[$0] == nil }
      let last = after.isEmpty || owner.rowID < 0 ? nil : try reader.lastPlace(relationship, of: id)
      if let places = MemberOrdering.places(after.count, after: last) {
        return zip(after, places).map { MemberPlace(owner: id, member: $0, place: $1) }
          + stored.values.filter { $0.place != nil }
      }
    }
    return try rearranged(relationship, of: owner, state: state, order: order)
  }

  /// Returns the places of those new members that the file already has as members: they were removed and
  /// added again before the other members were in memory. They keep their places. The places are written
  /// again, because writing the reference clears them.
  private func storeState(
    _ new: [ManagedObject], _ relationship: RelationshipMapping, of owner: ManagedObject
  ) throws -> [Int64: MemberPlace] {
    let ids = new.map(\.rowID).filter { $0 > 0 }
    guard owner.rowID > 0, !ids.isEmpty else { return [:] }
    let found = try reader.places(relationship, of: owner.rowID, members: ids.sorted())
    return Dictionary(found.map { ($0.member, $0) }) { first, _ in first }
  }

  private func rearranged(
    _ relationship: RelationshipMapping, of owner: ManagedObject, state: ToManyState,
    order: MemberOrder<ManagedObject>
  ) throws -> [MemberPlace] {
    let id = plan.ids.final(owner.rowID)
    let (new, leaving) = (state.added, Set(state.removed.lazy.map(\.rowID)))
    let stored = (owner.rowID > 0 ? try reader.places(relationship, of: [owner.rowID]) : []).filter {
      !leaving.contains($0.member) && !plan.deletion.contains($0.member, relationship.destination)
    }
    let isStored = Set(stored.lazy.map(\.member))
    // If a member was not added here and the file no longer has it, another connection has removed it.
    let wanted = order.objects.filter {
      isThere($0) && (new.contains($0) || isStored.contains($0.rowID))
    }.map { plan.ids.final($0.rowID) }
    var places = MemberOrdering.changes(wanted, stored.map { ($0.member, $0.place) })
    let added = Set(new.lazy.map(\.rowID))
    for place in stored where added.contains(place.member) && places[place.member] == nil {
      places[place.member] = place.place
    }
    return places.map { MemberPlace(owner: id, member: $0.key, place: $0.value) }
  }
}
