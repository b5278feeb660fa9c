// References that lead to rows that are gone, each by itself: SQLite's own check says no more of a link than its table.

internal import CipherSQLite

/// A reference to a row that is gone.
struct DanglingReference: Hashable {
  /// Such as `Post.user`, or `the links Post.tags`.
  let property: String
  /// The id of its row and what it leads to; of links the ids of both ends.
  let key: [SQLValue]
  let isLink: Bool

  fileprivate var place: String {
    let texts = key.map { $0.int64.map(String.init) ?? $0.string ?? "?" }
    return isLink ? "(\(texts.joined(separator: ", ")))" : texts.first ?? ""
  }
}

enum ReferenceCheck {
  /// All references of the model's tables that lead nowhere, or to a row of another entity than theirs.
  static func dangling(_ connection: Connection, _ model: Schema) throws -> Set<DanglingReference> {
    // One pass of SQLite's own, which mostly is all: it stops at the first. Of entities that share a table it knows nothing.
    let isClean = try connection.value("PRAGMA foreign_key_check") == nil
    guard !isClean || model.hasFamilies else { return [] }
    var found: Set<DanglingReference> = []
    func isAsked(_ destination: String) -> Bool {
      !isClean || model.place(of: destination).condition() != nil
    }
    for entity in model.entities {
      for relationship in entity.relationships
      where !relationship.isToMany && isAsked(relationship.destination) {
        let column = relationship.columnName
        try collect(
          "\(entity.name).\(relationship.name)", false, ["id", column], model.root(of: entity.name), column,
          model.place(of: relationship.destination), connection, &found)
      }
    }
    for join in model.joinTables {
      let columns = [join.sourceColumn, join.targetColumn]
      let name = "the links \(join.source).\(join.name.dropFirst(join.source.count + 1))"
      for (column, destination) in zip(columns, [join.source, join.target]) where isAsked(destination) {
        try collect(name, true, columns, join.name, column, model.place(of: destination), connection, &found)
      }
    }
    return found
  }

  /// The references that lead to a row, but to one of another entity than theirs; a sentence each.
  static func misled(_ connection: Connection, _ model: Schema) throws -> [String] {
    guard model.hasFamilies else { return [] }
    var findings: [String] = []
    func ask(_ name: String, _ table: String, _ column: String, _ destination: String) throws {
      let place = model.place(of: destination)
      guard let own = place.condition(SQLName("d")) else { return }
      let count = try connection.value(
        "SELECT count(*) FROM \(identifier: table) o JOIN \(place.tableName) d ON d.\"id\" = o.\(identifier: column) WHERE NOT (\(own))"
      )?.int64
      guard let count, count > 0 else { return }
      findings.append(
        "\(count) reference\(count == 1 ? "" : "s") of \(name) lead\(count == 1 ? "s" : "") to no \(destination)"
      )
    }
    for entity in model.entities {
      for relationship in entity.relationships where !relationship.isToMany {
        try ask(
          "\(entity.name).\(relationship.name)", model.root(of: entity.name), relationship.columnName,
          relationship.destination)
      }
    }
    for join in model.joinTables {
      let name = "the links \(join.source).\(join.relationship)"
      try ask(name, join.name, join.sourceColumn, join.source)
      try ask(name, join.name, join.targetColumn, join.target)
    }
    return findings
  }

  private static func collect(
    _ name: String, _ isLink: Bool, _ columns: [String], _ table: String, _ column: String,
    _ destination: EntityPlace, _ connection: Connection, _ found: inout Set<DanglingReference>
  ) throws {
    let list = SQL.joined(columns.map { "o.\(identifier: $0)" })
    let own: SQL = destination.condition(SQLName("d")).map { " AND \($0)" } ?? ""
    let rows = try connection.rows(
      """
      SELECT \(list) FROM \(identifier: table) o WHERE o.\(identifier: column) IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM \(destination.tableName) d WHERE d."id" = o.\(identifier: column)\(own))
      """)
    for row in rows { found.insert(DanglingReference(property: name, key: row, isLink: isLink)) }
  }

  /// What is wrong, in one sentence, with the first rows.
  static func sentence(_ references: Set<DanglingReference>) -> String {
    let groups = Dictionary(grouping: references, by: \.property).sorted { $0.key < $1.key }
    let parts = groups.prefix(4).map { name, group in
      let first = group.sorted { ($0.key.first?.int64 ?? 0, $0.place) < ($1.key.first?.int64 ?? 0, $1.place) }
        .prefix(5).map(\.place)
      let more = group.count > first.count ? " and more" : ""
      let rows = group.first?.isLink == true ? "" : first.count == 1 ? "row " : "rows "
      return "\(name) (\(rows)\(first.joined(separator: ", "))\(more))"
    }
    return "\(references.count) references lead to rows that are gone: \(parts.joined(separator: "; "))"
      + (groups.count > parts.count ? "; and others" : "")
  }
}
