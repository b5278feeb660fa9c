// Indexes that ignore case or diacritics depend on the release of Unicode that the system has: a new release
// may fold a character to another one. Such an index would then be in the wrong order, and would not find
// all rows.

internal import CipherSQLite

/// The indexes of a file that ignore case or diacritics, on a connection with the store's functions.
struct FoldedIndexes {
  let connection: Connection
  /// The release of Unicode that this process has: `Folding.version`.
  let release: () -> String

  /// Whether the file has such an index.
  func exist() throws -> Bool {
    try connection.value(
      "SELECT 1 FROM sqlite_master WHERE type = 'index' AND sql LIKE '%COLLATE vault!_fold!_%' ESCAPE '!' LIMIT 1"
    ) != nil
  }

  /// Whether another release of Unicode, or an unknown one, has sorted the indexes.
  func areForeign() throws -> Bool {
    guard try exist() else { return false }
    return try MetaTable(connection: connection).value(.foldVersion)?.string != release()
  }

  /// Sorts the indexes again if another release has sorted them. That takes about as long as to create them.
  /// - Parameter areNew: Whether this process has just made all of them, so that only the release is
  ///   recorded.
  func sort(areNew: Bool = false) throws {
    guard try areForeign() else { return }
    try connection.transaction {
      // Another process may have done it meanwhile.
      guard try areForeign() else { return }
      if !areNew {
        for collation in StringOptions.folding.compactMap(\.collation) {
          try connection.execute("REINDEX \(identifier: collation)")
        }
      }
      try MetaTable(connection: connection).write([(.foldVersion, .text(release()))])
    }
  }
}
