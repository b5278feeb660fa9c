// A prepared statement: binding, stepping, columns. It is used by one task, the one
// that uses its connection.

internal import CSQLCipher
public import Foundation

/// A prepared statement of one ``Connection``.
///
/// Parameters are counted from 1 and columns from 0, as in SQLite. It is not `Sendable`: use it on the
/// task that uses its connection. It is finalized when it is released, or when the connection closes.
@safe public final class Statement {
  // Valid from init to finalize(); finalized exactly once, by finalize() or deinit. Afterwards it is nil;
  // then the engine's calls return an error or nothing. Memory to which they return a pointer is copied
  // before the next call. Unchecked exclusivity: never passed inout, and read for every column of every row.
  @exclusivity(unchecked) final var raw: OpaquePointer?
  // Not the connection itself: a statement that outlives its connection throws an error and does not crash.
  private let link: ConnectionLink
  private var connection: Connection? { link.connection }
  private let path: String
  /// The SQL text, without values.
  public let sql: String
  // Set by the cache: whether the statement is in use, and when it was last used, counted in look-ups.
  // `Connection.withStatement` clears `isInUse`. Never passed inout.
  @exclusivity(unchecked) final var isInUse = false
  @exclusivity(unchecked) final var lastUse = 0
  /// How the connection stores dates.
  var dates: DateStrategy { connection?.configuration.dates ?? .secondsSince1970 }

  init(raw: OpaquePointer?, sql: String, connection: Connection) {
    unsafe self.raw = unsafe raw
    self.sql = sql
    link = connection.link
    path = connection.path
    connection.didPrepare(self)
  }

  deinit {
    connection?.forget(self)
    unsafe sqlite3_finalize(raw)
  }

  func finalize() {
    unsafe sqlite3_finalize(raw)
    unsafe raw = nil
  }

  /// Finalizes the statement before it is released.
  func finalizeNow() {
    connection?.forget(self)
    finalize()
  }

  /// The number of parameters of the statement.
  public var parameterCount: Int { unsafe Int(sqlite3_bind_parameter_count(raw)) }
  /// The number of columns of a row.
  public var columnCount: Int { unsafe Int(sqlite3_column_count(raw)) }
  /// Returns the name of a column.
  /// - Parameter index: The column, counted from 0.
  /// - Returns: The name; empty if there is no such column.
  public func columnName(_ index: Int) -> String {
    // The engine would dereference a nil statement before it checks for nil.
    guard let raw = unsafe raw, let name = unsafe sqlite3_column_name(raw, Int32(index)) else { return "" }
    return unsafe String(cString: name)
  }

  // MARK: Binding

  /// Binds all parameters, in order.
  /// - Parameter values: The values, one for each parameter.
  /// - Throws: ``SQLError/parameterCount(expected:found:sql:)`` if the number differs.
  public func bind(_ values: [SQLValue]) throws {
    guard values.count == parameterCount else {
      throw SQLError.parameterCount(expected: parameterCount, found: values.count, sql: sql)
    }
    for (index, value) in values.enumerated() { try bind(value, at: index + 1) }
  }

  /// Binds one value to a parameter. Text and bytes are copied.
  /// - Parameters:
  ///   - value: The value.
  ///   - index: The parameter, counted from 1.
  /// - Throws: ``SQLError``.
  public func bind(_ value: SQLValue, at index: Int) throws {
    switch value {
    case .null: try unsafe check(sqlite3_bind_null(raw, Int32(index)))
    case .integer(let value): try unsafe check(sqlite3_bind_int64(raw, Int32(index), value))
    case .real(let value): try unsafe check(sqlite3_bind_double(raw, Int32(index), value))
    case .text(let value): try bind(value, at: index)
    case .blob(let value): try bind(value, at: index)
    }
  }

  /// Binds a value of a packed row. Text and bytes are copied.
  package func bind(_ cell: RowCell, at index: Int) throws {
    let index = Int32(index)
    switch cell.tag {
    case 1: try unsafe check(sqlite3_bind_int64(raw, index, cell.cell.load(as: Int64.self)))
    case 2: try unsafe check(sqlite3_bind_double(raw, index, cell.cell.load(as: Double.self)))
    case 3:
      let bytes = unsafe cell.bytes
      let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      try unsafe check(
        sqlite3_bind_text64(raw, index, start, sqlite3_uint64(bytes.count), copyBytes, UInt8(SQLITE_UTF8)))
    case 4:
      let bytes = unsafe cell.bytes
      try unsafe check(
        sqlite3_bind_blob64(raw, index, bytes.baseAddress, sqlite3_uint64(bytes.count), copyBytes))
    default: try unsafe check(sqlite3_bind_null(raw, index))
    }
  }

  /// Binds an integer to a parameter.
  /// - Parameters:
  ///   - value: The integer.
  ///   - index: The parameter, counted from 1.
  /// - Throws: ``SQLError``.
  public func bind(_ value: Int64, at index: Int) throws {
    try unsafe check(sqlite3_bind_int64(raw, Int32(index), value))
  }

  /// Binds a copy of a text to a parameter.
  /// - Parameters:
  ///   - value: The text.
  ///   - index: The parameter, counted from 1.
  /// - Throws: ``SQLError``.
  public func bind(_ value: String, at index: Int) throws {
    var value = value
    let code = value.withUTF8 { bytes in
      // The count is passed because a Swift String may contain a NUL; an empty buffer may have no address.
      unsafe sqlite3_bind_text64(
        raw, Int32(index),
        UnsafeRawPointer(bytes.baseAddress ?? emptyAddress).assumingMemoryBound(to: CChar.self),
        sqlite3_uint64(bytes.count), copyBytes, UInt8(SQLITE_UTF8))
    }
    try check(code)
  }

  /// Binds a copy of bytes to a parameter.
  /// - Parameters:
  ///   - value: The bytes.
  ///   - index: The parameter, counted from 1.
  /// - Throws: ``SQLError``.
  public func bind(_ value: Data, at index: Int) throws {
    let code = unsafe value.withUnsafeBytes { bytes in
      unsafe sqlite3_bind_blob64(
        raw, Int32(index), bytes.baseAddress ?? UnsafeRawPointer(emptyAddress), sqlite3_uint64(bytes.count),
        copyBytes)
    }
    try check(code)
  }

  // MARK: Running

  /// Advances to the next row.
  /// - Returns: `true` if there is a row, `false` after the last one.
  /// - Throws: ``SQLError``. The statement is reset before the error is thrown.
  public func step() throws -> Bool {
    let code = unsafe sqlite3_step(raw)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    let error = failure(code)
    unsafe sqlite3_reset(raw)
    throw error
  }

  /// Runs the statement to its end and resets it.
  /// - Throws: ``SQLError``.
  public func run() throws {
    while try step() {}
    reset()
  }

  /// Makes the statement ready to run again. The bound values stay.
  public func reset() { unsafe sqlite3_reset(raw) }

  // MARK: Columns

  /// Returns a column of the current row.
  /// - Parameter index: The column, counted from 0.
  public func value(_ index: Int) -> SQLValue {
    let value = unsafe sqlite3_column_value(raw, Int32(index))
    switch unsafe sqlite3_value_type(value) {
    case SQLITE_INTEGER: return unsafe .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: return unsafe .real(sqlite3_value_double(value))
    case SQLITE_TEXT: return .text(text(index) ?? "")
    case SQLITE_BLOB: return .blob(data(index))
    default: return .null
    }
  }

  /// Returns column `index` as an integer; 0 for NULL.
  public func int64(_ index: Int) -> Int64 { unsafe sqlite3_column_int64(raw, Int32(index)) }
  /// Returns column `index` as a real; 0 for NULL.
  public func double(_ index: Int) -> Double { unsafe sqlite3_column_double(raw, Int32(index)) }
  /// Returns whether column `index` is NULL.
  public func isNull(_ index: Int) -> Bool { unsafe sqlite3_column_type(raw, Int32(index)) == SQLITE_NULL }

  /// Returns column `index` as text; nil for NULL.
  public func text(_ index: Int) -> String? {
    guard let bytes = unsafe sqlite3_column_text(raw, Int32(index)) else { return nil }
    let count = unsafe Int(sqlite3_column_bytes(raw, Int32(index)))
    return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// Returns column `index` as bytes; empty for NULL.
  public func data(_ index: Int) -> Data {
    guard let bytes = unsafe sqlite3_column_blob(raw, Int32(index)) else { return Data() }
    return unsafe Data(bytes: bytes, count: Int(sqlite3_column_bytes(raw, Int32(index))))
  }

  /// Returns all columns of the current row.
  public func row() -> [SQLValue] { (0..<columnCount).map(value) }

  private func check(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    throw failure(code)
  }

  private func failure(_ code: Int32) -> SQLError {
    guard unsafe raw != nil, let connection else { return .closed(file: path) }
    return connection.error(code, sql: sql)
  }
}

// Not a weak reference, because an object with weak references keeps its reference count in a side table.
// Counting there is slower, and a look-up in the cache changes a dozen reference counts.
/// The reference of a statement to its connection. It does not retain the connection, and is nil once the
/// connection is released.
final class ConnectionLink {
  // Safe: it is set by the connection only, and cleared first in the connection's deinit. The statements
  // that have the link are used by the one task that uses the connection, so nothing reads it during that
  // deinit.
  @safe @exclusivity(unchecked) private(set) unowned(unsafe) var connection: Connection?

  /// Sets the connection.
  func lead(to connection: Connection) { self.connection = connection }

  /// Clears the connection.
  func end() { connection = nil }
}

// SQLITE_TRANSIENT: the engine copies the bytes before the call returns.
let copyBytes = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
// An address for buffers that have none. It is never read, because it is passed with a count of 0.
nonisolated(unsafe) let emptyAddress = unsafe UnsafePointer(UnsafeMutablePointer<UInt8>.allocate(capacity: 1))
