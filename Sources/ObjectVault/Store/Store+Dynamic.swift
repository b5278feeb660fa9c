// Opens a store by the model in its file, without Swift classes and without steps.

public import CipherSQLite
public import Foundation

extension Store {
  /// Opens an existing store by its own model. Its objects are ``DynamicObject``s, whose properties are
  /// accessed by names.
  ///
  /// No step runs, and no file is created. The rules of the model apply as with classes: required and
  /// unique properties, types, references, delete rules, conflicts. Rules that only classes have are
  /// unknown here: checks (``Entity/check(_:_:)``), the cases of enums, and defaults that are computed
  /// for each object. If another process is migrating the store, this waits until it has finished;
  /// cancelling the task ends the wait.
  /// - Parameters:
  ///   - url: The file.
  ///   - key: The encryption key is derived from it once (20 to 100 ms for a passphrase); the library
  ///     then wipes its own copy.
  ///   - configuration: Cache, readers, time-outs.
  /// - Returns: The open store.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/otherFormat(file:found:supported:)``,
  ///   ``StoreError/bookkeepingDamaged(file:place:reason:)``,
  ///   ``StoreError/schemaDrift(file:differences:)`` if the tables differ from the model; ``SQLError``
  ///   for file and key, such as `SQLError.notFound`.
  public static func open(at url: URL, key: Key, configuration: Configuration = Configuration()) async throws
    -> Store
  {
    let key = try await key.resolved()
    return try await cancellable { try open(url, key: key, configuration: configuration, stop: $0) }
  }

  private static func open(
    _ url: URL, key: Key, configuration: Configuration, stop: CancellableRun
  ) throws -> Store {
    let file = try DatabasePath(url.filePath)
    let (unlocked, history) = try afterMigrations(file.path, progress: nil, stop: stop) {
      try read(file, key: key, configuration: configuration)
    }
    let mapping = try SchemaMapping(try history.model())
    let core = core(
      file, mapping: mapping, classes: .none, storeState: history.storeState, configuration: configuration)
    return Store(
      core: core, pool: try pool(file, key: unlocked, configuration: configuration, for: core), url: url,
      id: history.storeID,
      schema: mapping.schema,
      opening: Opening(
        isNew: false, migratedSteps: [], automaticStep: nil, backup: nil, version: history.version,
        cipher: unlocked.profile))
  }

  private static func read(_ file: DatabasePath, key: Key, configuration: Configuration) throws
    -> (UnlockedKey, StoreHistory)
  {
    let connection = try Connection.open(file, key: key, configuration: settings(configuration))
    defer { connection.close() }
    try StoreFunctions.register(on: connection)
    let info = try StoreInfo(connection)
    try info.requireKnownFormat(file: file.path)
    let drift = try info.drift(connection)
    guard drift.isEmpty else { throw StoreError.schemaDrift(file: file.path, differences: drift) }
    try FoldedIndexes(connection: connection) { Folding.version }.sort()
    return (connection.unlocked, info.history)
  }
}
