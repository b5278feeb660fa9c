// Checks that the columns of a file hold only valid values of their types. SQLite itself stores any value
// in any column.
//
// The check runs after everything that can write invalid values (data blocks, expressions, backfill
// values; see RowAudit), and in `verify`. One pass over a table checks all of its columns. Each column
// with faults takes another query, for the ids of the rows.

internal import CipherSQLite

struct TypeCheck {
  let model: Schema
  /// The additional checks by Swift types, such as the cases of an enum, keyed by `Entity.property`.
  var readers: [String: ValueReader] = [:]

  /// Returns the faults in the columns of the model, or in the columns of `touched` only.
  /// - Parameter onlyReaders: Omits the checks by the model's types, because they were made before.
  func findings(
    _ connection: Connection, touched: TouchedColumns? = nil, onlyReaders: Bool = false
  ) throws -> [TypeFinding] {
    try register(on: connection)
    return try model.entities.flatMap { entity in
      let place = model.place(of: entity.name)
      func isAsked(_ check: Check) -> Bool {
        // The column with the row's entity decides which columns must be set or NULL, so a change of it
        // counts as a change of all columns.
        let isTouched = touched.map {
          $0.contains(place.table, column: check.column)
            || $0.contains(place.table, column: EntityColumn.name)
        }
        return (isTouched ?? true) && (check.isRead || !onlyReaders)
      }
      return try findings(
        of: entity.name, table: place.rows, id: SQLName("id"), checks: checks(of: entity).filter(isAsked),
        in: connection)
        + foreignFindings(of: entity, where: isAsked, in: connection)
    } + (onlyReaders ? [] : linkFindings(connection, touched))
  }

  /// Returns the condition that a row has a fault in a column of `touched`. Code that copies the rows of
  /// a table tests the condition while the pages of the rows are in memory.
  /// ``findings(_:touched:onlyReaders:)`` would decrypt all pages again, and is needed only if a row
  /// fulfils the condition.
  /// - Parameter made: The expression that fills each column. A column whose expression can give only
  ///   valid values is omitted from the condition.
  func doubt(
    aboutTable table: String, touched: TouchedColumns, made: [String: String], in connection: Connection
  ) throws -> RowFaultCondition {
    guard let entity = model.entity(named: table), !model.isInHierarchy(entity) else { return .unknown }
    let asked = checks(of: entity).filter { touched.contains(table, column: $0.column) }
    guard !asked.isEmpty else { return .unknown }
    let open = asked.filter { check in
      guard !check.isRead, let type = entity.attribute(named: check.column)?.type,
        let expression = made[check.column]
      else { return true }
      return !type.canHoldEveryResult(ofCast: SQLScanner.castType(expression))
    }
    guard !open.isEmpty else { return .none }
    try register(on: connection)
    return .where(SQL.joined(open.map { "NOT (\($0.condition))" }, by: " OR "))
  }

  /// Returns the faults of rows that belong to other entities of the table, but have values in this
  /// entity's columns.
  private func foreignFindings(
    of entity: EntityDescription, where isAsked: (Check) -> Bool, in connection: Connection
  ) throws -> [TypeFinding] {
    guard let own = model.place(of: entity.name).condition() else { return [] }
    let checks = columns(of: entity).map { name, column, written in
      Check(
        property: name, column: column, expected: "nothing", condition: "\(identifier: column) IS NULL",
        fault: .foreign, written: written.map { "$\($0).position" })
    }
    let table = SQLName(model.root(of: entity.name))
    return try findings(
      of: entity.name, table: "(SELECT * FROM \(table) WHERE NOT (\(own)))", id: SQLName("id"),
      checks: checks.filter(isAsked),
      in: connection)
  }

  /// Returns the columns of an entity's properties: the name in findings, the column and, for a column
  /// with positions, the ordered to-many under whose name a step writes the column.
  private func columns(of entity: EntityDescription) -> [(name: String, column: String, written: String?)] {
    entity.attributes.map { ($0.name, $0.name, nil) }
      + entity.relationships.filter { $0.hasColumn }.flatMap { toOne in
        [(toOne.name, toOne.columnName, nil)]
          + (model.orderColumn(of: toOne).map {
            [("\(toOne.name).position", $0, orderedInverseName(of: toOne))]
          }
            ?? [])
      }
  }

  /// Returns the checks that stand in for column constraints, for entities that share a table.
  private func hierarchyChecks(of entity: EntityDescription) -> [Check] {
    guard entity.parent != nil else {
      guard model.isInHierarchy(entity), let own = hierarchyPlace(of: entity).condition() else { return [] }
      return [
        Check(
          property: EntityColumn.name, column: EntityColumn.name,
          expected: "name of \(entity.name) or of an entity below it", condition: own)
      ]
    }
    let required =
      entity.attributes.filter { !$0.isOptional }.map { ($0.name, $0.name) }
      + entity.relationships.filter { $0.hasColumn && $0.isRequired }.map { ($0.name, $0.columnName) }
    return required.map { name, column in
      Check(
        property: name, column: column, expected: "value", condition: "\(identifier: column) NOT NULL",
        fault: .missing)
    }
  }

  private func hierarchyPlace(of root: EntityDescription) -> EntityPlace {
    EntityPlace(table: root.name, entities: model.hierarchy(of: root).map(\.name))
  }

  /// Checks the positions of members in tables of links. The findings have the ids of the owners.
  private func linkFindings(_ connection: Connection, _ touched: TouchedColumns?) throws -> [TypeFinding] {
    try model.joinTables.flatMap { join in
      let orders = [
        (join.source, join.sourceOrder, join.sourceColumn),
        (join.target, join.targetOrder, join.targetColumn),
      ]
      return try orders.flatMap { entity, order, own -> [TypeFinding] in
        guard let order, touched?.contains(join.name, column: order) ?? true else { return [] }
        let check = place(order, of: String(order.dropFirst(entity.count + 1).dropLast("_position".count)))
        return try findings(
          of: entity, table: "\(join.tableName)", id: SQLName(own), checks: [check], in: connection)
      }
    }
  }

  /// Returns the check of a column with the positions of members.
  /// - Parameter written: The name of the ordered relationship in a step, if it belongs to an entity
  ///   other than that of the rows.
  private func place(_ column: String, of property: String, written: String? = nil) -> Check {
    Check(
      property: "\(property).position", column: column, expected: "whole number",
      condition: "\(identifier: column) IS NULL OR typeof(\(identifier: column)) = 'integer'",
      written: written.map { "$\($0).position" })
  }

  private struct Check {
    let property: String
    let column: String
    let expected: String
    let condition: SQL
    /// Whether the condition calls a Swift type.
    var isRead = false
    var fault = TypeFinding.Fault.value
    /// The value for ``TypeFinding/written``.
    var written: String?
  }

  private func findings(
    of entity: String, table: SQL, id: SQLName, checks: [Check], in connection: Connection
  ) throws -> [TypeFinding] {
    guard !checks.isEmpty else { return [] }
    let sums = SQL.joined(checks.map { ", total(NOT (\($0.condition)))" }, by: "")
    let counts = try connection.rows("SELECT count(*)\(sums) FROM \(table)").first ?? []
    var findings: [TypeFinding] = []
    for (check, count) in zip(checks, counts.dropFirst()) {
      guard let bad = count.int64, bad > 0 else { continue }
      let rows = try connection.query(
        "SELECT \(id) FROM \(table) WHERE NOT (\(check.condition)) ORDER BY \(id) LIMIT 5"
      ) { $0.int64(0) }
      findings.append(
        TypeFinding(
          entity: entity, property: check.property, expected: check.expected, bad: Int(bad),
          total: Int(counts.first?.int64 ?? 0), rows: rows, fault: check.fault, written: check.written))
    }
    return findings
  }

  private func checks(of entity: EntityDescription) -> [Check] {
    var checks = hierarchyChecks(of: entity)
    guard entity.parent == nil else { return checks + valueChecks(of: entity) }
    checks += [
      Check(
        property: "id", column: "id", expected: "id from 1 to \(RowIDs.highest)",
        condition: "\"id\" BETWEEN 1 AND \(number: RowIDs.highest)"),
      Check(
        property: "_version", column: "_version", expected: "version",
        condition:
          "typeof(\"_version\") = 'integer' AND \"_version\" BETWEEN 1 AND \(number: RowVersions.highest)"),
    ]
    return checks + valueChecks(of: entity)
  }

  private func valueChecks(of entity: EntityDescription) -> [Check] {
    var checks: [Check] = []
    for attribute in entity.attributes {
      let column = SQLName(attribute.name)
      var condition = attribute.type.holds(column)
      let name = "\(entity.name).\(attribute.name)"
      let isRead = readers[name]?.isNarrow == true
      if isRead { condition = "\(condition) AND vault_reads(\(literal: name), \(column))" }
      checks.append(
        Check(
          property: attribute.name, column: attribute.name, expected: attribute.type.rawValue,
          condition: "\(column) IS NULL OR (\(condition))", isRead: isRead))
    }
    for relationship in entity.relationships where relationship.hasColumn {
      let column = RelationshipDescription.columnName(relationship.name)
      checks.append(
        Check(
          property: relationship.name, column: column, expected: "id of \(relationship.destination)",
          condition: "\(identifier: column) IS NULL OR typeof(\(identifier: column)) = 'integer'"))
      guard let order = model.orderColumn(of: relationship) else { continue }
      checks.append(place(order, of: relationship.name, written: orderedInverseName(of: relationship)))
    }
    return checks
  }

  /// Returns the ordered to-many whose positions are stored with a to-one, in the form `Entity.property`.
  private func orderedInverseName(of toOne: RelationshipDescription) -> String? {
    toOne.inverse.map { "\(toOne.destination).\($0)" }
  }

  private func register(on connection: Connection) throws {
    try connection.registerTextCheck()
    try connection.register(function: "vault_is", argumentCount: 2) { arguments in
      guard case .text(let type) = arguments[0], case .text(let text) = arguments[1] else { return 0 }
      return AttributeType(rawValue: type)?.isForm(text) == false ? 0 : 1
    }
    let readers = readers
    guard !readers.isEmpty else { return }
    try connection.register(function: "vault_reads", argumentCount: 2) { arguments in
      guard case .text(let name) = arguments[0] else { return 1 }
      return readers[name]?.reads(arguments[1]) == false ? 0 : 1
    }
  }
}

/// A condition for the rows of a table that may have a fault.
enum RowFaultCondition {
  /// No condition on a single row can show the faults, or no check applies.
  case unknown
  /// No row can have a fault, because every result of the expressions is valid.
  case none
  /// Only rows that fulfil the condition can have a fault.
  case `where`(SQL)

  var condition: SQL? { if case .where(let condition) = self { condition } else { nil } }
  var isNone: Bool { if case .none = self { true } else { false } }
}

extension AttributeType {
  /// Whether the type can hold every result of a cast to INTEGER or REAL, including NULL. Always false
  /// for Float, whose range is narrower, and for text and blobs.
  fileprivate func canHoldEveryResult(ofCast type: String?) -> Bool {
    switch traits.storage {
    case .integer(let range): type == "INTEGER" && range == Int64.min...Int64.max
    case .real(isSingle: false): type == "REAL" || type == "INTEGER"
    case .real(isSingle: true), .text, .blob: false
    }
  }

  /// Returns SQL that is true for a value that the type can hold. The value must not be NULL.
  func holds(_ column: SQLName) -> SQL {
    switch traits.storage {
    case .integer(let range) where range == Int64.min...Int64.max: return "typeof(\(column)) = 'integer'"
    case .integer(let range):
      return
        "typeof(\(column)) = 'integer' AND \(column) BETWEEN \(number: range.lowerBound) AND \(number: range.upperBound)"
    // Infinity is a valid Float. A value between the greatest finite Float and infinity would be rounded
    // to infinity.
    case .real(isSingle: true):
      return
        "typeof(\(column)) IN ('real', 'integer') AND (abs(\(column)) < 3.4028235677973366e38 OR abs(\(column)) > 1.7976931348623157e308)"
    case .real(isSingle: false): return "typeof(\(column)) IN ('real', 'integer')"
    // The engine stores any bytes as text, but Swift would replace invalid UTF-8.
    case .text(.any): return "typeof(\(column)) = 'text' AND vault_utf8(\(column))"
    case .text: return "typeof(\(column)) = 'text' AND vault_is(\(literal: rawValue), \(column))"
    case .blob: return "typeof(\(column)) = 'blob'"
    }
  }
}
