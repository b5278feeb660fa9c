// The ids that rows get: from a high-water mark for each entity, which only ever rises, so that no id is given twice, and
// never beyond the highest one. Whatever gives ids out, or takes rows over with theirs, comes by here.

package import CipherSQLite

/// Gives out ids of new rows.
package struct RowIDs {
  /// The highest id of a row. Where ids of one entity come behind those of another, their sum is still a whole number.
  package static let highest = Int64.max >> 1

  private let marks: IdentifierTable
  private let reserved: ReservedIDs?

  /// - Parameter reserved: The ids that the open store has reserved; nil in a migration, whose saves reserve none.
  package init(connection: Connection, reserved: ReservedIDs? = nil) {
    marks = IdentifierTable(connection: connection)
    self.reserved = reserved
  }

  /// Ids that follow each other.
  package struct Run {
    /// The high-water mark in the file; nil when the entity has none yet.
    fileprivate let mark: Int64?
    package let first: Int64
    package let last: Int64
    /// The number of ids that are assigned with them: those that objects were told before the save are among them.
    fileprivate let count: Int64

    /// - Parameters:
    ///   - mark: The high-water mark in the file; nil when the entity has none yet.
    ///   - assigned: The highest id at or below the mark that was assigned; nil when all of them may have been.
    ///   - taken: Another id that is not free.
    ///   - count: The number of ids.
    ///   - entity: The entity of the table.
    /// - Throws: ``StoreError/idsExhausted(entity:)``.
    package init(after mark: Int64?, assigned: Int64? = nil, taken: Int64 = 0, count: Int, of entity: String) throws {
      self.mark = mark
      let before = assigned ?? mark ?? 0
      let last = max(before, taken)
      guard last <= RowIDs.highest - Int64(count) else { throw StoreError.idsExhausted(entity: entity) }
      first = last + 1
      self.last = last + Int64(count)
      self.count = self.last - before
    }
  }

  /// So many ids that were never given out. They are free until they are taken in the same transaction.
  /// - Parameter promised: The highest one that an object was told already.
  ///
  /// Rows that another program inserted may have ids above the mark: the ids begin after those, and with them the mark is right
  /// again.
  /// - Throws: ``StoreError/idsExhausted(entity:)``.
  func free(_ count: Int, of entity: EntityMapping, promised: Int64) throws -> Run {
    let root = entity.root
    let last = try marks.last(of: root.name, sql: root.lastIDsSQL)
    return try Run(
      after: last.mark, assigned: reserved?.assigned(root.name, mark: last.mark),
      taken: max(last.row ?? 0, promised), count: count, of: root.name)
  }

  /// Assigns free ids. Those that are reserved already write nothing.
  /// - Parameter isLast: Whether the commit follows. Only then more ids are reserved for later saves: a savepoint that is rolled
  ///   back would take a reservation along that this store believes to have.
  func take(_ ids: Run, of entity: String, isLast: Bool) throws {
    guard reserved?.use(entity, mark: ids.mark, upTo: ids.last) != true else { return }
    let mark = isLast ? reserved?.reserve(entity, assigned: ids.last, count: ids.count) : nil
    try marks.set(entity, to: mark ?? ids.last, isNew: ids.mark == nil)
  }

  /// Excludes ids up to `highest` from those that will be assigned.
  /// - Parameters:
  ///   - entity: The entity at the root of the table.
  ///   - highest: The highest id that is excluded.
  ///   - endsReservations: Whether the id comes from outside of the store. Another process may have reserved it and not assigned
  ///     it yet; each change of the mark ends that reservation. A migration needs none: no process saves after it without opening
  ///     the store again.
  /// - Throws: ``StoreError/idsExhausted(entity:)`` where no row may have that id.
  package func raise(_ entity: String, to highest: Int64, endsReservations: Bool = false) throws {
    guard highest <= Self.highest else { throw StoreError.idsExhausted(entity: entity) }
    let found = try marks.mark(of: entity)
    guard reserved?.use(entity, mark: found, upTo: highest) != true else { return }
    if let found, highest <= found {
      if endsReservations { try marks.set(entity, to: min(found, Self.highest - 1) + 1, isNew: false) }
    } else {
      try marks.set(entity, to: highest, isNew: found == nil)
    }
  }

  /// The entities that have a row with an id above their mark, which was never given out; a sentence each.
  package func findings(_ model: Schema) throws -> [String] {
    guard try marks.exists() else { return [] }
    return try model.roots.compactMap { entity in
      let last = try marks.last(of: entity.name)
      guard let row = last.row, row > last.mark ?? 0 else { return nil }
      return
        "\(entity.name) has a row with the id \(row), and the highest id that was given out is \(last.mark ?? 0) "
        + "(vault_ids): another program has inserted rows; the next save of a new \(entity.name) corrects that"
    }
  }

  /// Ids of rows that somebody else has written are not given out any more either.
  /// - Throws: ``StoreError/idsExhausted(entity:)`` where a row has one that none may have.
  func raiseToRows(of entity: String) throws {
    let highest = try marks.last(of: entity).row
    guard highest ?? 0 <= Self.highest else { throw StoreError.idsExhausted(entity: entity) }
    try marks.raiseToRows(of: entity)
  }
}

/// The versions of a row: each write of it gives the next.
enum RowVersions {
  /// That of a row which a save makes, or an operation of a step. SQLite has 0 and 1 in no byte of their own: a row that began
  /// with 1, as the column's default is, would become longer by its first change, and full pages would split.
  static let first: Int64 = 2
  /// The highest one that a row may come from outside with: there is room above it for all writes of its life.
  static let highest = Int64.max >> 1
  /// Behind a number that no row may have comes one that none has: the row was changed meanwhile, says the next save.
  static func next(_ version: Int64) -> Int64 { version &+ 1 }
  /// One that no row has had: of a row that comes back under its id.
  static func unheardOf() -> Int64 { .random(in: 1 << 40...highest - 1 << 40) }
}
