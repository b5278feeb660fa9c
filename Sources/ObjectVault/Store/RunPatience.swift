// How long a run of steps waits for the locks of others, and what is said of it meanwhile.

internal import CipherSQLite
private import Foundation

/// Whom a run of steps waits for.
package enum RunWait: Sendable, Hashable {
  /// Another process migrates the store: however long that takes.
  case migration
  /// Somebody else has a lock: for the busy timeout, in seconds.
  case lock(seconds: Double)
}

/// The waiting of one run, on one thread.
final class RunPatience {
  /// Locks of a single commit are not worth a word.
  private static let silentSeconds = 0.5

  private let path: String
  private let settings: Store.RunSettings
  private let record: RunRecord
  private var since = DispatchTime.now()
  private var told: Set<RunWait> = []

  init(_ path: String, _ settings: Store.RunSettings, _ record: RunRecord) {
    (self.path, self.settings, self.record) = (path, settings, record)
  }

  /// An attempt begins: who migrates the store now has its lock, whatever this run asks for first.
  func begin() {
    if isMigratedByOthers { tell(.migration) }
  }

  /// Waits a moment for a lock.
  /// - Parameter count: How often this lock was waited for.
  /// - Returns: Whether to try again.
  func waits(count: Int) -> Bool {
    if count == 0 { since = .now() }
    let waited = Double(DispatchTime.now().uptimeNanoseconds - since.uptimeNanoseconds) / 1e9
    let left = settings.busyTimeout - waited
    guard left > 0 else { return false }
    if waited > Self.silentSeconds {
      tell(isMigratedByOthers ? .migration : .lock(seconds: settings.busyTimeout))
    }
    usleep(UInt32(min(left, count < 4 ? 0.002 : 0.02) * 1e6))
    return true
  }

  /// A run that has the write lock has the mark itself: it waits for readers, which a commit does without a write-ahead log.
  private var isMigratedByOthers: Bool { !record.holdsLock && MigrationMark.isHeld(path) }

  private func tell(_ wait: RunWait) {
    if told.insert(wait).inserted { settings.waits?(wait) }
  }
}
