// The virtual tables through which the engine reads a RowFeed, one for each number of columns. They are
// eponymous: they exist without having been created, and are in no file.

private import CSQLCipher

/// The rows that the virtual tables return, and the current position.
@unsafe struct FeedState {
  var rows = unsafe UnsafeBufferPointer<FeedRow>(start: nil, count: 0)
  var columns = unsafe UnsafeBufferPointer<FeedColumn>(start: nil, count: 0)
  var replacements = unsafe UnsafeBufferPointer<Int64>(start: nil, count: 0)
  var replacementCount = 0
  /// The index of the first row of each scan.
  var start = 0
  /// The index of the row that the statement is reading.
  var position = 0

  /// Returns one of the replacements of a row.
  @inline(__always) func replacement(_ number: Int, of row: Int) -> Int64 {
    unsafe replacements[row * replacementCount + number]
  }
}

/// The virtual tables of one connection.
@safe final class RowFeeder {
  // Allocated in init and freed in deinit. The connection retains the feeder until it has closed its own
  // handle.
  // The value is set for the duration of Connection.lend only, and read by the thread that is inside of it.
  private let state: UnsafeMutablePointer<FeedState>
  private var known: Set<Int> = []

  init() {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: FeedState())
  }

  deinit { unsafe state.deallocate() }

  /// Sets the rows that the tables return.
  /// - Returns: The former rows, for ``takeBack(_:)``.
  func lend(_ rows: FeedState) -> FeedState {
    defer { unsafe state.pointee = unsafe rows }
    return unsafe state.pointee
  }

  /// Restores the former rows.
  /// - Returns: The index of the row at which the statement stopped.
  func takeBack(_ outer: FeedState) -> Int {
    defer { unsafe state.pointee = unsafe outer }
    return unsafe state.pointee.position
  }

  /// Registers the table with this number of columns, once.
  /// - Returns: The engine's result code.
  func register(on handle: OpaquePointer, columnCount: Int) -> Int32 {
    guard !known.contains(columnCount) else { return SQLITE_OK }
    let code = unsafe sqlite3_create_module_v2(
      handle, RowFeed.tableName(columnCount: columnCount), feedModule, state, nil)
    if code == SQLITE_OK { known.insert(columnCount) }
    return code
  }
}

/// A table as the engine sees it. The engine's part comes first: the engine knows only the address of that
/// part, which is then also the address of the whole.
@unsafe private struct FeedTable {
  var base = unsafe sqlite3_vtab()
  let state: UnsafeMutablePointer<FeedState>
}

/// One scan of the rows. The engine's part comes first.
@unsafe private struct FeedCursor {
  var base = unsafe sqlite3_vtab_cursor()
  let state: UnsafeMutablePointer<FeedState>
  var next = 0
  /// The current row; nil after the last one.
  var row: UnsafePointer<FeedRow>?

  mutating func move(to place: Int) {
    unsafe next = place
    unsafe row =
      unsafe place < state.pointee.rows.count ? state.pointee.rows.baseAddress.map { unsafe $0 + place } : nil
    unsafe state.pointee.position = place
  }
}

// Safe to share: it is written once, before anything reads it. It is never freed, as the engine keeps its
// address while a connection is open.
nonisolated(unsafe) private let feedModule: UnsafePointer<sqlite3_module> = {
  var module = sqlite3_module()
  module.iVersion = 1
  // Without xCreate the table is eponymous, and no statement can create it.
  unsafe module.xConnect = { handle, data, _, arguments, table, _ in
    guard let data = unsafe data, let table = unsafe table, let name = unsafe arguments?[0],
      let count = unsafe Int(String(cString: name).drop { !$0.isNumber })
    else { return SQLITE_ERROR }
    let columns = (0..<count).map { "c\($0)" }.joined(separator: ", ")
    let code = unsafe sqlite3_declare_vtab(handle, "CREATE TABLE feed(\(columns))")
    guard code == SQLITE_OK else { return code }
    let made = UnsafeMutablePointer<FeedTable>.allocate(capacity: 1)
    unsafe made.initialize(to: FeedTable(state: data.assumingMemoryBound(to: FeedState.self)))
    unsafe table.pointee = unsafe UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
    return SQLITE_OK
  }
  unsafe module.xDisconnect = { table in
    unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: FeedTable.self).deallocate()
    return SQLITE_OK
  }
  unsafe module.xBestIndex = { _, plan in
    unsafe plan?.pointee.estimatedCost = 1e6
    // A large number, so that the engine builds a transient index for a join with a table that has
    // none on the joined column.
    unsafe plan?.pointee.estimatedRows = 10_000
    return SQLITE_OK
  }
  unsafe module.xOpen = { table, cursor in
    guard let table = UnsafeMutableRawPointer(table), let cursor = unsafe cursor else {
      return SQLITE_ERROR
    }
    let state = unsafe table.assumingMemoryBound(to: FeedTable.self).pointee.state
    let made = UnsafeMutablePointer<FeedCursor>.allocate(capacity: 1)
    unsafe made.initialize(to: FeedCursor(state: state))
    unsafe cursor.pointee = unsafe UnsafeMutableRawPointer(made).assumingMemoryBound(
      to: sqlite3_vtab_cursor.self)
    return SQLITE_OK
  }
  unsafe module.xClose = { cursor in
    unsafe feedCursor(cursor)?.deallocate()
    return SQLITE_OK
  }
  unsafe module.xFilter = { cursor, _, _, _, _ in
    guard let cursor = unsafe feedCursor(cursor) else { return SQLITE_ERROR }
    unsafe cursor.pointee.move(to: cursor.pointee.state.pointee.start)
    return SQLITE_OK
  }
  unsafe module.xNext = { cursor in
    guard let cursor = unsafe feedCursor(cursor) else { return SQLITE_ERROR }
    unsafe cursor.pointee.move(to: cursor.pointee.next + 1)
    return SQLITE_OK
  }
  unsafe module.xEof = { cursor in unsafe feedCursor(cursor)?.pointee.row == nil ? 1 : 0 }
  unsafe module.xRowid = { cursor, id in
    unsafe id?.pointee = unsafe feedCursor(cursor)?.pointee.row?.pointee.id ?? 0
    return SQLITE_OK
  }
  unsafe module.xColumn = { cursor, context, column in
    guard let cursor = unsafe feedCursor(cursor), let row = unsafe cursor.pointee.row else {
      return SQLITE_OK
    }
    if column == 0 {
      unsafe sqlite3_result_int64(context, row.pointee.id)
    } else if unsafe Int(column) <= cursor.pointee.state.pointee.columns.count {
      let column = unsafe cursor.pointee.state.pointee.columns[Int(column) - 1]
      unsafe setCell(cursor.pointee.state.pointee, row: cursor.pointee.next, column: column, in: context)
    }
    return SQLITE_OK
  }
  let kept = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
  unsafe kept.initialize(to: module)
  return unsafe UnsafePointer(kept)
}()

@inline(__always)
private func feedCursor(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<
  FeedCursor
>? {
  unsafe UnsafeMutableRawPointer(cursor)?.assumingMemoryBound(to: FeedCursor.self)
}

/// Passes the value of a column to the engine.
@inline(__always) func setCell(
  _ state: FeedState, row: Int, column: FeedColumn, in context: OpaquePointer?
) {
  guard let cells = unsafe state.rows[row].cells else {
    if let end = column.replacement { unsafe sqlite3_result_int64(context, state.replacement(end, of: row)) }
    return
  }
  let cell = unsafe RowCell(row: cells, slot: column.slot)
  if let replacement = column.replacement, cell.int64 != nil {
    unsafe sqlite3_result_int64(context, state.replacement(replacement, of: row))
  } else {
    unsafe setResult(cell, in: context)
  }
}

/// Passes a cell to the engine. Its bytes are not copied (the destructor is nil): their owner outlives the
/// statement, and they are not modified meanwhile.
@inline(__always) private func setResult(_ cell: RowCell, in context: OpaquePointer?) {
  switch cell.tag {
  case 1: unsafe sqlite3_result_int64(context, cell.cell.load(as: Int64.self))
  case 2: unsafe sqlite3_result_double(context, cell.cell.load(as: Double.self))
  case 3:
    let bytes = unsafe cell.bytes
    unsafe sqlite3_result_text64(
      context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), sqlite3_uint64(bytes.count), nil,
      UInt8(SQLITE_UTF8))
  case 4:
    let bytes = unsafe cell.bytes
    unsafe sqlite3_result_blob64(context, bytes.baseAddress, sqlite3_uint64(bytes.count), nil)
  default: unsafe sqlite3_result_null(context)
  }
}
