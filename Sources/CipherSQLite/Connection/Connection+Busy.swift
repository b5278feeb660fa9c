// Waiting for locks of other connections and processes: how long, and which processes hold them.

private import CSQLCipher
private import Foundation

private func connection(_ context: UnsafeMutableRawPointer?) -> Connection? {
  // Unretained: SQLite calls back on the thread that uses the connection, and never after it is closed.
  unsafe context.map { unsafe Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}

extension Connection {
  /// Sets a closure that decides what to do while another connection holds a lock,
  /// instead of the busy timeout.
  /// - Parameter body: Receives the number of previous calls for this lock. If it returns `true`, the engine
  ///   tries again at once, so the closure itself must wait. `false` ends the statement with
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``. It is not called again if the statement was
  ///   interrupted or its task cancelled. nil restores the timeout.
  public func onBusy(_ body: ((Int) -> Bool)?) { hooks.busy = body }

  /// Installs a busy handler that measures the wait. The engine's own handler does not report how long it
  /// waited.
  func installBusyHandler() {
    unsafe sqlite3_busy_handler(
      handle, { unsafe connection($0)?.waitsAgain(Int($1)) ?? false ? 1 : 0 },
      unsafe Unmanaged.passUnretained(self).toOpaque())
  }

  private func waitsAgain(_ count: Int) -> Bool {
    if count == 0 {
      waiting.since = .now()
      waiting.interruptCountAtStart = waiting.interruptor.count
      waiting.releasesLocks?()
    }
    if waiting.run?.isCancelled ?? false || waiting.limits?.isStopped() ?? false
      || waiting.interruptor.count != waiting.interruptCountAtStart
    {
      waiting.wasInterrupted = true
      return false
    }
    if waiting.limits?.isSpent == true { return false }
    let waited = Double(DispatchTime.now().uptimeNanoseconds - waiting.since.uptimeNanoseconds) / 1e9
    let proceeds: Bool
    if let body = hooks.busy {
      proceeds = body(count)
    } else {
      let left = configuration.busyTimeout - waited
      proceeds = left > 0
      // The first pauses are short, for locks of a single commit. No pause exceeds the rest of the
      // timeout.
      if proceeds { usleep(UInt32(min(left, [0.001, 0.002, 0.005, 0.01, 0.02][min(count, 4)]) * 1e6)) }
    }
    if !proceeds {
      waiting.seconds = waited
      waiting.limits?.isSpent = true
    }
    return proceeds
  }

  /// Runs `body`, which needs a lock that the engine does not wait for, again and again until it gets the
  /// lock or the busy timeout ends. Inside a transaction it does not try again.
  func retryingWhileBusy(_ body: () throws -> Void) throws {
    var count = 0
    while true {
      do { return try body() } catch let error as SQLError where error.isBusy {
        guard !isInTransaction, waitsAgain(count) else { throw waitingError() }
        count += 1
      }
    }
  }

  /// Returns the error for a lock that was not obtained, or for a wait that was interrupted.
  func waitingError() -> SQLError {
    defer { (waiting.seconds, waiting.wasInterrupted) = (0, false) }
    if waiting.wasInterrupted { return .interrupted }
    return .busy(
      file: path, waitedSeconds: waiting.seconds,
      holders: LockHolder.blocking(file, isWriting: isInTransaction))
  }
}
