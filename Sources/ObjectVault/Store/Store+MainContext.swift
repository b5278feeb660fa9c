// The context of the main actor, for user interfaces.

internal import CipherSQLite

extension Store {
  /// A context for the user interface, created on first use: always the same one.
  ///
  /// What other contexts of this store commit appears in its objects, as by
  /// ``ObjectContext/mergeChanges(_:)``; commits of other processes do not (``ObjectContext/refreshAll()``).
  /// Its calls block the main actor: fetch pages of some hundred objects, and do long work in
  /// ``write(_:)``. As with ``changes(bufferingUpTo:)``, each save of the store then records its changes.
  @MainActor public var mainContext: ObjectContext { main.context(of: self) }
}

/// Creates the context of the main actor, and merges commits into it.
@MainActor final class MainContext {
  private var context: ObjectContext?

  nonisolated init() {}

  func context(of store: Store) -> ObjectContext {
    if let context { return context }
    let (made, changes) = (store.makeContext(), store.changes())
    context = made
    Task { @MainActor [weak self] in
      for await change in changes {
        guard let context = self?.context else { return }
        do { try context.mergeChanges(change) } catch { context.note(error) }
      }
    }
    return made
  }
}
