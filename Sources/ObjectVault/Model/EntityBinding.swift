// What a Swift class says of an entity beyond the schema's meaning. A schema that was read from a file has none.

internal import CipherSQLite

/// The Swift side of an entity.
protocol EntityBinding: Sendable {
  /// The properties in the order of their slots.
  var propertyNames: [String] { get }
  /// What makes a new object's value of a property; nil where it begins with nil.
  func initialValue(of property: String) -> (() throws -> SQLValue)?
  /// The rules of a property.
  func checks(of property: String) -> [CheckRule]
  /// What the entity was called in an earlier version, where the schema says so.
  var formerEntityName: String? { get }
  /// What a property was called in an earlier version, where the class says so.
  func formerName(of property: String) -> String?
  /// Whether the Swift type of a property reads a stored value.
  func reader(of property: String) -> ValueReader?
}

// Safe to share: never changed. Its closures capture a type alone, and call that type's initializers on the caller's
// thread, with values that nobody else has.
struct ValueReader: @unchecked Sendable {
  /// Whether the Swift type has fewer values than the attribute's type: an enum, a structure in JSON.
  let isNarrow: Bool
  let reads: (SQLValue) -> Bool
  /// Some of its values, of an enum all; nil is none of them.
  let samples: () -> [SQLValue]
}
