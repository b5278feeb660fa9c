// Prepared statements by SQL text. A prepare costs 20 µs and more; a look-up well below one.

struct StatementCache {
  private var entries: [String: Statement] = [:]
  private let capacity = 256

  /// A statement that nobody is stepping, taken for use; nil when there is none.
  func take(_ sql: String) -> Statement? {
    guard let statement = entries[sql], !statement.isInUse else { return nil }
    statement.isInUse = true
    return statement
  }

  mutating func insert(_ statement: Statement) {
    // Rare, so the simplest policy will do: everything idle goes at once.
    if entries.count >= capacity { entries = entries.filter { $0.value.isInUse } }
    statement.isInUse = true
    entries[statement.sql] = statement
  }

  mutating func removeAll() {
    for statement in entries.values { statement.finalize() }
    entries.removeAll()
  }
}
