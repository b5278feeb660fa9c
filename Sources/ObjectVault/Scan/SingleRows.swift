// Reads single rows, for faults and lookups by id.

internal import CipherSQLite

/// Reads single rows of one entity for a context that has one connection for its whole life. Everything
/// that a row needs is looked up once and is constant: constants need not be retained for each row.
///
/// For entities that share their table with no other.
final class SingleRows {
  private let connection: Connection
  private let run: CancellableRun?
  private let reader: RowReader
  private let text: String
  /// Hands over the statement's row inside of the engine; nil if the row has more columns than an SQL
  /// function takes.
  private let handing: RowDelivery?
  private let taker: OneRow
  // Safe: all are used only in `row`, which is not entered while it runs.
  @safe @exclusivity(unchecked) private var statement: Statement?
  @safe @exclusivity(unchecked) private var packer = RowPacker(firstPageBytes: 512, pageBytes: 4096)
  @safe @exclusivity(unchecked) private(set) var isReading = false

  init(_ entity: EntityMapping, in maps: IdentityMaps, run: CancellableRun?, on connection: Connection) {
    self.connection = connection
    self.run = run
    reader = RowReader(entity, maps)
    taker = OneRow(reader, columnCount: entity.columnCount)
    let isHanded = entity.columnCount <= RowFunction.columnLimit
    handing = isHanded ? RowDelivery(to: taker) : nil
    text = isHanded ? entity.functionRowSQL : entity.rowSQL
  }

  /// Returns the object of a row, or nil if there is none.
  ///
  /// Not to be called while ``isReading``: the initializer of an entity's class, which is called for a
  /// row, may read another row.
  func row(_ id: Int64) throws -> ManagedObject? {
    try run?.check()
    isReading = true
    defer { isReading = false }
    guard let handing else {
      return try connection.withStatement(sql: text, keeping: &statement) { statement in
        try statement.bind(id, at: 1)
        return try statement.step() ? reader.read(statement, &packer) : nil
      }
    }
    taker.object = nil
    defer { taker.object = nil }
    try connection.deliverRows(by: handing) {
      try connection.withStatement(sql: text, keeping: &statement) { statement in
        try statement.bind(id, at: 1)
        _ = try statement.step()
      }
    }
    return taker.object
  }
}

/// Takes a single row.
private final class OneRow: RowReceiver {
  private let reader: RowReader
  let columnCount: Int
  // Safe: used only while one row is read.
  @safe @exclusivity(unchecked) private var packer = RowPacker(firstPageBytes: 512, pageBytes: 4096)
  @safe @exclusivity(unchecked) var object: ManagedObject?

  init(_ reader: RowReader, columnCount: Int) { (self.reader, self.columnCount) = (reader, columnCount) }

  func take(_ row: borrowing TakenRow) throws { object = try reader.read(row, &packer) }
}
