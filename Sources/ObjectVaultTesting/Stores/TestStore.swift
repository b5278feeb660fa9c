// A store for one test: encrypted under a random key, in memory or in a temporary folder, and removed
// with the test.

public import CipherSQLite
internal import Foundation
public import ObjectVault

/// An open store for one test. It is closed and its file is removed when the value is released.
///
/// ```swift
/// let test = try await TestStore(schema)
/// try await test.store.write { context in
///   _ = context.insert(User.self) { $0.name = "Binger" }
/// }
/// let test2 = try await TestStore(
///   schema, objects: GeneratedObjects(of: schema, perEntity: 100))
/// ```
///
/// It is an encrypted `Store` like the app's, with the default settings unless you pass others. Its key
/// is random and raw, so opening takes a few milliseconds.
public final class TestStore: Sendable {
  /// Where the file of a test store is.
  public enum Place: Sendable, Hashable {
    /// In a memory file system, if the system has one (`/dev/shm` on Linux); otherwise in a temporary
    /// folder.
    case memory
    /// In the folder for temporary files.
    case temporaryFolder
  }

  /// The open store.
  public let store: Store
  /// The store's key.
  public var key: Key { .raw(keyBytes) }
  /// The key's bytes, for a program that a test runs.
  let keyBytes: [UInt8]
  private let folder: TestFolder
  private let migrations: Store.Migrations
  private let configuration: Store.Configuration

  /// Creates a store and opens it.
  /// - Parameters:
  ///   - schema: The classes.
  ///   - migrations: The app's steps, whose model has to be that of the schema; by default one step that
  ///     creates the schema.
  ///   - objects: The objects that the store contains from the beginning.
  ///   - place: Where the file is.
  ///   - configuration: The settings of the store: cache, readers, time-outs.
  /// - Throws: The errors of
  ///   ``/ObjectVault/Store/open(at:key:schema:migrations:configuration:progress:)``, and for `objects`
  ///   those of ``GeneratedObjects/write(to:)``.
  public convenience init(
    _ schema: Schema, migrations: Store.Migrations = .creatingSchema, objects: GeneratedObjects? = nil,
    place: Place = .memory, configuration: Store.Configuration = Store.Configuration()
  ) async throws {
    let folder = try TestFolder(isInMemory: place == .memory)
    let (url, bytes) = (folder.file(Self.fileName), Key.randomBytes())
    let key = Key.raw(bytes)
    if let objects {
      try await Store.create(at: url, key: key, migrations: migrations.loaded(for: schema))
      let store = try await Store.open(at: url, key: key)
      defer { store.close() }
      try await objects.write(to: store)
    }
    let store = try await Store.open(
      at: url, key: key, schema: schema, migrations: migrations, configuration: configuration)
    self.init(store, keyBytes: bytes, folder: folder, migrations: migrations, configuration: configuration)
  }

  private init(
    _ store: Store, keyBytes: [UInt8], folder: TestFolder, migrations: Store.Migrations,
    configuration: Store.Configuration
  ) {
    (self.store, self.keyBytes, self.folder) = (store, keyBytes, folder)
    (self.migrations, self.configuration) = (migrations, configuration)
  }

  deinit { store.close() }

  /// Opens a second store on the same file, as another process would. Close or release it before this test
  /// store.
  /// - Returns: The second store.
  /// - Throws: The errors of
  ///   ``/ObjectVault/Store/open(at:key:schema:migrations:configuration:progress:)``.
  public func openedAgain() async throws -> Store { try await opened(at: store.url) }

  /// Returns a separate store with the same content.
  /// - Throws: `SQLError` when the copy cannot be written; the errors of
  ///   ``/ObjectVault/Store/open(at:key:schema:migrations:configuration:progress:)``.
  public func copy() async throws -> TestStore {
    let copy = try emptyFolder()
    try await store.backup(to: copy.file(Self.fileName))
    return try await opened(copy)
  }

  /// The name of the store's file.
  static let fileName = "test.store"

  /// Creates a folder where this store's folder is: in memory or in a temporary folder.
  func emptyFolder() throws -> TestFolder { try TestFolder(isInMemory: store.url.path.hasPrefix("/dev/shm")) }

  /// Opens the store in a folder that contains a copy of this store's file.
  func opened(_ folder: TestFolder) async throws -> TestStore {
    TestStore(
      try await opened(at: folder.file(Self.fileName)), keyBytes: keyBytes, folder: folder,
      migrations: migrations, configuration: configuration)
  }

  private func opened(at url: URL) async throws -> Store {
    try await Store.open(
      at: url, key: key, schema: store.schema, migrations: migrations, configuration: configuration)
  }

  /// Returns everything that is committed.
  /// - Throws: `SQLError` when the file cannot be read.
  public func content() throws -> StoreContent { try StoreContent(at: store.url, key: key) }
}
