// What tests of a store need beside what an app does: its writing connection, and a migration that is watched.

package import CipherSQLite
package import Foundation

extension Store {
  /// Lends the writing connection, after the writes that were asked for before: to let it fail, or to watch it.
  package func withWritingConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try pool.withWriter(body)
  }

  /// Runs the steps that a store lacks, as ``migrate(at:key:migrations:profile:busyTimeout:makesBackups:allowing:commitsEachStep:progress:)``
  /// does, on the caller's thread and on a connection that `prepare` was given before.
  /// - Parameters:
  ///   - key: One that needs not be resolved.
  ///   - goal: What is to be done.
  ///   - schema: Classes that are asked behind the last step; nil for none.
  ///   - losses: What may be lost.
  ///   - progress: Told of rows and steps.
  ///   - prepare: Called for each attempt; there are several where another process is waited for.
  package static func migrateWatched(
    at url: URL, key: Key, migrations: MigrationSet, _ goal: MigrationGoal = .latest,
    reading schema: Schema? = nil, allowing losses: Set<String> = [], makesBackups: Bool = false,
    commitsEachStep: Bool = false, progress: Progress? = nil,
    prepare: (Connection) throws -> Void
  ) throws -> MigrationOutcome {
    let record = RunRecord()
    return try record.telling {
      try afterMigrations(DatabasePath(url.filePath).path, nil, CancellableRun()) {
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
  /// The steps, read, and compared with the classes as an opening does.
  /// - Throws: ``StoreError/schemaMismatch(differences:lines:)``; what reading them throws.
  package func loaded(for schema: Schema) throws -> MigrationSet {
    try schema.validate()
    return try agreed(with: schema)
  }
}

extension StoreInfo {
  /// The table of a relationship's links; nil for one that has none.
  package func linkPlace(of relationship: RelationshipDescription, in entity: EntityDescription) -> LinkPlace?
  {
    model.linkPlace(of: relationship, in: entity)
  }

  /// Where the order of a to-many's members lies; nil for one without an order.
  package func orderPlace(of relationship: RelationshipDescription, in entity: EntityDescription)
    -> LinkPlace?
  {
    model.orderPlace(of: relationship, in: entity)
  }
}
