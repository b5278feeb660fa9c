// Records through which relationships objects were read one by one, and which lazy attributes, while a limit
// on queries applies.

/// The relationships whose targets or members were read by a query for each object, and such lazy attributes.
struct FaultLog {
  /// A row that a relationship refers to.
  private struct Target: Hashable {
    let id: Int64
    let table: Int
  }
  private struct Key: Hashable {
    let entity: String
    /// The name of a relationship or of a lazy attribute.
    let property: String

    init(entity: String, property: String) { (self.entity, self.property) = (entity, property) }
    init(_ relationship: RelationshipMapping) {
      self.init(entity: relationship.owner.name, property: relationship.name)
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

  /// Counts a lazy attribute of one object that was read alone.
  mutating func didRead(_ attribute: String, of entity: String) {
    counts[Key(entity: entity, property: attribute), default: 0] += 1
  }

  /// Adds what another log has recorded.
  mutating func add(_ other: FaultLog) {
    paths.merge(other.paths) { $1 }
    counts.merge(other.counts, uniquingKeysWith: +)
  }

  /// The relationships and attributes, the one with the most queries first.
  var relationships: [QueryLimitExceeded.Relationship] {
    counts.map { .init(entity: $0.entity, name: $0.property, queries: $1) }.sorted {
      ($1.queries, $0.entity, $0.name) < ($0.queries, $1.entity, $1.name)
    }
  }
}
