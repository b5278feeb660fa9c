// The statements for single links of a many-to-many.

internal import CipherSQLite

/// The statements for the links of one table, made once for each table.
final class LinkStatements: Sendable {
  /// Adds a link; an existing link stays.
  let link: String
  /// Adds a link that does not exist yet, without a conflict clause.
  let plainLink: String
  /// Adds the links of a feed of pairs; existing links stay.
  let feed: String
  /// Removes a link.
  let unlink: String
  /// Finds a link: one row, or none.
  let isLinked: String

  init(_ table: SQLName, source: SQLName, target: SQLName) {
    link = ("INSERT OR IGNORE INTO \(table) (\(source), \(target)) VALUES (?, ?)" as SQL).text
    plainLink = ("INSERT INTO \(table) (\(source), \(target)) VALUES (?, ?)" as SQL).text
    let pairs = SQLName(RowFeed.tableName(columnCount: 2))
    feed = ("INSERT OR IGNORE INTO \(table) (\(source), \(target)) SELECT * FROM \(pairs)" as SQL).text
    unlink = ("DELETE FROM \(table) WHERE \(source) = ? AND \(target) = ?" as SQL).text
    isLinked = ("SELECT 1 FROM \(table) WHERE \(source) = ? AND \(target) = ?" as SQL).text
  }
}
