// A prepared statement: binding, stepping, columns. Confined to its connection's task like everything here.

internal import CSQLCipher
public import Foundation

/// A prepared statement of one ``Connection``.
///
/// Parameters are counted from 1 and columns from 0, as in SQLite. Not `Sendable`: use it where its
/// connection is used. It is finalized when it is released, or when the connection closes.
@safe public final class Statement {
  // Valid from init to finalize(); finalized exactly once, by finalize() or deinit, and nil from then on, which the
  // engine's calls answer with an error or with nothing. What they lend of a row is copied before the next call.
  // Unchecked exclusivity: never passed inout, and read for every column of every row.
  @exclusivity(unchecked) final var raw: OpaquePointer?
  // Not the connection: whoever keeps a statement longer than that gets an error, not a crash.
  private let link: ConnectionLink
  private var connection: Connection? { link.connection }
  private let path: String
  /// The SQL text, without values.
  public let sql: String
  // Both are the cache's: whether it is lent, and when it was lent last, in look-ups. Never passed inout.
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

  /// Frees the statement ahead of its release.
  func finalizeNow() {
    connection?.forget(self)
    finalize()
  }

  /// How many parameters the statement takes.
  public var parameterCount: Int { unsafe Int(sqlite3_bind_parameter_count(raw)) }
  /// How many columns a row has.
  public var columnCount: Int { unsafe Int(sqlite3_column_count(raw)) }
  /// The name of column `index`.
  public func columnName(_ index: Int) -> String {
    // The engine looks at the statement before it looks whether there is one.
    guard let raw = unsafe raw, let name = unsafe sqlite3_column_name(raw, Int32(index)) else { return "" }
    return unsafe String(cString: name)
  }

  // MARK: Binding

  /// Binds all parameters, in order.
  /// - Throws: ``SQLError/parameterCount(expected:found:sql:)`` when the number differs.
  public func bind(_ values: [SQLValue]) throws {
    guard values.count == parameterCount else {
      throw SQLError.parameterCount(expected: parameterCount, found: values.count, sql: sql)
    }
    for (index, value) in values.enumerated() { try bind(value, at: index + 1) }
  }

  /// Binds one value to parameter `index`, counted from 1. Text and bytes are copied.
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

  /// Binds an integer to parameter `index`, counted from 1.
  public func bind(_ value: Int64, at index: Int) throws {
    try unsafe check(sqlite3_bind_int64(raw, Int32(index), value))
  }

  /// Binds a copy of `value` to parameter `index`, counted from 1.
  public func bind(_ value: String, at index: Int) throws {
    var value = value
    let code = value.withUTF8 { bytes in
      // The count is passed because a Swift String may hold a NUL; an empty buffer may have no address.
      unsafe sqlite3_bind_text64(
        raw, Int32(index),
        UnsafeRawPointer(bytes.baseAddress ?? emptyAddress).assumingMemoryBound(to: CChar.self),
        sqlite3_uint64(bytes.count), copyBytes, UInt8(SQLITE_UTF8))
    }
    try check(code)
  }

  /// Binds a copy of `value` to parameter `index`, counted from 1.
  public func bind(_ value: Data, at index: Int) throws {
    let code = unsafe value.withUnsafeBytes { bytes in
      unsafe sqlite3_bind_blob64(
        raw, Int32(index), bytes.baseAddress ?? UnsafeRawPointer(emptyAddress), sqlite3_uint64(bytes.count),
        copyBytes)
    }
    try check(code)
  }

  // MARK: Running

  /// Moves to the next row.
  /// - Returns: `true` when there is one, `false` when the statement is done.
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
  public func run() throws {
    while try step() {}
    reset()
  }

  /// Makes the statement ready to run again. Bindings stay.
  public func reset() { unsafe sqlite3_reset(raw) }

  // MARK: Columns

  /// Column `index` of the present row.
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

  /// Column `index` as an integer; 0 for NULL.
  public func int64(_ index: Int) -> Int64 { unsafe sqlite3_column_int64(raw, Int32(index)) }
  /// Column `index` as a real; 0 for NULL.
  public func double(_ index: Int) -> Double { unsafe sqlite3_column_double(raw, Int32(index)) }
  /// Whether column `index` is NULL.
  public func isNull(_ index: Int) -> Bool { unsafe sqlite3_column_type(raw, Int32(index)) == SQLITE_NULL }

  /// Column `index` as text; nil for NULL.
  public func text(_ index: Int) -> String? {
    guard let bytes = unsafe sqlite3_column_text(raw, Int32(index)) else { return nil }
    let count = unsafe Int(sqlite3_column_bytes(raw, Int32(index)))
    return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// Column `index` as bytes; empty for NULL.
  public func data(_ index: Int) -> Data {
    guard let bytes = unsafe sqlite3_column_blob(raw, Int32(index)) else { return Data() }
    return unsafe Data(bytes: bytes, count: Int(sqlite3_column_bytes(raw, Int32(index))))
  }

  /// All columns of the present row.
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

// A weak reference would do the same, but whatever one leads to counts all its references the slow way from then on, and a
// look-up has a dozen of them.
/// The way from a statement to its connection, which it does not keep: it leads there as long as there is one.
final class ConnectionLink {
  // Safe: set by the connection alone, and to nil as the first thing in its deinit. Who has a link is used by the one task
  // that uses the connection, so that nobody reads it at that moment.
  @safe @exclusivity(unchecked) private(set) unowned(unsafe) var connection: Connection?

  /// Leads there from now on.
  func lead(to connection: Connection) { self.connection = connection }

  /// Leads nowhere from now on.
  func end() { connection = nil }
}

// SQLITE_TRANSIENT: the engine copies the bytes before the call returns.
let copyBytes = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
// An address for buffers that have none; never read, because it goes with a count of 0.
nonisolated(unsafe) let emptyAddress = unsafe UnsafePointer(UnsafeMutablePointer<UInt8>.allocate(capacity: 1))
