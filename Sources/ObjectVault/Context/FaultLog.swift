// Records through which relationships objects were read one by one, while a limit on queries applies.

/// The relationships whose targets or members were read by a query for each object.
struct FaultLog {
  /// A row that a relationship refers to.
  private struct Target: Hashable {
    let id: Int64
    let table: Int
  }
  private struct Key: Hashable {
    let entity: String
    let relationship: String

    init(_ relationship: RelationshipMapping) {
      (entity, self.relationship) = (relationship.owner.name, relationship.name)
    }
  }

  /// The relationship through which each target was reached last.
  private var paths: [Target: Key] = [:]
  private var counts: [Key: Int] = [:]

  /// Records that a to-one refers to a row, which may be read later.
  mutating func willRead(_ id: Int64, table: Int, by relationship: RelationshipMapping) {
    paths[Target(id: id, table: table)] = Key(relationship)
  }

  /// Counts a row that was read alone.
  mutating func didRead(_ id: Int64, table: Int) {
    if let key = paths[Target(id: id, table: table)] { counts[key, default: 0] += 1 }
  }

  /// Counts members of one object that were read alone.
  mutating func didRead(_ relationship: RelationshipMapping) { counts[Key(relationship), default: 0] += 1 }

  /// Adds what another log has recorded.
  mutating func add(_ other: FaultLog) {
    paths.merge(other.paths) { $1 }
    counts.merge(other.counts, uniquingKeysWith: +)
  }

  /// The relationships, the one with the most queries first.
  var relationships: [QueryLimitExceeded.Relationship] {
    counts.map { .init(entity: $0.entity, name: $0.relationship, queries: $1) }.sorted {
      ($1.queries, $0.entity, $0.name) < ($0.queries, $1.entity, $1.name)
    }
  }
}
