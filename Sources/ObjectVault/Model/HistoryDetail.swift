// What the history of an entity contains.

/// What the history of an entity contains: see ``Entity/history(_:)``.
public enum HistoryDetail: String, Sendable, Hashable, Codable, CaseIterable {
  /// The new values: less to write and to store. A past state can be read as far back as the history
  /// goes, but a transaction cannot be undone.
  case changes
  /// The old and the new values, and the last values of deleted objects: for audits and undo.
  case full
}
