// vault_names: the numbers by which the history of a store names entities and properties. Steps rename the
// names and keep the numbers. All SQL that names the table is in this file.

internal import CipherSQLite

/// The table `vault_names` of one file. It exists in stores with a history.
struct RecordedNamesTable {
  /// The name of the table in SQL.
  static let name = "vault_names"
  /// All columns of the table.
  static let columns: Set<String> = ["number", "entity", "name", "ended"]

  /// A row of the table.
  struct Row: Sendable, Hashable {
    let number: Int64
    /// The number of the entity of a property; nil for an entity.
    let entity: Int64?
    /// The present name, or the last one.
    var name: String
    /// The version of the model that lacks the entity or property; nil while it exists.
    var ended: Int64?
  }

  let connection: Connection

  init(connection: Connection) { self.connection = connection }

  /// Creates the table.
  func createIfMissing() throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS vault_names (number INTEGER PRIMARY KEY, entity INTEGER, name TEXT NOT NULL,
        ended INTEGER)
      """)
  }

  /// Returns whether the file has the table.
  func exists() throws -> Bool { try connection.tableExists(Self.name) }

  /// Returns all rows, by number.
  func rows() throws -> [Row] {
    try connection.query(sql: "SELECT number, entity, name, ended FROM vault_names ORDER BY number", []) {
      Row(
        number: $0.int64(0), entity: $0.value(1).isNull ? nil : $0.int64(1), name: $0.text(2) ?? "",
        ended: $0.value(3).isNull ? nil : $0.int64(3))
    }
  }

  /// Writes rows, and replaces those that have their numbers.
  func write(_ rows: some Sequence<Row>) throws {
    for row in rows {
      try connection.execute(
        """
        INSERT OR REPLACE INTO vault_names (number, entity, name, ended)
        VALUES (\(row.number), \(row.entity), \(row.name), \(row.ended))
        """)
    }
  }
}
