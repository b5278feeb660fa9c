// The context of the main actor, for user interfaces.

internal import CipherSQLite

extension Store {
  /// A context for the user interface, created on first use: always the same one.
  ///
  /// What others commit appears in its objects: it has ``ObjectContext/automaticallyMergesChanges`` set.
  /// ``ObjectContext/objectsDidChange`` tells what has changed.
  /// Its calls block the main actor: fetch pages of some hundred objects, and do long work in
  /// ``write(_:)``. As with ``changes(bufferingUpTo:)``, each save of the store then records its changes.
  @MainActor public var mainContext: ObjectContext { main.context(of: self) }
}

/// Creates the context of the main actor, and merges commits into it.
@MainActor final class MainContext {
  private var context: ObjectContext?
  /// Wakes the task that merges.
  private let arrival = Bell()

  deinit { arrival.end() }

  nonisolated init() {}

  func context(of store: Store) -> ObjectContext {
    if let context { return context }
    let made = store.makeContext()
    context = made
    made.ownBell = arrival
    made.automaticallyMergesChanges = true
    made.notifiesObservers = true
    let arrival = arrival
    Task { @MainActor [weak self] in
      while self?.mergeArrived() == true { await arrival.wait() }
    }
    return made
  }

  /// - Returns: Whether there is a context.
  private func mergeArrived() -> Bool {
    context?.mergeArrived()
    return context != nil
  }
}
