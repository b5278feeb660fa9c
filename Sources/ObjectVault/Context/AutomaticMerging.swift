// The commits of others that a context is to merge by itself.

internal import CipherSQLite

/// The commits of others that a context has not merged yet.
final class AutomaticMerging {
  /// The bells that are rung with each commit of others.
  private let bells = Locked<[WeakBell]>([])
  let queue: ChangeQueue
  private let arrivals: Locked<Bool>

  private struct WeakBell { weak var bell: Bell? }

  init(_ feed: ChangeFeed) {
    let (bells, arrivals) = (bells, Locked(false))
    self.arrivals = arrivals
    queue = ChangeQueue(feed, capacity: 100_000) {
      arrivals.withLock { $0 = true }
      let rung = bells.withLock { bells in
        bells.removeAll { $0.bell == nil }
        return bells.compactMap(\.bell)
      }
      for bell in rung { bell.ring() }
    }
  }

  var hasArrived: Bool { arrivals.withLock { $0 } }

  func takeArrived() -> [StoreChange] {
    arrivals.withLock { $0 = false }
    return queue.takeUndelivered()
  }

  /// Rings a bell with each commit of others.
  func add(_ bell: Bell) { bells.withLock { $0.append(WeakBell(bell: bell)) } }

  deinit { for bell in bells.withLock({ $0.compactMap(\.bell) }) { bell.ring() } }
}

/// Wakes tasks that wait: rung once or several times before, it wakes at once.
final class Bell: Sendable {
  private struct State {
    var isRung = false
    var isEnded = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Locked(State())

  func ring() { wake { $0.isRung = true } }
  func end() { wake { $0.isEnded = true } }

  private func wake(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      defer { state.waiting = [] }
      if !state.waiting.isEmpty { state.isRung = false }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until the bell is rung, has ended, or the task is cancelled.
  func wait(isolation actor: isolated (any Actor)? = #isolation) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.isRung || state.isEnded || Task.isCancelled {
            state.isRung = false
            return true
          }
          state.waiting.append(continuation)
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      ring()
    }
  }
}
