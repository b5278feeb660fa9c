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
    var waiters: [@Sendable () -> Void] = []
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
    await withCheckedContinuation { wait in enqueue { wait.resume() } }
  }

  /// A connection for callers that block. Never waits for another lease: a caller that holds one already, and
  /// waits for a second, would wait for itself; it gets a connection beyond the maximum instead.
  func acquireBlocking() throws -> Lease {
    while true {
      switch try attempt(allowsOverflow: true) {
      case .lease(let lease): return lease
      case .open(let generation): return try opened(generation)
      case .wait:
        let signal = DispatchSemaphore(value: 0)
        enqueue { signal.signal() }
        signal.wait()
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
      let signal = DispatchSemaphore(value: 0)
      enqueue(onlyWhileBarred: true) { signal.signal() }
      signal.wait()
    }
    do { return Lease(try open(), generation: 0, isExtra: true) } catch {
      state.withLock { $0.extraCount -= 1 }
      throw error
    }
  }

  func release(_ lease: Lease) {
    let next: (@Sendable () -> Void)? = state.withLock { state in
      if lease.isExtra {
        state.extraCount -= 1
      } else if lease.generation != state.generation || state.isClosed || state.openCount > maximum {
        state.openCount -= 1
      } else {
        state.idle.append(lease)
      }
      return state.waiters.isEmpty ? nil : state.waiters.removeFirst()
    }
    next?()
  }

  /// Keeps new leases back and waits until all are returned, then closes the connections.
  /// - Returns: `false` when some were still out after `seconds`; then nothing is kept back.
  func bar(seconds: Double) -> Bool {
    state.withLock { $0.isBarred = true }
    let deadline = DispatchTime.now() + seconds
    while true {
      let isDrained = state.withLock { $0.openCount == $0.idle.count && $0.extraCount == 0 }
      if isDrained { break }
      let signal = DispatchSemaphore(value: 0)
      enqueue(evenWhenFree: false) { signal.signal() }
      if signal.wait(timeout: min(deadline, .now() + 0.05)) == .timedOut, DispatchTime.now() >= deadline {
        unbar()
        return false
      }
    }
    closeIdle()
    return true
  }

  /// Lets leases go out again; they get fresh connections.
  func unbar() {
    let waiters = state.withLock { state in
      state.isBarred = false
      defer { state.waiters = [] }
      return state.waiters
    }
    for wake in waiters { wake() }
  }

  /// Closes what is idle now and, on return, what is still out. New leases get fresh connections.
  func closeIdle() {
    let closing = state.withLock { state in
      state.generation += 1
      state.openCount -= state.idle.count
      defer { state.idle = [] }
      return state.idle
    }
    for lease in closing { lease.connection.close() }
  }

  func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      defer { state.waiters = [] }
      return state.waiters
    }
    closeIdle()
    for wake in waiters { wake() }
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
      state.withLock { $0.openCount -= 1 }
      throw error
    }
  }

  private func enqueue(
    evenWhenFree: Bool = true, onlyWhileBarred: Bool = false, _ wake: @escaping @Sendable () -> Void
  ) {
    // A lease may have come back between the attempt and now: then nobody would wake this waiter.
    let isFree = state.withLock { state in
      let hasRoom = !state.idle.isEmpty || state.openCount < maximum || state.isClosed
      let isFree = !state.isBarred && (hasRoom || onlyWhileBarred)
      if !isFree || !evenWhenFree { state.waiters.append(wake) }
      return isFree && evenWhenFree
    }
    if isFree { wake() }
  }
}
