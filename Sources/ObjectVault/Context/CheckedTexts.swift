// Texts that were checked before: the check of a query by the engine's authorizer discards all cached
// statements of the connection, so it runs once for each text.

internal import CipherSQLite

/// The queries in SQL that a store has checked.
final class CheckedTexts: Sendable {
  /// The highest number of texts that are kept. A program has few; texts that are made at run time are not
  /// worth keeping.
  private static let capacity = 500
  private let known = Locked<Set<String>>([])

  /// Calls `check` unless the text passed it before.
  func check(_ text: String, by check: () throws -> Void) rethrows {
    if known.withLock({ $0.contains(text) }) { return }
    try check()
    known.withLock { known in
      if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
      known.insert(text)
    }
  }
}
