// vault_meta: what a store says of itself, a row for each thing. Nobody else writes SQL with its name.

internal import CipherSQLite

/// The table `vault_meta` of one file.
package struct MetaTable {
  /// How SQL calls it.
  package static let name = "vault_meta"
  /// The columns that it has, no others.
  static let columns: Set<String> = ["key", "value"]

  /// What its rows are about; the raw value is the row's key.
  enum Entry: String, CaseIterable {
    /// How the file is laid out: a number that rises with changes of the tables themselves.
    case format
    /// The number of the last step.
    case version
    /// A digest of what the model means.
    case modelHash
    /// The model.
    case modelJSON
    /// A digest of the tables.
    case physicalHash
    /// The lowest version that a program has to know so that it may use the file.
    case minimumReader = "minReader"
    /// How often the tables were changed: who has the file open sees by it that somebody else has.
    case generation
    /// Which release and which engine made the file.
    case createdBy
    /// What the store is known by.
    case storeID
    /// Which steps are behind the store and what they made, in digests: see ``StandingDigest``.
    case standing
    /// The copies that it made of itself before steps: see ``KeptCopies``.
    case copies

    /// Where it stands, for errors.
    var place: String { "\(MetaTable.name), row \(rawValue)," }
  }

  let connection: Connection

  /// Makes the table.
  func create() throws { try connection.execute("CREATE TABLE vault_meta (key TEXT PRIMARY KEY, value)") }

  /// Whether the file has it: only a store does.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// One entry; nil when it has no row. Asked in every transaction, so it finds its row by the key.
  func value(_ entry: Entry) throws -> SQLValue? {
    try connection.value(sql: Self.valueSQL, [.text(entry.rawValue)])
  }

  // A text of the program, kept: an SQL literal would be made for each transaction.
  private static let valueSQL = "SELECT value FROM vault_meta WHERE key = ?"

  /// All entries that this release knows.
  func values() throws -> [Entry: SQLValue] {
    var values: [Entry: SQLValue] = [:]
    for row in try connection.rows("SELECT key, value FROM vault_meta") {
      if let key = row.first?.string, let entry = Entry(rawValue: key) { values[entry] = row.last }
    }
    return values
  }

  /// Some entries; none of what has no row, or no text as its key.
  func values(of entries: [Entry]) throws -> [Entry: SQLValue] {
    let keys = SQL.joined(entries.map { entry -> SQL in "\(entry.rawValue)" })
    var values: [Entry: SQLValue] = [:]
    for row in try connection.rows("SELECT key, value FROM vault_meta WHERE key IN (\(keys))") {
      if let key = row.first?.string, let entry = Entry(rawValue: key) { values[entry] = row.last }
    }
    return values
  }

  /// Writes entries, in the place of what they had.
  func write(_ values: [(entry: Entry, value: SQLValue)]) throws {
    for (entry, value) in values {
      try connection.execute(
        "INSERT OR REPLACE INTO vault_meta (key, value) VALUES (?, ?)", [.text(entry.rawValue), value])
    }
  }

  /// Writes an entry that has no row yet.
  func writeIfMissing(_ entry: Entry, _ value: SQLValue) throws {
    try connection.execute(
      "INSERT OR IGNORE INTO vault_meta (key, value) VALUES (?, ?)", [.text(entry.rawValue), value])
  }
}
