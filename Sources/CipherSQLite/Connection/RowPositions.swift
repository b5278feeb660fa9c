// The order of a list of ids as one parameter, by which rows are sorted:
//
//   SELECT … ORDER BY vault_position(t0.id, ?)
//
// A CASE with a branch for each id would be too long for the engine, and a join with the list would scan
// the list for each row.

private import CSQLCipher
package import Foundation

/// The positions of ids in a list, packed into bytes for the SQL function `vault_position`.
///
/// Each id is followed by its position, counted from 0; both have eight bytes, the lowest one first. The ids
/// are in ascending order, so that one is found by a binary search.
package enum RowPositions {
  /// Returns the positions as one blob. An id that is in the list several times has its first position.
  package static func packed(_ ids: [Int64]) -> Data {
    let sorted = ids.enumerated().sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(sorted.count * 16)
    var last: Int64?
    for (position, id) in sorted where id != last {
      unsafe withUnsafeBytes(of: id.littleEndian) { unsafe bytes.append(contentsOf: $0) }
      unsafe withUnsafeBytes(of: Int64(position).littleEndian) { unsafe bytes.append(contentsOf: $0) }
      last = id
    }
    return Data(bytes)
  }

  /// Returns the position of an id in packed positions; nil for an id that is not among them.
  fileprivate static func position(of id: Int64, in bytes: UnsafeRawBufferPointer) -> Int64? {
    var (low, high) = (0, bytes.count / 16)
    while low < high {
      let middle = (low + high) / 2
      let found = unsafe Int64(
        littleEndian: bytes.loadUnaligned(fromByteOffset: middle * 16, as: Int64.self))
      if found == id {
        return unsafe Int64(
          littleEndian: bytes.loadUnaligned(fromByteOffset: middle * 16 + 8, as: Int64.self))
      }
      if found < id { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}

extension Connection {
  /// Registers `vault_position(id, positions)`: the position of an id, or NULL if the list does not contain
  /// it.
  /// - Throws: ``SQLError``.
  package func registerPositions() throws {
    let handle = try unsafe opened()
    // It is not registered as a closure of values: the blob would be copied for each row.
    let code = unsafe sqlite3_create_function_v2(
      handle, "vault_position", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
      { context, _, values in
        guard let list = unsafe values?[1], unsafe sqlite3_value_type(values?[0]) == SQLITE_INTEGER,
          unsafe sqlite3_value_type(list) == SQLITE_BLOB
        else { return unsafe sqlite3_result_null(context) }
        // The bytes are valid during this call.
        let bytes = unsafe UnsafeRawBufferPointer(
          start: sqlite3_value_blob(list), count: Int(sqlite3_value_bytes(list)))
        let position = unsafe RowPositions.position(of: sqlite3_value_int64(values?[0]), in: bytes)
        guard let position else { return unsafe sqlite3_result_null(context) }
        unsafe sqlite3_result_int64(context, position)
      }, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, sql: "") }
    registrations.append { try $0.registerPositions() }
  }
}
