// vault_meta: facts about the store itself, and the values of the app about it, one row each. All SQL that
// names the table is in this file.

internal import CipherSQLite

/// The table `vault_meta` of one file.
package struct MetaTable {
  /// The name of the table in SQL.
  package static let name = "vault_meta"
  /// All columns of the table.
  static let columns: Set<String> = ["key", "value"]

  /// The rows that this release reads; the raw value is the row's key.
  enum Entry: String, CaseIterable {
    /// The version of the file's layout: a number that rises when the bookkeeping tables change.
    case format
    /// The number of the last applied step.
    case version
    /// A digest of the model's meaning.
    case modelHash
    /// The model as JSON.
    case modelJSON
    /// A digest of the tables.
    case physicalHash
    /// The lowest layout version that a program has to support to use the file.
    case minimumReader = "minReader"
    /// The number of changes of the tables. A program that has the file open detects by it that another
    /// program has migrated the store.
    case generation
    /// The release and the engine that made the file.
    case createdBy
    /// The identifier of the store.
    case storeID
    /// Digests of the applied steps and of the model after them: see ``StateDigest``.
    case storeState = "standing"
    /// The version of Unicode by which the indexes that ignore case or diacritics are sorted: see
    /// ``FoldedIndexes``.
    case foldVersion
    /// The copies that the store made of itself before steps: see ``KeptCopies``.
    case copies
    /// The last transaction that was purged from the history: see ``HistoryToken``.
    case historyStart

    /// The name of the row in error messages.
    var place: String { "\(MetaTable.name), row \(rawValue)," }
  }

  let connection: Connection

  /// Creates the table.
  func create() throws { try connection.execute("CREATE TABLE vault_meta (key TEXT PRIMARY KEY, value)") }

  /// Returns whether the file has the table. Every store has it, and no other file does.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// Returns the value of one entry, or nil when it has no row. Every transaction calls this. It is
  /// cheap, because the row is found by its key.
  func value(_ entry: Entry) throws -> SQLValue? {
    try connection.value(sql: Self.valueSQL, [.text(entry.rawValue)])
  }

  // A constant text: an interpolated `SQL` value would be built for each transaction.
  private static let valueSQL = "SELECT value FROM vault_meta WHERE key = ?"

  /// Returns all entries that this release reads. It scans the table, so that it works even if the table's
  /// index is damaged; the values of other rows are not read.
  func values() throws -> [Entry: SQLValue] {
    try values(of: Entry.allCases, where: "+key")
  }

  /// Returns the values of the given entries; entries without a row are omitted.
  func values(of entries: [Entry]) throws -> [Entry: SQLValue] { try values(of: entries, where: "key") }

  private func values(of entries: [Entry], where key: SQL) throws -> [Entry: SQLValue] {
    let keys = SQL.joined(entries.map { entry -> SQL in "\(entry.rawValue)" })
    var values: [Entry: SQLValue] = [:]
    for row in try connection.rows("SELECT key, value FROM vault_meta WHERE \(key) IN (\(keys))") {
      if let key = row.first?.string, let entry = Entry(rawValue: key) { values[entry] = row.last }
    }
    return values
  }

  /// Writes entries, and replaces the values that they had.
  func write(_ values: [(entry: Entry, value: SQLValue)]) throws {
    for (entry, value) in values {
      try connection.execute(
        "INSERT OR REPLACE INTO vault_meta (key, value) VALUES (?, ?)", [.text(entry.rawValue), value])
    }
  }

  /// Writes an entry if it has no row yet.
  func writeIfMissing(_ entry: Entry, _ value: SQLValue) throws {
    try connection.execute(
      "INSERT OR IGNORE INTO vault_meta (key, value) VALUES (?, ?)", [.text(entry.rawValue), value])
  }

  // MARK: Values of the app

  /// The start of the keys of the app's values. No key of ``Entry`` contains a period, and releases ignore
  /// keys that they do not know.
  private static let appPrefix = "app."

  /// Returns a value of the app, or nil when it has no row.
  func appValue(_ name: String) throws -> SQLValue? {
    try connection.value(sql: Self.valueSQL, [.text(Self.appPrefix + name)])
  }

  /// Writes a value of the app; NULL removes it.
  func setAppValue(_ name: String, to value: SQLValue) throws {
    let key = Self.appPrefix + name
    if value.isNull {
      try connection.execute("DELETE FROM vault_meta WHERE key = ?", [.text(key)])
    } else {
      try connection.execute(
        "INSERT OR REPLACE INTO vault_meta (key, value) VALUES (?, ?)", [.text(key), value])
    }
  }

  /// Returns the names of the app's values.
  func appNames() throws -> [String] {
    // The slash follows the period.
    try connection.rows("SELECT key FROM vault_meta WHERE key >= 'app.' AND key < 'app/'").compactMap {
      ($0.first?.string?.dropFirst(Self.appPrefix.count)).map(String.init)
    }
  }
}
