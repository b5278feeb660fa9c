// The tables of another program's file, as the file itself describes them: columns, keys, references,
// indexes, and features that a model cannot express.

internal import CipherSQLite
internal import ObjectVault

/// A table of another program.
struct ForeignTable {
  struct Column {
    let name: String
    /// The declared type, in capitals.
    let type: String
    let isRequired: Bool
    /// The default, as SQL.
    let defaultSQL: String?
    /// The position in the primary key, from 1; 0 when it is not part of the key.
    let keyPlace: Int
    let isGenerated: Bool
  }

  struct Reference {
    let columns: [String]
    let table: String
    /// The columns that it references; empty for the primary key.
    let targets: [String]
    let onDelete: String
    let onUpdate: String
  }

  struct Index {
    let name: String
    /// The names of the columns; nil for an expression.
    let columns: [String?]
    let isUnique: Bool
    let isPartial: Bool
    /// Whether it has another collation than the engine's default, or descending order.
    let isSpecial: Bool
    /// Whether it is sorted by a collation that is not available here, so that no lookup can use it.
    let isForeign: Bool
    /// Whether the engine created it for the primary key.
    let isOfKey: Bool
  }

  let name: String
  let sql: String
  let columns: [Column]
  let references: [Reference]
  let indexes: [Index]
  /// A name of the row id that no column hides; nil for a table without one.
  let rowID: String?
  let rowCount: Int64
  let isVirtual: Bool

  /// SQLite's names of the row id; a column of the same name hides one.
  private static let rowIDNames = ["rowid", "_rowid_", "oid"]

  /// Whether columns hide all names of the row id. False for WITHOUT ROWID tables, where renaming a
  /// column would not help.
  var hidesRowID: Bool {
    Self.rowIDNames.allSatisfy { column($0) != nil } && !SQLTemplate.isWithoutRowID(sql)
  }

  /// The column that is an alias of the row id.
  var idColumn: String? {
    let key = columns.filter { $0.keyPlace > 0 }
    // A primary key that is not the row id has an index. `INTEGER PRIMARY KEY DESC` is no row id, because
    // of an engine bug kept for compatibility (https://sqlite.org/lang_createtable.html#rowid).
    guard rowID != nil, key.count == 1, key[0].type == "INTEGER", !indexes.contains(where: \.isOfKey) else {
      return nil
    }
    return key[0].name
  }

  func column(_ name: String) -> Column? {
    columns.first { $0.name.asciiLowercased == name.asciiLowercased }
  }

  /// Whether a lookup by a column may use an index that is sorted by an unavailable collation.
  func isForeign(_ name: String) -> Bool {
    indexes.contains { index in
      index.isForeign && index.columns.contains { $0?.asciiLowercased == name.asciiLowercased }
    }
  }

  /// Whether no two rows have the same values in these columns.
  func isUnique(_ names: [String]) -> Bool {
    let wanted = Set(names.map(\.asciiLowercased))
    let key = columns.filter { $0.keyPlace > 0 }.map(\.name.asciiLowercased)
    if !key.isEmpty, Set(key).isSubset(of: wanted) { return true }
    return indexes.contains { index in
      index.isUnique && !index.isPartial
        && Set(index.columns.compactMap { $0?.asciiLowercased }).isSubset(of: wanted)
        && !index.columns.contains { $0 == nil }
    }
  }
}

extension ForeignTable {
  /// Reads the description of a table.
  /// - Parameters:
  ///   - name: The name of the table.
  ///   - sql: The statement that created it.
  init(_ name: String, sql: String, in connection: Connection) throws {
    self.name = name
    self.sql = sql
    isVirtual = SQLScanner.words(sql).prefix(2) == ["create", "virtual"]
    guard !isVirtual else {
      // The module of a virtual table may be missing. Then the engine reports no columns, and statements
      // on the table fail.
      (columns, references, indexes, rowID, rowCount) = ([], [], [], nil, 0)
      return
    }
    let table = SQLName(name)
    // Generated columns exist since SQLite 3.31; earlier engines cannot open a file with any.
    let extended = try connection.rows("PRAGMA table_xinfo(\(table))")
    let rows = try extended.isEmpty ? connection.rows("PRAGMA table_info(\(table))") : extended
    columns = rows.compactMap { row in
      let hidden = row.count > 6 ? row[6].int64 ?? 0 : 0
      guard hidden != 1 else { return nil }
      return Column(
        name: row[1].string ?? "", type: (row[2].string ?? "").uppercased(), isRequired: row[3].int64 != 0,
        defaultSQL: row[4].string, keyPlace: Int(row[5].int64 ?? 0), isGenerated: hidden > 1)
    }
    references = try Self.references(of: table, connection)
    indexes = try connection.rows("PRAGMA index_list(\(table))").map { row in
      let index = row[1].string ?? ""
      let parts = try connection.rows("PRAGMA index_xinfo(\(SQLName(index)))").filter { $0[5].int64 == 1 }
      return Index(
        name: index, columns: parts.map { $0[2].string }, isUnique: row[2].int64 != 0,
        isPartial: row.count > 4 && row[4].int64 != 0,
        isSpecial: parts.contains { $0[3].int64 != 0 || $0[4].string?.uppercased() != "BINARY" },
        isForeign: parts.contains { part in
          part[4].string.map { !Connection.builtInCollations.contains($0.uppercased()) } ?? false
        }, isOfKey: row.count > 3 && row[3].string == "pk")
    }
    let taken = Set(columns.map(\.name.asciiLowercased))
    let candidate = Self.rowIDNames.first { !taken.contains($0) }
    rowID = try candidate.flatMap { name -> String? in
      // Qualified with the table: alone, an unknown name in quotes would be a text literal.
      let probe: SQL = "SELECT s.\(SQLName(name)) FROM \(table) AS s"
      do { try connection.validate(sql: probe.text) } catch let error as SQLError where error.isOfStatement {
        return nil
      }
      return name
    }
    rowCount = try connection.value("SELECT count(*) FROM \(table)")?.int64 ?? 0
  }

  private static func references(of table: SQLName, _ connection: Connection) throws -> [Reference] {
    let rows = try connection.rows("PRAGMA foreign_key_list(\(table))")
    let ids = Set(rows.compactMap { $0[0].int64 }).sorted(by: >)
    return ids.compactMap { id in
      let parts = rows.filter { $0[0].int64 == id }.sorted { ($0[1].int64 ?? 0) < ($1[1].int64 ?? 0) }
      guard let first = parts.first else { return nil }
      return Reference(
        columns: parts.compactMap { $0[3].string }, table: first[2].string ?? "",
        targets: parts.compactMap { $0[4].string }, onDelete: (first[6].string ?? "").uppercased(),
        onUpdate: (first[5].string ?? "").uppercased())
    }
  }
}

/// The contents of another program's file.
struct ForeignContent {
  let tables: [ForeignTable]
  /// The kind and name of each view and each trigger.
  let others: [(kind: String, name: String)]
  /// The highest ids of AUTOINCREMENT tables, which never issue an id twice.
  let sequence: [String: Int64]

  init(_ connection: Connection) throws {
    let rows = try connection.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name")
    tables = try rows.filter {
      $0[0].string == "table" && !($0[1].string ?? "").lowercased().hasPrefix("sqlite_")
    }
    .map { try ForeignTable($0[1].string ?? "", sql: $0[2].string ?? "", in: connection) }
    others = rows.compactMap { row in
      guard let kind = row[0].string, let name = row[1].string, kind == "view" || kind == "trigger" else {
        return nil
      }
      return (kind, name)
    }
    var sequence: [String: Int64] = [:]
    if try connection.tableExists("sqlite_sequence") {
      for row in try connection.rows("SELECT name, seq FROM sqlite_sequence") {
        if let name = row[0].string, let last = row[1].int64 { sequence[name] = last }
      }
    }
    self.sequence = sequence
  }

  func table(_ name: String) -> ForeignTable? {
    tables.first { $0.name.asciiLowercased == name.asciiLowercased }
  }
}
