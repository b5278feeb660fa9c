// The log or the journal beside a file, read without the engine.

private import Foundation

/// A file that SQLite keeps beside a database. Unlike the database it may be opened and closed here: SQLite's locks are
/// on the database and on its `-shm`.
final class SideFile {
  private let file: FileHandle

  /// nil when there is none that can be read.
  init?(_ path: String) {
    guard let file = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)) else { return nil }
    self.file = file
  }

  deinit { try? file.close() }

  var byteCount: Int { (try? file.seekToEnd()).map { Int($0) } ?? 0 }

  /// `count` bytes from `offset`, or nil when the file is shorter or cannot be read.
  func read(_ count: Int, at offset: Int) -> [UInt8]? {
    guard (try? file.seek(toOffset: UInt64(offset))) != nil, let data = try? file.read(upToCount: count),
      data.count == count
    else { return nil }
    return Array(data)
  }

  /// A number as SQLite writes it, the highest byte first.
  static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
