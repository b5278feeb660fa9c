// What changes in the objects of a context, as an asynchronous sequence for those who show them.

internal import CipherSQLite

/// What has changed in a context since the element before: see ``ObjectContext/objectsDidChange``.
public struct ContextChange {
  /// The objects that were inserted, in their order.
  public internal(set) var inserted: [ManagedObject] = []
  /// The objects of which properties were set in this context, and the names of these properties. A
  /// relationship is listed at both ends.
  public internal(set) var updated: [ManagedObject: Set<String>] = [:]
  /// The objects that were deleted here, those that the delete rules of a save deleted, those that are known
  /// to be deleted elsewhere, and those that ``ObjectContext/reset()`` has removed from the context. After a
  /// commit of another process, a deletion is known when the object is read again: until then it is among
  /// ``refreshed``.
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
  let bell = Bell()
  /// Merges what others have committed, and returns whether the context still exists. It does not retain the
  /// context.
  let update: () -> Bool
  private var change = ContextChange()
  private var isInserted: Set<ManagedObject> = []
  private var isDeleted: Set<ManagedObject> = []

  init(updating update: @escaping () -> Bool) { self.update = update }

  deinit { bell.end() }

  /// Takes what has changed; nil if nothing has.
  func take() -> ContextChange? {
    guard !change.isEmpty else { return nil }
    var taken = change
    (change, isInserted, isDeleted) = (ContextChange(), [], [])
    func isGone(_ object: ManagedObject) -> Bool { object.state == .deleted || object.state == .invalid }
    // A deletion that was taken back is a refresh, and what was inserted and is gone was never seen.
    taken.refreshed.formUnion(taken.deleted.filter { !isGone($0) })
    taken.deleted.removeAll { !isGone($0) }
    taken.inserted.removeAll { isGone($0) || taken.refreshed.contains($0) }
    for object in taken.deleted { taken.updated[object] = nil }
    taken.refreshed.subtract(taken.deleted)
    taken.refreshed.subtract(taken.updated.keys)
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

/// A reference that does not keep a log alive: its consumer does.
struct WeakLog { weak var log: ContextChangeLog? }
