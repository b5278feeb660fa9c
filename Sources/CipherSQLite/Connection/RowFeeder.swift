// The virtual tables that a RowFeed is read through, one for each number of columns: eponymous, so that they are there
// without having been created, and in no file.

private import CSQLCipher

/// What is fed, where, and how far it is.
@unsafe struct FeedState {
  var rows = unsafe UnsafeBufferPointer<FedRow>(start: nil, count: 0)
  var columns = unsafe UnsafeBufferPointer<FedColumn>(start: nil, count: 0)
  var replacements = unsafe UnsafeBufferPointer<Int64>(start: nil, count: 0)
  var replacementCount = 0
  /// The row with which each scan begins.
  var start = 0
  /// The row at which the statement is.
  var position = 0

  /// An integer that was given with a row.
  @inline(__always) func replacement(_ number: Int, of row: Int) -> Int64 {
    unsafe replacements[row * replacementCount + number]
  }
}

/// The tables of one connection.
@safe final class RowFeeder {
  // Allocated in init and freed in deinit; the connection, which has the feeder, closes its handle before. What stands
  // there is lent for the time of Connection.lend, and read by the thread that is inside of it.
  private let state: UnsafeMutablePointer<FeedState>
  private var known: Set<Int> = []

  init() {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: FeedState())
  }

  deinit { unsafe state.deallocate() }

  /// Lets the tables have rows.
  /// - Returns: What they had, for ``takeBack(_:)``.
  func lend(_ rows: FeedState) -> FeedState {
    defer { unsafe state.pointee = unsafe rows }
    return unsafe state.pointee
  }

  /// - Returns: The row at which the statement stopped.
  func takeBack(_ outer: FeedState) -> Int {
    defer { unsafe state.pointee = unsafe outer }
    return unsafe state.pointee.position
  }

  /// - Returns: A code of the engine.
  func register(on handle: OpaquePointer, columnCount: Int) -> Int32 {
    guard !known.contains(columnCount) else { return SQLITE_OK }
    let code = unsafe sqlite3_create_module_v2(
      handle, RowFeed.tableName(columnCount: columnCount), feedModule, state, nil)
    if code == SQLITE_OK { known.insert(columnCount) }
    return code
  }
}

/// The engine's table, with its part first: the engine has the address of that.
@unsafe private struct FeedTable {
  var base = unsafe sqlite3_vtab()
  let state: UnsafeMutablePointer<FeedState>
}

/// One pass over the rows; the engine's part first.
@unsafe private struct FeedCursor {
  var base = unsafe sqlite3_vtab_cursor()
  let state: UnsafeMutablePointer<FeedState>
  var next = 0
  /// The present row; nil behind the last one.
  var row: UnsafePointer<FedRow>?

  mutating func move(to place: Int) {
    unsafe next = place
    unsafe row =
      unsafe place < state.pointee.rows.count ? state.pointee.rows.baseAddress.map { unsafe $0 + place } : nil
    unsafe state.pointee.position = place
  }
}

// Safe to share: it is written once, before anybody has it. Never freed, as the engine keeps its address for as long as a
// connection is open.
nonisolated(unsafe) private let feedModule: UnsafePointer<sqlite3_module> = {
  var module = sqlite3_module()
  module.iVersion = 1
  // Without xCreate the table is eponymous, and can be made by no statement.
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
    // Many, so that a table without an index on what it is joined by gets one for the time of the statement.
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
      unsafe setCell(cursor.pointee.state.pointee, cursor.pointee.next, column, in: context)
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

/// Lends the engine what a row has in a column.
@inline(__always) func setCell(
  _ state: FeedState, _ row: Int, _ column: FedColumn, in context: OpaquePointer?
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

/// Lends a cell to the engine. It is not copied (nil in the place of a destructor): its owner outlives the statement, and
/// nobody writes there meanwhile.
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
