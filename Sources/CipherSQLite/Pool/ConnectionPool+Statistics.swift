// When a pool looks at the statistics of its tables. What they are is in TableStatistics.

extension ConnectionPool {
  /// After so many changed rows they are looked at, and when the pool is closed after so many.
  package static let (manyChanges, someChanges) = (10_000, 1000)

  /// Brings the statistics up to date, on the writer's queue, where enough rows were changed since they were last looked at.
  ///
  /// Called after a commit, whose caller waits some milliseconds for it. Where another process holds the lock, or an error
  /// occurs, the statistics stay as they are.
  func refreshStatistics(isClosing: Bool) {
    guard configuration.keepsStatistics, let connection = writer.connection, !connection.isInTransaction
    else {
      return
    }
    let changes = connection.totalChanges
    // A connection that was opened anew has changed nothing yet.
    if changes < writer.changesSeen { writer.changesSeen = 0 }
    guard changes - writer.changesSeen >= (isClosing ? Self.someChanges : Self.manyChanges) else { return }
    writer.changesSeen = changes
    let former = connection.hooks.busy
    connection.onBusy { _ in false }
    defer { connection.onBusy(former) }
    // Who opens the file later reads them with the tables.
    try? connection.transaction(.immediate) {
      try TableStatistics(connection).refresh(isAnnounced: !isClosing)
    }
    if !isClosing { tellNilColumns(connection) }
  }

  /// Hands over what the statistics say. What another process makes of them later is not told: it would change the time that a
  /// query takes, and nothing else.
  func tellNilColumns(_ connection: Connection) {
    guard configuration.keepsStatistics, let columns = try? TableStatistics(connection).nilColumns() else {
      return
    }
    configuration.onNilColumns(columns)
  }
}
