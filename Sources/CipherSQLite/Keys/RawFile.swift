// The file's bytes, read through SQLite's own handle.
//
// Not through a descriptor of ours: closing any descriptor of a file drops all POSIX locks that this process
// holds on it, and another connection of this process may hold some.

internal import CSQLCipher
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

  var file: UnsafeMutablePointer<sqlite3_file>? { rawFile(of: handle) }

  /// The file's size in bytes.
  var byteCount: Int { size(of: file) }

  /// `count` bytes from `offset`, or nil when the file is shorter or cannot be read.
  func read(_ count: Int, at offset: Int) -> [UInt8]? { readBytes(of: file, count: count, at: offset) }
}

func rawFile(of handle: OpaquePointer?) -> UnsafeMutablePointer<sqlite3_file>? {
  guard let handle else { return nil }
  var file: UnsafeMutablePointer<sqlite3_file>?
  let code = withUnsafeMutablePointer(to: &file) {
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, $0)
  }
  return code == SQLITE_OK ? file : nil
}

func size(of file: UnsafeMutablePointer<sqlite3_file>?) -> Int {
  var size: sqlite3_int64 = 0
  guard let file, file.pointee.pMethods?.pointee.xFileSize?(file, &size) == SQLITE_OK else { return 0 }
  return Int(size)
}

/// Fills the buffer; false when the file ends before.
func read(
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
