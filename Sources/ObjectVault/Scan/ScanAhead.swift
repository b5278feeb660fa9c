// Reads a part of a large scan on a second thread, which hands over batches of what it reads: packed rows
// or values. If the second thread has not begun to read when the context's thread needs the
// part, the context's thread does not wait, but reads the part itself. ``finish()`` waits until the
// second thread no longer uses the connection.

internal import CipherSQLite
private import Dispatch
private import Foundation

/// A part of a scan that is read ahead of its use.
final class ScanAhead<Batch: Sendable>: Sendable {
  /// The result of waiting.
  enum Event {
    /// Batches from the last one to the first, so that each can be released as soon as it was used.
    case batches([Batch])
    case end
    /// Nothing of this part was read, and the thread will not read it: the caller has to.
    case undone
  }

  /// The rest of the part is not wanted any more.
  private struct Unwanted: Error {}

  // Safe to share: only the thread uses the connection while it reads, and ``finish()`` waits for its
  // end.
  private struct Lent: @unchecked Sendable { let connection: Connection }

  private enum Progress {
    case waiting
    /// The thread has the connection, and checks that it sees the right state of the file.
    case starting
    case running
    case undone
    case ended((any Error)?)
  }

  private struct State {
    var progress = Progress.waiting
    /// nil as soon as the connection is free: a thread that begins too late must not keep a closed file
    /// open.
    var lent: Lent?
    /// The batches that were not taken yet.
    var batches: [Batch] = []
    var isUnwanted = false
    var isAwaited = false
    /// Whether the thread has the connection.
    var isUsing = false
  }

  private let state: Locked<State>
  private let news = DispatchSemaphore(value: 0)

  /// Starts another thread. ``finish()`` has to be called before the connection is used elsewhere.
  /// - Parameters:
  ///   - connection: The connection that the thread reads on.
  ///   - read: Reads the part. It calls its second argument before the first row, and passes batches to
  ///     the third one. Both throw when the rows are not wanted.
  init(
    on connection: Connection,
    _ read:
      @escaping @Sendable (Connection, _ begin: () throws -> Void, @escaping (Batch) throws -> Void) throws ->
      Void
  ) {
    state = Locked(State(lent: Lent(connection: connection)))
    // A separate thread: the threads of the task pool may all be busy for longer than the scan takes.
    DedicatedThread.start { [self] in
      guard let result = run(read) else { return }
      change { state in
        state.isUsing = false
        state.lent = nil
        if case .running = state.progress {
          state.progress = if case .failure(let error) = result { .ended(error) } else { .ended(nil) }
        } else {
          // The caller reads the part itself, and gets the error again.
          state.progress = .undone
        }
      }
    }
  }

  /// Waits for the next event, if the thread has begun to read.
  /// - Throws: The error that ended the reading.
  func next() throws -> Event {
    while true {
      let event = state.withLock { state -> Result<Event?, any Error> in
        if !state.batches.isEmpty {
          defer { state.batches = [] }
          return .success(.batches(state.batches.reversed()))
        }
        switch state.progress {
        case .ended(let error?): return .failure(error)
        case .ended(nil): return .success(.end)
        case .waiting, .starting, .undone:
          state.progress = .undone
          return .success(.undone)
        case .running:
          state.isAwaited = true
          return .success(nil)
        }
      }
      if let event = try event.get() { return event }
      news.wait()
    }
  }

  /// Ends the reading, and waits until the connection is free.
  func finish() {
    while true {
      let isUsing = state.withLock { state in
        state.isUnwanted = true
        state.isAwaited = state.isUsing
        // Under the lock, because the connection may be in use elsewhere as soon as the thread has ended.
        if state.isUsing {
          state.lent?.connection.interruptor.interrupt()
        } else {
          state.progress = .undone
          state.lent = nil
        }
        return state.isUsing
      }
      guard isUsing else { return }
      news.wait()
    }
  }

  /// Reads on the connection. On return, `lent` is out of scope, so that the thread no longer retains the
  /// connection.
  /// - Returns: The result; nil when the part is not wanted any more.
  private func run(_ read: (Connection, () throws -> Void, @escaping (Batch) throws -> Void) throws -> Void)
    -> Result<Void, any Error>?
  {
    start().map { lent in Result { try read(lent.connection, begin, hand) } }
  }

  private func start() -> Lent? {
    state.withLock { state in
      guard case .waiting = state.progress, let lent = state.lent else { return nil }
      state.progress = .starting
      state.isUsing = true
      return lent
    }
  }

  private func begin() throws {
    try state.withLock { state in
      guard case .starting = state.progress, !state.isUnwanted else { throw Unwanted() }
      state.progress = .running
    }
  }

  private func hand(_ batch: Batch) throws {
    let isUnwanted = change { state in
      state.batches.append(batch)
      return state.isUnwanted
    }
    if isUnwanted { throw Unwanted() }
  }

  private func change<Value>(_ body: (inout State) -> Value) -> Value {
    let (value, isAwaited) = state.withLock { state in
      defer { state.isAwaited = false }
      return (body(&state), state.isAwaited)
    }
    if isAwaited { news.signal() }
    return value
  }
}
