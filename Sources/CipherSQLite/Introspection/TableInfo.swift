// What the file's schema is, read from SQLite itself.

/// A table as SQLite describes it.
public struct TableInfo: Sendable, Hashable {
  /// One column.
  public struct Column: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Its declared type.
    public var type: String
    /// Whether it is declared NOT NULL.
    public var isRequired: Bool
    /// Its default as an SQL expression.
    public var defaultSQL: String?
    /// Whether it is the primary key, or a part of it.
    public var isPrimaryKey: Bool

    /// A column.
    public init(name: String, type: String, isRequired: Bool, defaultSQL: String?, isPrimaryKey: Bool) {
      self.name = name
      self.type = type
      self.isRequired = isRequired
      self.defaultSQL = defaultSQL
      self.isPrimaryKey = isPrimaryKey
    }
  }

  /// One foreign key of one column.
  public struct ForeignKey: Sendable, Hashable {
    /// The column that refers.
    public var column: String
    /// The table that it refers to.
    public var table: String
    /// What happens when the row referred to is deleted, such as `CASCADE`.
    public var onDelete: String

    /// A foreign key.
    public init(column: String, table: String, onDelete: String) {
      self.column = column
      self.table = table
      self.onDelete = onDelete
    }
  }

  /// One index, other than those that SQLite makes for itself.
  public struct Index: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Its columns, in order.
    public var columns: [String]
    /// Whether it forbids equal rows.
    public var isUnique: Bool

    /// An index.
    public init(name: String, columns: [String], isUnique: Bool) {
      self.name = name
      self.columns = columns
      self.isUnique = isUnique
    }
  }

  /// The table's name.
  public var name: String
  /// Its columns in the order of the file.
  public var columns: [Column]
  /// Its foreign keys.
  public var foreignKeys: [ForeignKey]
  /// Its indexes.
  public var indexes: [Index]

  /// A table.
  public init(name: String, columns: [Column], foreignKeys: [ForeignKey], indexes: [Index]) {
    self.name = name
    self.columns = columns
    self.foreignKeys = foreignKeys
    self.indexes = indexes
  }
}

extension Connection {
  /// The names of all tables but SQLite's own.
  public func tableNames() throws -> [String] {
    try rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name"
    )
    .compactMap { $0.first?.string }
  }

  /// Whether there is a table of this name.
  public func tableExists(_ name: String) throws -> Bool {
    try value("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE", [.text(name)])
      != nil
  }

  /// Whether a table has a column of this name; the case of ASCII letters does not count, as in SQL.
  public func columnExists(_ column: String, in table: String) throws -> Bool {
    try tableInfo(table).columns.contains { $0.name.asciiLowercased == column.asciiLowercased }
  }

  /// A table's columns, foreign keys and indexes; no columns when there is no such table.
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
      TableInfo.Index(
        name: name, columns: try query(sql: "PRAGMA index_info(\(quoted(name)))") { $0.text(2) ?? "" },
        isUnique: isUnique)
    }
    return TableInfo(name: name, columns: columns, foreignKeys: keys, indexes: indexes)
  }
}
