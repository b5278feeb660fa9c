// Decides when a pool updates the statistics of its tables. `TableStatistics` computes them.

extension ConnectionPool {
  /// The number of changed rows after which the statistics are checked, and the lower number that
  /// suffices when the pool is closed.
  package static let (manyChanges, someChanges) = (10_000, 1000)

  /// Updates the statistics, on the writer's queue, if enough rows were changed since the last check.
  ///
  /// Called after a commit, whose caller waits some milliseconds for it. If another process has the lock,
  /// or an error occurs, the statistics stay as they are.
  func refreshStatistics(isClosing: Bool) {
    guard configuration.keepsStatistics, let connection = writer.connection, !connection.isInTransaction
    else {
      return
    }
    let changes = connection.totalChanges
    // A connection that was opened anew has not changed any rows yet.
    if changes < writer.changesAtLastCheck { writer.changesAtLastCheck = 0 }
    guard changes - writer.changesAtLastCheck >= (isClosing ? Self.someChanges : Self.manyChanges) else {
      return
    }
    writer.changesAtLastCheck = changes
    let former = connection.hooks.busy
    connection.onBusy { _ in false }
    defer { connection.onBusy(former) }
    // When the pool is closed, no announcement is needed: later connections read the statistics with the
    // schema.
    try? connection.transaction(.immediate) {
      try TableStatistics(connection).refresh(isAnnounced: !isClosing)
    }
    if !isClosing { reportNilColumns(connection) }
  }

  /// Passes the columns in which most rows are NULL, according to the statistics, to `onNilColumns`. Later
  /// updates by other processes are not passed: they would only affect how long a query takes.
  func reportNilColumns(_ connection: Connection) {
    guard configuration.keepsStatistics, let columns = try? TableStatistics(connection).nilColumns() else {
      return
    }
    configuration.onNilColumns(columns)
  }
}
