// Listening to commits, and applying what was heard.

internal import CipherSQLite

extension Store {
  /// The commits of this store from now on, in their order, none left out.
  ///
  /// ```swift
  /// var seen = 0
  /// for await change in store.changes() {
  ///   switch change {
  ///   case .committed(let changes): seen += changes.count
  ///   case .missed: seen = 0  // Read anew.
  ///   }
  /// }
  /// ```
  ///
  /// What waits for a slow consumer is bounded; when it is too much, the consumer is told by
  /// ``StoreChange/missed(commits:)`` and goes on with what comes next. The sequence ends when the store is closed.
  /// Commits of other processes, and of other stores that are open on the same file, are not in it.
  ///
  /// While somebody listens, a save reads the rows that it deletes before it does, and costs memory in proportion to
  /// what it writes.
  /// - Parameter limit: How many changed objects and links may wait.
  public func changes(bufferingUpTo limit: Int = 100_000) -> StoreChanges {
    StoreChanges(ChangeQueue(core.feed, capacity: max(0, limit)))
  }

  /// Writes changes that another store, or this one, has committed: the same objects with the same ids, in one
  /// transaction. `apply(changes.inverse)` takes them back.
  ///
  /// Objects that contexts hold in memory are as they were; a save of one whose row was changed here ends in a conflict.
  /// The rules of classes for values, such as ranges, are not asked: they held when the changes were saved.
  /// - Throws: ``StoreError/changesDoNotFit(entity:rowID:properties:)`` when an object is not as the changes expect
  ///   it, or cannot become what they say: a value of another type than the property's, an object that is named twice,
  ///   an id above 2^62, a reference to what is not there, a unique value that another object has;
  ///   ``StoreError/unknownEntity(name:)``; ``SQLError``. Nothing is written then.
  public func apply(_ changes: ChangeSet) async throws {
    let core = core
    guard !changes.isEmpty else { return }
    try await pool.write { connection in
      try core.beginWriting(connection)
      try ChangeWriter(mapping: core.mapping, connection: connection, reservedIDs: core.reservedIDs)
        .apply(changes)
    } committed: {
      core.feed.publish(changes, store: core.id)
    }
  }
}
