// The attribute types and their names in schemas and migration files. Their traits are in
// AttributeTraits.

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
  /// `Date`, stored as a double with the seconds from 2001-01-01, so that every bit is preserved.
  case date
  /// `UUID`, stored as upper-case text.
  case uuid
  /// `URL`, stored as its absolute text.
  case url
  /// A `Codable` value, stored as JSON text with sorted keys.
  case json
}
