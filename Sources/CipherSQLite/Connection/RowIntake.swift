// Rows that are received inside the engine: the columns of a query are the arguments of one of our SQL
// functions, which gets all values of a row at once. So the columns do not pass through
// sqlite3_column_value, and an unsorted scan takes only one sqlite3_step. Both calls would take a third
// of the time of a scan.
//
//   SELECT vault_take(a, b) FROM t WHERE …         an aggregate: one step for all rows, in scan order
//   SELECT vault_place(a, b) FROM t … ORDER BY …   a function: one step for each row
//
// For a window of sorted rows (those after an offset, up to a limit), the sorted query is a subquery of
// the query that calls vault_take, which gets the rows in sorted order (Decision 0018). The result of
// vault_place is the number under which the row was received. The engine may call vault_place before or
// after sorting.

private import CSQLCipher
private import Foundation

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

  /// Returns column `index` as a value; NULL for a missing column.
  /// - Throws: `NoMemory` if the engine has no memory for the value.
  package func value(_ index: Int) throws -> SQLValue {
    guard index < columnCount else { return .null }
    let value = unsafe values[index]
    switch unsafe sqlite3_value_type(value) {
    case SQLITE_INTEGER: return unsafe .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: return unsafe .real(sqlite3_value_double(value))
    case SQLITE_TEXT: return .text(try text(index) ?? "")
    case SQLITE_BLOB:
      // The bytes first: a zeroblob is expanded when it is read, for which there may be no memory.
      let bytes = unsafe sqlite3_value_blob(value)
      let count = unsafe Int(sqlite3_value_bytes(value))
      guard let bytes = unsafe bytes else {
        guard count == 0 else { throw NoMemory() }
        return .blob(Data())
      }
      return unsafe .blob(Data(bytes: bytes, count: count))
    default: return .null
    }
  }

  /// Returns column `index` if it is an integer; nil for any other value.
  @inline(__always) package func integer(_ index: Int) -> Int64? {
    guard index < columnCount, unsafe sqlite3_value_type(values[index]) == SQLITE_INTEGER else { return nil }
    return unsafe sqlite3_value_int64(values[index])
  }

  /// Returns column `index` if it is a number; nil for any other value.
  @inline(__always) package func number(_ index: Int) -> Double? {
    guard index < columnCount else { return nil }
    let type = unsafe sqlite3_value_type(values[index])
    guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { return nil }
    return unsafe sqlite3_value_double(values[index])
  }

  /// Returns column `index` if it is text; nil for any other value.
  /// - Throws: `NoMemory` if the engine has no memory for the text.
  @inline(__always) package func text(_ index: Int) throws -> String? {
    guard index < columnCount, unsafe sqlite3_value_type(values[index]) == SQLITE_TEXT else { return nil }
    // The text first: reading it may convert it and change the count.
    guard let bytes = unsafe sqlite3_value_text(values[index]) else { throw NoMemory() }
    let count = unsafe Int(sqlite3_value_bytes(values[index]))
    return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// Returns whether column `index` is NULL or missing.
  @inline(__always) package func isNull(_ index: Int) -> Bool {
    index >= columnCount || (unsafe sqlite3_value_type(values[index]) == SQLITE_NULL)
  }
}

/// The SQL functions that receive rows.
package enum RowFunction: String, Sendable {
  /// The aggregate: for statements without an order and a window. For a window of rows that the engine
  /// has to sort, it is in a query around the sorted one.
  case take = "vault_take"
  /// The scalar function, whose result is the number of the row. It is used for statements that sort all
  /// rows, for a window of rows that the engine need not sort, and for one row by its id.
  case place = "vault_place"

  /// The largest number of columns of a row: engines before SQLite 3.48 allow a function at most 127
  /// arguments.
  package static let columnLimit = 127
}

/// A ``RowReceiver`` with the state of its delivery: how many rows `vault_place` has passed, and the
/// error that ended the statement. Used for one ``Connection/deliverRows(to:_:)``, or for several calls
/// of ``Connection/deliverRows(by:_:)`` one after another.
package final class RowDelivery {
  // These properties are read for each row. They are constants, because a constant property can be read
  // without a retain. Nor is this object retained during the statement.
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

/// Registers the functions on one connection, and passes their rows to the present ``RowDelivery``.
@safe final class RowIntake {
  // Used only by the thread that runs the statement, and never passed inout. Not retained: `deliverRows`,
  // which sets this property, keeps the object alive meanwhile.
  @exclusivity(unchecked) fileprivate var handing: Unmanaged<RowDelivery>?

  /// Sets the present delivery.
  /// - Parameter next: The delivery; nil for none. The caller keeps it alive until the next call.
  /// - Returns: The former delivery.
  func hand(_ next: RowDelivery?) -> RowDelivery? {
    defer { unsafe handing = next.map { unsafe Unmanaged.passUnretained($0) } }
    return unsafe handing?.takeUnretainedValue()
  }

  /// Whether the functions are registered.
  var isRegistered = false

  /// The number of rows that were received since the connection was opened. Never passed inout.
  @safe @exclusivity(unchecked) fileprivate(set) var received = 0

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
  let handing = unsafe Unmanaged<RowIntake>.fromOpaque(data)._withUnsafeGuaranteedRef { intake in
    intake.received &+= 1
    return unsafe intake.handing
  }
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

/// Fails a call that is not part of a fetch. Such a call is in SQL that a person wrote, or in the file's
/// schema.
private func refuse(_ context: OpaquePointer?) {
  unsafe sqlite3_result_error(context, "only fetches may call vault_take and vault_place", -1)
}

/// The engine had no memory for a value that was read.
struct NoMemory: Error {}
