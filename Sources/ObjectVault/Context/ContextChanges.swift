// What changes in the objects of a context, as an asynchronous sequence for those who show them.

internal import CipherSQLite

/// What has changed in a context since the element before: see ``ObjectContext/objectsDidChange``.
public struct ContextChange {
  /// The objects that were inserted, in their order.
  public internal(set) var inserted: [ManagedObject] = []
  /// The objects of which properties were set in this context, and the names of these properties. A
  /// relationship is listed at both ends.
  public internal(set) var updated: [ManagedObject: Set<String>] = [:]
  /// The objects that were deleted here, those that the delete rules of a save deleted, and those that are
  /// known to be deleted elsewhere.
  public internal(set) var deleted: [ManagedObject] = []
  /// The objects whose values or members are read again, because others have changed them, or because of a
  /// refresh or a rollback.
  public internal(set) var refreshed: Set<ManagedObject> = []

  /// Whether nothing has changed.
  public var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty
  }
}

/// The changes in the objects of a context, as an asynchronous sequence: see
/// ``ObjectContext/objectsDidChange``.
///
/// A sequence is for one consumer, in the actor or task that uses the context.
public struct ContextChanges: AsyncSequence {
  private let log: ContextChangeLog

  init(_ log: ContextChangeLog) { self.log = log }

  /// The iterator of ``ContextChanges``.
  public struct Iterator: AsyncIteratorProtocol {
    let log: ContextChangeLog

    /// Waits for the next change.
    /// - Parameter actor: The actor that uses the context.
    /// - Returns: What has changed; nil when the context is released or the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> ContextChange? {
      while !Task.isCancelled, log.update() {
        if let change = log.take() { return change }
        await log.bell.wait()
      }
      return nil
    }
  }

  /// Returns an iterator.
  public func makeAsyncIterator() -> Iterator { Iterator(log: log) }
}

/// The changes of a context that a consumer has not received yet.
final class ContextChangeLog {
  // Safe: the context sets it to nil in its deinit. A log is used where its context is used.
  @safe unowned(unsafe) var context: ObjectContext?
  let bell: Bell
  private var change = ContextChange()
  private var isInserted: Set<ManagedObject> = []
  private var isDeleted: Set<ManagedObject> = []

  init(of context: ObjectContext, bell: Bell) { (self.context, self.bell) = (context, bell) }

  deinit { bell.end() }

  /// Merges what others have committed. The context is not retained afterwards, while its consumer waits.
  /// - Returns: Whether the context still exists.
  func update() -> Bool {
    context?.mergeArrived()
    return context != nil
  }

  /// Takes what has changed; nil if nothing has.
  func take() -> ContextChange? {
    guard !change.isEmpty else { return nil }
    var taken = change
    (change, isInserted, isDeleted) = (ContextChange(), [], [])
    for object in taken.deleted { taken.updated[object] = nil }
    taken.refreshed.subtract(taken.deleted)
    taken.refreshed.subtract(taken.updated.keys)
    // What was inserted and is gone has never been seen.
    taken.inserted.removeAll { $0.state == .invalid }
    return taken.isEmpty ? nil : taken
  }

  func didInsert(_ object: ManagedObject) {
    if isInserted.insert(object).inserted { change.inserted.append(object) }
    bell.ring()
  }

  func didChange(_ object: ManagedObject, _ property: String) {
    guard !isInserted.contains(object) else { return }
    change.updated[object, default: []].insert(property)
    bell.ring()
  }

  func didDelete(_ object: ManagedObject) {
    guard !isInserted.contains(object), isDeleted.insert(object).inserted else { return }
    change.deleted.append(object)
    bell.ring()
  }

  func didRefresh(_ object: ManagedObject) {
    guard !isInserted.contains(object) else { return }
    change.refreshed.insert(object)
    bell.ring()
  }
}

/// Wakes a task that waits: rung once or several times before, it wakes at once.
final class Bell: Sendable {
  private struct State {
    var isRung = false
    var isEnded = false
    var waiting: CheckedContinuation<Void, Never>?
  }
  private let state = Locked(State())

  func ring() { wake { $0.isRung = true } }
  func end() { wake { $0.isEnded = true } }

  private func wake(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      defer { state.waiting = nil }
      if state.waiting != nil { state.isRung = false }
      return state.waiting
    }
    waiting?.resume()
  }

  /// Waits until the bell is rung, has ended, or the task is cancelled.
  func wait(isolation actor: isolated (any Actor)? = #isolation) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.isRung || state.isEnded || Task.isCancelled || state.waiting != nil {
            state.isRung = false
            return true
          }
          state.waiting = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      ring()
    }
  }
}
