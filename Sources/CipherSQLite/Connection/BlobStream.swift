// One blob read and written in pieces, without a copy of the whole in memory.

private import CSQLCipher
public import Foundation

/// Reads and writes the bytes of one value in place (`sqlite3_blob_open`).
///
/// Its length is fixed: a value of the right length is inserted first, `zeroblob(n)` as a rule. A change of the
/// row by other means makes the stream useless: its calls then throw. It takes part in the connection's
/// transaction; without one each writing stream is a transaction of its own, which ends with ``close()``.
/// Used where its connection is; calls throw ``SQLError/closed(file:)`` once it, or its connection, is closed.
public final class BlobStream {
  // Open from init to close(), or until the connection closes; closed exactly once, by end().
  private var blob: OpaquePointer?
  private let connection: Connection
  private let place: String
  /// How many bytes the value has.
  public private(set) var count: Int
  /// Where the next read or write begins; from 0 to ``count``.
  public private(set) var position = 0

  init(
    _ connection: Connection, schema: String, table: String, column: String, row: Int64, isWriting: Bool
  ) throws {
    self.connection = connection
    place = "\(table).\(column)"
    let handle = try connection.opened()
    let code = sqlite3_blob_open(handle, schema, table, column, row, isWriting ? 1 : 0, &blob)
    guard code == SQLITE_OK else {
      let error = connection.error(code, sql: "blob \(table).\(column)")
      sqlite3_blob_close(blob)
      blob = nil
      count = 0
      throw error
    }
    count = Int(sqlite3_blob_bytes(blob))
    connection.didOpen(self)
  }

  deinit {
    connection.willEnd(self)
    end()
  }

  /// Lets go of the value without a word of how its commit went. Called by the connection before it closes, too.
  @discardableResult
  func end() -> Int32 {
    guard let open = blob else { return SQLITE_OK }
    blob = nil
    return sqlite3_blob_close(open)
  }

  private func opened() throws(SQLError) -> OpaquePointer {
    guard let blob else { throw .closed(file: connection.path) }
    return blob
  }

  /// Ends the stream; what was written is committed with the connection's transaction, or now without one.
  /// Calling it again does nothing.
  /// - Throws: ``SQLError`` when the commit fails.
  public func close() throws {
    connection.willEnd(self)
    let code = end()
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
  }

  /// Goes to another place.
  /// - Throws: ``SQLError/blobRange(place:offset:count:available:)`` beyond the end.
  public func seek(to offset: Int) throws {
    _ = try opened()
    try check(offset, 0)
    position = offset
  }

  /// The next bytes, at most `maximum`; empty at the end.
  public func read(_ maximum: Int) throws -> Data {
    let blob = try opened()
    let length = min(max(0, maximum), count - position)
    guard length > 0 else { return Data() }
    var data = Data(count: length)
    let code = data.withUnsafeMutableBytes {
      sqlite3_blob_read(blob, $0.baseAddress, Int32(length), Int32(position))
    }
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
    position += length
    return data
  }

  /// Writes bytes from the present position on.
  /// - Throws: ``SQLError/blobRange(place:offset:count:available:)`` when they go beyond the end; nothing is
  ///   written then.
  public func write(_ data: Data) throws {
    let blob = try opened()
    try check(position, data.count)
    guard !data.isEmpty else { return }
    let code = data.withUnsafeBytes {
      sqlite3_blob_write(blob, $0.baseAddress, Int32(data.count), Int32(position))
    }
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
    position += data.count
  }

  /// Goes on with the same column of another row, at its beginning: cheaper than a new stream.
  /// - Throws: ``SQLError`` when there is no such row; the stream is then useless.
  public func move(toRow row: Int64) throws {
    let blob = try opened()
    let code = sqlite3_blob_reopen(blob, row)
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
    count = Int(sqlite3_blob_bytes(blob))
    position = 0
  }

  private func check(_ offset: Int, _ length: Int) throws {
    guard offset >= 0, offset <= count, length <= count - offset else {
      throw SQLError.blobRange(place: place, offset: offset, count: length, available: count)
    }
  }
}

extension Connection {
  /// Opens a value for reading or writing in pieces.
  /// - Parameters:
  ///   - table: The table.
  ///   - column: The column, which holds a blob or text in this row.
  ///   - row: The row's id.
  ///   - schema: The database: `main`, or the name of one that was attached.
  ///   - isWriting: Whether it may be written.
  /// - Throws: ``SQLError`` when there is no such value.
  public func blob(
    table: String, column: String, row: Int64, schema: String = "main", isWriting: Bool = false
  ) throws -> BlobStream {
    try BlobStream(self, schema: schema, table: table, column: column, row: row, isWriting: isWriting)
  }
}
