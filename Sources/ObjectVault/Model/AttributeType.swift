// The closed list of attribute types: their names in schemas and migration files, and their SQL types.

/// The type of an attribute, as schemas, migration files and the store name it.
public enum AttributeType: String, Sendable, Hashable, Codable, CaseIterable {
  /// `Bool`, stored as 0 or 1.
  case bool
  /// `Int` and `Int64`.
  case int
  /// `Int8`.
  case int8
  /// `Int16`.
  case int16
  /// `Int32`.
  case int32
  /// `UInt8`.
  case uint8
  /// `UInt16`.
  case uint16
  /// `UInt32`.
  case uint32
  /// `Float`.
  case float
  /// `Double`.
  case double
  /// `Decimal`, stored as text; compares and sorts by value through a collation of the store.
  case decimal
  /// `String`.
  case string
  /// `Data`.
  case data
  /// `Date`, stored as seconds from 2001-01-01 in a double, so that it comes back bit by bit.
  case date
  /// `UUID`, stored as upper-case text.
  case uuid
  /// `URL`, stored as its absolute text.
  case url
  /// A `Codable` value, stored as JSON text with sorted keys.
  case json

  /// The column's declared type, with what follows from it.
  var sqlType: String {
    switch self {
    case .bool, .int, .int8, .int16, .int32, .uint8, .uint16, .uint32: "INTEGER"
    case .float, .double, .date: "REAL"
    case .decimal, .string, .uuid, .url, .json: "TEXT"
    case .data: "BLOB"
    }
  }

  /// What stands behind the type in a column definition.
  var columnSuffix: String { self == .decimal ? " COLLATE vault_decimal" : "" }

  /// Whether values are whole numbers.
  var isInteger: Bool { sqlType == "INTEGER" }
  /// Whether values are numbers that compare by value with each other.
  var isNumeric: Bool { isInteger || self == .float || self == .double || self == .decimal }
}
