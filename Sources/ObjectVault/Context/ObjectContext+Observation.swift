// Notifies observers, such as views, of what changes in the objects of a context.

public import Observation

extension ObjectContext {
  /// Whether observers of this context and its objects are notified of changes: views of SwiftUI,
  /// `withObservationTracking`, the sequence `Observations`. Default `false`; set in ``Store/mainContext``,
  /// and in a scratch context of a context that has it set.
  ///
  /// ```swift
  /// context.notifiesObservers = true
  /// withObservationTracking {
  ///   _ = (user.name, user.statuses.count)
  /// } onChange: {
  ///   // The name or the statuses change: read them again in a task.
  /// }
  /// ```
  ///
  /// Observed are the attributes and relationships that were read, by class or by name, ``hasChanges`` of the
  /// context, and `hasChanges`, `isInserted`, `isUpdated` and `isDeleted` of its objects. Not observed are
  /// ids, objects before their insertion, and results of fetches (``Store/observe(_:interval:values:)``).
  ///
  /// The setter of an attribute notifies before it writes, as other observable classes do. Every other call
  /// notifies when its changes are complete: the setter of a relationship, a save, a rollback, a merge. A
  /// fetch notifies after each of its queries. A deletion also notifies observers of to-manys of the object's
  /// class, although the object may not have been a member. The release of the context notifies no observer.
  ///
  /// Each object that is read then takes 100 to 300 bytes more, and several hundred while it is observed; a
  /// read takes some tens of nanoseconds more, and a setter about as long as with an undo manager. Without it
  /// a read tests one bit. Switching it off notifies the observers of the context, and not those of objects.
  public var notifiesObservers: Bool {
    get { observers != nil }
    set {
      guard newValue != (observers != nil) else { return }
      observers?.end()
      observers = newValue ? ContextObservers { [unowned self] in hasUnsavedChanges } : nil
      deletions.observers = observers
      maps.isTracked = newValue
      observeOverlays()
    }
  }

  func noteRead(of object: ManagedObject, _ slot: Int) {
    if observers != nil { object.registerRead(slot) }
  }
  func noteReadOfMembers(in table: Int) { observers?.noteReadOfMembers(in: table) }

  /// Runs `body`, and notifies observers afterwards of what it has changed.
  @inline(__always) func notifyingObservers<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let observers else { return try body() }
    return try observers.holding(body)
  }

  /// Notifies observers of what has changed, unless a call that changes more is not finished.
  @inline(__always) func notifyObservers() { observers?.notify() }
}

/// Observers of ``hasChanges`` are notified if ``notifiesObservers`` is set.
extension ObjectContext: Observable {}
