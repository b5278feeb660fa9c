// Reads and writes one blob in parts, without a copy of the whole blob in memory.

private import CSQLCipher
public import Foundation

/// A stream that reads and writes the bytes of one value in place (`sqlite3_blob_open`).
///
/// The length is fixed: insert a value of the right length first, usually `zeroblob(n)`. If the row is
/// changed by other means, the stream becomes unusable and its calls throw. Its writes belong to the
/// connection's transaction. Outside of a transaction, each writing stream is its own transaction, which
/// ends with ``close()``.
///
/// Use it on the task that uses its connection. Calls throw ``SQLError/closed(file:)`` once the stream
/// or its connection is closed.
@safe public final class BlobStream {
  // Open from init to close(), or until the connection closes; closed exactly once, by end().
  private var blob: OpaquePointer?
  private let connection: Connection
  private let place: String
  /// The length of the value in bytes.
  public private(set) var count: Int
  /// The offset at which the next read or write begins, from 0 to ``count``.
  public private(set) var position = 0
  /// The offset of the end of the last byte, in the order of the value, that was written.
  package private(set) var writtenEnd = 0
  /// Whether ``move(toRow:)`` is allowed.
  package var isMovable = true
  /// Called before each read and write; an error that it throws ends the call.
  package var check: (() throws -> Void)?

  init(
    _ connection: Connection, schema: String, table: String, column: String, row: Int64, isWriting: Bool
  ) throws {
    self.connection = connection
    place = "\(table).\(column)"
    let handle = try unsafe connection.opened()
    let code = unsafe sqlite3_blob_open(handle, schema, table, column, row, isWriting ? 1 : 0, &blob)
    guard code == SQLITE_OK else {
      let error = connection.error(code, sql: "blob \(table).\(column)")
      unsafe sqlite3_blob_close(blob)
      unsafe blob = nil
      count = 0
      throw error
    }
    count = unsafe Int(sqlite3_blob_bytes(blob))
    connection.didOpen(self)
  }

  deinit {
    connection.willEnd(self)
    end()
  }

  /// Closes the blob handle and returns the engine's code without throwing. Also called by the
  /// connection before it closes.
  @discardableResult
  func end() -> Int32 {
    guard let open = unsafe blob else { return SQLITE_OK }
    unsafe blob = nil
    return unsafe sqlite3_blob_close(open)
  }

  private func opened() throws(SQLError) -> OpaquePointer {
    guard let blob = unsafe blob else { throw .closed(file: connection.path) }
    return unsafe blob
  }

  /// Ends the stream. Its writes are committed with the connection's transaction, or at once if there is
  /// none. Further calls do nothing.
  /// - Throws: ``SQLError`` if the commit fails.
  public func close() throws {
    connection.willEnd(self)
    let code = end()
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
  }

  /// Sets the position of the next read or write.
  /// - Parameter offset: The position, from 0 to ``count``.
  /// - Throws: ``SQLError/blobRange(place:offset:count:available:)`` for a position outside of the value.
  public func seek(to offset: Int) throws {
    _ = try unsafe opened()
    try check(offset: offset, length: 0)
    position = offset
  }

  /// Reads the next bytes and advances the position.
  /// - Parameter maximum: The largest number of bytes to read.
  /// - Returns: The bytes; fewer than `maximum` near the end, and none at the end.
  /// - Throws: ``SQLError``.
  public func read(_ maximum: Int) throws -> Data {
    let blob = try unsafe opened()
    try check?()
    let length = min(max(0, maximum), count - position)
    guard length > 0 else { return Data() }
    var data = Data(count: length)
    let code = unsafe data.withUnsafeMutableBytes {
      unsafe sqlite3_blob_read(blob, $0.baseAddress, Int32(length), Int32(position))
    }
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
    position += length
    return data
  }

  /// Writes bytes at the current position and advances it.
  /// - Parameter data: The bytes.
  /// - Throws: ``SQLError/blobRange(place:offset:count:available:)`` if the bytes exceed the end of the
  ///   value; then nothing is written.
  public func write(_ data: Data) throws {
    let blob = try unsafe opened()
    try check?()
    try check(offset: position, length: data.count)
    guard !data.isEmpty else { return }
    let code = unsafe data.withUnsafeBytes {
      unsafe sqlite3_blob_write(blob, $0.baseAddress, Int32(data.count), Int32(position))
    }
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
    position += data.count
    writtenEnd = max(writtenEnd, position)
  }

  /// Moves the stream to the beginning of the value that another row has in this column. Cheaper than a new
  /// stream.
  /// - Parameter row: The row's id.
  /// - Throws: ``SQLError`` if there is no such row; the stream is then unusable.
  ///   ``SQLError/readOnly(file:)`` for a stream of one value of an object, which stays there.
  public func move(toRow row: Int64) throws {
    let blob = try unsafe opened()
    guard isMovable else { throw SQLError.readOnly(file: connection.path) }
    let code = unsafe sqlite3_blob_reopen(blob, row)
    guard code == SQLITE_OK else { throw connection.error(code, sql: "blob \(place)") }
    count = unsafe Int(sqlite3_blob_bytes(blob))
    (position, writtenEnd) = (0, 0)
  }

  private func check(offset: Int, length: Int) throws {
    guard offset >= 0, offset <= count, length <= count - offset else {
      throw SQLError.blobRange(place: place, offset: offset, count: length, available: count)
    }
  }
}

extension Connection {
  /// Opens a value for incremental reading or writing.
  /// - Parameters:
  ///   - table: The table.
  ///   - column: The column. It must hold a blob or text in this row.
  ///   - row: The row's id.
  ///   - schema: The database: `main`, or the name of an attached one.
  ///   - isWriting: Whether the stream can write.
  /// - Returns: The stream, at the beginning of the value.
  /// - Throws: ``SQLError`` if there is no such value.
  public func blob(
    table: String, column: String, row: Int64, schema: String = "main", isWriting: Bool = false
  ) throws -> BlobStream {
    try BlobStream(self, schema: schema, table: table, column: column, row: row, isWriting: isWriting)
  }
}
