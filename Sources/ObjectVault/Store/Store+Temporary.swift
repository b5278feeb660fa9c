// Stores for tests and previews, which exist only as long as they are open.

internal import CipherSQLite
internal import Foundation

extension Store {
  /// Creates a store in memory that exists only as long as it is open, for tests and previews.
  ///
  /// ```swift
  /// let store = try await Store.inMemory(schema: schema)
  /// try await store.write { _ = $0.insert(User.self) { $0.name = "Binger" } }
  /// ```
  ///
  /// It behaves as any other store: it is a file, with a write-ahead log and a pool of readers, and is
  /// encrypted with a random key that is stored nowhere. On Linux the file is in `/dev/shm`, a file system
  /// in memory. Where there is none in which this user may create files, as on other systems, it is in the
  /// folder for temporary files, as with ``temporary(schema:migrations:configuration:)``. The size of
  /// `/dev/shm` is limited (in many containers to 64 MB); when it is full, a write throws
  /// `SQLError.diskFull`.
  ///
  /// ``close()`` removes the files, and so does the release of the store and its contexts. A process that
  /// is killed leaves its files, which cannot be read, because their key is gone; the next call of the same
  /// user removes them. The files of a process that runs are never removed.
  ///
  /// `TestStore` of `ObjectVaultTesting` is a store of this kind for tests that inject faults, generate
  /// objects or open the file again. To keep the content of a temporary store, make a copy with a key of
  /// its own: ``backup(to:key:progress:)``.
  /// - Parameters:
  ///   - schema: The Swift classes.
  ///   - migrations: The steps that create the store. Their model must be the schema's. By default one
  ///     step, which is derived from the schema.
  ///   - configuration: Cache, readers, time-outs.
  /// - Returns: The open store, which is empty.
  /// - Throws: ``StoreError`` for schema and steps; `SQLError.folderNotWritable` or `SQLError.pathUnusable`
  ///   if no file can be created; `SQLError.diskFull`; `CancellationError`.
  public static func inMemory(
    schema: Schema, migrations: Migrations = .creatingSchema,
    configuration: Configuration = Configuration()
  ) async throws -> Store {
    try await passing(schema, migrations: migrations, configuration: configuration) {
      if let memory = PrivateFolder.memory, let folder = try? PrivateFolder(passingKind, in: memory) {
        return folder
      }
      return try PrivateFolder(passingKind)
    }
  }

  /// Creates a store in the folder for temporary files that exists only as long as it is open.
  ///
  /// Differs from ``inMemory(schema:migrations:configuration:)`` only in its place: the folder that
  /// `TMPDIR` names, otherwise the system's. Use it for tests with more data than fits into memory.
  /// - Parameters:
  ///   - schema: The Swift classes.
  ///   - migrations: The steps that create the store. Their model must be the schema's. By default one
  ///     step, which is derived from the schema.
  ///   - configuration: Cache, readers, time-outs.
  /// - Returns: The open store, which is empty.
  /// - Throws: As ``inMemory(schema:migrations:configuration:)``.
  public static func temporary(
    schema: Schema, migrations: Migrations = .creatingSchema,
    configuration: Configuration = Configuration()
  ) async throws -> Store {
    try await passing(schema, migrations: migrations, configuration: configuration) {
      try PrivateFolder(passingKind)
    }
  }

  private static let fileName = "temporary.store"
  private static let passingKind = PrivateFolder.Kind(prefix: "vault-store-", files: [fileName])

  private static func passing(
    _ schema: Schema, migrations: Migrations, configuration: Configuration,
    in makeFolder: @escaping @Sendable () throws -> PrivateFolder
  ) async throws -> Store {
    PredicateWarmUp.start()
    return try await cancellable { stop in
      let key = Key.raw(try SecureBytes.random(count: 32))
      let folder = try makeFolder()
      return try StoreOpening(
        URL(fileURLWithPath: folder.path + "/" + fileName), schema: schema, migrations: migrations,
        configuration: configuration, progress: nil, in: folder, stop: stop
      ).open(key)
    }
  }
}
