// Assignment of row ids. Each root entity has a high-water mark that only rises, so that no id is
// assigned twice. No id is above `RowIDs.highest`. All code that assigns ids, or imports rows with their
// ids, uses this type.

package import CipherSQLite

/// Assigns the ids of new rows.
package struct RowIDs {
  /// The highest id that a row may have. A merge of entities adds an offset to the ids of one entity; the
  /// sums still fit into 64 bits.
  package static let highest = Int64.max >> 1

  private let marks: IdentifierTable
  private let reserved: ReservedIDs?

  /// - Parameter reserved: The ids that the open store has reserved; nil in a migration, whose saves
  ///   reserve none.
  package init(connection: Connection, reserved: ReservedIDs? = nil) {
    marks = IdentifierTable(connection: connection)
    self.reserved = reserved
  }

  /// Consecutive ids.
  package struct Run {
    /// The high-water mark in the file; nil when the entity has none yet.
    fileprivate let mark: Int64?
    package let first: Int64
    package let last: Int64
    /// The number of ids that taking the run assigns, including those that unsaved objects already have.
    fileprivate let count: Int64

    /// - Parameters:
    ///   - mark: The high-water mark in the file; nil when the entity has none yet.
    ///   - assigned: The highest id at or below the mark that was assigned; nil when all ids up to the
    ///     mark may have been assigned.
    ///   - taken: The highest id that a row or an unsaved object already has.
    ///   - count: The number of ids.
    ///   - entity: The entity of the table.
    /// - Throws: ``StoreError/idsExhausted(entity:)``.
    package init(after mark: Int64?, assigned: Int64? = nil, taken: Int64 = 0, count: Int, of entity: String)
      throws
    {
      self.mark = mark
      let before = assigned ?? mark ?? 0
      let last = max(before, taken)
      guard last <= RowIDs.highest - Int64(count) else { throw StoreError.idsExhausted(entity: entity) }
      first = last + 1
      self.last = last + Int64(count)
      self.count = self.last - before
    }
  }

  /// Returns `count` ids that were never assigned.
  ///
  /// They are only assigned when ``take(_:of:isLast:)`` is called in the same transaction. Rows that
  /// another program inserted may have ids above the mark. The new ids then follow after the ids of these
  /// rows, and taking the new ids corrects the mark.
  /// - Parameter highestAssigned: The highest id that an unsaved object already has.
  /// - Throws: ``StoreError/idsExhausted(entity:)``.
  func free(_ count: Int, of entity: EntityMapping, highestAssigned: Int64) throws -> Run {
    let root = entity.root
    let last = try marks.last(of: root.name, sql: root.lastIDsSQL)
    return try Run(
      after: last.mark, assigned: reserved?.assigned(root.name, mark: last.mark),
      taken: max(last.row ?? 0, highestAssigned), count: count, of: root.name)
  }

  /// Assigns free ids. If all of them are already reserved, nothing is written.
  /// - Parameter isLast: Whether the commit follows. Only then are more ids reserved for later saves: if
  ///   a savepoint wrote a reservation and was rolled back, this store would use ids that the file does
  ///   not reserve.
  func take(_ ids: Run, of entity: String, isLast: Bool) throws {
    guard reserved?.use(entity, mark: ids.mark, upTo: ids.last) != true else { return }
    let mark = isLast ? reserved?.reserve(entity, assigned: ids.last, count: ids.count) : nil
    try marks.set(entity, to: mark ?? ids.last, isNew: ids.mark == nil)
  }

  /// Excludes ids up to `highest` from those that will be assigned.
  /// - Parameters:
  ///   - entity: The entity at the root of the table.
  ///   - highest: The highest id that is excluded.
  ///   - endsOtherReservations: Whether to end other processes' reservations, by changing the mark.
  ///     Needed for an id from outside of the store, which another process may have reserved. Not needed
  ///     in a migration, after which every process opens the store again.
  /// - Throws: ``StoreError/idsExhausted(entity:)`` where no row may have that id.
  package func raise(_ entity: String, to highest: Int64, endsOtherReservations: Bool = false) throws {
    guard highest <= Self.highest else { throw StoreError.idsExhausted(entity: entity) }
    let found = try marks.mark(of: entity)
    guard reserved?.use(entity, mark: found, upTo: highest) != true else { return }
    if let found, highest <= found {
      if endsOtherReservations { try marks.set(entity, to: min(found, Self.highest - 1) + 1, isNew: false) }
    } else {
      try marks.set(entity, to: highest, isNew: found == nil)
    }
  }

  /// Returns a sentence for each entity that has a row with an id above the mark, which was never
  /// assigned.
  package func findings(_ model: Schema) throws -> [String] {
    guard try marks.exists() else { return [] }
    return try model.roots.compactMap { entity in
      let last = try marks.last(of: entity.name)
      guard let row = last.row, row > last.mark ?? 0 else { return nil }
      return
        "\(entity.name) has a row with the id \(row), but no id above \(last.mark ?? 0) was issued (vault_ids): "
        + "another program has inserted rows; the next save of a new \(entity.name) corrects this"
    }
  }

  /// Raises the mark of an entity to the highest id of its rows, which may come from another program.
  /// - Throws: ``StoreError/idsExhausted(entity:)`` when a row has an id above ``highest``.
  func raiseToRows(of entity: String) throws {
    let highest = try marks.last(of: entity).row
    guard highest ?? 0 <= Self.highest else { throw StoreError.idsExhausted(entity: entity) }
    try marks.raiseToRows(of: entity)
  }
}

/// The versions of a row: each write increases the version.
enum RowVersions {
  /// The name of the column.
  static let column = "_version"
  /// The version of a row that a save or an operation of a step creates.
  ///
  /// SQLite stores 0 and 1 without a byte: a row with version 1, which is the column's default, would
  /// grow at its first update, and full pages would split.
  static let first: Int64 = 2
  /// The highest version that an imported row may have. The versions above it suffice for all later
  /// writes.
  static let highest = Int64.max >> 1
  /// Returns the version after this one. On overflow it wraps to a negative number. No row has that
  /// version, so the next save reports a conflict.
  static func next(_ version: Int64) -> Int64 { version &+ 1 }
  /// Returns a random version for a row that is inserted again under the id of a deleted row. The deleted
  /// row almost certainly never had this version.
  static func unusedVersion() -> Int64 { .random(in: 1 << 40...highest - 1 << 40) }
}
