// Ids that an open store has reserved in its file and not assigned yet. A save that takes its ids from the
// reservation need not write the page of high-water marks.

internal import CipherSQLite

/// The ids that one open store has reserved for its next saves, by the name of the entity at the root of
/// the table.
///
/// The high-water mark in the file is the upper end of a reservation. While the file has the mark that
/// this store wrote, no other open store has assigned ids since, because every store raises the mark
/// before it assigns ids that it has not reserved. A process that ends leaves a gap of at most
/// ``ReservedIDs/limit`` ids for each root entity.
package final class ReservedIDs: Sendable {
  /// The largest number of ids that are reserved beyond those that a save needs.
  package static let limit: Int64 = 64

  private struct Block {
    /// The highest id that was assigned.
    var assigned: Int64
    /// The mark that this store wrote to the file.
    let mark: Int64
  }

  private struct State {
    var blocks: [String: Block] = [:]
    /// Reservations of the open transaction. If it is rolled back, they are discarded when the next one
    /// begins.
    var uncommitted: [String: Block] = [:]
    /// The number of ids that were assigned since the store was opened, up to the limit. A save reserves
    /// as many ids as were assigned before it, so the first save reserves none, and a program that saves
    /// once leaves no gap.
    var counts: [String: Int64] = [:]

    mutating func count(_ ids: Int64, of entity: String) {
      counts[entity] = min(counts[entity, default: 0] + min(ids, ReservedIDs.limit), ReservedIDs.limit)
    }
  }

  private let state = Locked(State())

  package init() {}

  /// Returns the highest id that was assigned; nil when `mark`, the mark in the file, is not that of a
  /// reservation of this store.
  func assigned(_ entity: String, mark: Int64?) -> Int64? {
    state.withLock { state in
      guard let block = state.blocks[entity], block.mark == mark else { return nil }
      return block.assigned
    }
  }

  /// Assigns ids of the reservation. They stay assigned when the transaction is rolled back.
  /// - Returns: Whether all of the ids were reserved. If not, none are assigned, and the mark must be
  ///   raised.
  func use(_ entity: String, mark: Int64?, upTo last: Int64) -> Bool {
    state.withLock { state in
      guard let block = state.blocks[entity], block.mark == mark, last <= block.mark else { return false }
      state.count(max(last - block.assigned, 0), of: entity)
      state.blocks[entity]?.assigned = max(last, block.assigned)
      return true
    }
  }

  /// Reserves ids above those that a save assigns. The reservation is valid after ``commit()``.
  /// - Parameters:
  ///   - last: The highest id that this save assigns.
  ///   - count: The number of ids that this save assigns.
  /// - Returns: The mark to write.
  func reserve(_ entity: String, assigned last: Int64, count: Int64) -> Int64 {
    state.withLock { state in
      // The ids that are reserved beyond `last` end below ``RowIDs/highest``, so that another store can
      // always end the reservation by a higher mark.
      let mark = max(last, min(last + state.counts[entity, default: 0], RowIDs.highest - 1))
      state.count(count, of: entity)
      state.uncommitted[entity] = Block(assigned: last, mark: mark)
      return mark
    }
  }

  /// Begins a transaction, and discards the uncommitted reservations of an earlier one.
  func begin() { state.withLock { $0.uncommitted = [:] } }

  /// Makes the transaction's reservations valid. Called after the commit.
  func commit() {
    state.withLock { state in
      state.blocks.merge(state.uncommitted) { $1 }
      state.uncommitted = [:]
    }
  }
}
