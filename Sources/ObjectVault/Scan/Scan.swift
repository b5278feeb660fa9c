// Runs a query for whole rows, in whichever form it has, and makes objects of the rows.

internal import CipherSQLite

/// What a scan needs of the context whose objects it makes.
protocol ScanGround: AnyObject {
  var maps: IdentityMaps { get }
  /// The call that may be cancelled; nil where none may.
  var run: CancellableRun? { get }
  /// Where a second connection may be free; nil where it would see something else.
  var pool: ConnectionPool? { get }
  /// Throws on a connection on which the store's tables may be others by now. For any thread.
  var generationCheck: @Sendable (Connection) throws -> Void { get }
  func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result
  /// With the state of the file before the read began, where that is known.
  func withState<Result>(_ body: (Connection, SharedState?) throws -> Result) throws -> Result
  /// Runs `body` with all its reads in one snapshot of the file.
  func withSnapshot<Result>(_ body: () throws -> Result) throws -> Result
  /// How many rows the last fetch of all has found, for all contexts of the store.
  func lastCount(of entity: EntityMapping) -> Locked<Int?>
  /// Keeps for all contexts of the store what the engine has said of a fetch.
  func keep(_ lookup: LateLookup, of entity: EntityMapping)
  /// Counts a query and its rows.
  func count(rows: Int)
  /// Counts rows that another connection has read.
  func countReadAhead(_ rows: Int)
}

/// Queries for the whole rows of one entity, and of those below it.
struct Scan {
  let entity: EntityMapping
  let ground: any ScanGround

  /// The objects of a query, in its order.
  /// - Parameters:
  ///   - values: Of its question marks.
  ///   - isBranch: Whether the columns are ``EntityMapping/objectColumns``; else they are ``EntityMapping/ownColumns``.
  func objects(_ form: ScanForm, _ values: [SQLValue], isBranch: Bool = true) throws -> [ManagedObject] {
    switch form {
    case .late(let lookup, let form):
      return try LateFetch(lookup: lookup, form: form, values: values, scan: self).objects()
    case .listed(let ids, _): return try rows(ids)
    case .split(let text, let split) where !entity.isInFamily:
      return try counted(SplitScan(whole: text, split: split, entity: entity, ground: ground).objects)
    case .stepped, .handedOver, .placed, .split:
      return try counted {
        // Each by its own type, so that what is done for each row is known where it is compiled.
        try ground.withConnection { connection in
          try entity.isInFamily
            ? FamilyCollector(entity, isBranch: isBranch, ground.maps).all(form, values, on: connection)
            : RowCollector(entity, ground.maps).all(form, values, on: connection)
        }
      }
    }
  }

  /// The objects of some rows, by one query, in the order in which their ids are given.
  func rows(_ ids: [Int64]) throws -> [ManagedObject] {
    guard ids.count > 1 else {
      return try ids.first.map { try objects(.stepped(entity.rowSQL), [.integer($0)]) } ?? []
    }
    return try counted {
      try ground.withConnection { connection in
        try entity.isInFamily
          ? FamilyCollector(entity, ground.maps).rows(ids, of: entity, on: connection)
          : RowCollector(entity, ground.maps).rows(ids, of: entity, on: connection)
      }
    }
  }

  /// The members of a to-many of some owners, by one query, each with its owner's id.
  /// - Parameters:
  ///   - relationship: One to the entity.
  ///   - owners: Their ids, each once.
  func members(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> (
    members: [ManagedObject], owners: [Int64]
  ) {
    func all(_ collector: some RowCollecting) throws -> ([ManagedObject], [Int64]) {
      let found = try counted {
        try ground.withConnection { try collector.all(relationship.fedMembers, of: owners, on: $0) }
      }
      return (found, collector.owners)
    }
    return try entity.isInFamily
      ? all(FamilyCollector(entity, ground.maps, collectsOwners: true))
      : all(RowCollector(entity, ground.maps, collectsOwners: true))
  }

  /// The ids that a query gives, in the way that is the quickest for many.
  func ids(_ statements: LateLookup.IDs, _ values: [SQLValue]) throws -> [Int64] {
    ground.count(rows: 0)
    return try ground.withConnection { connection in
      guard case .handedOver(let text) = statements.form else {
        return try connection.query(sql: statements.text, values) { $0.int64(0) }
      }
      let collector = RowIDCollector()
      try connection.handRows(to: collector) { _ = try connection.execute(sql: text, values) }
      return collector.ids
    }
  }

  private func counted(_ query: () throws -> [ManagedObject]) throws -> [ManagedObject] {
    let found = try query()
    ground.count(rows: found.count)
    return found
  }
}
