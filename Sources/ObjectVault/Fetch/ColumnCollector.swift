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
}

extension ResultColumn: CollectedColumn {
  var unreadableCount: Int { values.unreadableCount }
  var typeName: String { (Value.self as? any AttributeValue.Type)?.attributeType.rawValue ?? "\(Value.self)" }
  func reads(_ value: SQLValue) -> Bool { value.isNull || convert(value) != nil }
  func arrange(by places: [Int]) { values.all = places.map { values.all[$0] } }
}

/// Collects the values of all rows of a query.
final class ColumnCollector: RowReceiver {
  private let columns: [any CollectedColumn]
  // Stored beside the columns, so that no existential is opened for each row.
  private let takes: [(_ row: borrowing TakenRow, _ index: Int) throws -> Void]
  // The first two, which need no look-up in the array.
  private let first: (_ row: borrowing TakenRow, _ index: Int) throws -> Void
  private let second: (_ row: borrowing TakenRow, _ index: Int) throws -> Void
  let columnCount: Int
  // Safe: a row that is passed calls nothing that reads this, so that accesses cannot overlap.
  /// The number of rows.
  @safe @exclusivity(unchecked) private(set) var rowCount = 0

  init(_ columns: [any CollectedColumn]) {
    self.columns = columns
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

  /// Runs a query, and adds its rows in its order.
  func run(_ form: ScanForm, _ bindings: [SQLValue], on connection: Connection) throws {
    switch form {
    case .late(_, let form), .listed(_, let form): try run(form, bindings, on: connection)
    case .stepped(let text):
      try connection.withStatement(sql: text) { statement in
        try statement.bind(bindings)
        while try statement.step() { take(statement.row()) }
      }
    case .handedOver(let text), .split(let text, _):
      try connection.deliverRows(to: self) { _ = try connection.execute(sql: text, bindings) }
    case .placed(let text):
      let places = try connection.deliverRows(to: self) {
        try connection.query(sql: text, bindings) { Int($0.int64(0)) }
      }
      // If the engine did not have to sort, the places are in order already.
      if !places.elementsEqual(0..<rowCount) { for column in columns { column.arrange(by: places) } }
    }
  }
}
