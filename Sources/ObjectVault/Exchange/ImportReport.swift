// What an import of JSON has done.

/// The numbers of an import: see ``ObjectContext/importJSON(_:into:mapping:)``.
public struct ImportReport: Sendable, Hashable {
  /// The number of objects that were inserted.
  public internal(set) var inserted = 0
  /// The number of objects that were found and changed.
  public internal(set) var updated = 0
  /// The number of objects that were found and already had the values of the JSON.
  public internal(set) var unchanged = 0
  /// How often the JSON had a key that belongs to no property, by entity and key: `["User.nick_name": 3]`.
  public internal(set) var unknownKeys: [String: Int] = [:]
}

/// The objects of an import, in their context.
///
/// Not `Sendable`, because its objects belong to the context. In ``Store/write(_:)`` return the
/// ``report``, or ids.
public struct Imported<Object: ManagedObject> {
  /// The objects of the topmost level of the JSON, in its order. Two JSON objects with one identity are one
  /// object, which is here twice.
  public let objects: [Object]
  /// What was done, nested objects included.
  public let report: ImportReport
}
