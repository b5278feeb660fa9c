// A question to the rows of a store which must find none: a step asks it before it goes on. A plan asks it of the file, where
// the file holds already what the step will find.

internal import CipherSQLite

/// What no row of a store may be.
struct RowCheck: Hashable {
  /// A question, as SQL.
  struct Question: Hashable {
    /// Counts the rows.
    let query: String
    /// Finds the ids of the first of them.
    let rows: String
  }

  private let question: Question
  /// Counts them.
  var query: String { question.query }
  /// Finds the ids of the first of them.
  var rows: String { question.rows }
  /// What is so, with `%d` for the count (see ``counted(_:_:)``), and behind a semicolon what to do.
  let message: String
  /// What a plan says it is about.
  var rule = RefusalRule.other
  /// The entity, as the step calls it; empty where it is about several.
  var entity = ""
  var properties: [String] = []
  /// The entity of the rows that it finds, where that is another one: they are to become rows of the entity.
  var rowEntity: String?
  /// The question that a plan asks of the file, before the run: the same, unless the check is about the tables behind the run.
  /// nil where the run makes what is asked about.
  var beforehand: Question?

  init(
    _ question: Question, message: String, rule: RefusalRule = .other, entity: String = "",
    properties: [String] = []
  ) {
    self.question = question
    beforehand = question
    (self.message, self.rule, self.entity, self.properties) = (message, rule, entity, properties)
  }

  /// What the step fails with.
  func reason(_ count: Int, rows: String) -> String { counted(message, count) + found(count, rows) }

  /// The rows, in brackets.
  private func found(_ count: Int, _ rows: String) -> String {
    " (\(count == 1 ? "row" : "rows") \(rows)\(rowEntity.map { " of \($0)" } ?? ""))"
  }

  /// The same in two sentences, what to do in one of its own.
  func sentences(_ count: Int, rows: String) -> String {
    let parts = counted(message, count).split(separator: "; ", maxSplits: 1).map(String.init)
    let remedy = parts.count > 1 ? " \(ended(parts[1].prefix(1).uppercased() + parts[1].dropFirst()))" : ""
    return "\(parts.first ?? "")\(found(count, rows)).\(remedy)"
  }
}

extension RowCheck {
  /// About rows of some entity: those for which a condition holds.
  /// - Parameter condition: nil for all of them.
  init(
    _ rule: RefusalRule, _ entity: String, _ properties: [String], at place: EntityPlace,
    where condition: SQL? = nil, message: String
  ) {
    let conditions = [place.condition(), condition].compactMap { $0 }
    let filter: SQL = conditions.isEmpty ? "" : " WHERE \(SQL.joined(conditions, by: " AND "))"
    self.init(
      Question(rows: "\(place.tableName)\(filter)"), message: message, rule: rule, entity: entity,
      properties: properties)
  }

  /// About values that are there more than once: the groups behind `FROM`.
  init(
    repeated groups: SQL, of entity: String, _ properties: [String], message: String
  ) {
    self.init(
      Question(groups: groups), message: message, rule: .unique, entity: entity, properties: properties)
  }
}

extension RowCheck.Question {
  /// How many ids are named.
  private static let most = 5

  /// - Parameters:
  ///   - rows: The rows, behind `FROM`.
  ///   - id: Their id.
  init(rows: SQL, id: SQL = "\"id\"") {
    self.init("count(*)", of: rows, rows, id)
  }

  /// - Parameters:
  ///   - groups: The groups of rows, behind `FROM`.
  ///   - id: The id that stands for a group.
  init(groups: SQL, id: SQL = "max(\"id\")") {
    self.init("count(*)", of: "(SELECT 1 FROM \(groups))", groups, id)
  }

  /// All of some rows, where there are more than one.
  /// - Parameter rows: The rows, behind `FROM`.
  init(moreThanOneOf rows: SQL) {
    self.init("CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END", of: rows, rows, "\"id\"")
  }

  private init(_ count: SQL, of counted: SQL, _ rows: SQL, _ id: SQL) {
    query = ("SELECT \(count) FROM \(counted)" as SQL).text
    self.rows = ("SELECT \(id) FROM \(rows) ORDER BY 1 LIMIT \(number: Int64(Self.most))" as SQL).text
  }
}

/// What rows come to have in properties of which each combination of values is there once.
struct ComingKey {
  /// The entity that declares the key, and its properties.
  let entity: String
  let properties: [String]
  /// What holds them, and what the rows come to have there: an expression on `rows`.
  let columns: [SQLName]
  let values: [SQL]
  /// Where the rows come from, behind FROM; each has an `id`.
  let rows: SQL
  /// Those that have such values already, behind FROM; nil for none.
  let others: SQL?

  /// - Parameters:
  ///   - entity: The entity, with what it inherits.
  ///   - value: What the rows come to have in a property; nil for nothing, which is like no other nothing.
  /// - Returns: nil where they have nothing in one of the properties.
  init?(
    _ properties: [String], of entity: EntityDescription, rows: SQL, others: SQL?, value: (String) -> SQL?
  ) {
    values = properties.compactMap(value)
    guard values.count == properties.count else { return nil }
    (self.entity, self.properties, self.rows, self.others) = (entity.name, properties, rows, others)
    columns = properties.map { SQLName(entity.relationship(named: $0)?.columnName ?? $0) }
  }

  /// That no value is there more than once: said with the number, before the engine says it without.
  /// - Parameters:
  ///   - message: nil for what is so of values that somebody gave.
  ///   - source: What the rows are objects of as yet; nil where that is the entity.
  func check(_ message: String? = nil, rowsOf source: String? = nil) -> CompiledStatement {
    let named = zip(values, columns).map { value, column -> SQL in "\(value) AS \(column)" }
    let isThere = SQL.joined(columns.map { "\($0) NOT NULL" }, by: " AND ")
    let beside: SQL = others.map { " UNION ALL SELECT NULL, \(SQL.names(columns)) FROM \($0)" } ?? ""
    let groups: SQL =
      "(SELECT \"id\", \(SQL.joined(named)) FROM \(rows)\(beside)) WHERE \(isThere) GROUP BY \(SQL.names(columns)) HAVING count(*) > 1 AND count(\"id\") > 0"
    var check = RowCheck(
      repeated: groups, of: entity, properties,
      message: message
        ?? "%d values of \(entity)(\(properties.joined(separator: ", "))) would be there more than once, and UNIQUE takes "
        + "each once; make them differ by a transform before")
    check.rowEntity = source
    return .mustBeEmpty(check)
  }
}

extension CompiledStatement {
  /// One that must count no row, of SQL that has no values.
  static func check(
    _ question: RowCheck.Question, message: String, _ rule: RefusalRule = .other, of entity: String = "",
    _ properties: [String] = []
  ) -> CompiledStatement {
    .mustBeEmpty(
      RowCheck(question, message: message, rule: rule, entity: entity, properties: properties))
  }
}
