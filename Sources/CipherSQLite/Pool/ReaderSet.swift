// The pool's readers: each is leased to one caller at a time, and opened when first needed.

private import Dispatch

/// Leases reading connections. One lock guards all state; connections are opened without holding it.
final class ReaderSet: Sendable {
  // Safe to share: only the holder of the lease uses the connection.
  /// A connection that is leased to one caller at a time.
  final class Lease: @unchecked Sendable {
    let connection: Connection
    fileprivate let generation: Int
    /// Whether it does not count towards the maximum, because it is used for long.
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
    /// In the order of their arrival.
    var waiters: [Waiter] = []
  }

  /// An event that a waiter waits for.
  private enum Event {
    /// A lease is available: one is idle, or fewer than the maximum are open.
    case freeLease
    /// Leases are not barred any more, whether one is free or not: for callers that may exceed the
    /// maximum.
    case barEnded
    /// No lease is in use any more: for the caller that barred new ones.
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
  /// The writes that a new reader must see; they are committed before.
  private let group: WriteGroup

  init(
    maximum: Int, path: String, after group: WriteGroup, open: @escaping @Sendable () throws -> Connection
  ) {
    self.maximum = max(1, maximum)
    self.path = path
    self.group = group
    self.open = open
  }

  /// Returns a connection, preferably the one that was used last, as its cache is the warmest; nil when
  /// none is free.
  func acquireIfFree() throws -> Lease? {
    group.commitForReader()
    return try acquireForRunningRead()
  }

  /// Returns a connection as ``acquireIfFree()`` does, for a part of a read that has begun: it needs no newer
  /// state.
  func acquireForRunningRead() throws -> Lease? {
    switch try attempt(allowsOverflow: false) {
    case .lease(let lease): lease
    case .open(let generation): try opened(generation)
    case .wait: nil
    }
  }

  /// Waits, without blocking a thread, until a connection may be free. A woken caller has to try again,
  /// even if its task was cancelled meanwhile: no other waiter is woken for the same connection.
  func waitForFree() async {
    await withCheckedContinuation { wait in wake(at: .freeLease) { wait.resume() } }
  }

  /// Returns a connection for callers that block. Never waits for another lease: a caller that already
  /// has one and waits for a second would wait for itself; it gets a connection beyond the maximum
  /// instead.
  func acquireBlocking() throws -> Lease {
    group.commitForReader()
    while true {
      switch try attempt(allowsOverflow: true) {
      case .lease(let lease): return lease
      case .open(let generation): return try opened(generation)
      case .wait: block(until: .barEnded)
      }
    }
  }

  /// Returns a connection beyond the maximum: a lease that is used for long must not keep others waiting.
  /// Blocks while leases are barred.
  func acquireExtra() throws -> Lease {
    group.commitForReader()
    while true {
      let isBarred = try state.withLock { state in
        if state.isClosed { throw SQLError.closed(file: path) }
        if !state.isBarred { state.extraCount += 1 }
        return state.isBarred
      }
      guard isBarred else { break }
      block(until: .barEnded)
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

  /// Bars new leases and waits until all are returned, then closes the connections.
  /// - Returns: `false` when some were still in use after `seconds`; then leases are not barred any more.
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

  /// Permits new leases again; they get new connections.
  func unbar() { change { $0.isBarred = false } }

  /// Closes the idle connections now, and the others when they are returned. New leases get new
  /// connections.
  private func closeIdle() {
    let closing = state.withLock { state in
      state.generation += 1
      state.openCount -= state.idle.count
      defer { state.idle = [] }
      return state.idle
    }
    for lease in closing { lease.connection.close() }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

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
      // Another caller may be waiting for the lease that this one reserved.
      change { $0.openCount -= 1 }
      throw error
    }
  }

  // MARK: Waiting

  /// Calls `body` once an event has happened, at once if it already has. A woken caller checks again:
  /// another one may have been faster.
  private func wake(at event: Event, _ body: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      // Under the same lock as the check: a change in between would not wake this waiter.
      let isNow = has(event, happenedIn: state)
      if !isNow { state.waiters.append(Waiter(event: event, wake: body)) }
      return isNow
    }
    if isNow { body() }
  }

  /// Blocks the thread until an event has happened.
  /// - Returns: `false` when it had not happened at the deadline.
  @discardableResult
  private func block(until event: Event, _ deadline: DispatchTime = .distantFuture) -> Bool {
    let signal = DispatchSemaphore(value: 0)
    wake(at: event) { signal.signal() }
    return signal.wait(timeout: deadline) == .success
  }

  /// Changes the state and wakes the waiters whose event happened; for `freeLease`, one waiter for each
  /// lease that became free.
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
    // A waiter on a closed pool is woken; its next attempt throws the error.
    case .freeLease: state.isClosed || freeLeases(in: state) > 0
    case .barEnded: state.isClosed || !state.isBarred
    case .allReturned: state.openCount == state.idle.count && state.extraCount == 0
    }
  }

  private func freeLeases(in state: State) -> Int {
    state.isBarred ? 0 : state.idle.count + max(0, maximum - state.openCount)
  }
}
