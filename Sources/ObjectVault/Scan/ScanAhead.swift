// The part of a large scan that a second thread reads: rows, packed in pages, of which the thread of the context makes
// objects. Who comes first has the part: nobody waits for a thread to begin. Who lent the connection waits for its end.

internal import CipherSQLite
private import Dispatch
private import Foundation

/// One part of a scan, read ahead of its use.
final class ScanAhead: Sendable {
  // Safe to hand over, and unchecked for the pointers into the page. The bytes of its rows are written before it is handed over,
  // under the lock that who takes it holds, too; no thread that reads ahead writes to them again. It may well go on packing in
  // the same page, where rows lie too far apart for one batch: behind these rows, where none of them has a byte. Who takes a
  // row is the one task that has its object, and alone reads and writes that row from then on (RowPage). The page is
  // counted atomically.
  /// Rows that lie in one page, each told by its distance from the first: many of them wait at once, and half of what they
  /// take would else be ids and versions that hardly differ.
  @safe struct Batch: @unchecked Sendable {
    private let first: Row
    private var steps: [Step] = []
    let page: RowPage
    var count: Int { steps.count }

    private struct Step {
      let id: UInt32
      let version: Int32
      let cells: UInt32
    }

    init(_ first: Row, in page: RowPage, capacity: Int) {
      self.first = first
      self.page = page
      steps.reserveCapacity(capacity)
      steps.append(Step(id: 0, version: 0, cells: 0))
    }

    /// Takes in one more row of the page.
    /// - Returns: False if it lies too far from the first: then it begins a batch of its own.
    @inline(__always) mutating func append(_ row: Row) -> Bool {
      guard let id = UInt32(exactly: row.id &- first.id),
        let version = Int32(exactly: row.version &- first.version),
        let cells = unsafe UInt32(exactly: row.cells - first.cells)
      else { return false }
      steps.append(Step(id: id, version: version, cells: cells))
      return true
    }

    /// A row, whose cells are there as long as ``page``: who keeps it keeps the page with it, as an object does.
    @inline(__always) subscript(_ index: Int) -> Row {
      let step = steps[index]
      // The first row plus what `append` subtracted it from: whatever wrapped there wraps back.
      return unsafe Row(
        id: first.id &+ Int64(step.id), version: first.version &+ Int64(step.version),
        cells: first.cells + Int(step.cells))
    }
  }

  /// A row in a page, which it does not keep: see ``Batch/page``.
  @safe struct Row {
    let id: Int64
    let version: Int64
    // Valid as long as the page is, which the packer has until the row is in a batch, and the batch has then.
    let cells: UnsafeRawPointer
  }

  /// What comes next.
  enum Event {
    /// Rows, from the last batch to the first: so that each can go as soon as it was used.
    case batches([Batch])
    case end
    /// Nobody has read anything of this part, and nobody will: who wants it reads it.
    case undone
  }

  /// Nobody wants the rest any more.
  private struct Unwanted: Error {}

  // Safe to share: the thread alone reads on it, from its beginning to its end, for which ``finish()`` waits.
  private struct Lent: @unchecked Sendable { let connection: Connection }

  private enum Progress {
    case waiting
    /// The thread has the connection, and looks whether it stands on the right state of the file.
    case starting
    case running
    case undone
    case ended((any Error)?)
  }

  private struct State {
    var progress = Progress.waiting
    /// Nil as soon as it is free: a thread that comes too late must not keep a file open that was closed meanwhile.
    var lent: Lent?
    /// Those that nobody has taken yet.
    var batches: [Batch] = []
    var isUnwanted = false
    var isAwaited = false
    /// Whether the thread has the connection.
    var isUsing = false
  }

  private let state: Locked<State>
  private let news = DispatchSemaphore(value: 0)

  /// Lets another thread begin. ``finish()`` has to be called before anybody else uses the connection.
  /// - Parameters:
  ///   - connection: What it reads on.
  ///   - read: Calls its second argument before it reads the first row, and hands batches to the third one. Both throw when
  ///     nobody wants them.
  init(
    on connection: Connection,
    _ read:
      @escaping @Sendable (Connection, _ begin: () throws -> Void, @escaping (Batch) throws -> Void) throws ->
      Void
  ) {
    state = Locked(State(lent: Lent(connection: connection)))
    // A thread of its own: those that tasks share may all be at work for longer than the scan takes.
    OwnThread.start { [self] in
      guard let result = run(read) else { return }
      change { state in
        state.isUsing = false
        state.lent = nil
        if case .running = state.progress {
          state.progress = if case .failure(let error) = result { .ended(error) } else { .ended(nil) }
        } else {
          // Who reads it himself says what is wrong.
          state.progress = .undone
        }
      }
    }
  }

  /// Waits for what comes next, if somebody has begun.
  /// - Throws: What ended the reading.
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
        // Under the lock: afterwards the connection may be somebody else's.
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

  /// Reads on the connection, and has forgotten it at the end.
  /// - Returns: Nil when nobody wants it any more.
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
