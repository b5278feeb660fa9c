// One change of a key file at a time, here and in other processes.

private import Foundation

/// The lock on a key file.
///
/// It is on the file itself, which nobody but its owner may open, and not on its folder, which any user who may read
/// it could lock for ever. A change puts another file in its place: whoever waited has to look again.
enum KeyFileLock {
  /// Runs `body` under the lock.
  /// - Parameters:
  ///   - file: The key file.
  ///   - seconds: How long to wait for somebody else.
  ///   - body: What nobody else shall do meanwhile.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/notFound(file:)``; what `body` throws.
  static func hold<Result>(_ file: DatabasePath, waiting seconds: Double, _ body: () throws -> Result) throws
    -> Result
  {
    let descriptor = try locked(file, seconds)
    defer { Foundation.close(descriptor) }
    return try body()
  }

  private static func locked(_ file: DatabasePath, _ seconds: Double) throws -> Int32 {
    let (path, given) = (file.path, file.given)
    let start = DispatchTime.now()
    while true {
      let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else {
        throw errno == ENOENT ? SQLError.notFound(file: given) : .failed("open", on: given)
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        if isStill(descriptor, at: path) { return descriptor }
        // Replaced between the two calls, or while it was waited for: the lock is on the former file.
        Foundation.close(descriptor)
        continue
      }
      let code = errno
      Foundation.close(descriptor)
      guard code == EWOULDBLOCK || code == EINTR else {
        throw SQLError.system(file: given, operation: "flock", code: Int(code))
      }
      let waited = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
      guard waited < seconds else {
        throw SQLError.busy(file: given, waitedSeconds: waited, holders: LockHolder.holding(path))
      }
      usleep(10_000)
    }
  }

  private static func isStill(_ descriptor: Int32, at path: String) -> Bool {
    var (locked, present) = (stat(), stat())
    return fstat(descriptor, &locked) == 0 && stat(path, &present) == 0
      && locked.st_ino == present.st_ino && locked.st_dev == present.st_dev
  }
}

extension LockHolder {
  /// Who holds a lock on a whole file, as far as the system tells.
  fileprivate static func holding(_ path: String) -> [LockHolder] {
    Set(FileLock.all(of: path).map(\.processID)).filter { $0 > 0 }.sorted().map { LockHolder(process: $0) }
  }
}
