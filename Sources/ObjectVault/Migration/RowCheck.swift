// A question to the rows of a store which must find none: a step asks it before it goes on, and a plan asks the very same
// before the step runs.

internal import CipherSQLite

/// What no row of a store may be.
struct RowCheck: Hashable {
  /// What it is about, as the rules of a plan's refusals.
  enum Rule: String { case unique, required, fitting, single, leading, other }

  /// Counts them.
  let query: String
  /// Finds the ids of the first of them.
  let rows: String
  /// What is so, with `%d` for the count (see ``counted(_:_:)``), and behind a semicolon what to do.
  let message: String
  /// What a plan says it is about.
  var rule = Rule.other
  /// The entity, as the step calls it; empty where it is about several.
  var entity = ""
  var properties: [String] = []
  /// Whether it is about the tables behind the changes of its run; else it is about those before them.
  var isBehind = false

  /// What the step fails with.
  func reason(_ count: Int, rows: String) -> String { counted(message, count) + " (rows \(rows))" }

  /// The same in two sentences, what to do in one of its own.
  func sentences(_ count: Int, rows: String) -> String {
    let parts = counted(message, count).split(separator: "; ", maxSplits: 1).map(String.init)
    let remedy = parts.count > 1 ? " \(ended(parts[1].prefix(1).uppercased() + parts[1].dropFirst()))" : ""
    return "\(parts.first ?? "") (rows \(rows)).\(remedy)"
  }
}

extension RowCheck {
  /// About rows of some entity: those for which a condition holds.
  /// - Parameter condition: nil for all of them.
  init(
    _ rule: Rule, _ entity: String, _ properties: [String], at place: EntityPlace,
    where condition: SQL? = nil, message: String
  ) {
    let conditions = [place.condition(), condition].compactMap { $0 }
    let filter: SQL = conditions.isEmpty ? "" : " WHERE \(SQL.joined(conditions, by: " AND "))"
    let rows: SQL = "FROM \(place.tableName)\(filter)"
    self.init(
      query: ("SELECT count(*) \(rows)" as SQL).text,
      rows: ("SELECT \"id\" \(rows) ORDER BY \"id\" LIMIT 5" as SQL).text, message: message, rule: rule,
      entity: entity, properties: properties)
  }

  /// About values that are there more than once: the groups behind `FROM`.
  init(
    repeated groups: SQL, id: SQL = "max(\"id\")", of entity: String, _ properties: [String], message: String
  ) {
    self.init(
      query: ("SELECT count(*) FROM (SELECT 1 \(groups))" as SQL).text,
      rows: ("SELECT \(id) \(groups) ORDER BY 1 LIMIT 5" as SQL).text, message: message, rule: .unique,
      entity: entity, properties: properties)
  }
}

extension CompiledStatement {
  /// One that must count no row, of SQL that has no values.
  static func check(
    query: SQL, rows: SQL, message: String, _ rule: RowCheck.Rule = .other,
    of entity: String = "",
    _ properties: [String] = []
  ) -> CompiledStatement {
    .mustBeEmpty(
      RowCheck(
        query: query.text, rows: rows.text, message: message, rule: rule, entity: entity,
        properties: properties))
  }
}
