// Decides how long a run of steps waits for the locks of other connections, and reports what it waits
// for.

internal import CipherSQLite
private import Foundation

/// What a run of steps waits for.
package enum RunWait: Sendable, Hashable {
  /// Another process migrates the store. The busy timeout does not limit this wait.
  case migration
  /// Another connection has a lock. `seconds` is the busy timeout, which limits the wait.
  case lock(seconds: Double)
}

/// The waiting of one run, on one thread.
final class LockWaiting {
  /// Waits up to this long are not reported: the lock for a single commit takes less time.
  private static let silentSeconds = 0.5

  private let path: String
  private let settings: Store.RunSettings
  private let record: RunRecord
  private var since = DispatchTime.now()
  private var told: Set<RunWait> = []

  init(_ path: String, settings: Store.RunSettings, record: RunRecord) {
    (self.path, self.settings, self.record) = (path, settings, record)
  }

  /// Starts an attempt. If another process migrates the store, this is reported at once, because that
  /// process has the lock.
  func begin() {
    if isMigratedByOthers { tell(.migration) }
  }

  /// Waits a moment for a lock.
  /// - Parameter count: How often this lock was waited for before.
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

  /// Whether another process migrates the store. A run that has the write lock has set the mark itself:
  /// it waits for readers, as a commit without a write-ahead log does.
  private var isMigratedByOthers: Bool { !record.holdsLock && MigrationMark.isHeld(path) }

  private func tell(_ wait: RunWait) {
    if told.insert(wait).inserted { settings.waits?(wait) }
  }
}
