// A position in the history of a store.

internal import CipherSQLite

/// A position in the history of a store: that after one transaction. Codable, for an app that stores how far
/// it has read.
///
/// A token is for one store and its copies. In a store that was restored from an older copy, a token of a
/// later transaction is refused: ``StoreError/historyDiffers(file:)``.
public struct HistoryToken: Sendable, Hashable, Codable {
  /// The number of the transaction, which increases with each commit, not always by 1; 0 before the first
  /// transaction.
  public let sequence: Int64
  /// When the transaction was committed, in seconds from 2001-01-01. It tells transactions of the same
  /// number apart.
  let time: Double
  /// The text of the store's ``Store/id``; nil for stores that have none.
  let store: String?
}

extension HistoryToken: Comparable {
  /// Whether a transaction of the same store was committed before another one.
  public static func < (left: HistoryToken, right: HistoryToken) -> Bool {
    (left.sequence, left.time, left.store ?? "") < (right.sequence, right.time, right.store ?? "")
  }
}

extension HistoryToken: CustomStringConvertible {
  /// The number of the transaction.
  public var description: String { "\(sequence)" }
}

/// The last transaction that was purged.
struct HistoryMark {
  let sequence: Int64
  let time: Double

  init(sequence: Int64, time: Double) { (self.sequence, self.time) = (sequence, time) }

  /// Reads the mark; nil if nothing was purged.
  /// - Throws: ``StoreError/bookkeepingDamaged(file:place:reason:)``.
  init?(in connection: Connection) throws {
    guard let value = try MetaTable(connection: connection).value(.historyStart) else { return nil }
    let words = value.string?.split(separator: " ").map(String.init) ?? []
    guard words.count == 2, let sequence = Int64(words[0]), let bits = UInt64(words[1]) else {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: MetaTable.Entry.historyStart.place, reason: "is no transaction")
    }
    self.init(sequence: sequence, time: Double(bitPattern: bits))
  }

  func write(_ connection: Connection) throws {
    try MetaTable(connection: connection).write([
      (.historyStart, .text("\(sequence) \(time.bitPattern)"))
    ])
  }
}
