// What the engine does by its own cascade: it deletes members without anybody knowing which, and gives up a thousand levels
// down.

internal import CipherSQLite

extension SavePlanner {
  /// The relationships whose members need not be looked at when their owners go: none of them is in memory, nobody hears of
  /// them, nothing goes with them or loses them, and no rule of anybody else asks whether they go.
  func relationshipsLeftToEngine() throws -> Set<ObjectIdentifier> {
    guard !isHeard, !pending.deleted.isEmpty else { return [] }
    let owners = Set(pending.deleted.lazy.compactMap(\.entity).map(\.index))
    var left: Set<ObjectIdentifier> = []
    // Once, and only where somebody asks: whose rule takes offence, by whom they lead to.
    lazy var strict = Dictionary(
      grouping: mapping.relationships.filter { !Self.spares($0) }, by: { $0.destination.index })
    for entity in mapping.entities where owners.contains(entity.index) {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        let others = { strict[relationship.destination.index] ?? [] }
        if try isLeftToEngine(relationship, of: entity, beside: others) {
          left.insert(ObjectIdentifier(relationship))
        }
      }
    }
    return left
  }

  /// - Parameter beside: The relationships with the same destination whose rules take offence at members that go with others.
  private func isLeftToEngine(
    _ relationship: RelationshipMapping, of owner: EntityMapping, beside others: () -> [RelationshipMapping]
  ) throws -> Bool {
    let destination = relationship.destination
    guard case .inverseColumn = relationship.storage, !owner.isInFamily, !destination.isInFamily,
      destination.danglingReferrers.isEmpty,
      destination.relationships.allSatisfy(Self.concernsItAlone),
      others().allSatisfy({ $0 === relationship }), maps[destination.index].isEmpty
    else { return false }
    // Those of the owner find the members still there, and those of the members find the owner.
    return try !reader.firesTriggers(owner) && !reader.firesTriggers(destination)
  }

  /// Whether nobody else goes, or loses a reference, when an object with the relationship goes.
  private static func concernsItAlone(_ relationship: RelationshipMapping) -> Bool {
    guard relationship.deleteRule == .nullify else { return false }
    if relationship.hasMembers || relationship.inverseSlot != nil { return !relationship.inverseHasColumn }
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
    // Who has nobody below is in no circle, and neither is who then has nobody left below.
    var above: [Int: [Int]] = [:]
    for (owner, members) in below { for member in members { above[member, default: []].append(owner) } }
    var counts = below.mapValues(\.count)
    var free = above.keys.filter { below[$0] == nil }
    while let last = free.popLast() {
      for owner in above[last] ?? [] {
        guard let count = counts[owner] else { continue }
        counts[owner] = count > 1 ? count - 1 : nil
        if count == 1 { free.append(owner) }
      }
    }
    return !counts.isEmpty
  }
}
