// Rows of an asynchronous sequence on their way to a transaction: a task reads the sequence, and the thread
// that writes waits for the rows.

internal import CipherSQLite
private import Dispatch

/// Hands rows over from a task to a thread, in blocks of which one is on its way at a time.
///
/// The thread may block: it is the one that runs the writes of a store, and not one of the few threads that
/// all tasks share.
final class RowHandover<Row: Sendable>: Sendable {
  private enum End: Sendable {
    case finished
    case failed(any Error)
  }

  private struct State {
    var block: [Row]?
    /// How the rows end; nil as long as there may be more.
    var end: End?
    /// Whether the thread takes no more rows.
    var isClosed = false
    /// The task that waits until the thread has taken the block.
    var producer: CheckedContinuation<Void, Never>?
    /// The task that waits for the first block.
    var starter: CheckedContinuation<Void, Never>?
    var hasBegun: Bool { block != nil || end != nil }
  }

  private static var blockCount: Int { 64 }
  private let state = Locked(State())
  /// Signalled whenever the thread may find something new.
  private let news = DispatchSemaphore(value: 0)

  // MARK: The task

  /// Reads a sequence to its end, and hands its rows over.
  func feed<Rows: AsyncSequence>(_ rows: Rows) async where Rows.Element == Row {
    do {
      var block: [Row] = []
      for try await row in rows {
        block.append(row)
        guard block.count >= Self.blockCount else { continue }
        guard await put(block) else { return }
        block = []
      }
      if !block.isEmpty { guard await put(block) else { return } }
      // A sequence may end without an error because the task was cancelled; then rows are missing.
      try Task.checkCancellation()
      end(.finished)
    } catch { end(.failed(error)) }
  }

  /// Waits until there are rows, or it is known that there are none.
  func waitForFirst() async {
    await withCheckedContinuation { starter in
      let isReady = state.withLock { state in
        if !state.hasBegun { state.starter = starter }
        return state.hasBegun
      }
      if isReady { starter.resume() }
    }
  }

  /// Ends the rows with an error, also while the sequence does not return.
  func fail(_ error: any Error) { end(.failed(error)) }

  /// Hands a block over, and waits until it is taken.
  /// - Returns: Whether more rows are wanted.
  private func put(_ block: [Row]) async -> Bool {
    await withCheckedContinuation { producer in
      let (isOpen, starter) = state.withLock { state in
        let isOpen = !state.isClosed && state.end == nil
        if isOpen { (state.block, state.producer) = (block, producer) }
        return (isOpen, state.starter.take())
      }
      starter?.resume()
      news.signal()
      if !isOpen { producer.resume() }
    }
    return state.withLock { !$0.isClosed && $0.end == nil }
  }

  private func end(_ end: End) {
    let (producer, starter) = state.withLock { state in
      if state.end == nil { state.end = end }
      // After an error, no more rows are taken.
      if case .failed = state.end { state.block = nil }
      return (state.block == nil ? state.producer.take() : nil, state.starter.take())
    }
    producer?.resume()
    starter?.resume()
    news.signal()
  }

  // MARK: The thread

  /// Returns the next rows, and waits for them; nil after the last ones.
  /// - Throws: The error of the sequence; `CancellationError`.
  func take() throws -> [Row]? {
    while true {
      let (block, end, producer) = state.withLock { state in
        (state.block.take(), state.end, state.producer.take())
      }
      producer?.resume()
      if case .failed(let error) = end { throw error }
      if let block { return block }
      if end != nil { return nil }
      news.wait()
    }
  }

  /// Notes that no more rows are taken.
  func close() {
    let producer = state.withLock { state in
      (state.isClosed, state.block) = (true, nil)
      return state.producer.take()
    }
    producer?.resume()
  }
}
