// Writes the places of members, and records changes of places.

internal import CipherSQLite

extension SaveWriter {
  /// Writes the planned places.
  func writePlaces() throws {
    for planned in plan.places {
      try connection.withStatement(sql: planned.relationship.placeSQL) { statement in
        for member in planned.members {
          try statement.bind(
            [member.place.map { .integer($0) } ?? .null, .integer(member.member), .integer(member.owner)])
          _ = try statement.step()
          statement.reset()
          if connection.changes == 0 { try requireMemberGone(member, planned.relationship) }
        }
      }
    }
  }

  /// Handles a place that was not written. If the member still exists, a trigger prevents the write,
  /// which is an error. Otherwise another connection has removed the member.
  private func requireMemberGone(_ member: MemberPlace, _ relationship: RelationshipMapping) throws {
    let ends = [SQLValue.integer(member.member), .integer(member.owner)]
    guard try connection.value(sql: relationship.placeValueSQL, ends) != nil else { return }
    throw ignored(
      relationship.owner, property: relationship.name, id: member.owner,
      what: "given the position of \(relationship.destination.name) \(member.member)")
  }

  /// Reads the places that the plan may change; empty if they are not recorded.
  func placesBefore() throws -> PlaceRecord {
    guard records, mapping.hasOrder else { return PlaceRecord() }
    let relationships = mapping.relationships.filter {
      $0.isOrdered && (record != nil || history?.numbers.number(of: $0) != nil)
    }
    return try PlaceRecord(
      relationships.map { ($0, members(of: $0), plan.deletion.branchRows($0.owner)) },
      ConnectionReader(connection: connection))
  }

  func recordPlaces(since before: PlaceRecord) throws {
    guard records else { return }
    for (relationship, placement) in try before.changes(ConnectionReader(connection: connection)) {
      record?.place(placement)
      history?.place(placement, in: relationship)
      try history?.store(connection)
    }
  }

  /// Returns the ids of the members whose places in a relationship may change.
  private func members(of relationship: RelationshipMapping) -> Set<Int64> {
    let destination = relationship.destination
    var members = Set(plan.deletion.branchRows(destination))
    for planned in plan.places where planned.relationship === relationship {
      members.formUnion(planned.members.lazy.map(\.member))
    }
    switch relationship.storage {
    case .column: break
    case .inverseColumn:
      guard let slot = relationship.inverseSlot else { break }
      for (entity, objects) in plan.updated where destination.includes(entity) {
        for object in objects where plan.overlay(of: object)?.changed.contains(slot) == true {
          members.insert(object.rowID)
        }
      }
      for (entity, released, ids) in plan.deletion.released
      where entity == destination.index && released == slot {
        members.formUnion(ids)
      }
    case .join(let table, let isSource):
      for planned in plan.links where planned.link.join.name == table.name {
        members.insert(isSource ? planned.target : planned.source)
      }
    }
    return members
  }
}

/// The places of some members at one moment.
struct PlaceRecord {
  private var places: [(relationship: RelationshipMapping, members: [Int64], owners: [Int64])] = []
  /// The places by relationship, then by owner and member.
  private var before: [[LinkEnds: Int64?]] = []

  init() {}

  /// Reads the places.
  /// - Parameters:
  ///   - members: For each relationship, the members whose places are read. In addition, all members of
  ///     `owners` are read.
  ///   - reader: Reads the file.
  init(
    _ members: [(relationship: RelationshipMapping, members: Set<Int64>, owners: [Int64])],
    _ reader: some SaveReader
  ) throws {
    places = members.map { ($0.relationship, $0.members.sorted(), $0.owners) }
    before = try Self.read(places, reader)
  }

  private static func read(
    _ places: [(relationship: RelationshipMapping, members: [Int64], owners: [Int64])],
    _ reader: some SaveReader
  ) throws -> [[LinkEnds: Int64?]] {
    try places.map { relationship, members, owners in
      let found =
        try reader.places(relationship, ofMembers: members) + reader.places(relationship, of: owners)
      return Dictionary(found.map { (LinkEnds(own: $0.owner, other: $0.member), $0.place) }) { first, _ in
        first
      }
    }
  }

  /// Returns the changes of places since `init`, in the order of relationships, owners and members.
  func changes(_ reader: some SaveReader) throws -> [(RelationshipMapping, ChangeSet.Placement)] {
    var changes: [(RelationshipMapping, ChangeSet.Placement)] = []
    for ((relationship, old), new) in zip(
      zip(places.map(\.relationship), before), try Self.read(places, reader))
    {
      let ends = Set(old.keys).union(new.keys).filter { (old[$0] ?? nil) != (new[$0] ?? nil) }
      changes += ends.sorted { ($0.own, $0.other) < ($1.own, $1.other) }.map {
        let placement = ChangeSet.Placement(
          entity: relationship.owner.name, relationship: relationship.name, owner: $0.own, member: $0.other,
          old: old[$0] ?? nil, new: new[$0] ?? nil)
        return (relationship, placement)
      }
    }
    return changes
  }
}
