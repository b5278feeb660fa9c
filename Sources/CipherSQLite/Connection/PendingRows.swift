// Rows that the statements of a fetch leave out, as memory knows better what they hold.

/// The ids for which `vault_pending(id)` is 1. They stand here, and not in the statement: the engine would read a list anew each time.
final class PendingRows {
  var ids: [Set<Int64>] = []

  func contains(_ id: Int64) -> Bool { ids.contains { $0.contains(id) } }
}
