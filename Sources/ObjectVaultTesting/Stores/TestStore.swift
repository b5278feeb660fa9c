// A store for one test: encrypted under a key of its own, in memory or in a temporary folder, gone when the test is.

public import CipherSQLite
internal import Foundation
public import ObjectVault

/// An open store for one test, gone with its file when nobody holds it any more.
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
/// It is what the app opens, with the same settings; its key is random and raw, so that opening takes a few milliseconds.
public final class TestStore: Sendable {
  /// Where the file lies.
  public enum Place: Sendable, Hashable {
    /// In a file system that is memory, where the system has one (`/dev/shm` on Linux); else in a temporary folder.
    case memory
    /// In the folder for temporary files.
    case temporaryFolder
  }

  /// The open store.
  public let store: Store
  /// Its key.
  public var key: Key { .raw(keyBytes) }
  /// The key's bytes, for a program that a test runs.
  let keyBytes: [UInt8]
  private let folder: TestFolder
  private let migrations: Store.Migrations
  private let configuration: Store.Configuration

  /// Makes a store and opens it.
  /// - Parameters:
  ///   - schema: The classes.
  ///   - migrations: The app's steps, whose model has to be the schema's; by default one step that creates the schema.
  ///   - objects: What is in it from the beginning.
  ///   - place: Where the file lies.
  ///   - configuration: Cache, readers, time-outs.
  /// - Throws: What ``/ObjectVault/Store/open(at:key:schema:migrations:configuration:progress:)`` throws.
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
    self.init(store, bytes, folder, migrations, configuration)
  }

  private init(
    _ store: Store, _ keyBytes: [UInt8], _ folder: TestFolder, _ migrations: Store.Migrations,
    _ configuration: Store.Configuration
  ) {
    (self.store, self.keyBytes, self.folder) = (store, keyBytes, folder)
    (self.migrations, self.configuration) = (migrations, configuration)
  }

  deinit { store.close() }

  /// A second store on the same file, as another process would have it. Close it, or let go of it, before this one.
  /// - Throws: What ``/ObjectVault/Store/open(at:key:schema:migrations:configuration:progress:)`` throws.
  public func openedAgain() async throws -> Store { try await opened(at: store.url) }

  /// A store of its own with the same content.
  /// - Throws: `SQLError`, as writing the copy does; what
  ///   ``/ObjectVault/Store/open(at:key:schema:migrations:configuration:progress:)`` throws.
  public func copy() async throws -> TestStore {
    let copy = try emptyFolder()
    try await store.backup(to: copy.file(Self.fileName))
    return try await opened(copy)
  }

  /// What its file is called.
  static let fileName = "test.store"

  /// A folder in the same place.
  func emptyFolder() throws -> TestFolder { try TestFolder(isInMemory: store.url.path.hasPrefix("/dev/shm")) }

  /// The store of a folder that holds a copy of this one's file.
  func opened(_ folder: TestFolder) async throws -> TestStore {
    TestStore(
      try await opened(at: folder.file(Self.fileName)), keyBytes, folder, migrations, configuration)
  }

  private func opened(at url: URL) async throws -> Store {
    try await Store.open(
      at: url, key: key, schema: store.schema, migrations: migrations, configuration: configuration)
  }

  /// All that is committed.
  /// - Throws: `SQLError`, as reading the file does.
  public func content() throws -> StoreContent { try StoreContent(at: store.url, key: key) }
}
