// Reads the history of a store from a connection: needs no classes.

package import CipherSQLite
internal import Foundation

/// The history of one file.
package struct HistoryReader {
  let connection: Connection
  private let table: TransactionTable
  private let names: [Int64: (entity: String, property: String?)]
  private let store: String?
  /// The last transaction that was purged.
  private let mark: HistoryMark?

  /// Opens the history of a file; nil if it has none.
  /// - Throws: ``StoreError/bookkeepingDamaged(file:place:reason:)``, ``SQLError``.
  package init?(_ connection: Connection) throws {
    self.connection = connection
    table = TransactionTable(connection: connection)
    guard try table.exists(), let names = try RecordedNames(connection) else { return nil }
    self.names = names.byNumber
    store = try MetaTable(connection: connection).value(.storeID)?.string
    mark = try HistoryMark(in: connection)
  }

  /// The number of the last transaction that was purged; nil if none was.
  package var purged: Int64? { mark?.sequence }

  /// The position after the last transaction.
  package var token: HistoryToken {
    get throws {
      var last: HistoryToken?
      try table.heads(.init(newestFirst: true)) { head, _ in
        last = token(head)
        return false
      }
      return last ?? HistoryToken(sequence: mark?.sequence ?? 0, time: mark?.time ?? 0, store: store)
    }
  }

  private func token(_ head: TransactionTable.Head) -> HistoryToken {
    HistoryToken(sequence: head.id, time: head.time, store: store)
  }

  /// Returns the token of the transaction with a number.
  /// - Throws: ``StoreError/historyPurged(file:through:)``, ``StoreError/historyDiffers(file:)``.
  package func token(_ sequence: Int64) throws -> HistoryToken {
    // The beginning of what is kept.
    if sequence == 0 {
      return HistoryToken(sequence: mark?.sequence ?? 0, time: mark?.time ?? 0, store: store)
    }
    try requireKept(sequence)
    guard let time = try time(of: sequence) else {
      throw StoreError.historyDiffers(file: connection.path)
    }
    return HistoryToken(sequence: sequence, time: time, store: store)
  }

  private func time(of sequence: Int64) throws -> Double? {
    sequence == mark?.sequence ? mark?.time : try table.time(of: sequence)
  }

  private func requireKept(_ sequence: Int64) throws {
    if let mark, sequence < mark.sequence {
      throw StoreError.historyPurged(file: connection.path, through: mark.sequence)
    }
  }

  /// Returns a token, after checking that it is one of this history.
  func checked(_ token: HistoryToken) throws -> HistoryToken {
    try check(token)
    return token
  }

  /// Checks that a transaction is one of this history, or was one before it was purged.
  func requireOwn(_ token: HistoryToken) throws {
    guard let mark, token.store == store, token.sequence < mark.sequence else { return try check(token) }
  }

  private func check(_ token: HistoryToken) throws {
    guard token.store == store else { throw StoreError.historyDiffers(file: connection.path) }
    try requireKept(token.sequence)
    if token.sequence == 0, token.time == 0 { return }
    guard try time(of: token.sequence) == token.time else {
      throw StoreError.historyDiffers(file: connection.path)
    }
  }

  /// Calls `body` with each transaction that a request asks for, until it returns `false`.
  /// - Parameter model: The present model, for the names in the request.
  package func transactions(
    _ request: HistoryRequest, in model: Schema, _ body: (HistoryTransaction) throws -> Bool
  ) throws {
    try transactions(request, filter: request.filter(in: model), body)
  }

  /// Calls `body` with each transaction that a request asks for, until it returns `false`.
  /// - Parameter filter: The changes that the request asks for.
  func transactions(
    _ request: HistoryRequest, filter: TransactionDecoder.Filter,
    _ body: (HistoryTransaction) throws -> Bool
  ) throws {
    for token in [request.after, request.through] { if let token { try check(token) } }
    var selection = TransactionTable.Selection(
      author: request.author, from: request.start?.timeIntervalSinceReferenceDate,
      before: request.end?.timeIntervalSinceReferenceDate, newestFirst: request.isNewestFirst)
    if let token = request.after { selection.after = token.sequence }
    if let token = request.through { selection.through = token.sequence }
    var left = request.maximum ?? Int.max
    guard left > 0 else { return }
    try table.heads(selection) { head, bytes in
      let transaction = try self.transaction(head, body: bytes(), filter)
      // Steps are a part of the history of everything.
      guard head.kind == 0 ? !transaction.changes.isEmpty || !filter.isPart : !request.skipsSteps else {
        return true
      }
      left -= 1
      return try body(transaction) && left > 0
    }
  }

  private func transaction(
    _ head: TransactionTable.Head, body bytes: [UInt8], _ filter: TransactionDecoder.Filter
  ) throws -> HistoryTransaction {
    var decoder = TransactionDecoder(names, filter)
    do {
      guard head.isValid else { throw ByteReader.Malformed() }
      try decoder.read(bytes)
    } catch {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: "\(TransactionTable.name), row \(head.id),", reason: "cannot be read")
    }
    var changes = decoder.changes
    (changes.author, changes.name) = (head.author, head.name)
    let kind: HistoryTransaction.Kind =
      switch head.kind {
      case 1: .step(Int(clamping: head.version))
      case 2: .rollback(Int(clamping: head.version) + 1)
      default: .changes
      }
    let part: HistoryTransaction.Part =
      filter.property.map { .property($0) } ?? (filter.isPart ? .objects : .whole)
    let isWholeObjects = filter.property == nil || changes.inserted.isEmpty && changes.deleted.isEmpty
    return HistoryTransaction(
      token: token(head), date: Date(timeIntervalSinceReferenceDate: head.time), author: head.author,
      name: head.name, kind: kind, modelVersion: Int(clamping: head.version), changes: changes,
      isReversible: decoder.isReversible && head.kind == 0 && changes.removedName == nil && isWholeObjects,
      part: part, recordedProperties: decoder.recordedProperties)
  }

  /// Returns the faults of the history, one sentence each.
  func findings() throws -> [String] {
    var findings: [String] = []
    try table.heads(.init()) { head, bytes in
      do { _ = try transaction(head, body: bytes(), .init()) } catch let error as StoreError {
        findings.append("\(error)")
      }
      return findings.count < 8
    }
    return findings
  }
}
