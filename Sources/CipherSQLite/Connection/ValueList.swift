// Values in one parameter that the engine reads as the rows of a table:
//
//   SELECT … WHERE name IN (SELECT value FROM vault_list(?))
//
// The older engine allows 999 parameters and a million bytes of SQL; a list in one parameter has no such
// limit. The table is eponymous: it exists without having been created, and is in no file.

private import CSQLCipher
package import Foundation

/// Values packed into bytes, for the table-valued function `vault_list`.
///
/// Each value is a byte with its storage class, followed by the eight bytes of a number, or by the length
/// of a text or blob (eight bytes) and its bytes. Numbers have their lowest byte first.
package enum ValueList {
  /// The name of the table-valued function. Its column is `value`.
  package static let name = SQLName(text)
  fileprivate static let text = "vault_list"

  /// Returns the values as one blob. NULL is left out.
  package static func packed(_ values: [SQLValue]) -> Data {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(values.count * 16)
    func append(_ tag: UInt8, _ word: UInt64) {
      bytes.append(tag)
      unsafe withUnsafeBytes(of: word.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }
    for value in values {
      switch value {
      case .null: break
      case .integer(let number): append(1, UInt64(bitPattern: number))
      case .real(let number): append(2, number.bitPattern)
      case .text(let text):
        append(3, UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
      case .blob(let data):
        append(4, UInt64(data.count))
        bytes.append(contentsOf: data)
      }
    }
    return Data(bytes)
  }
}

extension Connection {
  /// Registers the table-valued function `vault_list`. Further calls do nothing.
  /// - Throws: ``SQLError``.
  package func registerValueLists() throws {
    let handle = try unsafe opened()
    guard !hasValueLists else { return }
    let code = unsafe sqlite3_create_module_v2(handle, ValueList.text, listModule, nil, nil)
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    hasValueLists = true
  }
}

/// The table as the engine sees it.
private typealias ListTable = sqlite3_vtab

/// One scan of a list. The engine's part comes first: the engine knows only the address of that part,
/// which is then also the address of the whole.
@unsafe private struct ListCursor {
  var base = unsafe sqlite3_vtab_cursor()
  /// A copy of the parameter, which the cursor frees.
  var list: OpaquePointer?
  var bytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  /// The offset of the present value. After the last value: the length of the list in bytes.
  var offset = 0
  /// The index of the present value.
  var index: Int64 = 0

  /// Begins with the first value of a list.
  mutating func begin(_ value: OpaquePointer?) -> Int32 {
    unsafe sqlite3_value_free(list)
    unsafe list = nil
    unsafe bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    unsafe (offset, index) = (0, 0)
    // Anything else than a blob is an empty list.
    guard let value = unsafe value, unsafe sqlite3_value_type(value) == SQLITE_BLOB else { return SQLITE_OK }
    guard let copy = unsafe sqlite3_value_dup(value) else { return SQLITE_NOMEM }
    unsafe list = copy
    unsafe bytes = UnsafeRawBufferPointer(
      start: sqlite3_value_blob(copy), count: Int(sqlite3_value_bytes(copy)))
    return SQLITE_OK
  }

  /// The tag of the present value; nil after the last one, and where the bytes are no list.
  var tag: UInt8? {
    guard unsafe offset + 9 <= bytes.count else { return nil }
    let tag = unsafe bytes[offset]
    guard tag == 3 || tag == 4 else { return tag == 1 || tag == 2 ? tag : nil }
    return unsafe word <= UInt64(bytes.count - offset - 9) ? tag : nil
  }

  /// The number of the present value, or the length of its text or blob.
  var word: UInt64 {
    unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: UInt64.self))
  }

  /// Goes to the next value.
  mutating func advance() {
    guard let tag = unsafe tag else { return }
    unsafe offset += 9 + (tag >= 3 ? Int(word) : 0)
    unsafe index += 1
  }

  /// Passes the present value to the engine, which copies a text or blob: it may keep the value longer than
  /// the cursor lives.
  func setResult(in context: OpaquePointer?) {
    switch unsafe tag {
    case 1: unsafe sqlite3_result_int64(context, Int64(bitPattern: word))
    case 2: unsafe sqlite3_result_double(context, Double(bitPattern: word))
    case 3:
      let start = unsafe bytes.baseAddress.map {
        unsafe ($0 + offset + 9).assumingMemoryBound(to: CChar.self)
      }
      unsafe sqlite3_result_text64(context, start, word, copyBytes, UInt8(SQLITE_UTF8))
    case 4:
      unsafe sqlite3_result_blob64(context, bytes.baseAddress.map { unsafe $0 + offset + 9 }, word, copyBytes)
    default: unsafe sqlite3_result_null(context)
    }
  }
}

// Safe to share: it is written once, before anything reads it. It is never freed, as the engine keeps its
// address while a connection is open.
nonisolated(unsafe) private let listModule: UnsafePointer<sqlite3_module> = {
  var module = sqlite3_module()
  module.iVersion = 1
  // Without xCreate the table is eponymous, and no statement can create it.
  unsafe module.xConnect = { handle, _, _, _, table, _ in
    guard let table = unsafe table else { return SQLITE_ERROR }
    let code = unsafe sqlite3_declare_vtab(handle, "CREATE TABLE list(value, packed HIDDEN)")
    guard code == SQLITE_OK else { return code }
    let made = UnsafeMutablePointer<ListTable>.allocate(capacity: 1)
    unsafe made.initialize(to: ListTable())
    unsafe table.pointee = unsafe made
    return SQLITE_OK
  }
  unsafe module.xDisconnect = { table in
    unsafe table?.deallocate()
    return SQLITE_OK
  }
  unsafe module.xBestIndex = { _, plan in
    guard let plan = unsafe plan else { return SQLITE_ERROR }
    for number in unsafe 0..<Int(plan.pointee.nConstraint) {
      guard let constraint = unsafe plan.pointee.aConstraint?[number], constraint.iColumn == 1,
        constraint.op == UInt8(SQLITE_INDEX_CONSTRAINT_EQ), constraint.usable != 0
      else { continue }
      unsafe plan.pointee.aConstraintUsage?[number].argvIndex = 1
      unsafe plan.pointee.aConstraintUsage?[number].omit = 1
      unsafe plan.pointee.estimatedCost = 1000
      unsafe plan.pointee.estimatedRows = 1000
      return SQLITE_OK
    }
    // Without its argument the list is empty. The high cost makes the engine prefer a plan in which the
    // argument is available.
    unsafe plan.pointee.estimatedCost = 1e99
    return SQLITE_OK
  }
  unsafe module.xOpen = { _, cursor in
    guard let cursor = unsafe cursor else { return SQLITE_ERROR }
    let made = UnsafeMutablePointer<ListCursor>.allocate(capacity: 1)
    unsafe made.initialize(to: ListCursor())
    unsafe cursor.pointee = unsafe UnsafeMutableRawPointer(made).assumingMemoryBound(
      to: sqlite3_vtab_cursor.self)
    return SQLITE_OK
  }
  unsafe module.xClose = { cursor in
    guard let cursor = unsafe listCursor(cursor) else { return SQLITE_OK }
    unsafe sqlite3_value_free(cursor.pointee.list)
    unsafe cursor.deallocate()
    return SQLITE_OK
  }
  unsafe module.xFilter = { cursor, _, _, count, values in
    guard let cursor = unsafe listCursor(cursor) else { return SQLITE_ERROR }
    return unsafe cursor.pointee.begin(count > 0 ? values?[0] : nil)
  }
  unsafe module.xNext = { cursor in
    unsafe listCursor(cursor)?.pointee.advance()
    return SQLITE_OK
  }
  unsafe module.xEof = { cursor in unsafe listCursor(cursor)?.pointee.tag == nil ? 1 : 0 }
  unsafe module.xRowid = { cursor, id in
    unsafe id?.pointee = unsafe listCursor(cursor)?.pointee.index ?? 0
    return SQLITE_OK
  }
  unsafe module.xColumn = { cursor, context, column in
    if column == 0 {
      unsafe listCursor(cursor)?.pointee.setResult(in: context)
    } else {
      unsafe sqlite3_result_null(context)
    }
    return SQLITE_OK
  }
  let kept = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
  unsafe kept.initialize(to: module)
  return unsafe UnsafePointer(kept)
}()

@inline(__always)
private func listCursor(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<
  ListCursor
>? {
  unsafe UnsafeMutableRawPointer(cursor)?.assumingMemoryBound(to: ListCursor.self)
}
