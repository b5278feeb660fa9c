// Whether what stands in a file's columns is what their types can hold. SQLite itself takes anything anywhere.
//
// Asked after everything that can put foreign values into columns (data blocks, expressions, fillings) and by
// `verify`. One pass over a table for all of its columns, and a second one for the ids when there is something.

internal import CipherSQLite
private import Foundation

/// The tables and columns that SQL has written to, by their lower-case names.
struct TouchedColumns {
  private(set) var columns: [String: Set<String>] = [:]
  private(set) var tables: Set<String> = []

  var isEmpty: Bool { columns.isEmpty && tables.isEmpty }

  /// Notes what a statement will write: SQLite says so while it prepares it (18 INSERT, 23 UPDATE).
  mutating func note(_ action: AuthorizerAction) {
    guard let table = action.first?.lowercased() else { return }
    if action.code == 18 { tables.insert(table) }
    if action.code == 23, let column = action.second?.lowercased() {
      columns[table, default: []].insert(column)
    }
  }

  mutating func insert(_ entity: String, _ attribute: String) {
    columns[entity.lowercased(), default: []].insert(attribute.lowercased())
  }

  mutating func formUnion(_ other: TouchedColumns) {
    tables.formUnion(other.tables)
    columns.merge(other.columns) { $0.union($1) }
  }

  func contains(_ entity: String, _ column: String) -> Bool {
    tables.contains(entity.lowercased())
      || columns[entity.lowercased()]?.contains(column.lowercased()) == true
  }
}

/// Values that a column's type cannot hold.
struct TypeFinding: Equatable, CustomStringConvertible {
  let entity: String
  let property: String
  let expected: String
  let bad: Int
  let total: Int
  /// The ids of the first rows.
  let rows: [Int64]

  var description: String {
    "\(bad) of \(total) values of \(entity).\(property) are no \(expected): row\(bad == 1 ? "" : "s") "
      + rows.map(String.init).joined(separator: ", ") + (bad > rows.count ? " and more" : "")
  }
}

struct TypeCheck {
  let model: Schema
  /// What Swift's types take beyond the types of the model, such as the cases of an enum: by `Entity.property`.
  var readers: [String: ValueReader] = [:]

  /// The highest id that leaves room above it for many more.
  static let highestID = Int64.max >> 1

  /// What is wrong in the columns of the model, or in those of `touched`.
  func findings(_ connection: Connection, touched: TouchedColumns? = nil) throws -> [TypeFinding] {
    try register(on: connection)
    return try model.entities.flatMap { try findings(of: $0, connection, touched) }
  }

  private struct Check {
    let property: String
    let expected: String
    let condition: String
  }

  private func findings(
    of entity: EntityDescription, _ connection: Connection, _ touched: TouchedColumns?
  ) throws -> [TypeFinding] {
    let checks = checks(of: entity).filter { touched?.contains(entity.name, $0.property) ?? true }
    guard !checks.isEmpty else { return [] }
    let sums = checks.map { ", total(NOT (\($0.condition)))" }.joined()
    let counts = try connection.rows(sql: "SELECT count(*)\(sums) FROM \(quoted(entity.name))").first ?? []
    var findings: [TypeFinding] = []
    for (check, count) in zip(checks, counts.dropFirst()) {
      guard let bad = count.int64, bad > 0 else { continue }
      let rows = try connection.query(
        sql:
          "SELECT \"id\" FROM \(quoted(entity.name)) WHERE NOT (\(check.condition)) ORDER BY \"id\" LIMIT 5"
      ) { $0.int64(0) }
      findings.append(
        TypeFinding(
          entity: entity.name, property: check.property, expected: check.expected, bad: Int(bad),
          total: Int(counts.first?.int64 ?? 0), rows: rows))
    }
    return findings
  }

  private func checks(of entity: EntityDescription) -> [Check] {
    var checks = [
      Check(
        property: "id", expected: "id from 1 to \(Self.highestID)",
        condition: "\"id\" BETWEEN 1 AND \(Self.highestID)"),
      Check(
        property: "_version", expected: "version",
        condition: "typeof(\"_version\") = 'integer' AND \"_version\" > 0"),
    ]
    for attribute in entity.attributes {
      let column = quoted(attribute.name)
      var condition = Self.condition(column, attribute.type)
      let name = "\(entity.name).\(attribute.name)"
      if readers[name] != nil {
        condition = "\(condition) AND vault_reads('\(name)', \(column))"
      }
      checks.append(
        Check(
          property: attribute.name, expected: attribute.type.rawValue,
          condition: "\(column) IS NULL OR (\(condition))"))
    }
    return checks
  }

  /// SQL that is true for a value, not NULL, that the type can hold.
  static func condition(_ column: String, _ type: AttributeType) -> String {
    let isInteger = "typeof(\(column)) = 'integer'"
    let isNumber = "typeof(\(column)) IN ('real', 'integer')"
    func range<Number: FixedWidthInteger>(_ type: Number.Type) -> String {
      "\(isInteger) AND \(column) BETWEEN \(Number.min) AND \(Number.max)"
    }
    switch type {
    case .bool: return "\(isInteger) AND \(column) IN (0, 1)"
    case .int: return isInteger
    case .int8: return range(Int8.self)
    case .int16: return range(Int16.self)
    case .int32: return range(Int32.self)
    case .uint8: return range(UInt8.self)
    case .uint16: return range(UInt16.self)
    case .uint32: return range(UInt32.self)
    // Infinity is a float; what is between it and the largest one would become it.
    case .float:
      return
        "\(isNumber) AND (abs(\(column)) <= 3.4028234663852886e38 OR abs(\(column)) > 1.7976931348623157e308)"
    case .double, .date: return isNumber
    case .string: return "typeof(\(column)) = 'text'"
    case .data: return "typeof(\(column)) = 'blob'"
    case .decimal, .uuid, .url, .json:
      return "typeof(\(column)) = 'text' AND vault_is('\(type.rawValue)', \(column))"
    }
  }

  private func register(on connection: Connection) throws {
    try connection.register(function: "vault_is", argumentCount: 2) { arguments in
      guard case .text(let type) = arguments[0], case .text(let text) = arguments[1] else { return 0 }
      return Self.isForm(text, of: type) ? 1 : 0
    }
    let readers = readers
    guard !readers.isEmpty else { return }
    try connection.register(function: "vault_reads", argumentCount: 2) { arguments in
      guard case .text(let name) = arguments[0] else { return 1 }
      return readers[name]?.reads(arguments[1]) == false ? 0 : 1
    }
  }

  /// Whether a text has the form in which values of a type are stored: what has another one is not found by a
  /// comparison, even where a getter could read it.
  static func isForm(_ text: String, of type: String) -> Bool {
    switch type {
    case "decimal":
      isPlainDecimal(text) && Decimal(string: text, locale: posix) != nil
    case "uuid": UUID(uuidString: text)?.uuidString == text
    case "url": !text.isEmpty && URL(string: text) != nil
    case "json":
      (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
    default: true
    }
  }

  private static let posix = Locale(identifier: "en_US_POSIX")

  /// Whether a text is `-?[0-9]+(\.[0-9]+)?`. A regular expression would be parsed anew for each value of a store.
  private static func isPlainDecimal(_ text: String) -> Bool {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    let parts = digits.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    return parts.allSatisfy { part in
      !part.isEmpty && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
  }
}
