// What the plan of a save asks of the store. The tests of plans answer from a dictionary.

internal import CipherSQLite

/// Answers who is related to whom in the file.
package protocol LinkReader {
  /// Whom the to-one of so many rows leads to.
  func targets(_ entity: EntityMapping, _ slot: Int, of owners: [Int64]) throws -> [LinkEnds]
  /// The rows whose to-one leads to one of these, which are the own ends.
  func referrers(_ entity: EntityMapping, _ slot: Int, to targets: [Int64]) throws -> [LinkEnds]
  /// The links of so many objects that are at the source, or the target.
  func links(_ table: JoinTable, fromSource: Bool, of ids: [Int64]) throws -> [LinkEnds]
  /// Of which entities so many rows are, of an entity that has others below it; of those that are there.
  func entities(of ids: [Int64], _ entity: EntityMapping) throws -> [(id: Int64, entity: EntityMapping)]
}

/// Answers questions about the rows in the file, as the transaction that will write sees them.
package protocol SaveReader: LinkReader {
  /// The versions of so many rows; of those that are there.
  func versions(_ entity: EntityMapping, of ids: [Int64]) throws -> [Int64: Int64]
  /// So many ids that follow each other and were never given out, nor promised: those end at `promised`.
  func freeIDs(_ count: Int, of entity: EntityMapping, promised: Int64) throws -> RowIDs.Run
  /// Whether triggers may be fired by what is written to the table of an entity.
  func firesTriggers(_ entity: EntityMapping) throws -> Bool
  /// The last place among one owner's members.
  func lastPlace(_ relationship: RelationshipMapping, of owner: Int64) throws -> Int64?
  /// The members of so many owners with their places, in their order.
  func places(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> [MemberPlace]
  /// The same of some members of one owner.
  func places(_ relationship: RelationshipMapping, of owner: Int64, members: [Int64]) throws -> [MemberPlace]
  /// The same of so many members, whoever has them.
  func places(_ relationship: RelationshipMapping, ofMembers members: [Int64]) throws -> [MemberPlace]
}

/// The answers of a connection.
struct ConnectionReader: SaveReader {
  let connection: Connection
  /// The ids that the store has reserved; nil in a migration, and for a reader that assigns none.
  var reservedIDs: ReservedIDs?

  func targets(_ entity: EntityMapping, _ slot: Int, of owners: [Int64]) throws -> [LinkEnds] {
    try batched(owners, { entity.targetsSQL(slot, count: $0) }) {
      LinkEnds(own: $0.int64(0), other: $0.int64(1))
    }
  }

  func referrers(_ entity: EntityMapping, _ slot: Int, to targets: [Int64]) throws -> [LinkEnds] {
    try batched(targets, { entity.referrersSQL(slot, count: $0) }) {
      LinkEnds(own: $0.int64(1), other: $0.int64(0))
    }
  }

  func links(_ table: JoinTable, fromSource: Bool, of ids: [Int64]) throws -> [LinkEnds] {
    let (own, other) = fromSource ? (0, 1) : (1, 0)
    return try batched(ids, { table.linksSQL(fromSource: fromSource, count: $0) }) {
      LinkEnds(own: $0.int64(own), other: $0.int64(other))
    }
  }

  func entities(of ids: [Int64], _ entity: EntityMapping) throws -> [(id: Int64, entity: EntityMapping)] {
    let branch = entity.branch
    return try batched(ids, { entity.entitiesSQL(count: $0) }) { row in
      (id: row.int64(0), place: Int(row.int64(1)) - 1)
    }.compactMap { row in branch.indices.contains(row.place) ? (row.id, branch[row.place]) : nil }
  }

  func versions(_ entity: EntityMapping, of ids: [Int64]) throws -> [Int64: Int64] {
    Dictionary(
      try batched(ids, { entity.versionsSQL(count: $0) }) { ($0.int64(0), $0.int64(1)) },
      uniquingKeysWith: { first, _ in first })
  }

  func freeIDs(_ count: Int, of entity: EntityMapping, promised: Int64) throws -> RowIDs.Run {
    try RowIDs(connection: connection, reserved: reservedIDs).free(count, of: entity, promised: promised)
  }

  func firesTriggers(_ entity: EntityMapping) throws -> Bool {
    try connection.firesTriggers(table: entity.root.name)
  }

  func lastPlace(_ relationship: RelationshipMapping, of owner: Int64) throws -> Int64? {
    try connection.value(sql: relationship.lastPlaceSQL, [.integer(owner)])?.int64
  }

  func places(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> [MemberPlace] {
    try batched(owners, { relationship.placesSQL(owners: $0) }, Self.place)
  }

  func places(_ relationship: RelationshipMapping, ofMembers members: [Int64]) throws -> [MemberPlace] {
    try batched(members, { relationship.placesSQL(members: $0) }, Self.place)
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
    _ ids: [Int64], _ sql: (Int) -> String, _ body: (Statement) throws -> Element
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
