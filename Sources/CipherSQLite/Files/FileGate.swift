// The moment in which a file gets its name, as this process and the disk see it.

private import Foundation

/// Keeps apart, in this process, the opening of files and the moment in which a built file gets its name.
enum FileGate {
  // Not Void: a value without a size shares its address with what follows, which the thread sanitizer reports.
  private static let lock = Locked(false)

  /// Runs `body`, which opens a file.
  static func opening<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock { _ in try body() }
  }

  /// Runs `body` while nobody opens a file.
  static func withoutOpenings<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock { _ in try body() }
  }
}

/// Makes new names in a folder durable.
/// - Returns: `false` when the disk failed; a file system that cannot do it counts as done.
@discardableResult
func syncFolder(_ folder: String) -> Bool {
  let descriptor = unsafe open(folder, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return true }
  defer { close(descriptor) }
  return fsync(descriptor) == 0 || [EINVAL, ENOTSUP, EROFS].contains(errno)
}
