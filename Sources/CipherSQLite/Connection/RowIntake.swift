// Rows that are received inside the engine: the columns of a query are the arguments of one of our SQL
// functions, which gets all values of a row at once. So no row passes through sqlite3_step and
// sqlite3_column_value, which take a third of the time of a scan.
//
//   SELECT vault_take(a, b) FROM t WHERE …         an aggregate: one step for all rows, in scan order
//   SELECT vault_place(a, b) FROM t … ORDER BY …   a function: one step for each row
//
// For a window of sorted rows, the sorted query is a subquery of the one that calls vault_take, which gets
// the rows in sorted order (Decision 0018). The result of vault_place is the number under which the row was
// received. The engine may call it before or after sorting.

private import CSQLCipher

/// Receives the rows while ``Connection/deliverRows(to:_:)`` runs.
package protocol RowReceiver: AnyObject {
  /// The number of columns of its rows.
  var columnCount: Int { get }

  /// Receives a row, which has ``columnCount`` columns. Costs one indirect call for each row.
  /// - Throws: An error that ends the statement and is thrown to the caller that runs it.
  func take(_ row: borrowing TakenRow) throws
}

/// A row while it is being passed to its receiver: the arguments of the function.
@safe package struct TakenRow: ~Copyable {
  // The engine's array for the call that passes the row. It and its values are valid until that call
  // returns. A TakenRow cannot outlive the call: it is borrowed and cannot be copied.
  let values: UnsafeMutablePointer<OpaquePointer?>
  let columnCount: Int

  /// Returns column `index` as an integer; 0 for NULL or a missing column.
  @inline(__always) package func int64(_ index: Int) -> Int64 {
    index < columnCount ? unsafe sqlite3_value_int64(values[index]) : 0
  }
}

/// The SQL functions that receive rows.
package enum RowFunction: String, Sendable {
  /// The aggregate: for statements that are not sorted, and around queries with a sorted window.
  case take = "vault_take"
  /// The scalar function, whose result is the number of the row: for statements that sort all rows.
  case place = "vault_place"

  /// The largest number of columns of a row: no engine allows functions more arguments.
  package static let columnLimit = 127
}

/// The receiver of rows during one ``Connection/deliverRows(to:_:)``, or during several calls of
/// ``Connection/deliverRows(by:_:)``.
package final class RowDelivery {
  // This object is not retained during the statement, and constant properties of it can be read without a
  // retain for each row.
  let taker: any RowReceiver
  let columnCount: Int
  // Used only by the thread that runs the statement, and never passed inout.
  /// How many rows `vault_place` has passed: the number of the next row.
  @safe @exclusivity(unchecked) var count = 0
  @safe @exclusivity(unchecked) var failure: (any Error)?

  package init(to taker: any RowReceiver) {
    self.taker = taker
    columnCount = taker.columnCount
  }
}

/// The receiver of rows for the functions of one connection.
@safe final class RowIntake {
  // Used only by the thread that runs the statement, and never passed inout. Not retained: `deliverRows`,
  // which sets this property, keeps the object alive meanwhile.
  @exclusivity(unchecked) fileprivate var handing: Unmanaged<RowDelivery>?

  /// Sets the receiver of rows.
  /// - Parameter next: The receiver. The caller keeps it alive until the next call.
  /// - Returns: The former receiver.
  func hand(_ next: RowDelivery?) -> RowDelivery? {
    defer { unsafe handing = next.map { unsafe Unmanaged.passUnretained($0) } }
    return unsafe handing?.takeUnretainedValue()
  }

  /// Whether the functions are registered.
  var isRegistered = false

  /// Registers the functions.
  /// - Returns: The engine's result code.
  func register(on handle: OpaquePointer) -> Int32 {
    // Not retained by the engine: the connection retains it, and closes the handle before it releases it.
    let address = unsafe Unmanaged.passUnretained(self).toOpaque()
    // SQLITE_DIRECTONLY of newer engines: no view or trigger of a file may call these
    // functions. Older engines ignore it.
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

private let takeRow: Callback = { context, count, values in
  unsafe handOver(context, count: count, values: values) { _ in }
}

private let placeRow: Callback = { context, count, values in
  unsafe handOver(context, count: count, values: values) { handing in
    unsafe sqlite3_result_int64(context, sqlite3_int64(handing.count))
    handing.count += 1
  }
}

@inline(__always) private func handOver(
  _ context: OpaquePointer?, count: Int32, values: UnsafeMutablePointer<OpaquePointer?>?,
  _ answer: (RowDelivery) throws -> Void
) {
  guard let data = unsafe sqlite3_user_data(context), let values = unsafe values else {
    return unsafe refuse(context)
  }
  // The connection retains the intake as long as the statement exists.
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
      // This message is never shown: `deliverRows` throws the original error.
      unsafe sqlite3_result_error(context, "a row was refused", -1)
    }
  }
}

/// Fails a call that does not come from a fetch: from SQL that a person wrote, or from the file's schema.
private func refuse(_ context: OpaquePointer?) {
  unsafe sqlite3_result_error(context, "only fetches may call vault_take and vault_place", -1)
}

/// The engine had no memory for a value that was read.
struct NoMemory: Error {}
