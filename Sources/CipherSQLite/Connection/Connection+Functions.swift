// SQL functions and collations, as Swift closures.

private import CSQLCipher
private import Foundation

// What SQLite's destructor releases: one closure, kept for as long as the function is registered.
private final class Box<Value> {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension Connection {
  /// Registers a deterministic SQL function.
  ///
  /// - Parameters:
  ///   - name: The function's name in SQL.
  ///   - argumentCount: How many arguments it takes.
  ///   - body: Called on the connection's own thread, for each row that needs it.
  public func register(
    function name: String, argumentCount: Int, _ body: @escaping @Sendable ([SQLValue]) -> SQLValue
  ) throws {
    let handle = try opened()
    let box = Unmanaged.passRetained(Box(body)).toOpaque()
    let code = sqlite3_create_function_v2(
      handle, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box,
      { context, count, arguments in
        guard let data = sqlite3_user_data(context) else { return }
        let body = Unmanaged<Box<@Sendable ([SQLValue]) -> SQLValue>>.fromOpaque(data)
          .takeUnretainedValue().value
        setSQLResult(body((0..<Int(count)).map { sqlValue(arguments?[$0]) }), in: context)
      }, nil, nil, { data in data.map { Unmanaged<AnyObject>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append { try $0.register(function: name, argumentCount: argumentCount, body) }
  }

  /// Registers a collation.
  ///
  /// - Parameters:
  ///   - name: The collation's name in SQL.
  ///   - compare: Returns a negative number, 0 or a positive one, as C's `strcmp` does. Must be a total order.
  public func register(
    collation name: String,
    _ compare: @escaping @Sendable (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Int
  ) throws {
    let handle = try opened()
    typealias Compare = @Sendable (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Int
    let box = Unmanaged.passRetained(Box(compare)).toOpaque()
    let code = sqlite3_create_collation_v2(
      handle, name, SQLITE_UTF8, box,
      { data, leftCount, left, rightCount, right in
        guard let data else { return 0 }
        let compare = Unmanaged<Box<Compare>>.fromOpaque(data).takeUnretainedValue().value
        let order = compare(
          UnsafeRawBufferPointer(start: left, count: Int(leftCount)),
          UnsafeRawBufferPointer(start: right, count: Int(rightCount)))
        return Int32(clamping: order)
      }, { data in data.map { Unmanaged<AnyObject>.fromOpaque($0).release() } })
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append { try $0.register(collation: name, compare) }
  }

  /// Registers what is registered on another connection: the schema of a copy needs it too.
  func adoptFunctions(of other: Connection) throws {
    for register in other.registrations { try register(self) }
  }
}

/// A value that SQLite hands to a function.
func sqlValue(_ value: OpaquePointer?) -> SQLValue {
  switch sqlite3_value_type(value) {
  case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
  case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
  case SQLITE_TEXT:
    guard let bytes = sqlite3_value_text(value) else { return .text("") }
    let count = Int(sqlite3_value_bytes(value))
    return .text(String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
  case SQLITE_BLOB:
    guard let bytes = sqlite3_value_blob(value) else { return .blob(.init()) }
    return .blob(.init(bytes: bytes, count: Int(sqlite3_value_bytes(value))))
  default: return .null
  }
}

/// Gives a function's result to SQLite.
func setSQLResult(_ value: SQLValue, in context: OpaquePointer?) {
  switch value {
  case .null: sqlite3_result_null(context)
  case .integer(let value): sqlite3_result_int64(context, value)
  case .real(let value): sqlite3_result_double(context, value)
  case .text(var value):
    value.withUTF8 { bytes in
      sqlite3_result_text64(
        context, UnsafeRawPointer(bytes.baseAddress ?? emptyAddress).assumingMemoryBound(to: CChar.self),
        sqlite3_uint64(bytes.count), copyBytes, UInt8(SQLITE_UTF8))
    }
  case .blob(let value):
    value.withUnsafeBytes { bytes in
      sqlite3_result_blob64(
        context, bytes.baseAddress ?? UnsafeRawPointer(emptyAddress), sqlite3_uint64(bytes.count), copyBytes)
    }
  }
}
