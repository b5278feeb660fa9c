// The state of an object at an earlier transaction: its later transactions are undone in memory.

internal import CipherSQLite

/// The state of an object while its transactions are undone in memory, from the last one.
struct PastObject {
  private let entity: EntityMapping
  private let rowID: Int64
  /// The values and the entity at the present place in time; nil while the object does not exist.
  private var row: ChangeSet.Row?
  /// The properties whose values have yet to be found in earlier transactions.
  private var unknown: Set<String> = []
  /// Whether a transaction of the object was found.
  private var isRecorded = false

  /// - Parameters:
  ///   - entity: The root entity.
  ///   - row: The object as it is now; nil if it does not exist.
  init(_ entity: EntityMapping, rowID: Int64, row: ChangeSet.Row?) {
    (self.entity, self.rowID, self.row) = (entity, rowID, row)
  }

  /// Returns the state after a transaction.
  /// - Throws: ``StoreError/stateUnknown(entity:rowID:reason:)`` if the history does not contain it; what a
  ///   reader throws.
  func state(at token: HistoryToken, _ reader: HistoryReader) throws -> ChangeSet.Row? {
    var past = self
    // Gaps are those of whole entities, which a request for an object finds, too.
    let names = Set(entity.branch.map(\.name))
    let object = TransactionDecoder.Filter(entities: names, gaps: names, rowID: rowID)
    try reader.transactions(HistoryRequest().since(token).newestFirst(), filter: object) { try past.undo($0) }
    try past.requireHistory()
    try past.requireLastRecord(HistoryRequest().through(token).newestFirst(), filter: object, reader)
    guard !past.unknown.isEmpty, past.row != nil else { return past.row }
    try reader.transactions(HistoryRequest().through(token).newestFirst(), filter: object) {
      try past.fill(from: $0)
    }
    guard past.unknown.isEmpty else {
      throw past.failure(
        "the values of \(past.unknown.sorted().joined(separator: ", ")) are older than the history")
    }
    return past.row
  }

  private func failure(_ reason: String) -> StoreError {
    .stateUnknown(entity: row?.entity ?? entity.name, rowID: rowID, reason: reason)
  }

  /// Checks that a transaction has recorded all its changes of the object.
  private func requireKnown(_ transaction: HistoryTransaction) throws {
    guard !transaction.changes.changedBySQL.isEmpty else { return }
    throw failure(
      "transaction \(transaction.token) changed \(transaction.changes.changedBySQL.joined(separator: ", ")) by "
        + (transaction.kind == .changes ? "SQL or as a stream of bytes" : "a migration step"))
  }

  /// Checks that the object is of an entity with a history: of a hierarchy, some entities may have none.
  private func requireHistory() throws {
    guard let row else {
      guard isRecorded || entity.branch.allSatisfy({ $0.description.history != nil }) else {
        throw failure("it may be of a subentity without a history")
      }
      return
    }
    guard entity.branch.first(where: { $0.name == row.entity })?.description.history != nil else {
      throw StoreError.noHistory(entity: row.entity)
    }
  }

  /// Checks that the object has the values that were recorded last.
  private func requireLastRecord(
    _ request: HistoryRequest, filter: TransactionDecoder.Filter, _ reader: HistoryReader
  ) throws {
    var left = row.map { Set(stored($0.entity)).subtracting(unknown) } ?? []
    try reader.transactions(request, filter: filter) { transaction in
      let changes = transaction.changes
      guard changes.changedBySQL.isEmpty else { return false }
      guard !changes.inserted.isEmpty || !changes.updated.isEmpty || !changes.deleted.isEmpty else {
        return true
      }
      guard let row else {
        guard changes.deleted.isEmpty else { return false }
        throw failure("it was deleted after transaction \(transaction.token) without a record")
      }
      guard changes.deleted.isEmpty else {
        throw failure(
          "\(row.entity) \(rowID) was inserted after transaction \(transaction.token) without a record")
      }
      let new = recorded(transaction)
      try require(new.filter { left.contains($0.key) }, after: transaction)
      left.subtract(new.keys)
      return changes.inserted.isEmpty && !left.isEmpty
    }
  }

  /// The values that a transaction has given the object, nil ones included.
  private func recorded(_ transaction: HistoryTransaction) -> ChangeSet.Values {
    if let update = transaction.changes.updated.first { return update.new }
    let values = transaction.changes.inserted.first?.values ?? [:]
    return transaction.recordedProperties.reduce(into: values) { all, name in
      if all[name] == nil { all[name] = .null }
    }
  }

  /// Checks that the object has the values that a transaction has given it. If not, something has changed it
  /// without a record: a trigger, or another program.
  private func require(_ values: ChangeSet.Values, after transaction: HistoryTransaction) throws {
    let names = Set(stored(row?.entity ?? entity.name))
    for (name, value) in values where names.contains(name) && !unknown.contains(name) {
      guard (row?.values[name] ?? .null).isStored(as: value) else {
        throw failure("\(name) was changed after transaction \(transaction.token) without a record")
      }
    }
  }

  private mutating func undo(_ transaction: HistoryTransaction) throws -> Bool {
    try requireKnown(transaction)
    let changes = transaction.changes
    isRecorded = isRecorded || !changes.isEmpty
    if let deleted = changes.deleted.first {
      guard row == nil else {
        throw failure("it exists, although transaction \(transaction.token) deleted it")
      }
      row = deleted
      // Without old values, not even nil is known.
      unknown = transaction.isReversible ? [] : Set(stored(deleted.entity)).subtracting(deleted.values.keys)
    }
    if let update = changes.updated.first {
      guard let present = row else {
        throw failure("it was deleted after transaction \(transaction.token) without a record")
      }
      try require(update.new, after: transaction)
      var values = present.values
      let names = Set(stored(present.entity))
      // What a later step removed is no part of the present model.
      for name in update.properties where names.contains(name) {
        if let old = update.old[name] {
          values[name] = old.isNull ? nil : old
          unknown.remove(name)
        } else {
          values[name] = nil
          unknown.insert(name)
        }
      }
      row = ChangeSet.Row(entity: present.entity, rowID: rowID, values: values)
    }
    if !changes.inserted.isEmpty {
      try require(recorded(transaction), after: transaction)
      (row, unknown) = (nil, [])
    }
    return true
  }

  private mutating func fill(from transaction: HistoryTransaction) throws -> Bool {
    try requireKnown(transaction)
    guard let present = row else { return false }
    var values = present.values
    let inserted = transaction.changes.inserted.first
    for new in [transaction.changes.updated.first?.new, inserted?.values] {
      for (name, value) in new ?? [:] where unknown.remove(name) != nil {
        values[name] = value.isNull ? nil : value
      }
    }
    if inserted != nil { unknown = [] }
    row = ChangeSet.Row(entity: present.entity, rowID: rowID, values: values)
    return !unknown.isEmpty
  }

  /// The properties that an entity stores.
  private func stored(_ name: String) -> [String] {
    let own = entity.branch.first { $0.name == name } ?? entity
    return own.storedSlots.map { own.slots[$0].name }
  }
}
