// The history of a store: reading it, undoing its transactions, purging it.

internal import CipherSQLite

extension Store {
  // MARK: Reading

  /// Returns the transactions of the store's history after a token, the oldest first.
  ///
  /// ```swift
  /// let seen = try await store.historyToken()
  /// // Later, perhaps in another launch of the app:
  /// let new = try await store.history(since: seen)
  /// let titles = new.compactMap(\.name)
  /// ```
  ///
  /// The history is in the file: it has the commits of all processes and of all stores that were opened with
  /// the file. See <doc:history>. All transactions are in memory at once; use a
  /// ``HistoryRequest/limit(_:)`` for a long history.
  /// - Parameter token: The position; nil for the beginning of what is kept.
  /// - Returns: The transactions with changes of entities that have a history, and the migration steps.
  /// - Throws: As ``history(_:)``.
  public func history(since token: HistoryToken?) async throws -> [HistoryTransaction] {
    try await history(HistoryRequest().since(token))
  }

  /// Returns a part of the store's history.
  /// - Parameter request: Which part; the whole history by default.
  /// - Returns: The transactions.
  /// - Throws: ``StoreError/noHistory(entity:)``; ``StoreError/historyPurged(file:through:)`` and
  ///   ``StoreError/historyDiffers(file:)`` for tokens that no longer have a place in the history;
  ///   ``StoreError/noEntity(name:similar:)``, ``StoreError/noProperty(entity:property:similar:)``;
  ///   ``StoreError/bookkeepingDamaged(file:place:reason:)``, ``SQLError``.
  public func history(_ request: HistoryRequest = HistoryRequest()) async throws -> [HistoryTransaction] {
    try await read { try $0.history(request) }
  }

  /// The position after the last transaction of the history: where a reader begins that has read all
  /// objects.
  /// - Throws: ``StoreError/noHistory(entity:)``, ``SQLError``.
  public func historyToken() async throws -> HistoryToken { try await read { try $0.historyToken() } }

  /// Returns the last transaction that changed a property of an object: who changed it, and when.
  ///
  /// ```swift
  /// let last = try await store.lastChange(of: user.id, property: "city")
  /// let who = last?.author ?? "unknown"
  /// ```
  ///
  /// Reads the transactions from the newest one back to the one that it returns. For a property that never
  /// changed, this is the whole history.
  /// - Parameters:
  ///   - id: The object.
  ///   - property: The name of an attribute or a relationship; nil for any change of the object.
  /// - Returns: The transaction; nil if the history has none.
  /// - Throws: As ``history(_:)``.
  public func lastChange(
    of id: ObjectID<some ManagedObject>, property: String? = nil
  ) async throws -> HistoryTransaction? {
    try await history(HistoryRequest().of(id).lastChange(property)).first
  }

  /// Returns the last transaction that changed an object without a class, or the object of a
  /// ``MergeConflict``: who is the other side of a conflict.
  /// - Parameters:
  ///   - id: The object, such as ``MergeConflict/id``.
  ///   - property: The name of an attribute or a relationship; nil for any change of the object.
  /// - Returns: The transaction; nil if the history has none.
  /// - Throws: As ``history(_:)``.
  public func lastChange(of id: DynamicID, property: String? = nil) async throws -> HistoryTransaction? {
    try await history(HistoryRequest().of(id).lastChange(property)).first
  }

  /// Returns the attributes and to-ones that an object had after a transaction of the history.
  ///
  /// Reads the transactions from the newest one back to the last one that changed the object before `token`;
  /// for an object without such a transaction, the whole history.
  /// - Parameters:
  ///   - id: The object, which may be deleted meanwhile.
  ///   - token: The position after the transaction.
  /// - Returns: The values, under the present names of the properties; nil if the object did not exist.
  ///   A property that a later step added has the value that the step gave it.
  /// - Throws: ``StoreError/stateUnknown(entity:rowID:reason:)`` if SQL or a migration step changed objects
  ///   of the entity since then, or if the history does not go back far enough; otherwise as
  ///   ``history(_:)``.
  public func values(
    of id: ObjectID<some ManagedObject>, at token: HistoryToken
  ) async throws -> ChangeSet.Row? {
    try await read { try $0.values(of: id, at: token) }
  }

  /// Returns the attributes and to-ones that an object without a class had after a transaction of the
  /// history: see ``values(of:at:)-(ObjectID<ManagedObject>,_)``.
  public func values(of id: DynamicID, at token: HistoryToken) async throws -> ChangeSet.Row? {
    try await read { try $0.values(of: id, at: token) }
  }

  // MARK: Undo

  /// Undoes a transaction of the history, or the part of it that a ``HistoryRequest`` has found, also in
  /// another launch of the app. The undo is a transaction of the history, too.
  ///
  /// Later changes of other objects and properties stay. Only entities with a history are undone: what a
  /// delete rule deleted or released in others is not.
  /// - Parameters:
  ///   - transaction: The transaction.
  ///   - author: The author of the undo.
  /// - Throws: ``StoreError/notReversible(transaction:reason:)`` if the history does not have the old values;
  ///   ``StoreError/changesDoNotFit(entity:rowID:properties:)`` with an object that was changed again since
  ///   then, or that refers to one which is gone; ``StoreError/historyDiffers(file:)`` for a transaction of
  ///   another store; otherwise as ``apply(_:)``. Nothing is written then.
  public func undo(_ transaction: HistoryTransaction, author: String? = nil) async throws {
    if let reason = transaction.obstacle {
      throw StoreError.notReversible(transaction: transaction.token.sequence, reason: reason)
    }
    var inverse = transaction.changes.inverse
    (inverse.author, inverse.name) = (author, transaction.name.map { "Undo \($0)" } ?? "Undo")
    let token = transaction.token
    if let missing = inverse.complete(part: transaction.part, for: core.mapping) {
      throw StoreError.notReversible(
        transaction: token.sequence,
        reason: "\(missing) is required now, and has no default")
    }
    try await apply(inverse) { connection in
      guard let reader = try HistoryReader(connection) else { throw StoreError.noHistory(entity: nil) }
      try reader.requireOwn(token)
    }
  }

  // MARK: Purging

  /// Deletes the oldest transactions of the history.
  ///
  /// ```swift
  /// try await store.purgeHistory(.before(.now - 90 * 86_400))
  /// ```
  ///
  /// A reader whose token is older gets ``StoreError/historyPurged(file:through:)``. The file keeps its
  /// size, and uses the space again; ``vacuum(progress:)`` makes it smaller.
  /// - Parameter extent: What is deleted, or what stays.
  /// - Returns: The number of deleted transactions.
  /// - Throws: ``StoreError/noHistory(entity:)``, ``StoreError/historyDiffers(file:)``; ``SQLError``.
  @discardableResult
  public func purgeHistory(_ extent: HistoryPurge) async throws -> Int {
    let core = core
    return try await pool.write { connection in
      try core.beginWriting(connection)
      guard let reader = try HistoryReader(connection) else { throw StoreError.noHistory(entity: nil) }
      return try reader.purge(extent)
    } committed: {
      core.reservedIDs.commit()
    }
  }
}

extension ChangeSet {
  /// Adapts the inverse of a transaction, or of a part of one, to the present model and to what else it has.
  /// - Returns: The property of an object that would be inserted without a required value; nil for none.
  fileprivate mutating func complete(
    part: HistoryTransaction.Part, for mapping: SchemaMapping
  ) -> String? {
    // Attributes that later steps have added get their defaults.
    for index in inserted.indices {
      guard let entity = mapping.entity(named: inserted[index].entity) else { continue }
      var values = inserted[index].values
      for slot in entity.storedSlots where entity.isRequired[slot] && values[entity.slots[slot].name] == nil {
        let name = entity.slots[slot].name
        guard let value = entity.slots[slot].attribute?.defaultValue?.sqlValue else {
          return "\(entity.name).\(name)"
        }
        values[name] = value
      }
      inserted[index] = Row(entity: entity.name, rowID: inserted[index].rowID, values: values)
    }
    guard part != .whole, !placed.isEmpty else { return nil }
    // In a part, a member that stays keeps its place, although the transaction has given it.
    let changed = Dictionary(
      grouping: deleted.map { ($0.entity, $0.rowID) } + updated.map { ($0.entity, $0.rowID) }, by: \.0
    ).mapValues { Set($0.map(\.1)) }
    let linked = Set(unlinked.flatMap { [$0.source, $0.target] })
    let names = ChangeNames(mapping: mapping)
    placed.removeAll { placement in
      guard placement.new == nil, let relationship = try? names.relationship(of: placement) else {
        return false
      }
      let leaves =
        linked.contains(placement.member)
        || relationship.destination.branch.contains { changed[$0.name]?.contains(placement.member) == true }
      return !leaves
    }
    return nil
  }
}
