// Collects the rows of a query for values, column by column.

internal import CipherSQLite

/// A column of any type.
protocol CollectedColumn {
  var takeRow: (_ row: borrowing TakenRow, _ index: Int) throws -> Void { get }
  var takeValue: (SQLValue) -> Void { get }
  /// The number of values that could not be read.
  var unreadableCount: Int { get }
  /// The type of the values, for messages.
  var typeName: String { get }
  /// Returns whether a stored value can be read.
  func reads(_ value: SQLValue) -> Bool
  /// Arranges the values so that the value at index `places[n]` comes to index n.
  func arrange(by places: [Int])
  /// Creates an empty column of the same values, to be filled on another thread; nil if code of the app
  /// reads the values, which may not expect another thread.
  func emptyForOtherThread() -> (any CollectedColumn)?
  /// Adds the values of a column that ``emptyForOtherThread()`` has created.
  func append(_ other: any CollectedColumn)
}

extension ResultColumn: CollectedColumn {
  var unreadableCount: Int { values.unreadableCount }
  var typeName: String { (Value.self as? any AttributeValue.Type)?.attributeType.rawValue ?? "\(Value.self)" }
  func reads(_ value: SQLValue) -> Bool { value.isNull || convert(value) != nil }
  func arrange(by places: [Int]) { values.all = places.map { values.all[$0] } }
  func emptyForOtherThread() -> (any CollectedColumn)? { makeSendable?() }
  func append(_ other: any CollectedColumn) {
    guard let other = other as? ResultColumn else { return }
    values.all += other.values.all
    values.unreadableCount += other.unreadableCount
  }
}

// Safe to hand over: the columns are those of `emptyForOtherThread`, and the thread that fills them uses
// them no more after it has handed them over.
/// Rows that another thread has collected.
struct ColumnBatch: @unchecked Sendable {
  let columns: [any CollectedColumn]
  var rowCount = 0
}

/// Collects the values of all rows of a query.
final class ColumnCollector: RowHanding {
  // This thread also adds the values that the other one has read.
  private static let ownShare = 0.45

  private let columns: [any CollectedColumn]
  /// Takes the rows at the end, if another thread uses them.
  private let hand: ((ColumnBatch) throws -> Void)?
  // Stored beside the columns, so that no existential is opened for each row.
  private let takes: [(_ row: borrowing TakenRow, _ index: Int) throws -> Void]
  // The first two, which need no look-up in the array.
  private let first: (_ row: borrowing TakenRow, _ index: Int) throws -> Void
  private let second: (_ row: borrowing TakenRow, _ index: Int) throws -> Void
  let columnCount: Int
  // Safe: a row that is passed calls nothing that reads this, so that accesses cannot overlap.
  /// The number of rows.
  @safe @exclusivity(unchecked) private(set) var rowCount = 0

  init(_ columns: [any CollectedColumn], hand: ((ColumnBatch) throws -> Void)? = nil) {
    (self.columns, self.hand) = (columns, hand)
    takes = columns.map(\.takeRow)
    first = takes.first ?? { _, _ in }
    second = takes.dropFirst().first ?? { _, _ in }
    columnCount = columns.count
  }

  func take(_ row: borrowing TakenRow) throws {
    if columnCount == 2 {
      try first(row, 0)
      try second(row, 1)
    } else {
      for index in takes.indices { try takes[index](row, index) }
    }
    rowCount += 1
  }

  /// Adds a row of values.
  func take(_ row: some Collection<SQLValue>) {
    for (column, value) in zip(columns, row) { column.takeValue(value) }
    rowCount += 1
  }

  func finish() throws { try hand?(ColumnBatch(columns: columns, rowCount: rowCount)) }

  /// Runs a query, and adds its rows in its order.
  /// - Parameter entity: The entity whose table a ``ScanForm/split(_:_:)`` reads.
  func run(_ form: ScanForm, _ bindings: [SQLValue], of entity: EntityMapping, in context: any ScanContext)
    throws
  {
    guard case .split(let whole, let split) = form else {
      return try context.withConnection { try run(form, bindings, on: $0) }
    }
    try context.withState { connection, state in
      let read = SplitRead(split: split, entity: entity, context: context, ownShare: Self.ownShare)
      if try !run(read, on: connection, state) { try run(whole, bindings, on: connection) }
      read.lastCount.withLock { $0 = rowCount }
    }
  }

  /// Adds the rows of a table in the order of their ids, if two connections need less time than one.
  /// - Returns: Whether the rows were read.
  private func run(_ read: SplitRead, on connection: Connection, _ state: SharedState?) throws -> Bool {
    let others = columns.compactMap { $0.emptyForOtherThread() }
    guard others.count == columnCount else { return false }
    let empty = ColumnBatch(columns: others)
    return try read.run(on: connection, state: state) { text, values in
      try run(text, values, on: connection)
    } handing: { hand in
      ColumnCollector(empty.columns, hand: hand)
    } take: { (batch: ColumnBatch) in
      for (column, other) in zip(columns, batch.columns) { column.append(other) }
      rowCount += batch.rowCount
      read.context.countReadAhead(batch.rowCount)
    }
  }

  /// Runs a text that hands over its rows.
  private func run(_ text: String, _ bindings: [SQLValue], on connection: Connection) throws {
    try connection.deliverRows(to: self) { _ = try connection.execute(sql: text, bindings) }
  }

  private func run(_ form: ScanForm, _ bindings: [SQLValue], on connection: Connection) throws {
    switch form {
    case .late(_, let form), .listed(_, let form): try run(form, bindings, on: connection)
    case .stepped(let text):
      try connection.withStatement(sql: text) { statement in
        try statement.bind(bindings)
        while try statement.step() { take(statement.row()) }
      }
    case .handedOver(let text), .split(let text, _): try run(text, bindings, on: connection)
    case .placed(let text):
      let places = try connection.deliverRows(to: self) {
        try connection.query(sql: text, bindings) { Int($0.int64(0)) }
      }
      // If the engine did not have to sort, the places are in order already.
      if !places.elementsEqual(0..<rowCount) { for column in columns { column.arrange(by: places) } }
    }
  }
}
