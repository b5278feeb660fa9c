// The file's bytes, read through SQLite's own handle.
//
// Not through a descriptor of ours: closing any descriptor of a file drops all POSIX locks that this process
// holds on it, and another connection of this process may hold some.

private import CSQLCipher
private import Foundation

struct RawFile: ~Copyable {
  // An unkeyed, read-only handle, opened and closed by this value alone.
  private let handle: OpaquePointer?

  static func open(_ path: String) throws -> RawFile {
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK else {
      sqlite3_close_v2(handle)
      throw SQLError.permissionDenied(file: path)
    }
    return RawFile(handle: handle)
  }

  deinit { sqlite3_close_v2(handle) }

  private var file: UnsafeMutablePointer<sqlite3_file>? { rawFile(of: handle) }

  /// The file's size in bytes.
  var byteCount: Int { size(of: file) }

  /// `count` bytes from `offset`, or nil when the file is shorter or cannot be read.
  func read(_ count: Int, at offset: Int) -> [UInt8]? { readBytes(of: file, count: count, at: offset) }
}

extension Connection {
  /// Checks the HMAC of every page in the database file (not the WAL) without the engine.
  ///
  /// Reads through SQLite's own handle, one page at a time.
  /// - Parameter progress: Called every 256 pages with the pages done and in all.
  /// - Returns: The numbers of the damaged or missing pages, counted from 1, at most 100.
  public func auditPages(progress: ((Int, Int) -> Void)? = nil) -> [Int] {
    damagedPages(of: rawFile(of: handle), key: unlocked, progress: progress)
  }
}

extension RawFile {
  func damagedPages(key: UnlockedKey) -> [Int] {
    CipherSQLite.damagedPages(of: file, key: key, progress: nil)
  }
}

private func damagedPages(
  of file: UnsafeMutablePointer<sqlite3_file>?, key: UnlockedKey, progress: ((Int, Int) -> Void)?
) -> [Int] {
  let pageBytes = key.profile.pageBytes
  let total = size(of: file)
  let count = (total + pageBytes - 1) / pageBytes
  // SQLite never writes the page that holds its lock bytes (at 1 GiB).
  let lockPage = 0x4000_0000 / pageBytes + 1
  var damaged: [Int] = []
  var page = [UInt8](repeating: 0, count: pageBytes)
  let verifier = PageVerifier(key)
  for number in stride(from: 1, through: count, by: 1) where number != lockPage && damaged.count < 100 {
    let isRead = page.withUnsafeMutableBytes { read(file, into: $0, at: (number - 1) * pageBytes) }
    if !isRead || !verifier.verifies(&page, number: number) { damaged.append(number) }
    if number % 256 == 0 { progress?(number, count) }
  }
  progress?(count, count)
  return damaged
}

private func rawFile(of handle: OpaquePointer?) -> UnsafeMutablePointer<sqlite3_file>? {
  guard let handle else { return nil }
  var file: UnsafeMutablePointer<sqlite3_file>?
  let code = withUnsafeMutablePointer(to: &file) {
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, $0)
  }
  return code == SQLITE_OK ? file : nil
}

private func size(of file: UnsafeMutablePointer<sqlite3_file>?) -> Int {
  var size: sqlite3_int64 = 0
  guard let file, file.pointee.pMethods?.pointee.xFileSize?(file, &size) == SQLITE_OK else { return 0 }
  return Int(size)
}

private func read(
  _ file: UnsafeMutablePointer<sqlite3_file>?, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
) -> Bool {
  guard let file, let base = buffer.baseAddress, let read = file.pointee.pMethods?.pointee.xRead else {
    return false
  }
  return read(file, base, Int32(buffer.count), sqlite3_int64(offset)) == SQLITE_OK
}

private func readBytes(of file: UnsafeMutablePointer<sqlite3_file>?, count: Int, at offset: Int) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: count)
  return bytes.withUnsafeMutableBytes { read(file, into: $0, at: offset) } ? bytes : nil
}
