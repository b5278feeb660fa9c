// Which cascades a save leaves to the engine's foreign keys. The engine deletes members without reporting
// which ones, and its cascades fail when they nest a thousand levels deep.

internal import CipherSQLite

extension SavePlanner {
  /// Returns the relationships whose members need not be read when their owners are deleted. For these,
  /// all of the following is true: no object of the members' entity is in memory; neither a change set
  /// nor a list of changed rows is recorded; with the members, nothing else is deleted or loses a
  /// reference; no other delete rule depends on whether a member is deleted; each member has the column
  /// of the relationship; neither entity is in an inheritance hierarchy; neither table has triggers.
  /// - Parameter owners: The indexes of the entities of which objects are deleted.
  func relationshipsLeftToEngine(owners: Set<Int>) throws -> Set<ObjectIdentifier> {
    guard !recordsEveryRow, !owners.isEmpty else { return [] }
    var left: Set<ObjectIdentifier> = []
    // Built once, on first use: the relationships whose delete rules depend on whether a member is
    // deleted too, by destination.
    lazy var strict = Dictionary(
      grouping: mapping.relationships.filter { !Self.isIndependentOfOtherDeletions($0) },
      by: { $0.destination.index })
    for entity in mapping.entities where owners.contains(entity.index) {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        let others = { strict[relationship.destination.index] ?? [] }
        if try mayCascadeInEngine(relationship, of: entity, beside: others) {
          left.insert(ObjectIdentifier(relationship))
        }
      }
    }
    return left
  }

  /// Whether the engine's cascade may delete the members of one relationship.
  /// - Parameter others: The relationships with the same destination whose delete rules depend on whether
  ///   a member is deleted too.
  private func mayCascadeInEngine(
    _ relationship: RelationshipMapping, of owner: EntityMapping, beside others: () -> [RelationshipMapping]
  ) throws -> Bool {
    let destination = relationship.destination
    guard case .inverseColumn = relationship.storage, !owner.isInHierarchy, !destination.isInHierarchy,
      destination.danglingReferrers.isEmpty,
      destination.relationships.allSatisfy(Self.affectsNoOtherObject),
      others().allSatisfy({ $0 === relationship }), maps[destination.index].isEmpty
    else { return false }
    // A plan deletes members before their owner, the engine deletes the owner first. Triggers of either
    // table could see the difference.
    return try !reader.firesTriggers(owner) && !reader.firesTriggers(destination)
  }

  /// Whether no other object is deleted or loses a reference when an object with this relationship is
  /// deleted.
  private static func affectsNoOtherObject(_ relationship: RelationshipMapping) -> Bool {
    guard relationship.deleteRule == .nullify else { return false }
    if relationship.hasMembers || relationship.inverseSlot != nil { return !relationship.inverseHasColumn }
    return !relationship.owner.isRequired[relationship.slot]
  }

  /// Whether the delete rule has the same effect whether or not a member is deleted along with another
  /// object.
  private static func isIndependentOfOtherDeletions(_ relationship: RelationshipMapping) -> Bool {
    switch relationship.deleteRule {
    case .cascade: true
    case .deny: false
    case .nullify: relationship.inverseSlot.map { !relationship.destination.isRequired[$0] } ?? true
    }
  }
}

extension SchemaMapping {
  /// Whether deleting rows of a table may cascade to rows of the same table, directly or through other
  /// tables.
  var cascadesInCircles: Bool {
    var below: [Int: Set<Int>] = [:]
    for entity in entities {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        guard case .inverseColumn = relationship.storage else { continue }
        below[entity.root.index, default: []].insert(relationship.destination.root.index)
      }
    }
    // A table that cascades to no table, or only to tables that were already excluded, is in no cycle.
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
