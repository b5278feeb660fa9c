// The way from a statement to its connection, which it does not keep. A weak reference would do the same, but whatever one
// leads to counts all its references the slow way from then on, and a look-up has a dozen of them.

/// Leads to a connection as long as there is one.
final class ConnectionLink {
  // Safe: set by the connection alone, and to nil as the first thing in its deinit. Who has a link is used by the one task
  // that uses the connection, so that nobody reads it at that moment.
  @safe @exclusivity(unchecked) private(set) unowned(unsafe) var connection: Connection?

  /// Leads there from now on.
  func lead(to connection: Connection) { self.connection = connection }

  /// Leads nowhere from now on.
  func end() { connection = nil }
}
