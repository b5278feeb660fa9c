// What the plan of a save asks of the store. The tests of plans answer from a dictionary.

internal import CipherSQLite

/// Answers who is related to whom in the file.
protocol LinkReader {
  /// Whom the to-one of so many rows leads to.
  func targets(_ entity: EntityMapping, _ slot: Int, of owners: [Int64]) throws -> [LinkEnds]
  /// The rows whose to-one leads to one of these, which are the own ends.
  func referrers(_ entity: EntityMapping, _ slot: Int, to targets: [Int64]) throws -> [LinkEnds]
  /// The links of so many objects that are at the source, or the target.
  func links(_ table: JoinTable, fromSource: Bool, of ids: [Int64]) throws -> [LinkEnds]
}

/// Answers questions about the rows in the file, as the transaction that will write sees them.
protocol SaveReader: LinkReader {
  /// The versions of so many rows; of those that are there.
  func versions(_ entity: EntityMapping, of ids: [Int64]) throws -> [Int64: Int64]
  /// So many ids that follow each other and were never given out.
  func freeIDs(_ count: Int, of entity: EntityMapping) throws -> RowIDs.Run
}

/// The answers of a connection.
struct ConnectionReader: SaveReader {
  let connection: Connection

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

  func versions(_ entity: EntityMapping, of ids: [Int64]) throws -> [Int64: Int64] {
    Dictionary(
      uniqueKeysWithValues: try batched(ids, { entity.versionsSQL(count: $0) }) { ($0.int64(0), $0.int64(1)) }
    )
  }

  func freeIDs(_ count: Int, of entity: EntityMapping) throws -> RowIDs.Run {
    try RowIDs(connection: connection).free(count, of: entity.name)
  }

  private func batched<Element>(
    _ ids: [Int64], _ sql: (Int) -> String, _ body: (Statement) throws -> Element
  ) throws -> [Element] {
    var found: [Element] = []
    for batch in ids.chunked(batchSize) {
      found += try connection.query(sql: sql(batch.count), batch.map { .integer($0) }, body)
    }
    return found
  }
}
