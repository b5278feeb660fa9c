// Reports what changes in the objects of a context, and merges the commits of others by itself.

internal import CipherSQLite

extension ObjectContext {
  /// What changes in the objects of this context from now on, for those who show them.
  ///
  /// ```swift
  /// func follow(_ context: ObjectContext) async {
  ///   for await change in context.objectsDidChange {
  ///     for (object, names) in change.updated {
  ///       assert(object.isUpdated || names.isEmpty == false)
  ///     }
  ///     if change.inserted.isEmpty == false { break }
  ///   }
  /// }
  /// ```
  ///
  /// An element has everything that has changed since the element before: what was set, inserted and deleted
  /// here, and what others have changed if ``automaticallyMergesChanges`` is set or after
  /// ``mergeChanges(_:)``. The loop runs in the actor or task that uses the context, and gets its element
  /// when the present work there ends or suspends: a method that sets ten properties is one element.
  ///
  /// Each access begins a new sequence. While one exists, each setter costs about as much as with an undo
  /// manager; the objects of an element that was not taken yet stay in memory. The sequence ends when the
  /// context is released or the task is cancelled.
  public var objectsDidChange: ContextChanges {
    let former = former
    let log = ContextChangeLog {
      guard let context = former.host as? ObjectContext else { return false }
      context.mergeArrived()
      return true
    }
    merging?.add(log.bell)
    changeLogs.append(WeakLog(log: log))
    observeOverlays()
    return ContextChanges(log)
  }

  /// Whether the commits of others appear in the objects of this context: of other contexts of the store, of
  /// other stores on the file and of other processes. Default `false`.
  ///
  /// ```swift
  /// context.automaticallyMergesChanges = true
  /// ```
  ///
  /// A context is used by one task at a time, so nothing changes its objects while your code runs: a fetch,
  /// a look-up by id and a save first merge what has arrived, as ``mergeChanges(_:)`` does, and so does a
  /// loop over ``objectsDidChange`` as soon as it arrives. ``Store/mainContext`` needs no loop. Pending
  /// changes stay, and their save meets the conflict as it would without the setting.
  ///
  /// After a commit of another process, which is noticed within a tenth of a second, all objects are read
  /// again when they are next needed. While such a context exists, each save of the store records its
  /// changes. Inside ``Store/read(_:)`` and ``Store/write(_:)`` the setting has no effect.
  public var automaticallyMergesChanges: Bool {
    get { merging != nil }
    set {
      guard newValue != (merging != nil), case .pooled = access else { return }
      merging = newValue ? AutomaticMerging(core.feed) : nil
      for log in changeLogs.compactMap(\.log) { merging?.add(log.bell) }
      if let ownBell { merging?.add(ownBell) }
    }
  }

  /// Merges the commits of others that have arrived.
  func mergeArrived() {
    guard let merging, merging.hasArrived, snapshot == nil, pinned == nil, hookRun == nil,
      byteWriting == nil
    else { return }
    notifyingObservers { for change in merging.takeArrived() { merge(change) } }
  }

  /// Lets setters tell of each write, or only of the first one to an object.
  func observeOverlays() {
    for object in insertedObjects + updatedObjects { object.overlay?.isObserved = recordsChanges }
  }

  /// Whether changes of objects are recorded: for an undo manager, for consumers of ``objectsDidChange``, or
  /// for observers.
  var recordsChanges: Bool { undoes != nil || !changeLogs.isEmpty || observers != nil }

  /// Calls `body` with each log that has a consumer.
  @inline(__always) func tellLogs(_ body: (ContextChangeLog) -> Void) {
    if !changeLogs.isEmpty { tell(body) }
  }

  @inline(never) private func tell(_ body: (ContextChangeLog) -> Void) {
    var isGone = false
    for weak in changeLogs {
      if let log = weak.log { body(log) } else { isGone = true }
    }
    if isGone { changeLogs.removeAll { $0.log == nil } }
  }

  /// Notes that a property of an object is about to change.
  func tellChange(of object: ManagedObject, _ slot: Int) {
    observers?.willChange(object, slot)
    tellLogs { log in
      if let entity = object.entity { log.didChange(object, entity.slots[slot].name) }
    }
  }

  func didLoseRow(of object: ManagedObject) {
    observers?.didChange(object)
    tellLogs { $0.didDelete(object) }
  }

  func didRefresh(_ object: ManagedObject) {
    observers?.didChange(object)
    tellLogs { $0.didRefresh(object) }
  }
}
