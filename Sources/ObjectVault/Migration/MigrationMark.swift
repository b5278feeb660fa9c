// Says to other processes that a store is being migrated: a lock on an empty file beside it. The lock ends with
// the process, whichever way that ends; a file that nobody locks means nothing, and the next migration takes it.

package import CipherSQLite
private import Foundation

/// Held while steps run.
package final class MigrationMark {
  private let path: String
  private let descriptor: Int32
  /// How many marks of a path this process has.
  private static let own = Locked<[String: Int]>([:])

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
    // Without following a link, and never somebody else's content: the file is opened, locked, and not written to.
    let descriptor = unsafe Foundation.open(
      path, O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      Temporaries.unregister(path)
      return nil
    }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0,
      Self.isLocked(descriptor)
    else {
      close(descriptor)
      Temporaries.unregister(path)
      return nil
    }
    self.descriptor = descriptor
    Self.own.withLock { $0[path, default: 0] += 1 }
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
    unsafe unlink(path)
    close(descriptor)
    Temporaries.unregister(path)
    Self.own.withLock { $0[path, default: 1] -= 1 }
  }

  /// Whether another process migrates the store now. Who waits for a lock may have its own mark, which says nothing of others.
  static func isHeldByOther(_ store: String) -> Bool {
    own.withLock { $0[path(of: store), default: 0] } == 0 && isHeld(store)
  }

  /// Removes the mark of a process that was killed, where nothing is to be migrated any more.
  static func removeStale(_ store: String) {
    let path = path(of: store)
    let descriptor = unsafe Foundation.open(path, O_NOFOLLOW | O_NONBLOCK | O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0,
      flock(descriptor, LOCK_EX | LOCK_NB) == 0
    else { return }
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

/// What killed migrations leave beside a store.
package enum MigrationLeavings {
  /// Removes what a migration left that was killed, where nothing is to be migrated any more.
  package static func remove(of file: DatabasePath) {
    guard !MigrationMark.isHeld(file.path) else { return }
    MigrationMark.removeStale(file.path)
    MigrationBackup.removeUnfinished(of: file)
  }
}
