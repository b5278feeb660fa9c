// SQL functions and collations, defined by Swift closures.
//
// What the engine passes to a callback (arguments, texts, the context for the result) is valid during that
// call only. Values are copied, and no pointer is kept.

private import CSQLCipher
private import Foundation

// The object that SQLite's destructor releases: one closure, retained while the function is registered.
private final class Box<Value> {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension Connection {
  /// Registers an SQL function.
  ///
  /// - Parameters:
  ///   - name: The function's name in SQL.
  ///   - argumentCount: The number of arguments; -1 for any number.
  ///   - isDeterministic: Whether the same arguments always give the same result, so that the engine may
  ///     reuse it. Only such functions can be used in an index.
  ///   - body: Called on the connection's own thread, for each row that needs it. If it throws, the
  ///     statement fails with ``SQLError/engine(code:extendedCode:message:sql:)``, whose message is the
  ///     description of the error.
  /// - Throws: ``SQLError``.
  public func register(
    function name: String, argumentCount: Int, isDeterministic: Bool = true,
    _ body: @escaping @Sendable ([SQLValue]) throws -> SQLValue
  ) throws {
    let handle = try unsafe opened()
    let box = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, name, Int32(argumentCount), SQLITE_UTF8 | (isDeterministic ? SQLITE_DETERMINISTIC : 0), box,
      { context, count, arguments in
        guard let data = unsafe sqlite3_user_data(context) else { return }
        let body = unsafe Unmanaged<Box<@Sendable ([SQLValue]) throws -> SQLValue>>.fromOpaque(data)
          .takeUnretainedValue().value
        let values = (0..<Int(count)).map { unsafe sqlValue(arguments?[$0]) }
        do { unsafe setSQLResult(try body(values), in: unsafe context) } catch {
          unsafe sqlite3_result_error(context, "\(error)", -1)
        }
      }, nil, nil, { data in unsafe data.map { unsafe Unmanaged<AnyObject>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append {
      try $0.register(function: name, argumentCount: argumentCount, isDeterministic: isDeterministic, body)
    }
  }

  // Not by the general form, which would make a String of each argument and of the result.
  /// Registers an SQL function of a text and a number, whose result is a text. For any other arguments the
  /// result is NULL.
  /// - Parameters:
  ///   - name: The function's name in SQL.
  ///   - body: Appends the UTF-8 bytes of the result to an empty array. The bytes of the text are valid
  ///     during the call only.
  /// - Throws: ``SQLError``.
  package func register(
    textFunction name: String,
    _ body: @escaping @Sendable (_ text: UnsafeBufferPointer<UInt8>, Int64, inout [UInt8]) -> Void
  ) throws {
    let handle = try unsafe opened()
    let maker = unsafe Unmanaged.passRetained(unsafe TextMaker(body)).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, maker,
      { context, _, values in
        guard let data = unsafe sqlite3_user_data(context), let text = unsafe textBytes(values?[0]),
          unsafe sqlite3_value_type(values?[1]) == SQLITE_INTEGER
        else { return unsafe sqlite3_result_null(context) }
        let maker = unsafe Unmanaged<TextMaker>.fromOpaque(data).takeUnretainedValue()
        maker.result.removeAll(keepingCapacity: true)
        unsafe maker.body(text, sqlite3_value_int64(values?[1]), &maker.result)
        unsafe maker.result.withUnsafeBufferPointer { bytes in
          unsafe setText(bytes, in: context)
        }
        // A long text of the store does not stay in memory.
        if maker.result.capacity > 65_536 { maker.result = [] }
      }, nil, nil, { data in unsafe data.map { unsafe Unmanaged<AnyObject>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append { try unsafe $0.register(textFunction: name, body) }
  }

  /// Registers an SQL function of two texts and a number, whose result is 0 or 1. For any other arguments
  /// the result is NULL.
  /// - Parameters:
  ///   - name: The function's name in SQL.
  ///   - body: Returns the result. The bytes of the texts are valid during the call only.
  /// - Throws: ``SQLError``.
  package func register(
    textTest name: String,
    _ body: @escaping @Sendable (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>, Int64) -> Bool
  ) throws {
    let handle = try unsafe opened()
    typealias Test = @Sendable (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>, Int64) -> Bool
    let box = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, name, 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, box,
      { context, _, values in
        guard let data = unsafe sqlite3_user_data(context), let first = unsafe textBytes(values?[0]),
          let second = unsafe textBytes(values?[1]), unsafe sqlite3_value_type(values?[2]) == SQLITE_INTEGER
        else { return unsafe sqlite3_result_null(context) }
        let test = unsafe Unmanaged<Box<Test>>.fromOpaque(data).takeUnretainedValue().value
        unsafe sqlite3_result_int(context, test(first, second, sqlite3_value_int64(values?[2])) ? 1 : 0)
      }, nil, nil, { data in unsafe data.map { unsafe Unmanaged<AnyObject>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append { try unsafe $0.register(textTest: name, body) }
  }

  /// Registers `vault_utf8(value)`: 0 for a text that is not valid UTF-8, otherwise 1. The engine stores
  /// invalid texts without an error.
  ///
  /// It is not registered as a closure, because converting an argument to `String` would repair the invalid
  /// text.
  package func registerTextCheck() throws {
    let handle = try unsafe opened()
    let code = unsafe sqlite3_create_function_v2(
      handle, "vault_utf8", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
      { context, _, values in
        guard let value = unsafe values?[0], unsafe sqlite3_value_type(value) == SQLITE_TEXT,
          let bytes = unsafe sqlite3_value_text(value)
        else { return unsafe sqlite3_result_int(context, 1) }
        let text = unsafe UnsafeBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(value)))
        unsafe sqlite3_result_int(context, isUTF8(text) ? 1 : 0)
      }, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append { try $0.registerTextCheck() }
  }

  /// Registers `vault_pending(id)`: 1 for an id in ``pendingRows``, otherwise 0. No schema uses
  /// it, so copies do not need it.
  package func registerPendingRows() throws {
    let handle = try unsafe opened()
    let rows = unsafe Unmanaged.passRetained(pendingRows).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, "vault_pending", 1, SQLITE_UTF8, rows,
      { context, _, values in
        guard let data = unsafe sqlite3_user_data(context) else { return }
        let rows = unsafe Unmanaged<PendingRows>.fromOpaque(data).takeUnretainedValue()
        let isPending = unsafe rows.contains(sqlite3_value_int64(values?[0]))
        unsafe sqlite3_result_int(context, isPending ? 1 : 0)
      }, nil, nil, { data in unsafe data.map { unsafe Unmanaged<AnyObject>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }

  /// Runs `body`. Until it returns, `vault_pending(id)` is 1 for the ids in these sets.
  package func withPendingRows<Result>(_ ids: [Set<Int64>], _ body: () throws -> Result) rethrows -> Result {
    let former = pendingRows.ids
    pendingRows.ids = ids
    defer { pendingRows.ids = former }
    return try body()
  }

  /// Registers a collation.
  ///
  /// - Parameters:
  ///   - name: The collation's name in SQL.
  ///   - compare: Receives the UTF-8 bytes of two texts, which are valid during the call only. Returns a
  ///     negative number, 0 or a positive number, as C's `strcmp` does. It must define a total order.
  /// - Throws: ``SQLError``.
  public func register(
    collation name: String,
    _ compare: @escaping @Sendable (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Int
  ) throws {
    let handle = try unsafe opened()
    typealias Compare = @Sendable (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Int
    let box = unsafe Unmanaged.passRetained(Box(compare)).toOpaque()
    let code = unsafe sqlite3_create_collation_v2(
      handle, name, SQLITE_UTF8, box,
      { data, leftCount, left, rightCount, right in
        guard let data = unsafe data else { return 0 }
        let compare = unsafe Unmanaged<Box<Compare>>.fromOpaque(data).takeUnretainedValue().value
        let order = unsafe compare(
          UnsafeRawBufferPointer(start: left, count: Int(leftCount)),
          UnsafeRawBufferPointer(start: right, count: Int(rightCount)))
        return Int32(clamping: order)
      }, { data in unsafe data.map { unsafe Unmanaged<AnyObject>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append { try unsafe $0.register(collation: name, compare) }
  }

  /// Registers on this connection the functions and collations that another connection has registered,
  /// because the schema of a copy needs them. Aggregates and `vault_pending` are not registered.
  package func adoptFunctions(of other: Connection) throws {
    for register in other.registrations { try register(self) }
  }
}

/// A function that makes texts, with the memory of its last result. Used by one connection, whose thread
/// runs one call at a time.
@safe private final class TextMaker {
  typealias Body = @Sendable (UnsafeBufferPointer<UInt8>, Int64, inout [UInt8]) -> Void
  let body: Body
  var result: [UInt8] = []

  init(_ body: @escaping Body) { unsafe self.body = unsafe body }
}

/// Returns the bytes of a text; nil for any other value. They are valid as long as the value is.
private func textBytes(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8>? {
  guard let value = unsafe value, unsafe sqlite3_value_type(value) == SQLITE_TEXT,
    let bytes = unsafe sqlite3_value_text(value)
  else { return nil }
  return unsafe UnsafeBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(value)))
}

private func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
  if unsafe bytes.allSatisfy({ $0 < 0x80 }) { return true }
  return unsafe String(validating: bytes, as: UTF8.self) != nil
}

/// Converts an argument of an SQL function.
func sqlValue(_ value: OpaquePointer?) -> SQLValue {
  switch unsafe sqlite3_value_type(value) {
  case SQLITE_INTEGER: return unsafe .integer(sqlite3_value_int64(value))
  case SQLITE_FLOAT: return unsafe .real(sqlite3_value_double(value))
  case SQLITE_TEXT:
    guard let bytes = unsafe sqlite3_value_text(value) else { return .text("") }
    let count = unsafe Int(sqlite3_value_bytes(value))
    return unsafe .text(String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
  case SQLITE_BLOB:
    guard let bytes = unsafe sqlite3_value_blob(value) else { return .blob(.init()) }
    return unsafe .blob(.init(bytes: bytes, count: Int(sqlite3_value_bytes(value))))
  default: return .null
  }
}

/// Passes a function's result to SQLite.
func setSQLResult(_ value: SQLValue, in context: OpaquePointer?) {
  switch value {
  case .null: unsafe sqlite3_result_null(context)
  case .integer(let value): unsafe sqlite3_result_int64(context, value)
  case .real(let value): unsafe sqlite3_result_double(context, value)
  case .text(var value):
    value.withUTF8 { unsafe setText($0, in: context) }
  case .blob(let value):
    unsafe value.withUnsafeBytes { bytes in
      unsafe sqlite3_result_blob64(
        context, bytes.baseAddress ?? UnsafeRawPointer(emptyAddress), sqlite3_uint64(bytes.count), copyBytes)
    }
  }
}

/// Passes a text to SQLite as a function's result. SQLite copies it.
private func setText(_ bytes: UnsafeBufferPointer<UInt8>, in context: OpaquePointer?) {
  unsafe sqlite3_result_text64(
    context, UnsafeRawPointer(bytes.baseAddress ?? emptyAddress).assumingMemoryBound(to: CChar.self),
    sqlite3_uint64(bytes.count), copyBytes, UInt8(SQLITE_UTF8))
}
