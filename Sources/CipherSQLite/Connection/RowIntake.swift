// Rows that are taken in inside the engine: a statement's columns are the arguments of a function of ours, which finds
// the values of a row side by side. So no row crosses sqlite3_step and sqlite3_column_value, which is a third of a scan.
//
//   SELECT vault_take(a, b) FROM t WHERE …            an aggregate: one step for all rows, in the order of the scan; of a
//                                                     sorted window in that of the query inside (Decision 0018)
//   SELECT vault_place(a, b) FROM t … ORDER BY …      a function: a step for each row, which gives the number under which
//                                                     the row was taken in, before or after the engine sorted

private import CSQLCipher

/// Who takes rows in, while ``Connection/handRows(to:_:)`` runs.
package protocol RowTaker: AnyObject {
  /// How many columns its rows have.
  var columnCount: Int { get }

  /// Takes a row in, which has ``columnCount`` columns. One indirect call for each row.
  /// - Throws: What ends the statement, and is thrown by whoever runs it.
  func take(_ row: borrowing TakenRow) throws
}

/// A row while it is handed over: the arguments of a function.
@safe package struct TakenRow: ~Copyable {
  // The engine's array of the call that hands the row over, which lends it and its values until it returns. Nobody keeps
  // one of these for longer: it is lent, too, and cannot be copied.
  let values: UnsafeMutablePointer<OpaquePointer?>
  let columnCount: Int

  /// Column `index` as an integer; 0 for NULL, and where there is no such column.
  @inline(__always) package func int64(_ index: Int) -> Int64 {
    index < columnCount ? unsafe sqlite3_value_int64(values[index]) : 0
  }
}

/// The texts by which rows are taken in.
package enum RowFunction: String, Sendable {
  /// The aggregate: for statements that are not sorted, and around those whose window is.
  case take = "vault_take"
  /// The function, whose result is the number of the row: for statements that are sorted whole.
  case place = "vault_place"

  /// How many columns a row may have: on no engine does a function take more arguments.
  package static let columnLimit = 127
}

/// The rows of one ``Connection/handRows(to:_:)``, and who takes them in; or those of one after another of
/// ``Connection/handRows(by:_:)``.
package final class RowHanding {
  // Constants, of an object that is lent and not retained: what cannot change is not retained for each row either.
  let taker: any RowTaker
  let columnCount: Int
  // Used by the thread that runs the statement alone, and never passed inout.
  /// How many rows were handed over whose numbers are asked for.
  @safe @exclusivity(unchecked) var count = 0
  @safe @exclusivity(unchecked) var failure: (any Error)?

  package init(to taker: any RowTaker) {
    self.taker = taker
    columnCount = taker.columnCount
  }
}

/// What the functions of one connection hand rows to.
@safe final class RowIntake {
  // Used by the thread that runs the statement alone, and never passed inout. Not retained: handRows, which sets it, has it
  // for as long.
  @exclusivity(unchecked) fileprivate var handing: Unmanaged<RowHanding>?

  /// Has rows handed over to others from now on.
  /// - Parameter next: Kept by the caller until the next call.
  /// - Returns: How they were handed over before.
  func hand(_ next: RowHanding?) -> RowHanding? {
    defer { unsafe handing = next.map { unsafe Unmanaged.passUnretained($0) } }
    return unsafe handing?.takeUnretainedValue()
  }

  /// Whether the engine has the functions.
  var isRegistered = false

  /// Registers the functions.
  /// - Returns: A code of the engine.
  func register(on handle: OpaquePointer) -> Int32 {
    // Not retained by the engine: the connection has it, and closes the handle before it lets go of it.
    let address = unsafe Unmanaged.passUnretained(self).toOpaque()
    // SQLITE_DIRECTONLY, of newer engines: no view or trigger of a file may call them. Older ones ignore it.
    let flags = SQLITE_UTF8 | 0x80000
    var code = unsafe sqlite3_create_function_v2(
      handle, RowFunction.take.rawValue, -1, flags, address, nil, takeRow, { _ in }, nil)
    if code == SQLITE_OK {
      code = unsafe sqlite3_create_function_v2(
        handle, RowFunction.place.rawValue, -1, flags, address, placeRow, nil, nil, nil)
    }
    return code
  }
}

private typealias Callback =
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

private let takeRow: Callback = { context, count, values in unsafe handOver(context, count, values) { _ in } }

private let placeRow: Callback = { context, count, values in
  unsafe handOver(context, count, values) { handing in
    unsafe sqlite3_result_int64(context, sqlite3_int64(handing.count))
    handing.count += 1
  }
}

@inline(__always) private func handOver(
  _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?,
  _ answer: (RowHanding) throws -> Void
) {
  guard let data = unsafe sqlite3_user_data(context), let values = unsafe values else {
    return unsafe refuse(context)
  }
  // The connection has the intake for as long as it has the statement.
  let handing = unsafe Unmanaged<RowIntake>.fromOpaque(data)._withUnsafeGuaranteedRef { unsafe $0.handing }
  guard let handing = unsafe handing else { return unsafe refuse(context) }
  unsafe handing._withUnsafeGuaranteedRef { handing in
    guard handing.columnCount == Int(count) else { return unsafe refuse(context) }
    do {
      try answer(handing)
      try unsafe handing.taker.take(TakenRow(values: values, columnCount: Int(count)))
    } catch is NoMemory {
      unsafe sqlite3_result_error_nomem(context)
    } catch {
      handing.failure = error
      // What is said here nobody reads: handRows throws the error itself.
      unsafe sqlite3_result_error(context, "a row was refused", -1)
    }
  }
}

/// Something else than the statement of a fetch called the function: one that a person wrote, or the file.
private func refuse(_ context: OpaquePointer?) {
  unsafe sqlite3_result_error(context, "vault_take and vault_place are for fetches alone", -1)
}

/// The engine had no memory for a value that it was asked for.
struct NoMemory: Error {}
