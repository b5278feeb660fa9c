// Notifies observers, such as views, of what changes in the objects of a context.

public import Observation

extension ObjectContext {
  /// Whether those who observe the objects of this context learn of changes: views of SwiftUI,
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
  /// Observed are the attributes and relationships that were read, by class or by name, and ``hasChanges`` of
  /// the context and `hasChanges`, `isInserted`, `isUpdated` and `isDeleted` of its objects; not the ids, and
  /// not objects before their insertion. The setter of an attribute notifies before it writes, as other
  /// observable classes do. The setter of a relationship, a fetch, a save, a rollback, and what is merged
  /// from others notify when they have ended. A deletion can also notify those who have read to-manys of the
  /// object's class. Results of fetches are not observed: for these there is
  /// ``Store/observe(_:interval:values:)``.
  ///
  /// Each object that is read then takes 100 to 300 bytes more, and several hundred while it is tracked; a
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

  func noteRead(of object: ManagedObject, _ slot: Int) { object.registerRead(slot) }
  func noteReadOfMembers(in table: Int) { observers?.noteReadOfMembers(in: table) }

  /// Runs `body`, and notifies observers afterwards of what it has changed.
  @inline(__always) func notifyingObservers<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let observers else { return try body() }
    return try observers.holding(body)
  }

  /// Notifies observers of what has changed, unless a call that changes more is not finished.
  @inline(__always) func deliverToObservers() { observers?.deliver() }
}

/// A view learns of ``hasChanges`` if ``notifiesObservers`` is set.
extension ObjectContext: Observable {}
