// A lock that permits one change of a key file at a time, across threads and processes.

private import Foundation

/// The lock on a key file.
///
/// It is on the file itself, which only its owner may open. A lock on the folder could be held forever by
/// any user who may read the folder. A change replaces the file; the new file is locked before it gets
/// the name, so the lock passes from file to file until ``hold(_:waiting:_:)`` ends. A process that
/// waited must check that the file at the path is still the one that it locked.
final class KeyFileLock {
  // A descriptor of the latest file, open as long as the object lives.
  private var descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { Foundation.close(descriptor) }

  /// Replaces the locked file by another one, which then has the lock.
  func replace(_ file: DatabasePath, with sealed: SealedFile) throws {
    guard let next = try sealed.replaceKeepingLock(FileStatus(file.path)) else { return }
    Foundation.close(descriptor)
    descriptor = next
  }

  /// Runs `body` under the lock.
  /// - Parameters:
  ///   - file: The key file.
  ///   - seconds: How long to wait for another change.
  ///   - body: Runs while no other change is possible.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/notFound(file:)``; what `body`
  ///   throws.
  static func hold<Result>(
    _ file: DatabasePath, waiting seconds: Double, _ body: (KeyFileLock) throws -> Result
  ) throws
    -> Result
  {
    let lock = KeyFileLock(try locked(file, seconds))
    return try withExtendedLifetime(lock) { try body(lock) }
  }

  private static func locked(_ file: DatabasePath, _ seconds: Double) throws -> Int32 {
    let (path, given) = (file.path, file.given)
    let deadline = Deadline(seconds)
    while true {
      let descriptor = unsafe Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else {
        throw errno == ENOENT ? SQLError.notFound(file: given) : .failed("open", on: given)
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        if isStill(descriptor, at: path) { return descriptor }
        // The file was replaced between opening and locking: the lock is on the former file.
        Foundation.close(descriptor)
        continue
      }
      let code = errno
      Foundation.close(descriptor)
      guard code == EWOULDBLOCK || code == EINTR else {
        throw SQLError.system(file: given, operation: "flock", code: Int(code))
      }
      guard !deadline.isOver else {
        throw SQLError.busy(file: given, waitedSeconds: deadline.waited, holders: LockHolder.holding(path))
      }
      usleep(10_000)
    }
  }

  private static func isStill(_ descriptor: Int32, at path: String) -> Bool {
    guard let locked = FileStatus(descriptor: descriptor), let present = FileStatus(path) else {
      return false
    }
    return locked.isSameFile(as: present)
  }
}
