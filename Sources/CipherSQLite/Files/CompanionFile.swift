// Reads the log or the journal of a database, without the engine.

private import Foundation

/// A log or a journal next to a database. Opening and closing it drops no lock of SQLite: those are on the
/// database and on its `-shm`.
final class CompanionFile {
  // Open from init to deinit, and closed once.
  private let descriptor: Int32

  /// Opens the file; nil when it does not exist, cannot be read, or is a pipe, a link or the like.
  init?(_ path: String) {
    descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    guard FileStatus(descriptor: descriptor)?.isRegular ?? false else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  var byteCount: Int { FileStatus(descriptor: descriptor)?.byteCount ?? 0 }

  /// Returns `count` bytes from `offset`, or nil when the file is shorter or cannot be read.
  func read(_ count: Int, at offset: Int) -> [UInt8]? {
    let bytes = readUp(to: count, at: offset)
    return bytes.count == count ? bytes : nil
  }

  /// Returns at most `count` bytes from `offset`; fewer at the end of the file.
  func readUp(to count: Int, at offset: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      while filled < count {
        let got = unsafe pread(
          descriptor, room.baseAddress.map { unsafe $0 + filled }, count - filled, off_t(offset + filled))
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { break }
        filled += got
      }
    }
  }

  /// Decodes a number as SQLite writes it, the highest byte first.
  static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
