// The ids that rows get: from a high-water mark for each entity, which only ever rises, so that no id is given twice.

internal import CipherSQLite

/// Gives out ids of new rows.
struct RowIDs {
  let connection: Connection

  /// The highest id that was given out; nil when the entity has no mark yet.
  private func mark(of entity: String) throws -> Int64? {
    try connection.value("SELECT last FROM vault_ids WHERE entity = ?", [.text(entity)])?.int64
  }

  /// Reserves so many ids that follow each other.
  /// - Returns: The first of them.
  /// - Throws: ``StoreError/idsExhausted(entity:)``.
  func reserve(_ count: Int, of entity: String) throws -> Int64 {
    let found = try mark(of: entity)
    let last = found ?? 0
    guard last < Int64.max - Int64(count) else { throw StoreError.idsExhausted(entity: entity) }
    try set(entity, from: found, to: last + Int64(count))
    return last + 1
  }

  /// Ids up to `highest` are not given out any more.
  func raise(_ entity: String, to highest: Int64) throws {
    let found = try mark(of: entity)
    guard found ?? 0 < highest else { return }
    try set(entity, from: found, to: highest)
  }

  /// Ids of rows that somebody else has written are not given out any more either.
  func raiseToRows(of entity: String) throws {
    try connection.execute(
      """
      INSERT OR REPLACE INTO vault_ids (entity, last)
      SELECT \(entity), max(ifnull((SELECT last FROM vault_ids WHERE entity = \(entity)), 0),
        ifnull((SELECT max("id") FROM \(identifier: entity)), 0))
      """)
  }

  /// Of one row, which OR FAIL changes or leaves as ABORT would. What may have to be undone alone, as REPLACE and ABORT,
  /// makes the engine copy each page that the statement changes; SQLCipher 3 keeps those copies in memory until the
  /// savepoint beneath all flushes ends.
  private func set(_ entity: String, from found: Int64?, to last: Int64) throws {
    try connection.execute(
      found == nil
        ? "INSERT INTO vault_ids (last, entity) VALUES (?, ?)"
        : "UPDATE OR FAIL vault_ids SET last = ? WHERE entity = ?",
      [.integer(last), .text(entity)])
  }
}

/// The versions of a row: each write of it gives the next.
enum RowVersions {
  static let first: Int64 = 1
  static func next(_ version: Int64) -> Int64 { version + 1 }
  /// One that no row has had: of a row that comes back under its id.
  static func unheardOf() -> Int64 { .random(in: 1 << 40..<1 << 62) }
}
