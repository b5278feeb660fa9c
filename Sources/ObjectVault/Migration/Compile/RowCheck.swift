// A query that must find no rows. A step runs the query before the change that requires this. A plan runs
// it in advance, if the file already has the rows that the step will find.

internal import CipherSQLite

/// A condition that no row of a store may meet.
struct RowCheck: Hashable {
  /// The SQL of a check.
  struct Question: Hashable {
    /// SQL that counts the rows.
    let query: String
    /// SQL that returns the ids of the first rows.
    let rows: String
  }

  private let question: Question
  /// SQL that counts the rows.
  var query: String { question.query }
  /// SQL that returns the ids of the first rows.
  var rows: String { question.rows }
  /// The fault, with `%d` for the count (see ``counted(_:_:)``), and after a semicolon the remedy.
  let message: String
  /// The rule that a plan reports.
  var rule = RefusalRule.other
  /// The entity, with its name in the step; empty if the check is about several entities.
  var entity = ""
  var properties: [String] = []
  /// The present entity of the rows that the check finds, if they only become rows of `entity` in the
  /// step.
  var rowEntity: String?
  /// The query that a plan runs before all steps. It is the check's own query, unless that needs tables
  /// which the run has changed. It is nil if the run computes the values or moves rows.
  var beforehand: Question?

  init(
    _ question: Question, message: String, rule: RefusalRule = .other, entity: String = "",
    properties: [String] = []
  ) {
    self.question = question
    beforehand = question
    (self.message, self.rule, self.entity, self.properties) = (message, rule, entity, properties)
  }

  /// Returns the fault with the number and ids of the rows, as the reason for the step's failure.
  func reason(_ count: Int, rows: String) -> String { counted(message, count) + found(count, rows) }

  /// Returns the rows' ids, in brackets.
  private func found(_ count: Int, _ rows: String) -> String {
    " (\(count == 1 ? "row" : "rows") \(rows)\(rowEntity.map { " of \($0)" } ?? ""))"
  }

  /// Returns the fault and the remedy as two sentences.
  func sentences(_ count: Int, rows: String) -> String {
    let parts = counted(message, count).split(separator: "; ", maxSplits: 1).map(String.init)
    let remedy = parts.count > 1 ? " \(ended(parts[1].prefix(1).uppercased() + parts[1].dropFirst()))" : ""
    return "\(parts.first ?? "")\(found(count, rows)).\(remedy)"
  }
}

extension RowCheck {
  /// Creates a check of the rows of an entity that meet a condition.
  /// - Parameter condition: The condition; nil for all rows.
  init(
    _ rule: RefusalRule, of entity: String, _ properties: [String], at place: EntityPlace,
    where condition: SQL? = nil, message: String
  ) {
    let conditions = [place.condition(), condition].compactMap { $0 }
    let filter: SQL = conditions.isEmpty ? "" : " WHERE \(SQL.joined(conditions, by: " AND "))"
    self.init(
      Question(rows: "\(place.tableName)\(filter)"), message: message, rule: rule, entity: entity,
      properties: properties)
  }

  /// Creates a check of repeated values; `groups` is the text of the query after `FROM`.
  init(
    repeated groups: SQL, of entity: String, _ properties: [String], message: String
  ) {
    self.init(
      Question(groups: groups), message: message, rule: .unique, entity: entity, properties: properties)
  }
}

extension RowCheck.Question {
  /// The maximum number of ids that are reported.
  private static let most = 5

  /// Creates a query for rows.
  /// - Parameters:
  ///   - rows: The text of the query after `FROM`.
  ///   - id: SQL for the id of a row.
  init(rows: SQL, id: SQL = "\"id\"") {
    self.init("count(*)", of: rows, rows: rows, id: id)
  }

  /// Creates a query for groups of rows.
  /// - Parameters:
  ///   - groups: The text of the query after `FROM`.
  ///   - id: SQL for the id that is reported for a group.
  init(groups: SQL, id: SQL = "max(\"id\")") {
    self.init("count(*)", of: "(SELECT 1 FROM \(groups))", rows: groups, id: id)
  }

  /// Creates a query that counts all rows if there is more than one, else none.
  /// - Parameter rows: The text of the query after `FROM`.
  init(moreThanOneOf rows: SQL) {
    self.init("CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END", of: rows, rows: rows, id: "\"id\"")
  }

  private init(_ count: SQL, of counted: SQL, rows: SQL, id: SQL) {
    query = ("SELECT \(count) FROM \(counted)" as SQL).text
    self.rows = ("SELECT \(id) FROM \(rows) ORDER BY 1 LIMIT \(number: Int64(Self.most))" as SQL).text
  }
}

/// The values that rows will get in the properties of a unique key.
struct UniqueKeyCheck {
  /// The entity that declares the key.
  let entity: String
  let properties: [String]
  /// The columns of the key, and for each column the rows' new value: SQL over a row of `rows`.
  let columns: [SQLName]
  let values: [SQL]
  /// The rows, as the text of a query after `FROM`; each row has an `id`.
  let rows: SQL
  /// Existing rows that have values of the key already, as the text of a query after `FROM`; nil for
  /// none.
  let others: SQL?

  /// Creates the values of a key.
  /// - Parameters:
  ///   - entity: The entity, with its inherited properties.
  ///   - value: Returns SQL for the rows' new value of a property; nil for NULL. NULL never equals
  ///     another NULL.
  /// - Returns: nil if the rows get NULL in one of the properties.
  init?(
    _ properties: [String], of entity: EntityDescription, rows: SQL, others: SQL?, value: (String) -> SQL?
  ) {
    values = properties.compactMap(value)
    guard values.count == properties.count else { return nil }
    (self.entity, self.properties, self.rows, self.others) = (entity.name, properties, rows, others)
    columns = properties.map { SQLName(entity.relationship(named: $0)?.columnName ?? $0) }
  }

  /// Returns the check that no value repeats. The check counts the repeated values; the engine would not.
  /// - Parameters:
  ///   - message: The message; nil for the default one, which fits values that the step does not compute.
  ///   - source: The present entity of the rows, if that is not the entity of the key.
  func check(_ message: String? = nil, rowsOf source: String? = nil) -> CompiledStatement {
    let named = zip(values, columns).map { value, column -> SQL in "\(value) AS \(column)" }
    let isThere = SQL.joined(columns.map { "\($0) NOT NULL" }, by: " AND ")
    let beside: SQL = others.map { " UNION ALL SELECT NULL, \(SQL.names(columns)) FROM \($0)" } ?? ""
    let groups: SQL =
      "(SELECT \"id\", \(SQL.joined(named)) FROM \(rows)\(beside)) WHERE \(isThere) GROUP BY \(SQL.names(columns)) HAVING count(*) > 1 AND count(\"id\") > 0"
    var check = RowCheck(
      repeated: groups, of: entity, properties,
      message: message
        ?? "%d values of \(entity)(\(properties.joined(separator: ", "))) would occur more than once, "
        + "but must be unique; first make all values differ with a transform")
    check.rowEntity = source
    return .mustBeEmpty(check)
  }
}

extension CompiledStatement {
  /// Creates a statement that fails the step if a query counts any row; the query must have no bound
  /// values.
  static func check(
    _ question: RowCheck.Question, message: String, rule: RefusalRule = .other, of entity: String = "",
    _ properties: [String] = []
  ) -> CompiledStatement {
    .mustBeEmpty(
      RowCheck(question, message: message, rule: rule, entity: entity, properties: properties))
  }
}
