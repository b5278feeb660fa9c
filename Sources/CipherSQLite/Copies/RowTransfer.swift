// Copying rows from one file to a table of another, with every value unchanged, whatever its bytes. A row
// may have more columns than a statement has parameters, or than a query can return.

private import CSQLCipher

/// Rows that are read with several queries. The queries advance together, and each returns some of the
/// columns.
@safe final class SplitRows {
  let parts: [Statement]
  /// For each column of a row: the index of its query, and its column in that query.
  private let places: [(part: Int, column: Int32)]

  /// Prepares the queries.
  /// - Parameter queries: Queries that return the same rows in the same order.
  init(_ queries: [String], in connection: Connection) throws {
    let parts = try queries.map { try connection.prepare(sql: $0) }
    self.parts = parts
    places = parts.indices.flatMap { part in
      (0..<Int32(parts[part].columnCount)).map { (part, $0) }
    }
  }

  /// Advances to the next row.
  /// - Returns: Whether there is a next row.
  func step() throws -> Bool { try parts.reduce(false) { _, part in try part.step() } }

  /// Returns the engine's value of a column in the current row; nil for a missing column. It is valid until
  /// the next step, and only for binding it or returning it from a function (`sqlite3_column_value`).
  func value(_ column: Int) -> OpaquePointer? {
    guard places.indices.contains(column) else { return nil }
    let place = places[column]
    return unsafe sqlite3_column_value(parts[place.part].raw, place.column)
  }
}

/// The row that is being copied, for `vault_column(n)`; without rows, the function returns NULL.
@safe private final class CurrentRow {
  var rows: SplitRows?
}

extension Connection {
  private static let rowsBetweenReports = 256

  /// Copies the rows of queries on another file to a table of this one.
  /// - Parameters:
  ///   - source: A connection to the other file.
  ///   - queries: The queries; several if one query cannot return all columns of a row.
  ///   - table: The table.
  ///   - columns: Its columns, as many as a row has.
  ///   - report: Called every 256 rows with the number of rows so far. If it throws, the copying ends.
  /// - Returns: The number of rows.
  package func transfer(
    from source: Connection, _ queries: [String], into table: String, columns: [String],
    _ report: (Int) throws -> Void
  ) throws -> Int {
    let rows = try SplitRows(queries, in: source)
    let isBound = columns.count <= limit(.variables)
    let present = CurrentRow()
    if !isBound { try register(present) }
    present.rows = rows
    // The function stays registered, but returns NULL from then on.
    defer { present.rows = nil }
    let values = columns.indices.map { isBound ? "?" : "vault_column(\($0))" }.joined(separator: ", ")
    let insertion =
      "INSERT INTO \(quoted(table)) (\(columns.map(quoted).joined(separator: ", "))) VALUES (\(values))"
    let insert = try prepare(sql: insertion)
    var copied = 0
    while try rows.step() {
      for column in isBound ? columns.indices : 0..<0 {
        // sqlite3_bind_value permits values of another statement, and copies them unchanged.
        let code = unsafe sqlite3_bind_value(insert.raw, Int32(column) + 1, rows.value(column))
        guard code == SQLITE_OK else { throw error(code, sql: insertion) }
      }
      try insert.run()
      copied += 1
      if copied % Self.rowsBetweenReports == 0 { try report(copied) }
    }
    return copied
  }

  /// Registers `vault_column(n)`: column n of the current row, counted from 0.
  private func register(_ row: CurrentRow) throws {
    let handle = try unsafe opened()
    let data = unsafe Unmanaged.passRetained(row).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, "vault_column", 1, SQLITE_UTF8, data,
      { context, _, arguments in
        guard let data = unsafe sqlite3_user_data(context), let place = unsafe arguments?[0],
          let rows = unsafe Unmanaged<CurrentRow>.fromOpaque(data).takeUnretainedValue().rows,
          let value = unsafe rows.value(Int(sqlite3_value_int(place)))
        else { return }
        unsafe sqlite3_result_value(context, value)
      }, nil, nil, { data in unsafe data.map { unsafe Unmanaged<CurrentRow>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }
}
