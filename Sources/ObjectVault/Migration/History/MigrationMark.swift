// Marks a store as being migrated, for other processes, by a lock on an empty file in the store's folder.
// The lock ends with its process, however that ends. A file without a lock has no meaning, and the next
// migration uses it again.

package import CipherSQLite
private import Foundation

/// A mark that the process with the store's write lock holds while steps run. A process that only waits
/// for the write lock has no mark, so a held mark always means a running migration.
package final class MigrationMark {
  private let path: String
  private let descriptor: Int32

  /// Returns the path of the mark. Its last digits derive from the store's name, so that a user's file is
  /// not taken for the mark.
  package static func path(of store: String) -> String {
    let proof = sha256(Array("ObjectVault migration\0\(DatabasePath.split(store).name)".utf8)).prefix(16)
    return "\(store).migrating-\(proof)"
  }

  /// Marks the store; returns nil if that is impossible, such as in a folder without write permission.
  /// The mark only informs waiting processes; no step depends on it.
  package init?(_ store: String) {
    path = Self.path(of: store)
    // The file is registered, so that a process which a signal terminates removes it.
    guard (try? Temporaries.register(path)) != nil else { return nil }
    guard let descriptor = Self.locked(path) else {
      Temporaries.unregister(path)
      return nil
    }
    self.descriptor = descriptor
  }

  /// Opens and locks the file; returns its descriptor, or nil if that is impossible. The previous owner
  /// of the lock unlinks the file before it releases the lock. So the path may name another file by then,
  /// and the attempt is repeated.
  private static func locked(_ path: String) -> Int32? {
    for _ in 0..<maximumAttempts {
      // Follows no symbolic link, and never changes content: the file is opened and locked, but not
      // written to.
      let descriptor = unsafe Foundation.open(
        path, O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return nil }
      if isOurs(descriptor), isLocked(descriptor) {
        if isStillFile(path, descriptor) { return descriptor }
        close(descriptor)
        continue
      }
      close(descriptor)
      return nil
    }
    return nil
  }

  /// The number of attempts, if other processes are faster each time.
  private static let maximumAttempts = 100

  /// Whether the open file can be a mark: an ordinary, empty file.
  private static func isOurs(_ descriptor: Int32) -> Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
  }

  /// Whether the path still names the open file.
  private static func isStillFile(_ path: String, _ descriptor: Int32) -> Bool {
    var (status, found) = (stat(), stat())
    return unsafe fstat(descriptor, &status) == 0 && lstat(path, &found) == 0
      && status.st_ino == found.st_ino && status.st_dev == found.st_dev
  }

  /// Locks the file; returns whether it succeeded. Other processes may test the lock meanwhile:
  /// ``isHeld(_:)`` does so with a shared lock, which is compatible with other shared locks. On a busy
  /// machine such a test may take a while. So this function waits longer for the end of a test than for
  /// that of a real mark, which may be held for hours.
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
    // Unlinks before the lock is released: afterwards, the file might already belong to the next owner.
    if Self.isStillFile(path, descriptor) { unsafe unlink(path) }
    close(descriptor)
    Temporaries.unregister(path)
  }

  /// Runs a body that cleans up after a killed migration, and removes the mark. No migration can mark the
  /// store meanwhile. Does nothing without a mark (no migration was killed), or if the mark is held (a
  /// migration is running).
  static func removingStale(_ store: String, _ body: () -> Void) {
    let path = path(of: store)
    let descriptor = unsafe Foundation.open(path, O_NOFOLLOW | O_NONBLOCK | O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard isOurs(descriptor), flock(descriptor, LOCK_EX | LOCK_NB) == 0, isStillFile(path, descriptor) else {
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
    // Any other error, such as in a file system without locks, does not show a migration.
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }
}

extension MigrationMark {
  /// Runs `body`. If it fails because of the lock of a process that migrates the store, runs it again.
  /// - Parameters:
  ///   - store: The path of the store.
  ///   - seconds: The maximum time; nil for no limit.
  ///   - check: Called before each further attempt. If it throws, the waiting ends.
  ///   - body: Receives whether the store is being migrated at the beginning of the attempt. It should
  ///     itself wait for a lock for a while.
  /// - Returns: The result of `body`.
  /// - Throws: The errors of `body` and `check`; the lock error only if no process migrates the store, or
  ///   the time is over.
  package static func waiting<Result>(
    for store: String, atMost seconds: Double? = nil, unless check: () throws -> Void = {},
    _ body: (_ isHeld: Bool) throws -> Result
  ) throws -> Result {
    let deadline = ContinuousClock.now + .seconds(seconds ?? 0)
    while true {
      let wasHeld = isHeld(store)
      do { return try body(wasHeld) } catch let error as SQLError where error.isBusy {
        try check()
        // A process that has just got the write lock sets its mark shortly afterwards.
        if !wasHeld, !isHeld(store) { usleep(attemptMicroseconds) }
        guard wasHeld || isHeld(store), seconds == nil || ContinuousClock.now < deadline else { throw error }
        // The body might not wait for locks itself, and each attempt derives a key.
        usleep(attemptMicroseconds)
      }
    }
  }

  private static var attemptMicroseconds: UInt32 { 20_000 }
}

/// The files that killed migrations leave in a store's folder.
package enum MigrationLeavings {
  /// Removes the files of a killed migration; call it while no step is pending. Without a mark, this
  /// costs only one attempt to open it: the folder is listed only if a mark exists.
  package static func remove(of file: DatabasePath) {
    MigrationMark.removingStale(file.path) { MigrationBackup.removeUnfinished(of: file) }
  }

  /// Removes everything that migrations keep beside a store that is being deleted: the mark, and the copies
  /// from before steps. The caller has an exclusive lock on the store.
  package static func removeAll(of file: DatabasePath) {
    MigrationMark.removingStale(file.path) {}
    MigrationBackup.removeAll(of: file)
  }
}
