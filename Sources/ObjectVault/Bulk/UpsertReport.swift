// What an upsert has done with its rows.

/// The result of an upsert: what happened for its rows.
///
/// ```swift
/// let report = try context.upsert(
///   ["Ann", "Bob"], into: User.self, on: \.name, by: \.self
/// ) { user, name in user.screenName = name.lowercased() }
/// let changed = report.inserted + report.updated
/// ```
///
/// Each row counts once. Of two rows with one key, the first may insert an object that the second updates.
public struct UpsertReport<ID: Hashable & Sendable>: Sendable, Hashable {
  /// The number of rows that inserted an object.
  public internal(set) var inserted = 0
  /// The number of rows that found an object and changed it.
  public internal(set) var updated = 0
  /// The number of rows that found an object which already had the values of the row. The save writes
  /// nothing for such an object, unless it had pending changes before.
  public internal(set) var unchanged = 0
  /// The ids of the objects; nil unless they were requested.
  public internal(set) var ids: IDs?

  /// The ids of the objects of an upsert, one for each row, in the order of the rows.
  public struct IDs: Sendable, Hashable {
    /// The ids of the inserted objects. Outside of ``Store/write(_:)`` they are temporary until the save.
    public internal(set) var inserted: [ID] = []
    /// The ids of the changed objects.
    public internal(set) var updated: [ID] = []
    /// The ids of the objects that were not changed.
    public internal(set) var unchanged: [ID] = []
  }

  /// The number of rows.
  public var rows: Int { inserted + updated + unchanged }

  init(withIDs: Bool) { ids = withIDs ? IDs() : nil }
}
