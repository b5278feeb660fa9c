// Files of other programs: what they become, and taking their rows.

public import CipherSQLite
public import Foundation
public import ObjectVault

extension Store {
  /// What the tables of a file become that another program made: a model, and what has no place in it. Nothing is written,
  /// to no file.
  ///
  /// Plain SQLite files and SQLCipher's are read, those of Core Data and SwiftData by their own rules. Every row is looked at,
  /// because the engine keeps to no declared type.
  /// - Parameters:
  ///   - url: The file.
  ///   - key: Its key; nil for one in clear.
  ///   - profile: Its cipher settings, as in ``/ObjectVault/Store/Configuration/profile``.
  ///   - relationships: Targets of to-ones that a file of Core Data's does not tell, such as `["Note.owner": "Person"]`;
  ///     an empty one, `["Note.rank": ""]`, says that it is a number.
  ///   - busyTimeout: How long to wait for another process that uses the file, in seconds.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)``; ``/CipherSQLite/SQLError`` for file and key;
  ///   `CancellationError` when the task is cancelled.
  public static func planAdoption(
    of url: URL, key: Key?, profile: CipherProfile? = nil, relationships: [String: String] = [:],
    busyTimeout: Double = 5
  ) async throws -> Adoption {
    let key = try await key?.resolved()
    return try await cancellable { run in
      let file = try AdoptionReader.open(url.filePath, key, profile, busyTimeout)
      return try withExtendedLifetime(file) {
        try run.run(file.connection) {
          let files = ExternalValues(beside: file.path)
          let adoption = try AdoptionReader.adoption(file, files, relationships: relationships)
          // What a question that was ended found is not what is there.
          try run.check()
          return adoption
        }
      }
    }
  }

  /// Takes the rows of a file that another program made into a new store, with their ids. The file itself does not change.
  ///
  /// The store is made by `migrations`, whose model has the entities and properties that
  /// ``planAdoption(of:key:profile:relationships:busyTimeout:)`` found; capitals in names do not count. Its history says that it began at
  /// their version: no step runs. The store gets its name when every row is there, counted and of its type.
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
  ///   - file: The file.
  ///   - fileKey: Its key; nil for one in clear.
  ///   - fileProfile: Its cipher settings, as in ``/ObjectVault/Store/Configuration/profile``.
  ///   - url: The new store.
  ///   - key: The key of the new store.
  ///   - migrations: The steps up to the version that the store is to have.
  ///   - profile: The cipher settings of the new store; by default the engine's for new files.
  ///   - relationships: As for ``planAdoption(of:key:profile:relationships:busyTimeout:)``; what the steps declare need not be said.
  ///   - losses: What need not be taken, by the names of ``Adoption/losses``.
  ///   - busyTimeout: How long to wait for another process that uses the file, in seconds.
  ///   - progress: Counts the rows; cancelling it, or the task, ends the work.
  /// - Returns: What was taken, and what was allowed to be left.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)``,
  ///   ``/ObjectVault/StoreError/adoptionLoses(file:losses:)``; `SQLError.alreadyExists`; `CancellationError`. There is no new file then.
  @discardableResult
  public static func adopt(
    _ file: URL, fileKey: Key?, fileProfile: CipherProfile? = nil, into url: URL, key: Key,
    migrations: MigrationSet, profile: CipherProfile? = nil, relationships: [String: String] = [:],
    allowing losses: Set<String> = [], busyTimeout: Double = 5, progress: Progress? = nil
  ) async throws -> Adoption {
    let (fileKey, key) = (try await fileKey?.resolved(), try await key.resolved())
    return try await cancellable(by: progress) { run in
      let foreign = try AdoptionReader.open(file.path, fileKey, fileProfile, busyTimeout)
      defer { withExtendedLifetime(foreign) {} }
      // What is asked and what is copied is of one moment.
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

  /// Makes a store of an encrypted file whose tables are those that steps make, in place: what a store keeps for itself is
  /// written beside them, and that it began at the steps' version. No row changes.
  /// - Parameters:
  ///   - url: The file.
  ///   - key: Its key.
  ///   - migrations: The steps up to the version that the store is to have.
  ///   - profile: Its cipher settings, as in ``/ObjectVault/Store/Configuration/profile``.
  ///   - busyTimeout: How long to wait for another process's lock, in seconds.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)``; ``/CipherSQLite/SQLError``;
  ///   `CancellationError` when the task is cancelled. The file is then as it was.
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
