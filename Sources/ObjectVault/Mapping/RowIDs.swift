// Assignment of row ids. Each root entity has a high-water mark that only rises, so that no id is
// assigned twice, up to a highest id. All code that assigns ids, or imports rows with their ids, uses
// this type.

package import CipherSQLite

/// Assigns the ids of new rows.
package struct RowIDs {
  /// The highest id that a row may have. When the ids of one entity are placed after those of another,
  /// the sums still fit into 64 bits.
  package static let highest = Int64.max >> 1

  private let marks: IdentifierTable

  package init(connection: Connection) { marks = IdentifierTable(connection: connection) }

  /// Consecutive ids.
  package struct Run {
    /// The high-water mark before this run.
    fileprivate let mark: Int64?
    package let first: Int64
    package let last: Int64

    /// Creates the run of `count` ids after the mark.
    /// - Parameter taken: An id above the mark that is in use as well.
    /// - Throws: ``StoreError/idsExhausted(entity:)``.
    package init(after mark: Int64?, taken: Int64 = 0, count: Int, of entity: String) throws {
      self.mark = mark
      let last = max(mark ?? 0, taken)
      guard last <= RowIDs.highest - Int64(count) else { throw StoreError.idsExhausted(entity: entity) }
      first = last + 1
      self.last = last + Int64(count)
    }
  }

  /// Returns `count` ids that were never assigned.
  ///
  /// They stay free until they are taken in the same transaction. Rows that another program inserted may
  /// have ids above the mark: the new ids follow after those, and taking them corrects the mark.
  /// - Parameter promised: The highest id that an unsaved object already has.
  /// - Throws: ``StoreError/idsExhausted(entity:)``.
  func free(_ count: Int, of entity: EntityMapping, promised: Int64) throws -> Run {
    let root = entity.root
    let last = try marks.last(of: root.name, sql: root.lastIDsSQL)
    return try Run(after: last.mark, taken: max(last.row ?? 0, promised), count: count, of: root.name)
  }

  /// Marks free ids as assigned.
  func take(_ ids: Run, of entity: String) throws {
    try marks.set(entity, to: ids.last, isNew: ids.mark == nil)
  }

  /// Raises the mark of an entity, so that ids up to `highest` are not assigned any more.
  /// - Throws: ``StoreError/idsExhausted(entity:)`` when no row may have that id.
  package func raise(_ entity: String, to highest: Int64) throws {
    guard highest <= Self.highest else { throw StoreError.idsExhausted(entity: entity) }
    let found = try marks.mark(of: entity)
    guard found ?? 0 < highest else { return }
    try marks.set(entity, to: highest, isNew: found == nil)
  }

  /// Returns a sentence for each entity that has a row with an id above the mark, which was never
  /// assigned.
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
  /// The version of a row that a save or an operation of a step creates.
  ///
  /// SQLite stores 0 and 1 without a byte: a row with version 1, which is the column's default, would
  /// grow at its first update, and full pages would split.
  static let first: Int64 = 2
  /// The highest version that an imported row may have. The versions above it suffice for all later
  /// writes.
  static let highest = Int64.max >> 1
  /// Returns the version after this one. It wraps on overflow: no row has that version, so the next save
  /// reports that the row was changed.
  static func next(_ version: Int64) -> Int64 { version &+ 1 }
  /// Returns a version that the row has never had, for a row that is inserted again under its former id.
  static func unheardOf() -> Int64 { .random(in: 1 << 40...highest - 1 << 40) }
}
