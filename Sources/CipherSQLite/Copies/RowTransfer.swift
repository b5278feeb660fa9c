// Rows of one file, put into a table of another, each value as it is, whatever its bytes. A row may have more columns than a
// statement takes parameters, and more than a query gives.

private import CSQLCipher

/// Rows by several queries that are stepped together, each of which gives a part of a row's columns.
@safe final class PartedRows {
  let parts: [Statement]
  /// Where each column is: in which part, and there.
  private let places: [(part: Int, column: Int32)]

  /// - Parameter queries: They give the same rows in the same order.
  init(_ queries: [String], in connection: Connection) throws {
    let parts = try queries.map { try connection.prepare(sql: $0) }
    self.parts = parts
    places = parts.indices.flatMap { part in
      (0..<Int32(parts[part].columnCount)).map { (part, $0) }
    }
  }

  /// - Returns: Whether there is another row.
  func step() throws -> Bool { try parts.reduce(false) { _, part in try part.step() } }

  /// What the engine lends of a column of the present row, until the next step: good for binding it and for giving it as a result
  /// (`sqlite3_column_value`). nil for a column that is not there.
  func value(_ column: Int) -> OpaquePointer? {
    guard places.indices.contains(column) else { return nil }
    let place = places[column]
    return unsafe sqlite3_column_value(parts[place.part].raw, place.column)
  }
}

/// The row that is being transferred: what `vault_column(n)` gives columns of, and nothing at other times.
@safe private final class PresentRow {
  var rows: PartedRows?
}

extension Connection {
  private static let rowsBetweenReports = 256

  /// Puts the rows of queries of another file into a table of this one.
  /// - Parameters:
  ///   - source: A connection to the other file.
  ///   - queries: What gives the rows; several where one query cannot give all columns of a row.
  ///   - table: The table.
  ///   - columns: Its columns, as many as a row has.
  ///   - report: Called now and then with the rows so far; what it throws ends the work.
  /// - Returns: How many rows there were.
  package func transfer(
    from source: Connection, _ queries: [String], into table: String, columns: [String],
    _ report: (Int) throws -> Void
  ) throws -> Int {
    let rows = try PartedRows(queries, in: source)
    let isBound = columns.count <= limit(.variables)
    let present = PresentRow()
    if !isBound { try register(present) }
    present.rows = rows
    // The function stays, and has nothing to give from then on.
    defer { present.rows = nil }
    let values = columns.indices.map { isBound ? "?" : "vault_column(\($0))" }.joined(separator: ", ")
    let insertion =
      "INSERT INTO \(quoted(table)) (\(columns.map(quoted).joined(separator: ", "))) VALUES (\(values))"
    let insert = try prepare(sql: insertion)
    var copied = 0
    while try rows.step() {
      for column in isBound ? columns.indices : 0..<0 {
        // Allowed for a value that belongs to another statement (sqlite3_bind_value), and copies it as it is.
        let code = unsafe sqlite3_bind_value(insert.raw, Int32(column) + 1, rows.value(column))
        guard code == SQLITE_OK else { throw error(code, sql: insertion) }
      }
      try insert.run()
      copied += 1
      if copied % Self.rowsBetweenReports == 0 { try report(copied) }
    }
    return copied
  }

  /// Registers `vault_column(n)`: column n of the present row, counted from 0.
  private func register(_ row: PresentRow) throws {
    let handle = try unsafe opened()
    let data = unsafe Unmanaged.passRetained(row).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, "vault_column", 1, SQLITE_UTF8, data,
      { context, _, arguments in
        guard let data = unsafe sqlite3_user_data(context), let place = unsafe arguments?[0],
          let rows = unsafe Unmanaged<PresentRow>.fromOpaque(data).takeUnretainedValue().rows,
          let value = unsafe rows.value(Int(sqlite3_value_int(place)))
        else { return }
        unsafe sqlite3_result_value(context, value)
      }, nil, nil, { data in unsafe data.map { unsafe Unmanaged<PresentRow>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }
}
