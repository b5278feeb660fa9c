// Deleting the oldest part of a store's history.

internal import CipherSQLite
public import Foundation

/// Which transactions ``Store/purgeHistory(_:)`` deletes: always the oldest ones.
public enum HistoryPurge: Sendable, Hashable {
  /// Deletes the transactions up to that of a token, with it.
  case through(HistoryToken)
  /// Deletes the oldest transactions, and stops at the first one at or after a date.
  case before(Date)
  /// Keeps this many transactions; a negative number deletes nothing.
  case keeping(transactions: Int)
  /// Keeps the newest transactions whose records take at most this many bytes; a negative number deletes
  /// nothing.
  case keepingBytes(Int)
  /// Deletes the whole history.
  case all
}

extension HistoryReader {
  /// Deletes the oldest transactions, in the caller's transaction.
  /// - Returns: The number of deleted transactions.
  package func purge(_ extent: HistoryPurge) throws -> Int {
    let table = TransactionTable(connection: connection)
    guard let last = try last(of: extent), let time = try table.time(of: last) else { return 0 }
    let count = try table.remove(through: last)
    try HistoryMark(sequence: last, time: time).write(connection)
    return count
  }

  /// Returns the number of transactions that a purge would delete.
  package func count(purging extent: HistoryPurge) throws -> Int {
    try last(of: extent).map(TransactionTable(connection: connection).count(through:)) ?? 0
  }

  /// Returns the last transaction that a purge deletes; nil for none.
  private func last(of extent: HistoryPurge) throws -> Int64? {
    let table = TransactionTable(connection: connection)
    let last: Int64? =
      switch extent {
      case .through(let token): try checked(token).sequence
      case .before(let date): try table.lastID(before: date.timeIntervalSinceReferenceDate)
      case .keeping(let count) where count < 0: nil
      case .keepingBytes(let bytes) where bytes < 0: nil
      case .keeping(let count): try table.lastID(keeping: count)
      case .keepingBytes(let bytes): try table.lastID(keepingBytes: bytes)
      case .all: try table.lastID(keeping: 0)
      }
    // Nothing is left of a token whose transaction was purged.
    return try last.flatMap { try table.time(of: $0) == nil ? nil : $0 }
  }
}
