// Keeps threads of this process from opening files while a new file gets its name; and syncs a folder to
// the disk.

private import Foundation

/// A lock of this process: files are not opened while a file that was built gets its name.
enum FileGate {
  // Not Void: a value of size zero shares its address with what follows, which the thread sanitizer
  // reports.
  private static let lock = Locked(false)

  /// Runs `body`, which opens a file.
  static func opening<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock { _ in try body() }
  }

  /// Runs `body` while no thread of this process opens a file.
  static func withoutOpenings<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock { _ in try body() }
  }
}

/// Makes new names in a folder durable.
/// - Returns: `false` when the disk failed; `true` also where the folder cannot be opened, or its file
///   system cannot sync folders.
@discardableResult
func syncFolder(_ folder: String) -> Bool {
  let descriptor = unsafe open(folder, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return true }
  defer { close(descriptor) }
  return fsync(descriptor) == 0 || [EINVAL, ENOTSUP, EROFS].contains(errno)
}
