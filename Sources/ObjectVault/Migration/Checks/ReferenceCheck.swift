// Finds dangling references: references to rows that do not exist, or to objects of an entity other than
// the relationship's destination. Each reference is reported with its ids. For a link, SQLite's own check
// reports only the table; and it does not distinguish entities that share a table.

internal import CipherSQLite

/// A reference to a row that does not exist, or to an object of an entity other than the relationship's
/// destination.
struct DanglingReference: Hashable {
  /// The relationship, such as `Post.user`, or `the links Post.tags`; `the table X` for a table outside
  /// the model.
  let property: String
  /// The id of the row and the id that it refers to; for a link, the ids in its source column and its
  /// target column. For a table outside the model, the rowid and the number of the constraint; if that
  /// table has no rowids: NULL, the number of the constraint and a running number.
  let key: [SQLValue]
  let isLink: Bool
  /// The referenced object of a wrong entity; nil if the referenced row does not exist.
  var misled: Misled?

  struct Misled {
    /// The object, such as `Person 1`.
    let found: String
    /// The relationship's destination.
    let expected: String
  }

  // `misled` is not compared: a reference that dangled before a step is still the same one when the step
  // changes the entity of the referenced row.
  static func == (one: Self, other: Self) -> Bool { one.property == other.property && one.key == other.key }

  func hash(into hasher: inout Hasher) {
    hasher.combine(property)
    hasher.combine(key)
  }

  fileprivate var place: String {
    let texts = key.map { $0.int64.map(String.init) ?? $0.string ?? "?" }
    return isLink ? "(\(texts.joined(separator: ", ")))" : texts.first ?? ""
  }
}

enum ReferenceCheck {
  /// Returns all references of the model's tables that refer to no row, or to a row of another entity.
  static func dangling(_ connection: Connection, _ model: Schema) throws -> Set<DanglingReference> {
    // This query stops at the first missing row, and is enough for most stores. It cannot check the
    // entities of rows in a shared table.
    let isClean = try connection.value("PRAGMA foreign_key_check") == nil
    guard !isClean || model.hasHierarchies else { return [] }
    var found: Set<DanglingReference> = []
    func isAsked(_ destination: String) -> Bool {
      !isClean || model.place(of: destination).condition() != nil
    }
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.hasColumn && isAsked(relationship.destination) {
        let column = relationship.columnName
        try collect(
          "\(entity.name).\(relationship.name)", isLink: false, columns: ["id", column],
          of: model.root(of: entity.name), column: column,
          place: model.place(of: relationship.destination), destination: relationship.destination,
          in: connection, into: &found)
      }
    }
    for join in model.joinTables {
      let columns = [join.sourceColumn, join.targetColumn]
      let name = "the links \(join.source).\(join.name.dropFirst(join.source.count + 1))"
      for (column, destination) in zip(columns, [join.source, join.target]) where isAsked(destination) {
        try collect(
          name, isLink: true, columns: columns, of: join.name, column: column,
          place: model.place(of: destination), destination: destination, in: connection,
          into: &found)
      }
    }
    return found
  }

  /// A table outside the model that has foreign keys.
  struct ForeignTable {
    let name: String
    /// Whether the table has rowids.
    let hasRowIDs: Bool
  }

  /// Returns the tables outside the model that have foreign keys.
  static func foreignTables(_ connection: Connection, _ model: Schema) throws -> [ForeignTable] {
    let own = Set(
      (OwnTables.names + model.roots.map(\.name) + model.joinTables.map(\.name)).map { $0.lowercased() })
    let tables = try connection.rows(
      "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return try tables.compactMap { row in
      guard let name = row[0].string, !own.contains(name.lowercased()),
        try connection.value("PRAGMA foreign_key_list(\(identifier: name))") != nil
      else { return nil }
      // `WITHOUT ROWID` comes after the list of columns; newer engines also allow `STRICT` there.
      let options = row[1].string?.split(separator: ")").last?.lowercased() ?? ""
      return ForeignTable(name: name, hasRowIDs: !options.contains("without"))
    }
  }

  /// Returns the dangling references of tables outside the model. A step can cause them by deleting rows:
  /// foreign keys are off while steps run, so the ON DELETE rules of these tables have no effect.
  static func foreign(_ connection: Connection, _ tables: [ForeignTable]) throws -> Set<DanglingReference> {
    var found: Set<DanglingReference> = []
    for table in tables {
      var counts: [Int64: Int64] = [:]
      for row in try connection.rows("PRAGMA foreign_key_check(\(identifier: table.name))") {
        let constraint = row[3].int64 ?? 0
        counts[constraint, default: 0] += 1
        // Rows without a rowid are distinguished by a running number for each constraint.
        let key =
          table.hasRowIDs
          ? [row[1], .integer(constraint)] : [.null, .integer(constraint), .integer(counts[constraint] ?? 0)]
        found.insert(DanglingReference(property: "the table \(table.name)", key: key, isLink: false))
      }
    }
    return found
  }

  /// Returns a sentence for each relationship that has references to existing rows of a wrong entity.
  static func misled(_ connection: Connection, _ model: Schema) throws -> [String] {
    guard model.hasHierarchies else { return [] }
    var findings: [String] = []
    func ask(_ name: String, table: String, column: String, destination: String) throws {
      let place = model.place(of: destination)
      guard let own = place.condition(SQLName("d")) else { return }
      let led: SQL =
        "FROM \(identifier: table) o JOIN \(place.tableName) d ON d.\"id\" = o.\(identifier: column) WHERE NOT (\(own))"
      let count = try connection.value("SELECT count(*) \(led)")?.int64
      guard let count, count > 0 else { return }
      let rows = try connection.query("SELECT DISTINCT d.\"id\" \(led) ORDER BY 1 LIMIT 5") { $0.int64(0) }
      let more = count > rows.count ? " and more" : ""
      findings.append(
        "\(count) reference\(count == 1 ? " of \(name) refers" : "s of \(name) refer") to \(place.table) "
          + "\(rows.map(String.init).joined(separator: ", "))\(more), not to objects of the entity "
          + "\(destination); correct \(count == 1 ? "it" : "them")"
      )
    }
    for entity in model.entities {
      for relationship in entity.relationships where relationship.hasColumn {
        try ask(
          "\(entity.name).\(relationship.name)", table: model.root(of: entity.name),
          column: relationship.columnName,
          destination: relationship.destination)
      }
    }
    for join in model.joinTables {
      let name = "the links \(join.source).\(join.relationship)"
      try ask(name, table: join.name, column: join.sourceColumn, destination: join.source)
      try ask(name, table: join.name, column: join.targetColumn, destination: join.target)
    }
    return findings
  }

  private static func collect(
    _ name: String, isLink: Bool, columns: [String], of table: String, column: String,
    place: EntityPlace, destination: String, in connection: Connection,
    into found: inout Set<DanglingReference>
  ) throws {
    let list = SQL.joined(columns.map { "o.\(identifier: $0)" })
    let own = place.condition(SQLName("d"))
    // If entities share a table, the query also returns the entity of the referenced row.
    let entity: SQL = own == nil ? "NULL" : "d.\(identifier: EntityColumn.name)"
    let isWrong: SQL = own.map { " OR NOT (\($0))" } ?? ""
    let rows = try connection.rows(
      """
      SELECT d."id", \(entity), \(list) FROM \(identifier: table) o LEFT JOIN \(place.tableName) d
      ON d."id" = o.\(identifier: column) WHERE o.\(identifier: column) IS NOT NULL AND (d."id" IS NULL\(isWrong))
      """)
    for row in rows {
      var reference = DanglingReference(property: name, key: Array(row.dropFirst(2)), isLink: isLink)
      if let id = row[0].int64, let entity = row[1].string {
        reference.misled = DanglingReference.Misled(found: "\(entity) \(id)", expected: destination)
      }
      found.insert(reference)
    }
  }

  /// Returns a sentence with the faults and the first rows that have them; empty for no references.
  static func sentence(_ references: Set<DanglingReference>) -> String {
    let gone = references.filter { $0.misled == nil }
    let misled = references.subtracting(gone)
    return [
      sentence(
        gone, one: "reference to a missing row", several: "references to missing rows"),
      sentence(
        misled, one: "reference to an object of the wrong entity",
        several: "references to objects of the wrong entity"),
    ].compactMap { $0 }.joined(separator: "; and ")
  }

  private static func sentence(_ references: Set<DanglingReference>, one: String, several: String)
    -> String?
  {
    guard !references.isEmpty else { return nil }
    let groups = Dictionary(grouping: references) { "\($0.property) \($0.misled?.expected ?? "")" }
      .sorted { $0.key < $1.key }
    let parts = groups.prefix(4).map { _, group in
      let sorted = group.sorted {
        ($0.key.first?.int64 ?? 0, $0.place) < ($1.key.first?.int64 ?? 0, $1.place)
      }
      let first = sorted.prefix(5)
      let more = group.count > first.count ? " and more" : ""
      let rows = group.first?.isLink == true ? "" : first.count == 1 ? "row " : "rows "
      return "\(sorted[0].property) (\(rows)\(first.map(\.place).joined(separator: ", "))\(more))"
        + misleading(Array(first))
    }
    return "\(references.count) \(references.count == 1 ? one : several): \(parts.joined(separator: "; "))"
      + (groups.count > parts.count ? "; and others" : "")
  }

  /// Returns the end of a sentence: the objects of a wrong entity, and the expected entity. Empty if the
  /// references are to missing rows.
  private static func misleading(_ references: [DanglingReference]) -> String {
    guard let expected = references.first?.misled?.expected else { return "" }
    var found: [String] = []
    for name in references.compactMap(\.misled?.found) where !found.contains(name) { found.append(name) }
    return " to \(found.joined(separator: ", ")), which \(found.count == 1 ? "is" : "are") not of the entity "
      + "\(expected)"
  }
}
