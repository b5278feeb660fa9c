// Describes the tables of a file, as SQLite's own pragmas report them.

/// A table as SQLite describes it.
public struct TableInfo: Sendable, Hashable {
  /// One column of a table.
  public struct Column: Sendable, Hashable {
    /// The column's name.
    public var name: String
    /// The declared type.
    public var type: String
    /// Whether the column is declared NOT NULL.
    public var isRequired: Bool
    /// The default value as an SQL expression; nil when there is none.
    public var defaultSQL: String?
    /// Whether the column is the primary key, or a part of it.
    public var isPrimaryKey: Bool

    /// Creates the description of a column.
    public init(name: String, type: String, isRequired: Bool, defaultSQL: String?, isPrimaryKey: Bool) {
      self.name = name
      self.type = type
      self.isRequired = isRequired
      self.defaultSQL = defaultSQL
      self.isPrimaryKey = isPrimaryKey
    }
  }

  /// One column of a foreign key. A foreign key of several columns has one element for each.
  public struct ForeignKey: Sendable, Hashable {
    /// The referencing column.
    public var column: String
    /// The referenced table.
    public var table: String
    /// The action when the referenced row is deleted, such as `CASCADE`.
    public var onDelete: String

    /// Creates the description of a foreign key.
    public init(column: String, table: String, onDelete: String) {
      self.column = column
      self.table = table
      self.onDelete = onDelete
    }
  }

  /// An index that the schema declares. The indexes that SQLite creates automatically are not included.
  public struct Index: Sendable, Hashable {
    /// The index's name.
    public var name: String
    /// Its columns, in order.
    public var columns: [String]
    /// The collation by which the index compares each of its columns; nil for that of the column. An index
    /// that was read from a file has the name for each column, such as `BINARY`.
    public var collations: [String?]
    /// Whether it is a UNIQUE index.
    public var isUnique: Bool

    /// Creates the description of an index. Each parameter is described at the property of its name;
    /// missing collations are nil.
    public init(name: String, columns: [String], collations: [String?] = [], isUnique: Bool) {
      self.name = name
      self.columns = columns
      self.collations = columns.indices.map { collations.indices.contains($0) ? collations[$0] : nil }
      self.isUnique = isUnique
    }
  }

  /// The table's name.
  public var name: String
  /// Its columns in the order of their declaration.
  public var columns: [Column]
  /// Its foreign keys.
  public var foreignKeys: [ForeignKey]
  /// Its indexes.
  public var indexes: [Index]

  /// Creates the description of a table.
  public init(name: String, columns: [Column], foreignKeys: [ForeignKey], indexes: [Index]) {
    self.name = name
    self.columns = columns
    self.foreignKeys = foreignKeys
    self.indexes = indexes
  }
}

extension Connection {
  /// Returns the names of all tables except SQLite's internal ones, sorted.
  /// - Throws: ``SQLError`` when the schema cannot be read.
  public func tableNames() throws -> [String] {
    try rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name"
    )
    .compactMap { $0.first?.string }
  }

  /// Returns whether there is a table of this name; the case of ASCII letters is ignored, as in SQL.
  /// - Throws: ``SQLError`` when the schema cannot be read.
  public func tableExists(_ name: String) throws -> Bool {
    try value("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE", [.text(name)])
      != nil
  }

  /// Returns whether a table has a column of this name; the case of ASCII letters is ignored, as in SQL.
  /// - Throws: ``SQLError`` when the schema cannot be read.
  public func columnExists(_ column: String, in table: String) throws -> Bool {
    try tableInfo(table).columns.contains { $0.name.asciiLowercased == column.asciiLowercased }
  }

  /// Returns a table's columns, foreign keys and indexes. When there is no such table, all three are empty.
  /// - Throws: ``SQLError`` when the schema cannot be read.
  public func tableInfo(_ name: String) throws -> TableInfo {
    let table = quoted(name)
    let columns = try query(sql: "PRAGMA table_info(\(table))") { row in
      TableInfo.Column(
        name: row.text(1) ?? "", type: row.text(2) ?? "", isRequired: row.int64(3) != 0,
        defaultSQL: row.text(4), isPrimaryKey: row.int64(5) != 0)
    }
    let keys = try query(sql: "PRAGMA foreign_key_list(\(table))") { row in
      TableInfo.ForeignKey(column: row.text(3) ?? "", table: row.text(2) ?? "", onDelete: row.text(6) ?? "")
    }
    let names = try query(sql: "PRAGMA index_list(\(table))") { ($0.text(1) ?? "", $0.int64(2) != 0) }
    let indexes = try names.filter { !$0.0.hasPrefix("sqlite_autoindex") }.map { name, isUnique in
      // The columns of the index itself; after them come those by which it finds the row.
      let parts = try query(sql: "PRAGMA index_xinfo(\(quoted(name)))") { row in
        (column: row.text(2) ?? "", collation: row.text(4), isOwn: row.int64(5) != 0)
      }.filter(\.isOwn)
      return TableInfo.Index(
        name: name, columns: parts.map(\.column), collations: parts.map(\.collation), isUnique: isUnique)
    }
    return TableInfo(name: name, columns: columns, foreignKeys: keys, indexes: indexes)
  }
}
