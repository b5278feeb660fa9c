// What is run for each link of a many-to-many.

internal import CipherSQLite

/// The statements that are run for links of a table, made once. A class, so that a table is copied cheaply.
final class LinkStatements: Sendable {
  let link: String
  /// The same where none is.
  let plainLink: String
  /// Many links, out of a feed of pairs.
  let feed: String
  let unlink: String
  let isLinked: String

  init(_ table: SQLName, _ source: SQLName, _ target: SQLName) {
    link = ("INSERT OR IGNORE INTO \(table) (\(source), \(target)) VALUES (?, ?)" as SQL).text
    plainLink = ("INSERT INTO \(table) (\(source), \(target)) VALUES (?, ?)" as SQL).text
    let pairs = SQLName(RowFeed.tableName(columnCount: 2))
    feed = ("INSERT OR IGNORE INTO \(table) (\(source), \(target)) SELECT * FROM \(pairs)" as SQL).text
    unlink = ("DELETE FROM \(table) WHERE \(source) = ? AND \(target) = ?" as SQL).text
    isLinked = ("SELECT 1 FROM \(table) WHERE \(source) = ? AND \(target) = ?" as SQL).text
  }
}
