// Observing commits, and applying change sets.

internal import CipherSQLite

extension Store {
  /// The commits of this store from now on, in their order. Omitted commits are reported.
  ///
  /// ```swift
  /// var seen = 0
  /// for await change in store.changes() {
  ///   switch change {
  ///   case .committed(let changes): seen += changes.count
  ///   case .missed, .changedElsewhere: seen = 0  // Read anew.
  ///   }
  /// }
  /// ```
  ///
  /// The number of changes that wait for a slow consumer is limited. If there are too many, the consumer
  /// gets ``StoreChange/missed(commits:)`` and continues with the next commit. Commits of other processes,
  /// and of other stores on the file, are ``StoreChange/changedElsewhere``. The sequence ends when the store
  /// is closed.
  ///
  /// While there is a consumer, a save reads the rows that it will delete, and needs memory in proportion
  /// to what it writes.
  /// - Parameter limit: How many changes may wait: changed objects, links, and places of members in
  ///   ordered relationships (``ChangeSet/count``).
  /// - Returns: A sequence for one consumer.
  public func changes(bufferingUpTo limit: Int = 100_000) -> StoreChanges {
    StoreChanges(ChangeQueue(core.feed, capacity: max(0, limit)))
  }

  /// Writes changes that this store or another one has committed: the same objects with the same ids, in
  /// one transaction. `apply(changes.inverse)` reverses them.
  ///
  /// Objects that contexts have in memory do not change; saving one whose row was changed here throws a
  /// conflict. The validation rules of classes, such as ranges, are not checked: they were met when the
  /// changes were saved.
  /// - Parameter changes: The changes to write.
  /// - Throws: ``StoreError/changesDoNotFit(entity:rowID:properties:)`` if an object differs from what
  ///   the changes expect, or cannot become what they state: a value of another type than the property's,
  ///   an object that occurs twice, a new object with an id below 1 or above 2^62 - 1, a reference to a
  ///   missing row, a unique value that another object has; ``StoreError/unknownEntity(name:)``;
  ///   ``StoreError/changesNotRecorded(entities:)`` if SQL has made a part of the changes;
  ///   ``StoreError/validation(_:)`` if a trigger skips the change of a row with RAISE(IGNORE), or if a
  ///   trigger or constraint that is not part of the model refuses a link;
  ///   ``StoreError/storeMigratedElsewhere(file:)``; ``SQLError``, also if such a trigger or constraint
  ///   refuses a row. Nothing is written then.
  public func apply(_ changes: ChangeSet) async throws { try await apply(changes) { _ in } }

  /// Writes changes, after a check in the transaction.
  func apply(_ changes: ChangeSet, checking check: @escaping @Sendable (Connection) throws -> Void)
    async throws
  {
    let core = core
    guard changes.changedBySQL.isEmpty else {
      throw StoreError.changesNotRecorded(entities: changes.changedBySQL)
    }
    guard !changes.isEmpty else { return }
    try await pool.write { connection in
      try core.beginWriting(connection)
      try check(connection)
      try ChangeWriter(mapping: core.mapping, connection: connection, reservedIDs: core.reservedIDs)
        .apply(changes)
      var history = try core.recorder(connection)
      try history?.record(changes, core.mapping, on: connection)
      try history?.end(
        on: connection, author: changes.author, name: changes.name, version: core.version)
    } committed: {
      core.feed.publish(changes, store: core.id)
    }
  }
}
