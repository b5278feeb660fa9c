// The record of steps that were edited after they ran.

public import CipherSQLite
public import Foundation

extension Store {
  /// Records steps as their files are now, of which the store has another record because they were edited after they ran.
  ///
  /// No statement of a step runs, and no table of an entity changes. The model that the steps now make has to be the one that
  /// the store has; for all else an edit needs a new step. What the record was is kept: ``history(at:key:profile:)`` tells
  /// of it. Takes one short transaction.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - numbers: The steps. Those that are what ran are left as they are.
  ///   - migrations: The steps as they are now.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds.
  /// - Returns: The steps whose record was written anew, with what had changed.
  /// - Throws: ``StoreError/repairRefused(file:step:reason:)``; ``StoreError/historyConflict(_:)`` where other steps are not
  ///   what ran; ``SQLError``; `CancellationError` when the task is cancelled. The store is then as it was.
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

  /// What ``repair(at:key:steps:migrations:profile:busyTimeout:)`` would record, without changing a byte.
  /// - Parameters:
  ///   - url: The store.
  ///   - key: Its key.
  ///   - numbers: The steps.
  ///   - migrations: The steps as they are now.
  ///   - profile: Its cipher settings, as in ``Store/Configuration/profile``.
  /// - Throws: As ``repair(at:key:steps:migrations:profile:busyTimeout:)``.
  public static func planRepair(
    at url: URL, key: Key, steps numbers: [Int], migrations: MigrationSet, profile: CipherProfile? = nil
  ) async throws -> HistoryRepair {
    let key = try await key.resolved()
    return try await cancellable { run in
      let inspection = try Inspection(path: url.filePath, key: key, profile: profile)
      return try run.run(inspection.connection) { try HistoryRepair(inspection, numbers, migrations) }
    }
  }
}

extension HistoryRepair {
  /// What would be recorded in a store that is looked at.
  package init(_ inspection: Inspection, _ numbers: [Int], _ set: MigrationSet) throws {
    let history = try StoreHistory.read(inspection.connection)
    self = try RepairWork(numbers, of: history, as: set, file: inspection.path).repair
  }
}
