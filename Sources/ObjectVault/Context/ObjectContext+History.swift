// The history of a store: what saves record of it, and what a context reads of it.

internal import CipherSQLite

extension ObjectContext {
  // MARK: Recording

  /// Returns the recorder of the transaction that the context writes; nil in a store without a history, and
  /// in a migration step, which is recorded as a whole.
  func recorder(on connection: Connection) throws -> TransactionRecorder? {
    guard core.mapping.hasHistory, !access.isMigrating else { return nil }
    return try written.history ?? core.recorder(connection)
  }

  /// Stores what was recorded. Called right before the commit.
  func endHistory(_ recorder: TransactionRecorder?, on connection: Connection) throws {
    guard var recorder else { return }
    try recorder.end(
      on: connection, author: author, name: transactionName, version: core.version)
  }

  // MARK: Reading

  /// Returns a part of the history of the store, in the state that fetches of this context read.
  /// - Parameter request: Which part; the whole history by default.
  /// - Returns: The transactions.
  /// - Throws: As ``Store/history(_:)``.
  public func history(_ request: HistoryRequest = HistoryRequest()) throws -> [HistoryTransaction] {
    var found: [HistoryTransaction] = []
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
    try withConnection { connection in
      // One state for the names and the transactions.
      func read() throws -> Result {
        guard let reader = try HistoryReader(connection) else { throw StoreError.noHistory(entity: nil) }
        return try body(reader)
      }
      return try access.connection == nil ? connection.savepoint(read) : read()
    }
  }

  /// Returns the attributes and to-ones that an object had after a transaction of the history.
  /// - Parameters:
  ///   - id: The object, which may be deleted meanwhile.
  ///   - token: The position after the transaction.
  /// - Returns: The values, under the present names of the properties; nil if the object did not exist.
  /// - Throws: As ``Store/values(of:at:)``.
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
    guard entity.branch.contains(where: { $0.description.history != nil }) else {
      throw StoreError.noHistory(entity: entity.name)
    }
    return try withHistory { reader in
      let present = try UncommittedChanges.row(rowID, of: entity.root, on: reader.connection)
      return try PastObject(entity.root, rowID, present).state(at: token, reader)
    }
  }
}
