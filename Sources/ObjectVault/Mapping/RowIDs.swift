// The ids that rows get: from a high-water mark for each entity, which only ever rises, so that no id is given twice.

internal import CipherSQLite

/// Gives out ids of new rows.
struct RowIDs {
  private let marks: IdentifierTable

  init(connection: Connection) { marks = IdentifierTable(connection: connection) }

  /// Reserves so many ids that follow each other.
  /// - Returns: The first of them.
  /// - Throws: ``StoreError/idsExhausted(entity:)``.
  func reserve(_ count: Int, of entity: String) throws -> Int64 {
    let found = try marks.mark(of: entity)
    let last = found ?? 0
    guard last < Int64.max - Int64(count) else { throw StoreError.idsExhausted(entity: entity) }
    try marks.set(entity, to: last + Int64(count), isNew: found == nil)
    return last + 1
  }

  /// Ids up to `highest` are not given out any more.
  func raise(_ entity: String, to highest: Int64) throws {
    let found = try marks.mark(of: entity)
    guard found ?? 0 < highest else { return }
    try marks.set(entity, to: highest, isNew: found == nil)
  }

  /// Ids of rows that somebody else has written are not given out any more either.
  func raiseToRows(of entity: String) throws { try marks.raiseToRows(of: entity) }
}

/// The versions of a row: each write of it gives the next.
enum RowVersions {
  static let first: Int64 = 1
  static func next(_ version: Int64) -> Int64 { version + 1 }
  /// One that no row has had: of a row that comes back under its id.
  static func unheardOf() -> Int64 { .random(in: 1 << 40..<1 << 62) }
}
