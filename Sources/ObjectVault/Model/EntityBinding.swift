// What the Swift class of an entity declares beyond the schema. A schema that was read from a file has no
// bindings.

internal import CipherSQLite

/// The Swift side of an entity.
protocol EntityBinding: Sendable {
  /// The properties in the order of their slots.
  var propertyNames: [String] { get }
  /// Returns a closure that makes a new object's value of a property; nil where a new object has nil.
  func initialValue(of property: String) -> (() throws -> SQLValue)?
  /// Returns the rules of a property.
  func checks(of property: String) -> [CheckRule]
  /// The name of the entity in an earlier version, if the schema declares one.
  var formerEntityName: String? { get }
  /// Returns the name of a property in an earlier version, if the class declares one.
  func formerName(of property: String) -> String?
  /// Returns the key of a property in JSON, if the class declares one.
  func key(of property: String) -> String?
  /// Returns the reader of a property's Swift type, which checks whether the type can represent a stored
  /// value.
  func reader(of property: String) -> ValueReader?
}

// Safe to share: never changed. Its closures capture only a type, and call that type's initializers on
// the caller's thread, with values that no other thread has.
/// Checks whether the Swift type of a property can represent stored values.
struct ValueReader: @unchecked Sendable {
  /// Whether the Swift type has fewer values than the attribute type, as an enum or a structure stored as
  /// JSON.
  let isNarrow: Bool
  /// Whether the Swift type can represent a stored value.
  let reads: (SQLValue) -> Bool
  /// Some values of the Swift type, or all values of an enum; nil is not among them.
  let samples: () -> [SQLValue]
}
