// The pool's reading connections: leased to one user at a time, opened when first needed.

private import Dispatch

/// Hands reading connections out. All state is behind one lock; connections are opened outside of it.
final class ReaderSet: Sendable {
  // Safe to share: only the holder of the lease touches the connection.
  /// A connection that is leased to one user at a time.
  final class Lease: @unchecked Sendable {
    let connection: Connection
    fileprivate let generation: Int
    /// Whether it is beside the maximum, for one long use.
    fileprivate let isExtra: Bool
    fileprivate init(_ connection: Connection, generation: Int, isExtra: Bool = false) {
      self.connection = connection
      self.generation = generation
      self.isExtra = isExtra
    }
  }

  private struct State {
    var idle: [Lease] = []
    var openCount = 0
    var extraCount = 0
    var generation = 0
    var isBarred = false
    var isClosed = false
    /// In the order in which they came.
    var waiters: [Waiter] = []
  }

  /// What somebody waits for.
  private enum Event {
    /// A lease can be had: one is idle, or fewer than the maximum are out.
    case freeLease
    /// Leases go out, whether one is free or not: for those who take one beyond the maximum.
    case endOfBar
    /// No lease is out any more: for the one who keeps new ones back.
    case allReturned
  }

  private struct Waiter {
    let event: Event
    let wake: @Sendable () -> Void
  }

  private enum Outcome {
    case lease(Lease)
    case open(generation: Int)
    case wait
  }

  private let state = Locked(State())
  private let maximum: Int
  private let path: String
  private let open: @Sendable () throws -> Connection

  init(maximum: Int, path: String, open: @escaping @Sendable () throws -> Connection) {
    self.maximum = max(1, maximum)
    self.path = path
    self.open = open
  }

  /// A connection, the one that was used last if there is a choice: its cache is the warmest. nil when none is free.
  func acquireIfFree() throws -> Lease? {
    switch try attempt(allowsOverflow: false) {
    case .lease(let lease): lease
    case .open(let generation): try opened(generation)
    case .wait: nil
    }
  }

  /// Waits, without blocking a thread, until a connection may be free. Who was woken has to try, also when he was
  /// cancelled meanwhile: nobody else is woken for the same connection.
  func waitForFree() async {
    await withCheckedContinuation { wait in wake(at: .freeLease) { wait.resume() } }
  }

  /// A connection for callers that block. Never waits for another lease: a caller that holds one already, and
  /// waits for a second, would wait for itself; it gets a connection beyond the maximum instead.
  func acquireBlocking() throws -> Lease {
    while true {
      switch try attempt(allowsOverflow: true) {
      case .lease(let lease): return lease
      case .open(let generation): return try opened(generation)
      case .wait: block(until: .endOfBar)
      }
    }
  }

  /// A connection beside the maximum: what is held for long must not keep others waiting. Blocks while leases are
  /// kept back.
  func acquireExtra() throws -> Lease {
    while true {
      let isBarred = try state.withLock { state in
        if state.isClosed { throw SQLError.closed(file: path) }
        if !state.isBarred { state.extraCount += 1 }
        return state.isBarred
      }
      guard isBarred else { break }
      block(until: .endOfBar)
    }
    do { return Lease(try open(), generation: 0, isExtra: true) } catch {
      change { $0.extraCount -= 1 }
      throw error
    }
  }

  func release(_ lease: Lease) {
    change { state in
      if lease.isExtra {
        state.extraCount -= 1
      } else if lease.generation != state.generation || state.isClosed || state.openCount > maximum {
        state.openCount -= 1
      } else {
        state.idle.append(lease)
      }
    }
  }

  /// Keeps new leases back and waits until all are returned, then closes the connections.
  /// - Returns: `false` when some were still out after `seconds`; then nothing is kept back.
  func bar(seconds: Double) -> Bool {
    state.withLock { $0.isBarred = true }
    let deadline = DispatchTime.now() + seconds
    guard block(until: .allReturned, deadline) else {
      unbar()
      return false
    }
    closeIdle()
    return true
  }

  /// Lets leases go out again; they get fresh connections.
  func unbar() { change { $0.isBarred = false } }

  /// Closes what is idle now and, on return, what is still out. New leases get fresh connections.
  private func closeIdle() {
    let closing = state.withLock { state in
      state.generation += 1
      state.openCount -= state.idle.count
      defer { state.idle = [] }
      return state.idle
    }
    for lease in closing { lease.connection.close() }
  }

  func close() {
    change { $0.isClosed = true }
    closeIdle()
  }

  private func attempt(allowsOverflow: Bool) throws -> Outcome {
    try state.withLock { state in
      if state.isClosed { throw SQLError.closed(file: path) }
      if state.isBarred { return .wait }
      if let lease = state.idle.popLast() { return .lease(lease) }
      guard state.openCount < maximum || allowsOverflow else { return .wait }
      state.openCount += 1
      return .open(generation: state.generation)
    }
  }

  private func opened(_ generation: Int) throws -> Lease {
    do { return Lease(try open(), generation: generation) } catch {
      // Somebody else may have waited for the place that this one took.
      change { $0.openCount -= 1 }
      throw error
    }
  }

  // MARK: Waiting

  /// Calls `body` once something has happened, at once when it has already. Who was woken looks again: somebody else may
  /// have been faster.
  private func wake(at event: Event, _ body: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      // Under the lock: a change between the question and now would wake nobody.
      let isNow = has(event, happenedIn: state)
      if !isNow { state.waiters.append(Waiter(event: event, wake: body)) }
      return isNow
    }
    if isNow { body() }
  }

  /// Blocks the thread until something has happened.
  /// - Returns: `false` when it had not at the deadline.
  @discardableResult
  private func block(until event: Event, _ deadline: DispatchTime = .distantFuture) -> Bool {
    let signal = DispatchSemaphore(value: 0)
    wake(at: event) { signal.signal() }
    return signal.wait(timeout: deadline) == .success
  }

  /// Changes the state and wakes those for whom that was what they waited for: one for each lease that became free.
  private func change(_ body: (inout State) -> Void) {
    let woken = state.withLock { state in
      let before = freeLeases(in: state)
      body(&state)
      guard !state.waiters.isEmpty else { return [Waiter]() }
      var leases = state.isClosed ? Int.max : freeLeases(in: state) - before
      var (woken, left): ([Waiter], [Waiter]) = ([], [])
      for waiter in state.waiters {
        guard has(waiter.event, happenedIn: state), waiter.event != .freeLease || leases > 0 else {
          left.append(waiter)
          continue
        }
        if waiter.event == .freeLease { leases -= 1 }
        woken.append(waiter)
      }
      state.waiters = left
      return woken
    }
    for waiter in woken { waiter.wake() }
  }

  private func has(_ event: Event, happenedIn state: State) -> Bool {
    switch event {
    // Who waits for a lease of a closed pool is told so when he looks again.
    case .freeLease: state.isClosed || freeLeases(in: state) > 0
    case .endOfBar: state.isClosed || !state.isBarred
    case .allReturned: state.openCount == state.idle.count && state.extraCount == 0
    }
  }

  private func freeLeases(in state: State) -> Int {
    state.isBarred ? 0 : state.idle.count + max(0, maximum - state.openCount)
  }
}
