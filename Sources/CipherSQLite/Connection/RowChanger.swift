// The SQL functions through which a statement reads RowChanges.

private import CSQLCipher

/// The changes that the functions return, and the current position.
@unsafe struct ChangeState {
  var feed = unsafe FeedState()
  var versions = unsafe UnsafeBufferPointer<Int64>(start: nil, count: 0)
  var written = unsafe UnsafeMutableBufferPointer<Bool>(start: nil, count: 0)
  /// The index of the row that was found last.
  private var last = 0

  init() {}

  init(
    _ feed: FeedState, versions: UnsafeBufferPointer<Int64>, written: UnsafeMutableBufferPointer<Bool>
  ) {
    unsafe (self.feed, self.versions, self.written) = unsafe (feed, versions, written)
    unsafe last = unsafe feed.start
  }

  /// Returns the index of the row with an id; nil if there is none.
  @inline(__always) mutating func find(_ id: Int64) -> Int? {
    let rows = unsafe feed.rows
    // In most calls the id is that of the last row found or of the next row, or it lies between the two.
    guard unsafe last < rows.count else { return nil }
    if unsafe rows[last].id == id { return unsafe last }
    let next = unsafe last + 1
    if unsafe rows[last].id < id {
      guard next < rows.count, unsafe rows[next].id <= id else { return nil }
      if unsafe rows[next].id == id {
        unsafe last = next
        return next
      }
    }
    return unsafe search(id)
  }

  private mutating func search(_ id: Int64) -> Int? {
    let rows = unsafe feed.rows
    var (low, high) = (0, rows.count)
    while low < high {
      let middle = (low + high) / 2
      if unsafe rows[middle].id < id { low = middle + 1 } else { high = middle }
    }
    guard low < rows.count, unsafe rows[low].id == id else { return nil }
    unsafe last = low
    return low
  }
}

/// The SQL functions `vault_version` and `vault_value` of one connection.
@safe final class RowChanger {
  // Allocated in init and freed in deinit. The connection retains the changer until it has closed its own
  // handle.
  // The value is set for the duration of Connection.run only, and read by the thread that is inside of it.
  private let state: UnsafeMutablePointer<ChangeState>
  /// Whether the engine has both functions.
  var isRegistered = false

  init() {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: ChangeState())
  }

  deinit { unsafe state.deallocate() }

  /// Sets the changes that the functions return.
  /// - Returns: The former changes, for ``takeBack(_:)``.
  func lend(_ changes: ChangeState) -> ChangeState {
    defer { unsafe state.pointee = unsafe changes }
    return unsafe state.pointee
  }

  /// Restores the former changes.
  /// - Returns: The index of the row whose value was read last.
  func takeBack(_ outer: ChangeState) -> Int {
    defer { unsafe state.pointee = unsafe outer }
    return unsafe state.pointee.feed.position
  }

  /// Registers the functions.
  /// - Returns: The engine's result code.
  func register(on handle: OpaquePointer) -> Int32 {
    // SQLITE_DIRECTONLY of newer engines: no view or trigger of a file may call these
    // functions. Older engines ignore it.
    let flags = SQLITE_UTF8 | 0x80000
    let code = unsafe sqlite3_create_function_v2(
      handle, "vault_version", 1, flags, state, versionFunction, nil, nil, nil)
    guard code == SQLITE_OK else { return code }
    return unsafe sqlite3_create_function_v2(
      handle, "vault_value", 2, flags, state, valueFunction, nil, nil, nil)
  }
}

private typealias Callback =
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

// If no row is found, the function returns NULL, which equals no version.
private let versionFunction: Callback = { context, _, arguments in
  guard let (state, row) = unsafe findRow(context, arguments) else { return }
  unsafe sqlite3_result_int64(context, state.pointee.versions[row])
}

private let valueFunction: Callback = { context, count, arguments in
  guard count == 2, let (state, row) = unsafe findRow(context, arguments),
    let number = unsafe arguments.map({ unsafe Int(sqlite3_value_int64($0[1])) }),
    unsafe state.pointee.feed.columns.indices.contains(number)
  else { return }
  unsafe state.pointee.feed.position = row
  unsafe state.pointee.written[row] = true
  unsafe setCell(state.pointee.feed, row: row, column: state.pointee.feed.columns[number], in: context)
}

/// Returns the changes, and the index of the row whose id is the first argument; nil if there is no such
/// row.
@inline(__always) private func findRow(
  _ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
) -> (UnsafeMutablePointer<ChangeState>, Int)? {
  // The connection retains the changer as long as the statement exists.
  guard let data = unsafe sqlite3_user_data(context), let arguments = unsafe arguments else { return nil }
  let state = unsafe data.assumingMemoryBound(to: ChangeState.self)
  guard let row = unsafe state.pointee.find(sqlite3_value_int64(arguments[0])) else { return nil }
  return unsafe (state, row)
}
