// The queries that the plan of a save makes to the store. In tests of plans, a dictionary answers them.

internal import CipherSQLite

/// Reads the links between rows from the file.
package protocol LinkReader {
  /// Returns the targets of a to-one, for the rows with the ids `owners`.
  func targets(_ entity: EntityMapping, _ slot: Int, of owners: [Int64]) throws -> [LinkEnds]
  /// Returns the rows whose to-one refers to one of `targets`. In each link, the target is `own`.
  func referrers(_ entity: EntityMapping, _ slot: Int, to targets: [Int64]) throws -> [LinkEnds]
  /// Returns the links of the objects with some ids.
  /// - Parameter fromSource: Whether these objects are the sources of the join table, and not its
  ///   targets.
  func links(_ table: JoinTable, fromSource: Bool, of ids: [Int64]) throws -> [LinkEnds]
  /// Returns the entity of each row with one of some ids, for an entity with subentities. Ids without a
  /// row are omitted.
  func entities(of ids: [Int64], _ entity: EntityMapping) throws -> [(id: Int64, entity: EntityMapping)]
}

/// Reads rows from the file, as the transaction that will write sees them.
package protocol SaveReader: LinkReader {
  /// Returns the versions of the rows with some ids. Ids without a row are omitted.
  func versions(_ entity: EntityMapping, of ids: [Int64]) throws -> [Int64: Int64]
  /// Returns consecutive ids that were never issued, for `count` rows.
  /// - Parameter highestAssigned: The highest id that this context has already assigned.
  func freeIDs(_ count: Int, of entity: EntityMapping, highestAssigned: Int64) throws -> RowIDs.Run
  /// Whether writing to the table of an entity may fire triggers.
  func firesTriggers(_ entity: EntityMapping) throws -> Bool
  /// Returns the last place among one owner's members.
  func lastPlace(_ relationship: RelationshipMapping, of owner: Int64) throws -> Int64?
  /// Returns the members of some owners with their places, in their order.
  func places(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> [MemberPlace]
  /// Returns some members of one owner with their places.
  func places(_ relationship: RelationshipMapping, of owner: Int64, members: [Int64]) throws -> [MemberPlace]
  /// Returns some members with their places, for every owner that they have.
  func places(_ relationship: RelationshipMapping, ofMembers members: [Int64]) throws -> [MemberPlace]
}

/// Reads from a connection.
struct ConnectionReader: SaveReader {
  let connection: Connection
  /// The ids that the store has reserved; nil in a migration, and for a reader that assigns none.
  var reservedIDs: ReservedIDs?

  func targets(_ entity: EntityMapping, _ slot: Int, of owners: [Int64]) throws -> [LinkEnds] {
    try batched(owners, sql: { entity.targetsSQL(slot, count: $0) }) {
      LinkEnds(own: $0.int64(0), other: $0.int64(1))
    }
  }

  func referrers(_ entity: EntityMapping, _ slot: Int, to targets: [Int64]) throws -> [LinkEnds] {
    try batched(targets, sql: { entity.referrersSQL(slot, count: $0) }) {
      LinkEnds(own: $0.int64(1), other: $0.int64(0))
    }
  }

  func links(_ table: JoinTable, fromSource: Bool, of ids: [Int64]) throws -> [LinkEnds] {
    let (own, other) = fromSource ? (0, 1) : (1, 0)
    return try batched(ids, sql: { table.linksSQL(fromSource: fromSource, count: $0) }) {
      LinkEnds(own: $0.int64(own), other: $0.int64(other))
    }
  }

  func entities(of ids: [Int64], _ entity: EntityMapping) throws -> [(id: Int64, entity: EntityMapping)] {
    let branch = entity.branch
    return try batched(ids, sql: { entity.entitiesSQL(count: $0) }) { row in
      (id: row.int64(0), place: Int(row.int64(1)) - 1)
    }.compactMap { row in branch.indices.contains(row.place) ? (row.id, branch[row.place]) : nil }
  }

  func versions(_ entity: EntityMapping, of ids: [Int64]) throws -> [Int64: Int64] {
    Dictionary(
      try batched(ids, sql: { entity.versionsSQL(count: $0) }) { ($0.int64(0), $0.int64(1)) },
      uniquingKeysWith: { first, _ in first })
  }

  func freeIDs(_ count: Int, of entity: EntityMapping, highestAssigned: Int64) throws -> RowIDs.Run {
    try RowIDs(connection: connection, reserved: reservedIDs).free(
      count, of: entity, highestAssigned: highestAssigned)
  }

  func firesTriggers(_ entity: EntityMapping) throws -> Bool {
    try connection.firesTriggers(table: entity.root.name)
  }

  func lastPlace(_ relationship: RelationshipMapping, of owner: Int64) throws -> Int64? {
    try connection.value(sql: relationship.lastPlaceSQL, [.integer(owner)])?.int64
  }

  func places(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> [MemberPlace] {
    try batched(owners, sql: { relationship.placesSQL(owners: $0) }, Self.place)
  }

  func places(_ relationship: RelationshipMapping, ofMembers members: [Int64]) throws -> [MemberPlace] {
    try batched(members, sql: { relationship.placesSQL(members: $0) }, Self.place)
  }

  func places(_ relationship: RelationshipMapping, of owner: Int64, members: [Int64]) throws -> [MemberPlace]
  {
    var found: [MemberPlace] = []
    for batch in members.chunked(batchSize) {
      let values = batch.map { SQLValue.integer($0) } + [.integer(owner)]
      found += try connection.query(
        sql: relationship.placesOfOwnerSQL(members: batch.count), values, Self.place)
    }
    return found
  }

  private static func place(_ row: Statement) -> MemberPlace {
    MemberPlace(owner: row.int64(0), member: row.int64(1), place: row.value(2).int64)
  }

  private func batched<Element>(
    _ ids: [Int64], sql: (Int) -> String, _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    var found: [Element] = []
    for batch in ids.chunked(batchSize) {
      try connection.withStatement(sql: sql(batch.count)) { statement in
        try statement.bind(batch.map { .integer($0) })
        while try statement.step() { found.append(try body(statement)) }
      }
    }
    return found
  }
}
