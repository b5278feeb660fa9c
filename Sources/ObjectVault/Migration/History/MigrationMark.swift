// Says to other processes that a store is being migrated: a lock on an empty file beside it. The lock ends with
// the process, whichever way that ends; a file that nobody locks means nothing, and the next migration takes it.

package import CipherSQLite
private import Foundation

/// Held while steps run, by whoever has the store's write lock: who waits for that has none, so that a mark always says of
/// a migration that it runs.
package final class MigrationMark {
  private let path: String
  private let descriptor: Int32

  /// The digits follow from the store's name, so that a file of the user that is called alike is never taken for it.
  package static func path(of store: String) -> String {
    let proof = sha256(Array("ObjectVault migration\0\(DatabasePath.split(store).name)".utf8)).prefix(16)
    return "\(store).migrating-\(proof)"
  }

  /// Marks the store; nil when that is not possible, such as in a folder that is not ours. The mark is a courtesy
  /// to those who wait, and no step depends on it.
  package init?(_ store: String) {
    path = Self.path(of: store)
    // A process that is told to end removes it.
    guard (try? Temporaries.register(path)) != nil else { return nil }
    guard let descriptor = Self.locked(path) else {
      Temporaries.unregister(path)
      return nil
    }
    self.descriptor = descriptor
  }

  /// The file, locked, and still at the path: who had it locked before removes it first and lets go of it then.
  private static func locked(_ path: String) -> Int32? {
    for _ in 0..<maximumAttempts {
      // Without following a link, and never somebody else's content: the file is opened, locked, and not written to.
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

  /// How often another one may be faster.
  private static let maximumAttempts = 100

  private static func isOurs(_ descriptor: Int32) -> Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
  }

  /// Whether the path leads to an open file, and not to another one that was made since, or to none.
  private static func isAt(_ path: String, _ descriptor: Int32) -> Bool {
    var (status, found) = (stat(), stat())
    return unsafe fstat(descriptor, &status) == 0 && lstat(path, &found) == 0
      && status.st_ino == found.st_ino && status.st_dev == found.st_dev
  }

  /// Locks it, also where somebody is just asking whether it is locked: ``isHeld(_:)`` does that by a lock of its own,
  /// which goes with the others of its kind. On a busy machine even that may last; somebody's mark lasts for hours.
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
    // Before the lock goes: afterwards it might be the next one's.
    if Self.isAt(path, descriptor) { unsafe unlink(path) }
    close(descriptor)
    Temporaries.unregister(path)
  }

  /// Does something about a migration that was killed, while none can be marked, and removes its mark. Where there is no mark
  /// none was killed, and where one is held one runs: nothing is done.
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

  /// Whether somebody migrates the store now.
  package static func isHeld(_ store: String) -> Bool {
    let descriptor = unsafe Foundation.open(path(of: store), O_NOFOLLOW | O_NONBLOCK | O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }
}

extension MigrationMark {
  /// Runs `body`, and again for as long as it meets the lock of somebody who migrates the store.
  /// - Parameters:
  ///   - store: The file.
  ///   - seconds: How long at most; nil for however long it takes.
  ///   - check: Asked before each further attempt; what it throws ends the waiting.
  ///   - body: Is told whether somebody migrates the store as it begins. It should wait for a lock by itself for a while.
  /// - Throws: What `body` throws, that of a lock when nobody migrates the store, or for longer than that.
  package static func waiting<Result>(
    for store: String, atMost seconds: Double? = nil, unless check: () throws -> Void = {},
    _ body: (_ isHeld: Bool) throws -> Result
  ) throws -> Result {
    let deadline = ContinuousClock.now + .seconds(seconds ?? 0)
    while true {
      let wasHeld = isHeld(store)
      do { return try body(wasHeld) } catch let error as SQLError where error.isBusy {
        try check()
        // Whoever got the lock at this moment marks the store in the next one.
        if !wasHeld, !isHeld(store) { usleep(attemptMicroseconds) }
        guard wasHeld || isHeld(store), seconds == nil || ContinuousClock.now < deadline else { throw error }
        // It may not wait for locks at all, and each attempt derives a key.
        usleep(attemptMicroseconds)
      }
    }
  }

  private static var attemptMicroseconds: UInt32 { 20_000 }
}

/// What killed migrations leave beside a store.
package enum MigrationLeavings {
  /// Removes what a migration left that was killed, where nothing is to be migrated any more. Costs a look at one name where
  /// none was: the folder is listed only beside its mark.
  package static func remove(of file: DatabasePath) {
    MigrationMark.removingStale(file.path) { MigrationBackup.removeUnfinished(of: file) }
  }
}
