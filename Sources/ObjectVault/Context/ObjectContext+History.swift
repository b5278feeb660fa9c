// The history of a store: what saves record of it, and what a context reads of it.

internal import CipherSQLite

extension ObjectContext {
  // MARK: Recording

  /// Whether saves record their changes in the history. A migration step is recorded as a whole.
  var keepsHistory: Bool { core.mapping.hasHistory && !access.isMigrating }

  /// Returns the recorder of the transaction that the context writes; nil if none is kept.
  func recorder(on connection: Connection) throws -> TransactionRecorder? {
    guard keepsHistory else { return nil }
    return try written.history ?? core.recorder(connection)
  }

  /// Stores what was recorded. Called right before the commit.
  func endHistory(_ recorder: TransactionRecorder?, on connection: Connection) throws {
    guard var recorder else { return }
    try recorder.end(
      on: connection, author: author, name: transactionName, version: core.version)
  }

  /// Records what SQL has changed: as unknown changes of the entities.
  func recordSQL(_ changed: RowsChangedBySQL, in recorder: inout TransactionRecorder?) throws {
    var names = Set(changed.entities)
    // With a deleted row, the engine deletes its links.
    for (root, rows) in changed.rows where !rows.deleted.isEmpty {
      for relationship in root.branch.flatMap(\.relationships) where relationship.join != nil {
        names.formUnion([relationship.owner.root.name, relationship.destination.root.name])
      }
    }
    try recorder?.gaps(names, core.mapping)
  }

  // MARK: Reading

  /// Returns a part of the history of the store: what was committed. In ``Store/read(_:)`` that of its
  /// snapshot; in ``Store/write(_:)`` without the changes of this write.
  /// - Parameter request: Which part; the whole history by default.
  /// - Returns: The transactions.
  /// - Throws: As ``Store/history(_:)``.
  public func history(_ request: HistoryRequest = HistoryRequest()) throws -> [HistoryTransaction] {
    var found: [HistoryTransaction] = []
    guard request.rowID ?? 0 < 0 || core.mark.admits(request.mark) else {
      throw StoreError.idOfAnotherStore(entity: request.entity ?? "", rowID: request.rowID ?? 0)
    }
    try withHistory { reader in
      try reader.transactions(request, in: core.mapping.schema) {
        found.append($0)
        return true
      }
    }
    return found
  }

  /// The position after the last transaction of the store's history.
  /// - Throws: ``StoreError/noHistory(entity:)``, ``SQLError``.
  public func historyToken() throws -> HistoryToken { try withHistory { try $0.token } }

  private func withHistory<Result>(_ body: (HistoryReader) throws -> Result) throws -> Result {
    func read(_ connection: Connection) throws -> Result {
      guard let reader = try HistoryReader(connection) else { throw StoreError.noHistory(entity: nil) }
      return try body(reader)
    }
    // In a write, rows that are not committed would not fit the transactions, which are.
    if let committed = access.committed {
      return try committed.withReader { connection in
        try connection.transaction(.deferred) { try read(connection) }
      }
    }
    return try withConnection { connection in
      // One state for the names, the transactions and the rows.
      try access.connection == nil ? connection.savepoint { try read(connection) } : read(connection)
    }
  }

  /// Returns the attributes and to-ones that an object had after a transaction of the history.
  /// - Parameters:
  ///   - id: The object, which may be deleted meanwhile.
  ///   - token: The position after the transaction.
  /// - Returns: The values, under the present names of the properties; nil if the object did not exist.
  /// - Throws: As ``Store/values(of:at:)-(ObjectID<ManagedObject>,_)``.
  public func values(of id: ObjectID<some ManagedObject>, at token: HistoryToken) throws -> ChangeSet.Row? {
    try values(ofRow: core.mark.row(of: id), in: id.entityName, at: token)
  }

  /// Returns the attributes and to-ones that an object without a class had after a transaction of the
  /// history: see ``values(of:at:)-(ObjectID<ManagedObject>,_)``.
  public func values(of id: DynamicID, at token: HistoryToken) throws -> ChangeSet.Row? {
    guard core.mark.admits(id.store) else {
      throw StoreError.idOfAnotherStore(entity: id.entity, rowID: id.rowID)
    }
    return try values(ofRow: id.rowID, in: id.entity, at: token)
  }

  private func values(ofRow rowID: Int64, in name: String, at token: HistoryToken) throws -> ChangeSet.Row? {
    let entity = try core.mapping.known(name)
    guard entity.root.branch.contains(where: { $0.description.history != nil }) else {
      throw StoreError.noHistory(entity: entity.name)
    }
    return try withHistory { reader in
      let present = try UncommittedChanges.row(rowID, of: entity.root, on: reader.connection)
      let past = PastObject(entity.root, rowID: rowID, row: present)
      let row = try past.state(at: token, reader)
      // An id of a subentity names no object of another entity.
      return row.flatMap { row in entity.branch.contains { $0.name == row.entity } ? row : nil }
    }
  }
}
