// Imports files of other programs: planning, copying rows into a new store, and turning a file into a
// store in place.

public import CipherSQLite
public import Foundation
public import ObjectVault

extension Store {
  /// Determines what the tables of another program's file become: a model, and what has no place in it.
  /// No file is written.
  ///
  /// Plain SQLite files and SQLCipher files are read; those of Core Data and SwiftData by their own
  /// rules. Every row is read, because SQLite does not enforce declared types.
  /// - Parameters:
  ///   - url: The file.
  ///   - key: The key of the file; nil for an unencrypted file.
  ///   - profile: The cipher settings of the file, as in ``/ObjectVault/Store/Configuration/profile``.
  ///   - relationships: The targets of to-ones that a Core Data file does not record, such as
  ///     `["Note.owner": "Person"]`; an empty target, `["Note.rank": ""]`, means that the
  ///     column is a plain number.
  ///   - busyTimeout: How long to wait for another process that uses the file, in seconds.
  /// - Returns: The plan of the import.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)``;
  ///   ``/ObjectVault/StoreError/noEntity(name:similar:)``,
  ///   ``/ObjectVault/StoreError/noProperty(entity:property:similar:)`` and
  ///   ``/ObjectVault/StoreError/propertyMisused(entity:property:reason:)`` for `relationships` that do
  ///   not fit the file; ``/CipherSQLite/SQLError`` for file and key; `CancellationError` when the task
  ///   is cancelled.
  public static func planAdoption(
    of url: URL, key: Key?, profile: CipherProfile? = nil, relationships: [String: String] = [:],
    busyTimeout: Double = 5
  ) async throws -> Adoption {
    let key = try await key?.resolved()
    return try await cancellable { run in
      let file = try AdoptionReader.open(url.filePath, key: key, profile: profile, busyTimeout: busyTimeout)
      return try withExtendedLifetime(file) {
        try run.run(file.connection) {
          let files = ExternalValues(beside: file.path)
          let adoption = try AdoptionReader.adoption(file, files, relationships: relationships)
          // After a cancellation the results may be incomplete.
          try run.check()
          return adoption
        }
      }
    }
  }

  /// Imports the rows of another program's file into a new store, with their ids. The file itself does
  /// not change.
  ///
  /// The store is created by `migrations`, whose model has the entities and properties that
  /// ``planAdoption(of:key:profile:relationships:busyTimeout:)`` found; case in names is ignored. The
  /// store's history begins at the version of the migrations: no step runs. The store gets its name only
  /// after all rows are copied, counted and checked against their types.
  ///
  /// ```swift
  /// let old = URL(fileURLWithPath: "legacy.db")
  /// let adoption = try await Store.planAdoption(of: old, key: nil)
  /// let steps = try MigrationSet([adoption.step])
  /// let key = Key.passphrase("correct horse")
  /// try await Store.adopt(
  ///   old, fileKey: nil, into: url, key: key, migrations: steps)
  /// ```
  /// - Parameters:
  ///   - file: The file to import.
  ///   - fileKey: The key of the file; nil for an unencrypted file.
  ///   - fileProfile: The cipher settings of the file, as in
  ///     ``/ObjectVault/Store/Configuration/profile``.
  ///   - url: The new store.
  ///   - key: The key of the new store.
  ///   - migrations: The steps up to the version that the store is to have.
  ///   - profile: The cipher settings of the new store; by default the engine's for new files.
  ///   - relationships: As for ``planAdoption(of:key:profile:relationships:busyTimeout:)``; targets that
  ///     the steps declare can be omitted.
  ///   - losses: The losses that are allowed, by the names of ``Adoption/losses``.
  ///   - busyTimeout: How long to wait for another process that uses the file, in seconds.
  ///   - progress: Counts the rows; cancelling it, or the task, ends the work.
  /// - Returns: What was imported, and the losses that were allowed.
  /// - Throws: The errors of ``planAdoption(of:key:profile:relationships:busyTimeout:)``;
  ///   ``/ObjectVault/StoreError/adoptionLoses(file:losses:)``; `SQLError.alreadyExists`. No new file
  ///   exists then.
  @discardableResult
  public static func adopt(
    _ file: URL, fileKey: Key?, fileProfile: CipherProfile? = nil, into url: URL, key: Key,
    migrations: MigrationSet, profile: CipherProfile? = nil, relationships: [String: String] = [:],
    allowing losses: Set<String> = [], busyTimeout: Double = 5, progress: Progress? = nil
  ) async throws -> Adoption {
    let (fileKey, key) = (try await fileKey?.resolved(), try await key.resolved())
    return try await cancellable(by: progress) { run in
      let foreign = try AdoptionReader.open(
        file.path, key: fileKey, profile: fileProfile, busyTimeout: busyTimeout)
      defer { withExtendedLifetime(foreign) {} }
      // One transaction, so that the checks and the copy see the same content.
      return try foreign.connection.transaction(.deferred) {
        let model = try migrations.model(at: migrations.version)
        let files = ExternalValues(beside: foreign.path)
        let (adoption, fit) = try run.run(foreign.connection) {
          let adoption = try AdoptionReader.adoption(
            foreign, files, relationships: relationships, steps: model)
          return (adoption, AdoptionFit(adoption, model))
        }
        try run.check()
        try AdoptionRun.check(fit, allowing: RunSettings.named(losses), file: file.path)
        var configuration = Connection.Configuration()
        configuration.profile = profile
        _ = try Connection.create(url.filePath, key: key, configuration: configuration) { connection in
          try StoreFunctions.register(on: connection)
          let runner = MigrationRunner(connection: connection, set: migrations, progress: progress)
          try run.run(connection) {
            try runner.createBaseline(model) {
              try AdoptionRun(
                file: foreign, files: files, fit: fit, connection: connection, model: model, run: run,
                progress: progress
              )
              .fill()
            }
          }
        }
        return fit.taken(of: adoption)
      }
    }
  }

  /// Turns an encrypted file into a store, in place, if its tables are those that the steps create.
  ///
  /// The bookkeeping tables are added, with a history that begins at the version of the steps. No
  /// row changes.
  /// - Parameters:
  ///   - url: The file to turn into a store.
  ///   - key: The key of the file.
  ///   - migrations: The steps up to the version that the store is to have.
  ///   - profile: The cipher settings of the file, as in ``/ObjectVault/Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)``;
  ///   ``/CipherSQLite/SQLError``; `CancellationError` when the task is cancelled. The file is
  ///   then unchanged.
  public static func adoptInPlace(
    _ url: URL, key: Key, migrations: MigrationSet, profile: CipherProfile? = nil, busyTimeout: Double = 5
  ) async throws {
    let key = try await key.resolved()
    try await cancellable { run in
      var configuration = Connection.Configuration()
      (configuration.busyTimeout, configuration.profile) = (busyTimeout, profile)
      let connection = try Connection.open(url.filePath, key: key, configuration: configuration)
      defer { connection.close() }
      try StoreFunctions.register(on: connection)
      try run.run(connection) {
        try MigrationRunner(connection: connection, set: migrations, progress: nil).adoptInPlace(
          migrations.model(at: migrations.version))
      }
    }
  }
}
