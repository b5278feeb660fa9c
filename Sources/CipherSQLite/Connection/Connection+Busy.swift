// Waiting for the locks of others: how long, and who they are.

private import CSQLCipher
private import Foundation

private func connection(_ context: UnsafeMutableRawPointer?) -> Connection? {
  // Unretained: SQLite calls back on the thread that uses the connection, and never after it is closed.
  unsafe context.map { unsafe Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}

extension Connection {
  /// Decides what happens while somebody else holds a lock, in the place of the busy timeout.
  /// - Parameter body: Called with how often it was called for this lock, from 0; `true` tries again, at once: wait
  ///   in it. `false` ends the statement with ``SQLError/busy(file:waitedSeconds:holders:)``. Not called again when
  ///   the statement was interrupted or its task cancelled. nil brings the timeout back.
  public func onBusy(_ body: ((Int) -> Bool)?) { hooks.busy = body }

  /// Waits for locks by ourselves: the engine's own waiting does not tell how long it was.
  func installBusyHandler() {
    unsafe sqlite3_busy_handler(
      handle, { unsafe connection($0)?.isWorthWaiting(Int($1)) ?? false ? 1 : 0 },
      unsafe Unmanaged.passUnretained(self).toOpaque())
  }

  private func isWorthWaiting(_ count: Int) -> Bool {
    if count == 0 {
      waiting.since = .now()
      waiting.interruptsBefore = waiting.interruptor.count
      waiting.letsGo?()
    }
    if waiting.run?.isCancelled ?? false || waiting.interruptor.count != waiting.interruptsBefore {
      waiting.wasInterrupted = true
      return false
    }
    let waited = Double(DispatchTime.now().uptimeNanoseconds - waiting.since.uptimeNanoseconds) / 1e9
    let goesOn: Bool
    if let body = hooks.busy {
      goesOn = body(count)
    } else {
      let left = configuration.busyTimeout - waited
      goesOn = left > 0
      // Short at first, for locks of a single commit; never beyond the timeout.
      if goesOn { usleep(UInt32(min(left, [0.001, 0.002, 0.005, 0.01, 0.02][min(count, 4)]) * 1e6)) }
    }
    if !goesOn { waiting.seconds = waited }
    return goesOn
  }

  /// Runs `body`, which meets a lock that the engine does not wait for, until it does not, or for the busy timeout.
  func retryingWhileBusy(_ body: () throws -> Void) throws {
    var count = 0
    while true {
      do { return try body() } catch let error as SQLError where error.isBusy {
        guard !isInTransaction, isWorthWaiting(count) else { throw waitingError() }
        count += 1
      }
    }
  }

  /// The error for a lock that was waited for in vain, or not to the end.
  func waitingError() -> SQLError {
    defer { (waiting.seconds, waiting.wasInterrupted) = (0, false) }
    if waiting.wasInterrupted { return .interrupted }
    return .busy(
      file: path, waitedSeconds: waiting.seconds,
      holders: LockHolder.blocking(file, isWriting: isInTransaction))
  }
}
