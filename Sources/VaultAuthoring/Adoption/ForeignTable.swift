// The tables of a file that another program made, as the file itself tells of them: keys, references, indexes, and what
// stands behind them that a model has no word for.

internal import CipherSQLite
internal import ObjectVault

/// A table of another program.
struct ForeignTable {
  struct Column {
    let name: String
    /// Its declared type, in capitals.
    let type: String
    let isRequired: Bool
    /// Its default as SQL.
    let defaultSQL: String?
    /// Its place in the primary key, from 1; 0 where it is none of it.
    let keyPlace: Int
    let isGenerated: Bool
  }

  struct Reference {
    let columns: [String]
    let table: String
    /// The columns that it leads to; empty for the primary key.
    let targets: [String]
    let onDelete: String
    let onUpdate: String
  }

  struct Index {
    let name: String
    /// nil for an expression.
    let columns: [String?]
    let isUnique: Bool
    let isPartial: Bool
    /// Whether it compares otherwise than the engine does by itself, or from the end.
    let isSpecial: Bool
    /// Whether it is sorted by a comparison that is not here, so that nothing can be looked up by it.
    let isForeign: Bool
    /// Whether the engine made it for the primary key.
    let isOfKey: Bool
  }

  let name: String
  let sql: String
  let columns: [Column]
  let references: [Reference]
  let indexes: [Index]
  /// A name for the row's id that no column hides; nil for a table that has none.
  let rowID: String?
  let rowCount: Int64
  let isVirtual: Bool

  /// The names by which the engine knows the id of a row, as long as no column is called so.
  private static let rowIDNames = ["rowid", "_rowid_", "oid"]

  /// Whether columns have all the names that a row's id would have. Where it is WITHOUT ROWID, too, another name of one would
  /// help nobody.
  var hidesRowID: Bool {
    Self.rowIDNames.allSatisfy { column($0) != nil } && !SQLTemplate.isWithoutRowID(sql)
  }

  /// The column that is the row's id.
  var idColumn: String? {
    let key = columns.filter { $0.keyPlace > 0 }
    // A key that is not the row's id has an index, and `INTEGER PRIMARY KEY DESC` is none, for a mistake of the engine's
    // that it keeps (https://sqlite.org/lang_createtable.html#rowid).
    guard rowID != nil, key.count == 1, key[0].type == "INTEGER", !indexes.contains(where: \.isOfKey) else {
      return nil
    }
    return key[0].name
  }

  func column(_ name: String) -> Column? {
    columns.first { $0.name.asciiLowercased == name.asciiLowercased }
  }

  /// Whether what is looked up by a column may be looked up in an index that is sorted by nobody knows what.
  func isForeign(_ name: String) -> Bool {
    indexes.contains { index in
      index.isForeign && index.columns.contains { $0?.asciiLowercased == name.asciiLowercased }
    }
  }

  /// Whether no two rows have the same values there.
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
  /// - Parameters:
  ///   - name: The table.
  ///   - sql: The statement that made it.
  init(_ name: String, sql: String, in connection: Connection) throws {
    self.name = name
    self.sql = sql
    isVirtual = sql.uppercased().hasPrefix("CREATE VIRTUAL")
    guard !isVirtual else {
      // Its module may not be here: the engine then tells nothing of it, and ends a statement that asks.
      (columns, references, indexes, rowID, rowCount) = ([], [], [], nil, 0)
      return
    }
    let table = SQLName(name)
    // The engine knows columns that are computed from 3.31 on; an earlier one cannot open a file that has any.
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
          part[4].string.map { !Connection.ownCollations.contains($0.uppercased()) } ?? false
        }, isOfKey: row.count > 3 && row[3].string == "pk")
    }
    let taken = Set(columns.map(\.name.asciiLowercased))
    let candidate = Self.rowIDNames.first { !taken.contains($0) }
    rowID = try candidate.flatMap { name -> String? in
      // With its table: alone, a name in quotes that is none would be a text.
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

/// What a file of another program holds.
struct ForeignContent {
  let tables: [ForeignTable]
  /// Kind and name of each view and each trigger.
  let others: [(kind: String, name: String)]
  /// The highest id of tables that promise never to give one twice.
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
