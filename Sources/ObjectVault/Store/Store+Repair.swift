// Repairs the recorded text of steps that were edited after they ran.

public import CipherSQLite
public import Foundation

extension Store {
  /// Replaces the recorded text of steps that were edited after they ran by the text of the present
  /// files.
  ///
  /// No statement of a step runs, and no entity's table changes. The edited steps must produce the model
  /// that the store has; any other edit needs a new step. The earlier record is kept in
  /// ``history(at:key:profile:)``. Takes one short transaction.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - numbers: The steps. Those that match their record do not change.
  ///   - migrations: The steps as they are now.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds.
  /// - Returns: The steps whose record was updated, with the differences.
  /// - Throws: ``StoreError/repairRefused(file:step:reason:)``; ``StoreError/historyConflict(_:)`` if
  ///   other steps do not match their record; ``SQLError``; `CancellationError` if the task is cancelled.
  ///   The store is then unchanged.
  @discardableResult
  public static func repair(
    at url: URL, key: Key, steps numbers: [Int], migrations: MigrationSet, profile: CipherProfile? = nil,
    busyTimeout: Double = 5
  ) async throws -> HistoryRepair {
    let key = try await key.resolved()
    return try await cancellable { run in
      var configuration = Connection.Configuration()
      (configuration.busyTimeout, configuration.profile) = (busyTimeout, profile)
      let connection = try Connection.open(url.filePath, key: key, configuration: configuration)
      defer { connection.close() }
      return try run.run(connection) {
        try connection.transaction(.immediate) {
          let work = try RepairWork(
            numbers, of: try StoreHistory.read(connection), as: migrations, file: url.filePath)
          try work.write(to: connection)
          return work.repair
        }
      }
    }
  }

  /// Plans ``repair(at:key:steps:migrations:profile:busyTimeout:)`` without changing a byte.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - numbers: The steps.
  ///   - migrations: The steps as they are now.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  /// - Returns: The steps whose record would be updated, with the differences.
  /// - Throws: As ``repair(at:key:steps:migrations:profile:busyTimeout:)``.
  public static func planRepair(
    at url: URL, key: Key, steps numbers: [Int], migrations: MigrationSet, profile: CipherProfile? = nil
  ) async throws -> HistoryRepair {
    let key = try await key.resolved()
    return try await cancellable { run in
      let inspection = try Inspection(path: url.filePath, key: key, profile: profile)
      return try run.run(inspection.connection) {
        try HistoryRepair(inspection, steps: numbers, as: migrations)
      }
    }
  }
}

extension HistoryRepair {
  /// Finds what a repair would record in an inspected store.
  package init(_ inspection: Inspection, steps numbers: [Int], as set: MigrationSet) throws {
    let history = try StoreHistory.read(inspection.connection)
    self = try RepairWork(numbers, of: history, as: set, file: inspection.path).repair
  }
}
