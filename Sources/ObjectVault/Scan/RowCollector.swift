// Collects all rows of a query as objects. Where possible, an SQL function in the statement hands over
// the rows while the engine runs the statement (ScanForm).

internal import CipherSQLite

/// A collector of the objects of a query's rows.
protocol RowCollecting: RowReceiver {
  /// The objects of the rows, in the order in which they were read.
  var found: [ManagedObject] { get }
  /// For each object, the id of its owner; empty unless the rows have that id as one more column.
  var owners: [Int64] { get }
  /// Reserves space for a number of objects.
  func expect(_ count: Int)
  /// Adds the statement's current row.
  func take(_ statement: Statement) throws
}

extension RowCollecting {
  /// Runs a query that selects from a feed of ids.
  func all(_ form: ScanForm, of ids: [Int64], on connection: Connection) throws -> [ManagedObject] {
    try connection.lend(RowFeed(ids: ids)) { try all(form, [], on: connection) }
  }

  /// Returns the objects of some rows, in the order of the given ids.
  func rows(_ ids: [Int64], of entity: EntityMapping, slots: [Int]?, on connection: Connection) throws
    -> [ManagedObject]
  {
    expect(ids.count)
    let runs = RowFeed(runs: ids)
    // A lookup takes the engine about twice as long as a step to the next row.
    guard runs.count * 2 <= ids.count else {
      return try all(entity.rowsOfFedIDs(slots), of: ids, on: connection)
    }
    return try connection.lend(runs) { try all(entity.rowsOfFedRuns(slots), [], on: connection) }
  }

  /// Runs a query on one connection and in one statement: it does not divide a split query, does not read
  /// the ids of a late one first, and does not feed the ids of a listed one.
  /// - Returns: The objects of all rows, in the order of the query.
  func all(_ form: ScanForm, _ values: [SQLValue], on connection: Connection) throws -> [ManagedObject] {
    switch form {
    case .late(_, let form), .listed(_, let form): return try all(form, values, on: connection)
    case .stepped(let text):
      try run(text, with: values, on: connection) { while try $0.step() { try take($0) } }
      return found
    case .handedOver(let text), .split(let text, _):
      try connection.deliverRows(to: self) {
        try run(text, with: values, on: connection) { while try $0.step() {} }
      }
      return found
    case .placed(let text):
      var places: [Int] = []
      try connection.deliverRows(to: self) {
        try run(text, with: values, on: connection) { statement in
          while try statement.step() { places.append(Int(statement.int64(0))) }
        }
      }
      // If the engine did not have to sort, the places are in order already.
      return places.elementsEqual(found.indices) ? found : places.map { found[$0] }
    }
  }

  private func run<Result>(
    _ text: String, with values: [SQLValue], on connection: Connection, _ body: (Statement) throws -> Result
  ) throws -> Result {
    try connection.withStatement(sql: text) { statement in
      try statement.bind(values)
      return try body(statement)
    }
  }
}

/// Collects the objects of an entity that shares its table with no other.
final class RowCollector: RowCollecting {
  // Safe: a row that is handed over makes its object without calling back into this collector, so that
  // accesses cannot overlap. Otherwise exclusivity would be checked for each row.
  @safe @exclusivity(unchecked) private var packer = RowPacker(firstPageBytes: 4096)
  @safe @exclusivity(unchecked) private(set) var found: [ManagedObject] = []
  @safe @exclusivity(unchecked) private(set) var owners: [Int64] = []
  private let reader: RowReader
  private let collectsOwners: Bool
  let columnCount: Int

  /// Makes a collector.
  /// - Parameters:
  ///   - slots: The slots that the rows have; nil for all but lazy ones.
  ///   - collectsOwners: Whether rows have one more column: the id of an object that they are members of.
  init(_ entity: EntityMapping, _ maps: IdentityMaps, slots: [Int]? = nil, collectsOwners: Bool = false) {
    reader = RowReader(entity, maps, slots: slots)
    self.collectsOwners = collectsOwners
    columnCount = entity.columnCount(of: slots) + (collectsOwners ? 1 : 0)
  }

  func expect(_ count: Int) { found.reserveCapacity(count) }

  func take(_ statement: Statement) throws {
    found.append(reader.read(statement, &packer))
    if collectsOwners { owners.append(statement.int64(columnCount - 1)) }
  }

  /// Adds the rows that another thread has packed.
  func take(_ batch: RowBatch) {
    for index in 0..<batch.count { found.append(reader.read(batch[index], in: batch.page, &packer)) }
  }

  func take(_ row: borrowing TakenRow) throws {
    found.append(try reader.read(row, &packer))
    if collectsOwners { owners.append(row.int64(columnCount - 1)) }
  }
}

/// Collects the objects of an entity that shares its table. A separate class, so that the rows of other
/// entities need no check for shared tables.
final class HierarchyCollector: RowCollecting {
  // Safe for the reason given in RowCollector.
  @safe @exclusivity(unchecked) private var packer = RowPacker(firstPageBytes: 4096)
  @safe @exclusivity(unchecked) private(set) var found: [ManagedObject] = []
  @safe @exclusivity(unchecked) private(set) var owners: [Int64] = []
  private let reader: HierarchyReader
  private let collectsOwners: Bool
  let columnCount: Int

  /// Makes a collector.
  /// - Parameters:
  ///   - isBranch: Whether rows of subentities are read, too.
  ///   - slots: The slots that the rows have; nil for all but lazy ones.
  ///   - collectsOwners: Whether rows have one more column: the id of an object that they are members of.
  init(
    _ entity: EntityMapping, isBranch: Bool = true, _ maps: IdentityMaps, slots: [Int]? = nil,
    collectsOwners: Bool = false
  ) {
    reader = HierarchyReader(entity, isBranch: isBranch, maps, slots: slots)
    self.collectsOwners = collectsOwners
    columnCount = entity.columnCount(of: slots, isBranch: isBranch) + (collectsOwners ? 1 : 0)
  }

  func expect(_ count: Int) { found.reserveCapacity(count) }

  func take(_ statement: Statement) throws {
    found.append(try reader.read(statement, &packer))
    if collectsOwners { owners.append(statement.int64(columnCount - 1)) }
  }

  func take(_ row: borrowing TakenRow) throws {
    found.append(try reader.read(row, &packer))
    if collectsOwners { owners.append(row.int64(columnCount - 1)) }
  }
}

/// Collects ids, from rows with no other column.
final class RowIDCollector: RowReceiver {
  // Safe for the reason given in RowCollector.
  @safe @exclusivity(unchecked) private(set) var ids: [Int64] = []
  let columnCount = 1

  func take(_ row: borrowing TakenRow) { ids.append(row.int64(0)) }
}
