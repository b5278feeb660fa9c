// Runs a query for whole rows, in any of its forms, and makes objects of the rows.

internal import CipherSQLite

/// The part of a context that a scan uses.
protocol ScanContext: AnyObject {
  var maps: IdentityMaps { get }
  /// The cancellable call that the scan is part of; nil if there is none.
  var run: CancellableRun? { get }
  /// The pool for a second connection; nil if such a connection would see other data.
  var pool: ConnectionPool? { get }
  /// Throws if, on the given connection, the store may have been migrated since this context's store was
  /// opened. Can be called on any thread.
  var generationCheck: @Sendable (Connection) throws -> Void { get }
  func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result
  /// Runs `body` with a connection, and with the state of the file before the read began; nil if it is
  /// unknown.
  func withState<Result>(_ body: (Connection, SharedState?) throws -> Result) throws -> Result
  /// Runs `body` with all its reads in one snapshot of the file.
  func withSnapshot<Result>(_ body: () throws -> Result) throws -> Result
  /// Returns the variable with the row count of the last fetch of all rows, which all contexts of the
  /// store share; its value is nil before the first one.
  func lastCount(of entity: EntityMapping) -> Locked<Int?>
  /// Keeps the lookup state of a fetch for all contexts of the store.
  func keep(_ lookup: LateLookup, of entity: EntityMapping)
  /// Adds a query and its rows to the statistics.
  func recordQuery(rows: Int)
  /// Counts rows that another connection has read.
  func countReadAhead(_ rows: Int)
}

/// Queries for the rows of one entity and its subentities.
struct Scan {
  let entity: EntityMapping
  let context: any ScanContext
  /// The slots that are read; nil for all but lazy ones.
  var slots: [Int]?

  /// Returns the objects of a query, in its order.
  /// - Parameters:
  ///   - form: The query.
  ///   - values: The values of its parameters.
  ///   - isBranch: Whether rows of subentities are included. The columns of the query are
  ///     ``EntityMapping/columns(of:isBranch:)``.
  func objects(_ form: ScanForm, _ values: [SQLValue], isBranch: Bool = true) throws -> [ManagedObject] {
    switch form {
    case .late(let lookup, let form):
      return try LateFetch(lookup: lookup, form: form, values: values, scan: self).objects()
    case .listed(let ids, _): return try rows(ids)
    case .split(let text, let split) where !entity.isInHierarchy:
      return try counted(
        SplitScan(whole: text, split: split, entity: entity, slots: slots, context: context).objects)
    case .stepped, .handedOver, .placed, .split:
      return try counted {
        // Two calls with concrete types, so that the compiler specializes the code that runs for each
        // row.
        try context.withConnection { connection in
          try entity.isInHierarchy
            ? HierarchyCollector(entity, isBranch: isBranch, context.maps, slots: slots)
              .all(form, values, on: connection)
            : RowCollector(entity, context.maps, slots: slots).all(form, values, on: connection)
        }
      }
    }
  }

  /// Returns the objects of some rows by one query, in the order of the given ids.
  func rows(_ ids: [Int64]) throws -> [ManagedObject] {
    guard ids.count > 1 else {
      let text = slots.map { entity.rowStatement($0) } ?? entity.rowSQL
      return try ids.first.map { try objects(.stepped(text), [.integer($0)]) } ?? []
    }
    return try counted {
      try context.withConnection { connection in
        try entity.isInHierarchy
          ? HierarchyCollector(entity, context.maps, slots: slots)
            .rows(ids, of: entity, slots: slots, on: connection)
          : RowCollector(entity, context.maps, slots: slots)
            .rows(ids, of: entity, slots: slots, on: connection)
      }
    }
  }

  /// Returns the members of a to-many of some owners by one query, each with its owner's id.
  /// - Parameters:
  ///   - relationship: A to-many whose destination is the entity.
  ///   - owners: The owners' ids, each once.
  func members(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> (
    members: [ManagedObject], owners: [Int64]
  ) {
    func all(_ collector: some RowCollecting) throws -> ([ManagedObject], [Int64]) {
      let found = try counted {
        try context.withConnection { try collector.all(relationship.fedMembers, of: owners, on: $0) }
      }
      return (found, collector.owners)
    }
    return try entity.isInHierarchy
      ? all(HierarchyCollector(entity, context.maps, collectsOwners: true))
      : all(RowCollector(entity, context.maps, collectsOwners: true))
  }

  /// Returns the objects of the rows that have one of the keys of a feed, each with the number of its key.
  /// One query reads them.
  /// - Parameter key: The slots that have the values of a key.
  func rows(with feed: RowFeed, in key: [Int]) throws -> (objects: [ManagedObject], keys: [Int64]) {
    func all(_ collector: some RowCollecting) throws -> ([ManagedObject], [Int64]) {
      let found = try counted {
        try context.withConnection { connection in
          try connection.lend(feed) { try collector.all(entity.rowsOfFedKeys(key), [], on: connection) }
        }
      }
      return (found, collector.owners)
    }
    return try entity.isInHierarchy
      ? all(HierarchyCollector(entity, context.maps, collectsOwners: true))
      : all(RowCollector(entity, context.maps, collectsOwners: true))
  }

  /// Returns the ids that a query finds. An SQL function in the query hands them over if the form allows
  /// it.
  func ids(_ statements: LateLookup.IDs, _ values: [SQLValue]) throws -> [Int64] {
    context.recordQuery(rows: 0)
    return try context.withConnection { connection in
      guard case .handedOver(let text) = statements.form else {
        return try connection.query(sql: statements.text, values) { $0.int64(0) }
      }
      let collector = RowIDCollector()
      try connection.deliverRows(to: collector) { _ = try connection.execute(sql: text, values) }
      return collector.ids
    }
  }

  private func counted(_ query: () throws -> [ManagedObject]) throws -> [ManagedObject] {
    let found = try query()
    context.recordQuery(rows: found.count)
    return found
  }
}
