// The statistics by which the engine chooses indexes. TableStatistics computes them, and ConnectionPool
// renews them after writes and when the store is closed.

internal import CipherSQLite

extension Store {
  /// Returns the tables whose statistics are missing or out of date, in alphabetical order.
  ///
  /// Tables of fewer than 1,000 rows need none. Statistics are out of date if they lack an index, or if the
  /// number of rows has at least doubled or halved. That is no fault of the store, and is not among the
  /// findings of ``verify()``; but a fetch may be slow, because the engine chooses a poor index.
  /// - Returns: The names of the tables, which are those of entities and of link tables.
  /// - Throws: ``SQLError``.
  public func outdatedStatistics() async throws -> [String] {
    try await pool.read { try TableStatistics($0).staleTables() }
  }

  /// Renews statistics that are missing or out of date.
  ///
  /// A store does this by itself (``Store/Configuration/keepsStatistics``). Call it after bulk work if the
  /// setting is off, or if many fetches follow at once. It takes the place of `PRAGMA optimize` and
  /// `ANALYZE`, on all engines.
  /// - Throws: ``SQLError``: `SQLError.busy` if another process keeps the lock longer than the busy
  ///   timeout; ``StoreError/storeMigratedElsewhere(file:)``.
  public func updateStatistics() async throws {
    let (core, pool) = (core, pool)
    try await pool.write { connection in
      try core.beginWriting(connection)
      try TableStatistics(connection).refresh(isAnnounced: true)
      core.learn(nilColumns: try TableStatistics(connection).nilColumns())
    }
  }
}
