// Marks a store as being migrated, for other processes: a lock on an empty file in its folder. The lock
// ends with the process, however it ends. A file without a lock means nothing, and the next migration uses
// it.

package import CipherSQLite
private import Foundation

/// A mark that is held while steps run, by the process with the store's write lock. A process that waits
/// for that lock has no mark, so a mark always means a running migration.
package final class MigrationMark {
  private let path: String
  private let descriptor: Int32

  /// Returns the path of the mark. Its digits derive from the store's name, so that a user's file with a
  /// similar name is never used.
  package static func path(of store: String) -> String {
    let proof = sha256(Array("ObjectVault migration\0\(DatabasePath.split(store).name)".utf8)).prefix(16)
    return "\(store).migrating-\(proof)"
  }

  /// Marks the store; returns nil where that is impossible, such as in a folder without write permission.
  /// The mark only informs waiting processes; no step depends on it.
  package init?(_ store: String) {
    path = Self.path(of: store)
    // A process that is terminated by a signal removes the registered file.
    guard (try? Temporaries.register(path)) != nil else { return nil }
    guard let descriptor = Self.locked(path) else {
      Temporaries.unregister(path)
      return nil
    }
    self.descriptor = descriptor
  }

  /// Returns the descriptor of the file, locked and still at the path. A former owner of the lock unlinks
  /// the file before it releases the lock, so the path may name another file by then.
  private static func locked(_ path: String) -> Int32? {
    for _ in 0..<maximumAttempts {
      // Does not follow a link, and never changes content: the file is opened and locked, but not written
      // to.
      let descriptor = unsafe Foundation.open(
        path, O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return nil }
      if isOurs(descriptor), isLocked(descriptor) {
        if isAt(path, descriptor) { return descriptor }
        close(descriptor)
        continue
      }
      close(descriptor)
      return nil
    }
    return nil
  }

  /// The number of times that another process may be faster.
  private static let maximumAttempts = 100

  private static func isOurs(_ descriptor: Int32) -> Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
  }

  /// Whether the path names the open file, and not a newer file or none.
  private static func isAt(_ path: String, _ descriptor: Int32) -> Bool {
    var (status, found) = (stat(), stat())
    return unsafe fstat(descriptor, &status) == 0 && lstat(path, &found) == 0
      && status.st_ino == found.st_ino && status.st_dev == found.st_dev
  }

  /// Locks the file, also while other processes test the lock: ``isHeld(_:)`` does so with a shared lock,
  /// which is compatible with other shared locks. On a busy machine such a test may take a while; a real
  /// mark may be held for hours.
  private static func isLocked(_ descriptor: Int32) -> Bool {
    var (asked, held) = (0, 0)
    while asked < 5000, held < 100 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      guard errno == EWOULDBLOCK || errno == EINTR else { return false }
      if flock(descriptor, LOCK_SH | LOCK_NB) == 0 {
        flock(descriptor, LOCK_UN)
        asked += 1
      } else {
        held += 1
      }
      usleep(2000)
    }
    return false
  }

  deinit {
    // Before the lock is released: afterwards the file might be the next owner's.
    if Self.isAt(path, descriptor) { unsafe unlink(path) }
    close(descriptor)
    Temporaries.unregister(path)
  }

  /// Runs a body about a killed migration while no migration can be marked, and removes the mark. Without
  /// a mark no migration was killed, and with a held one a migration is running: then nothing is done.
  static func removingStale(_ store: String, _ body: () -> Void) {
    let path = path(of: store)
    let descriptor = unsafe Foundation.open(path, O_NOFOLLOW | O_NONBLOCK | O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard isOurs(descriptor), flock(descriptor, LOCK_EX | LOCK_NB) == 0, isAt(path, descriptor) else {
      return
    }
    body()
    unsafe unlink(path)
  }

  /// Whether a process is migrating the store now.
  package static func isHeld(_ store: String) -> Bool {
    let descriptor = unsafe Foundation.open(path(of: store), O_NOFOLLOW | O_NONBLOCK | O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // Another error, such as a file system without locks, does not mean that a process migrates.
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }
}

extension MigrationMark {
  /// Runs `body`, and runs it again for as long as it fails on the lock of a process that migrates the
  /// store.
  /// - Parameters:
  ///   - store: The file.
  ///   - seconds: The maximum time; nil for no limit.
  ///   - check: Called before each further attempt; an error that it throws ends the waiting.
  ///   - body: Gets whether the store is being migrated as the attempt begins. It should itself wait for a
  ///     lock for a while.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; its lock error only where no process migrates the store, or the time is
  ///   over.
  package static func waiting<Result>(
    for store: String, atMost seconds: Double? = nil, unless check: () throws -> Void = {},
    _ body: (_ isHeld: Bool) throws -> Result
  ) throws -> Result {
    let deadline = ContinuousClock.now + .seconds(seconds ?? 0)
    while true {
      let wasHeld = isHeld(store)
      do { return try body(wasHeld) } catch let error as SQLError where error.isBusy {
        try check()
        // A process that got the lock at this moment sets its mark shortly afterwards.
        if !wasHeld, !isHeld(store) { usleep(attemptMicroseconds) }
        guard wasHeld || isHeld(store), seconds == nil || ContinuousClock.now < deadline else { throw error }
        // The body may not wait for locks at all, and each attempt derives a key.
        usleep(attemptMicroseconds)
      }
    }
  }

  private static var attemptMicroseconds: UInt32 { 20_000 }
}

/// The files that killed migrations leave in a store's folder.
package enum MigrationLeavings {
  /// Removes what a killed migration left, where no step is pending. Without a killed migration it costs
  /// one attempt to open the mark; the folder is listed only where a mark exists.
  package static func remove(of file: DatabasePath) {
    MigrationMark.removingStale(file.path) { MigrationBackup.removeUnfinished(of: file) }
  }
}
