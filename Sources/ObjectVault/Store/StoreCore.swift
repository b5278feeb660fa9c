// What the contexts of one store share: the pool, the runtime schema, and SQL texts by shape.

internal import CipherSQLite

final class StoreCore: Sendable {
  let pool: ConnectionPool
  let runtime: SchemaRuntime
  let path: String
  /// `vault_meta.generation` as it was at open; another value means that somebody migrated the store.
  let generation: Int64
  let mark: StoreMark

  init(pool: ConnectionPool, runtime: SchemaRuntime, path: String, generation: Int64, mark: StoreMark) {
    self.pool = pool
    self.runtime = runtime
    self.path = path
    self.generation = generation
    self.mark = mark
  }

  /// How many ids go into one IN list: few enough for the older engine, and always the same number but for
  /// the last, so that the statement cache serves them.
  var batchSize: Int { 500 }

  func rowSQL(_ entity: EntityRuntime) -> String {
    cached(.row(entity.index)) {
      "SELECT \(entity.objectColumns) FROM \(entity.table) t0 WHERE t0.\"id\" = ?"
    }
  }

  func rowsSQL(_ entity: EntityRuntime, count: Int) -> String {
    "SELECT \(entity.objectColumns) FROM \(entity.table) t0 WHERE t0.\"id\" IN (\(marks(count)))"
  }

  /// The members of to-manys; with the owner's id as last column if asked.
  func membersSQL(_ relationship: RelationshipRuntime, ownerCount: Int, withOwner: Bool) -> String {
    let destination = relationship.destination
    let columns = destination.objectColumns
    let owners = ownerCount == 1 ? "= ?" : "IN (\(marks(ownerCount)))"
    if let join = relationship.join {
      let (own, other) = join.table.columns(from: join.isSource)
      return "SELECT \(columns)\(withOwner ? ", j.\(own)" : "") FROM \(quoted(join.table.name)) j "
        + "JOIN \(destination.table) t0 ON t0.\"id\" = j.\(other) WHERE j.\(own) \(owners)"
    }
    let column = relationship.inverseColumn ?? "NULL"
    return "SELECT \(columns)\(withOwner ? ", t0.\(column)" : "") FROM \(destination.table) t0 "
      + "WHERE t0.\(column) \(owners)"
  }

  func marks(_ count: Int) -> String { [String](repeating: "?", count: count).joined(separator: ", ") }

  private enum TextKey: Hashable { case row(Int) }
  private let texts = Locked<[TextKey: String]>([:])

  private func cached(_ key: TextKey, _ make: () -> String) -> String {
    texts.withLock { texts in
      if let text = texts[key] { return text }
      let text = make()
      texts[key] = text
      return text
    }
  }
}
