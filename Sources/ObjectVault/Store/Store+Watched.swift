// Access for tests, in addition to the public interface: the writing connection, and a migration on a
// connection that the test prepares.

package import CipherSQLite
package import Foundation

extension Store {
  /// Calls `body` with the writing connection, after all earlier writes: to observe it or make it fail.
  package func withWritingConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try pool.withWriter(body)
  }

  /// Runs the steps that a store lacks, as `migrate` does, but on the caller's thread and on connections
  /// that `prepare` gets first.
  /// - Parameters:
  ///   - key: A resolved key.
  ///   - goal: The goal of the run.
  ///   - schema: Classes whose types check the values after the last step; nil for none.
  ///   - losses: What may be lost.
  ///   - progress: Counts rows and steps.
  ///   - prepare: Called for each attempt. There are several attempts if another process is migrating the
  ///     store.
  package static func migrateWatched(
    at url: URL, key: Key, migrations: MigrationSet, _ goal: MigrationGoal = .latest,
    reading schema: Schema? = nil, allowing losses: Set<String> = [], makesBackups: Bool = false,
    commitsEachStep: Bool = false, progress: Progress? = nil,
    prepare: (Connection) throws -> Void
  ) throws -> MigrationOutcome {
    let record = RunRecord()
    return try record.reportingCommittedSteps {
      try afterMigrations(DatabasePath(url.filePath).path, progress: nil, stop: CancellableRun()) {
        let connection = try Connection.open(url.filePath, key: key)
        defer { connection.close() }
        try StoreFunctions.register(on: connection)
        try prepare(connection)
        return try MigrationRunner(
          connection: connection, set: migrations, progress: progress, makesBackups: makesBackups,
          allowedLosses: RunSettings.named(losses), readers: schema?.readers ?? [:],
          commitsEachStep: commitsEachStep,
          record: record
        ).run(goal)
      }
    }
  }
}

extension Store.Migrations {
  /// Returns the steps after reading them and comparing them with the classes, as an opening does.
  /// - Throws: ``StoreError/schemaMismatch(differences:lines:)``; the errors of reading the steps.
  package func loaded(for schema: Schema) throws -> MigrationSet {
    try schema.validate()
    return try agreed(with: schema)
  }
}

extension StoreInfo {
  /// Returns the table of a relationship's links; nil if it has none.
  package func linkPlace(of relationship: RelationshipDescription, in entity: EntityDescription) -> LinkPlace?
  {
    model.linkPlace(of: relationship, in: entity)
  }

  /// Returns where the order of a to-many's members is stored; nil if it has no order.
  package func orderPlace(of relationship: RelationshipDescription, in entity: EntityDescription)
    -> LinkPlace?
  {
    model.orderPlace(of: relationship, in: entity)
  }
}
