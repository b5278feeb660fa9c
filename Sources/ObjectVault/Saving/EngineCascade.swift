// What the engine does by its own cascade: it deletes members without anybody knowing which, and gives up a thousand levels
// down.

internal import CipherSQLite

extension SavePlanner {
  /// The relationships whose members need not be looked at when their owners go: none of them is in memory, nobody hears of
  /// them, nothing goes with them or loses them, and no rule of anybody else asks whether they go.
  func relationshipsLeftToEngine() throws -> Set<ObjectIdentifier> {
    guard !isHeard, plan.extent == .whole, !pending.deleted.isEmpty else { return [] }
    let owners = Set(pending.deleted.lazy.compactMap(\.entity).map(\.index))
    var left: Set<ObjectIdentifier> = []
    for entity in mapping.entities where owners.contains(entity.index) {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        if try isLeftToEngine(relationship, of: entity) { left.insert(ObjectIdentifier(relationship)) }
      }
    }
    return left
  }

  private func isLeftToEngine(_ relationship: RelationshipMapping, of owner: EntityMapping) throws -> Bool {
    let destination = relationship.destination
    guard case .inverseColumn = relationship.storage, !owner.isInFamily, !destination.isInFamily,
      destination.danglingReferrers.isEmpty,
      destination.relationships.allSatisfy(Self.concernsItAlone),
      mapping.relationships.allSatisfy({ other in
        other === relationship || other.destination !== destination || Self.spares(other)
      }), maps[destination.index].isEmpty
    else { return false }
    // Those of the owner find the members still there, and those of the members find the owner.
    return try !reader.firesTriggers(owner) && !reader.firesTriggers(destination)
  }

  /// Whether nobody else goes, or loses a reference, when an object with the relationship goes.
  private static func concernsItAlone(_ relationship: RelationshipMapping) -> Bool {
    guard relationship.deleteRule == .nullify else { return false }
    if relationship.isToMany || relationship.inverseSlot != nil {
      return relationship.inverseSlot == nil || relationship.inverseIsToMany
    }
    return !relationship.owner.isRequired[relationship.slot]
  }

  /// Whether the rule of a relationship takes no offence at members that go with somebody else.
  private static func spares(_ relationship: RelationshipMapping) -> Bool {
    switch relationship.deleteRule {
    case .cascade: true
    case .deny: false
    case .nullify: relationship.inverseSlot.map { !relationship.destination.isRequired[$0] } ?? true
    }
  }
}

extension SchemaMapping {
  /// Whether rows of a table may go with others of the same table.
  var cascadesInCircles: Bool {
    var below: [Int: Set<Int>] = [:]
    for entity in entities {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        guard case .inverseColumn = relationship.storage else { continue }
        below[entity.root.index, default: []].insert(relationship.destination.root.index)
      }
    }
    // Who has nobody below is in no circle.
    while let last = below.first(where: { $0.value.allSatisfy { below[$0] == nil } }) {
      below[last.key] = nil
    }
    return !below.isEmpty
  }
}
