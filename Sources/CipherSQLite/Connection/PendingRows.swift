// Rows that a fetch excludes in SQL, because their pending state in memory takes precedence.

/// The ids for which `vault_pending(id)` is 1. They are not part of the SQL text, because the engine would
/// parse a list of ids each time.
final class PendingRows {
  var ids: [Set<Int64>] = []

  func contains(_ id: Int64) -> Bool { ids.contains { $0.contains(id) } }
}
