// The floor: what a careful programmer writes with the engine's C interface, into plain structs. It has
// the same key, page size and journal as the store. Its cache is as large as that of the store's writer
// when it writes, and as that of a reader when it reads.

import CFloor
import CipherSQLite
import Foundation

let rawKey = [UInt8](repeating: 0x42, count: 32)

final class Floor {
  var handle: OpaquePointer?
  // The engine copies the bytes before a bind returns.
  static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  /// The cache sizes of a store's writer, and of each of its readers, in bytes.
  static let (writerCache, readerCache) = (32 << 20, 16 << 20)
  private let cacheBytes: Int

  init(_ path: String, cacheBytes: Int = writerCache) {
    self.cacheBytes = cacheBytes
    check(
      sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil))
    let text = "x'" + rawKey.map { String($0, radix: 16) }.joined() + "'"
    check(sqlite3_key_v2(handle, "main", text, Int32(text.utf8.count)))
    run("PRAGMA cipher_page_size = 4096")
    run("PRAGMA temp_store = MEMORY")
    run("PRAGMA cache_size = -\(cacheBytes / 1024)")
    run("PRAGMA journal_mode = WAL")
    run("PRAGMA synchronous = NORMAL")
    run("PRAGMA foreign_keys = ON")
  }

  /// Reads with as much cache as a reader of the store has.
  func asReader<Result>(_ body: () -> Result) -> Result {
    run("PRAGMA cache_size = -\(Self.readerCache / 1024)")
    defer { run("PRAGMA cache_size = -\(cacheBytes / 1024)") }
    return body()
  }

  func close() {
    sqlite3_close_v2(handle)
    handle = nil
  }

  deinit { close() }

  func check(_ code: Int32) {
    if code != SQLITE_OK { fatalError("floor: \(String(cString: sqlite3_errmsg(handle)))") }
  }

  func run(_ sql: String) {
    var message: UnsafeMutablePointer<CChar>?
    if sqlite3_exec(handle, sql, nil, nil, &message) != SQLITE_OK {
      fatalError("floor: \(sql): \(message.map { String(cString: $0) } ?? "")")
    }
  }

  func prepare(_ sql: String) -> OpaquePointer? {
    var statement: OpaquePointer?
    check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    return statement
  }

  /// Returns all rows of a statement as texts, with empty texts for NULL. For work that is not timed.
  func rows(_ sql: String) -> [[String]] {
    var rows: [[String]] = []
    let statement = prepare(sql)
    while sqlite3_step(statement) == SQLITE_ROW {
      rows.append((0..<sqlite3_column_count(statement)).map { text(statement, $0) })
    }
    sqlite3_finalize(statement)
    return rows
  }

  /// Binds bytes that stay where they are until the statement is reset.
  func lend(_ statement: OpaquePointer?, _ index: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
    _ = bytes.baseAddress?.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
      sqlite3_bind_text(statement, index, $0, Int32(bytes.count), nil)
    }
  }

  func bind(_ statement: OpaquePointer?, _ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      _ = bytes.baseAddress?.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
        sqlite3_bind_text(statement, index, $0, Int32(bytes.count), Floor.transient)
      }
    }
  }
}

func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
  let value = sqlite3_column_value(statement, column)
  guard let bytes = sqlite3_value_text(value) else { return "" }
  return String(
    decoding: UnsafeBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(value))), as: UTF8.self)
}

func integer(_ statement: OpaquePointer?, _ column: Int32) -> Int {
  Int(sqlite3_value_int64(sqlite3_column_value(statement, column)))
}

func real(_ statement: OpaquePointer?, _ column: Int32) -> Double {
  sqlite3_value_double(sqlite3_column_value(statement, column))
}
