// Stores that exist only as long as they are open: their files while they are open, after they are closed,
// and after their process was killed.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct TemporaryStores {
  enum Place: CaseIterable { case memory, disk }

  private static func make(_ place: Place, _ migrations: Store.Migrations = .creatingSchema) async throws
    -> Store
  {
    switch place {
    case .memory: try await Store.inMemory(schema: microblog, migrations: migrations)
    case .disk: try await Store.temporary(schema: microblog, migrations: migrations)
    }
  }

  private static func folder(of store: Store) -> String { store.url.deletingLastPathComponent().path }
  private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  @Test(arguments: Place.allCases)
  func `it behaves as any store, and leaves nothing when it is closed`(_ place: Place) async throws {
    let store = try await Self.make(place)
    let folder = Self.folder(of: store)
    let parent = place == .memory ? "/dev/shm" : FileManager.default.temporaryDirectory.path
    #expect(!Self.exists(parent) || folder.hasPrefix(parent))
    try await store.write { context in
      let user = context.insert(User.self) { $0.name = "Binger" }
      context.insert(Status.self) { ($0.text, $0.createdAt, $0.user) = ("Hello", Date(), user) }
    }
    let texts = try await store.read { context in
      try context.fetch(Status.self).where("user.name == 'Binger'").all().map(\.text)
    }
    #expect(texts == ["Hello"])
    #expect(try await store.verify().isEmpty)
    // A real file with a log, which only its owner can read and no other key opens.
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(
      names == ["lock", "temporary.store", "temporary.store-shm", "temporary.store-wal"], "\(names)")
    let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int
    #expect(mode == 0o700)
    #expect(try !Data(contentsOf: store.url).starts(with: Data("SQLite format 3".utf8)))
    #expect(throws: SQLError.wrongKey(file: store.url.path)) {
      _ = try Connection.open(store.url.path, key: testKey)
    }
    store.close()
    #expect(!Self.exists(folder))
    await #expect(throws: SQLError.closed(file: store.url.path)) { try await store.read { _ in } }
    store.close()
  }

  @Test(arguments: Place.allCases)
  func `it is removed when the store and its contexts are released, and not before`(_ place: Place)
    async throws
  {
    // In a function of its own, which releases the store when it returns.
    func context() async throws -> (ObjectContext, String) {
      let store = try await Self.make(place)
      return (store.makeContext(), Self.folder(of: store))
    }
    var last: ObjectContext?
    let folder: String
    (last, folder) = try await context()
    #expect(Self.exists(folder))
    last?.insert(User.self) { $0.name = "Binger" }
    try last?.save()
    #expect(try last?.fetch(User.self).count() == 1)
    // The store has a lock on this file until its files are removed. The thread that opened it may release
    // it last, so the test waits for that lock.
    let lock = try FileHandle(forUpdating: URL(fileURLWithPath: folder + "/lock"))
    #expect(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) != 0)
    last = nil
    #expect(flock(lock.fileDescriptor, LOCK_EX) == 0)
    #expect(!Self.exists(folder))
  }

  @Test func `it runs the steps of the program`() async throws {
    let steps = try await Self.make(.memory, MicroblogMigrations.all)
    let classes = try await Self.make(.memory)
    #expect(steps.opening.isNew && classes.opening.isNew)
    #expect(steps.opening.version > 1 && classes.opening.version == 1)
    #expect(steps.id != classes.id)
  }

  @Test func `its content is kept by a backup with another key`() async throws {
    let folder = try TemporaryFolder()
    let (store, copy) = (try await Self.make(.memory), folder.url.appendingPathComponent("kept.store"))
    try await store.write { _ = $0.insert(User.self) { $0.name = "Binger" } }
    try await store.backup(to: copy, key: testKey)
    store.close()
    let kept = try await Store.open(at: copy, key: testKey)
    #expect(try await kept.read { try $0.fetch(entity: "User").one()["name"] as String } == "Binger")
  }

  @Test func `a rekey, a vacuum and other work on the file leave nothing either`() async throws {
    let store = try await Self.make(.memory)
    try await store.write { _ = $0.insert(User.self) { $0.name = "Binger" } }
    try await store.rekey(to: testKey)
    var profile = store.opening.cipher
    profile.pageBytes = profile.pageBytes == 4096 ? 8192 : 4096
    try await store.rekey(to: testKey, profile: profile)
    try await store.vacuum()
    #expect(try await store.read { try $0.fetch(User.self).count() } == 1)
    store.close()
    #expect(!Self.exists(Self.folder(of: store)))
  }

  @Test func `destroy removes it as well`() async throws {
    let store = try await Self.make(.disk)
    try await store.destroy()
    #expect(!Self.exists(Self.folder(of: store)))
  }

  // MARK: In other processes, whose TMPDIR is a folder of the test

  @Test func `the files of a killed process are removed by the next store, and those in use are not`() throws
  {
    let place = try TemporaryFolder()
    let environment = ["TMPDIR": place.url.path]
    let killed = try SteppedChild("temporary-hold", environment: environment)
    _ = try (killed.line(), killed.line())
    killed.killNow()
    let left = place.names
    #expect(left.count == 1 && left[0].hasPrefix("vault-store-"))
    #expect(Self.exists(place.path("\(left[0])/temporary.store")))

    let running = try SteppedChild("temporary-hold", environment: environment)
    _ = try running.line()
    let line = try running.line()
    let path = try #require(line)
    #expect(path.hasPrefix(place.url.path) && Self.exists(path))
    #expect(!place.names.contains(left[0]) && place.names.count == 1)

    let other = try SteppedChild("temporary-hold", environment: environment)
    _ = try (other.line(), other.line())
    #expect(place.names.count == 2)
    try running.proceed()
    #expect(try [running.line(), running.line()] == ["2", "2"])
    #expect(running.end() == 0)
    try other.proceed()
    #expect(other.end() == 0)
    #expect(place.names.isEmpty)
  }

  @Test func `links and folders with other files are left as they are`() throws {
    let (place, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
    for name in ["lock", "temporary.store"] {
      try Data("mine".utf8).write(to: elsewhere.url.appendingPathComponent(name))
    }
    try FileManager.default.createSymbolicLink(
      at: place.url.appendingPathComponent("vault-store-linked"), withDestinationURL: elsewhere.url)
    let own = place.url.appendingPathComponent("vault-store-myfile")
    try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
    for name in ["lock", "temporary.store", "notes.txt"] {
      try Data("mine".utf8).write(to: own.appendingPathComponent(name))
    }
    let child = try SteppedChild("temporary-hold", environment: ["TMPDIR": place.url.path])
    _ = try (child.line(), child.line())
    try child.proceed()
    #expect(child.end() == 0)
    #expect(place.names == ["vault-store-linked", "vault-store-myfile"])
    #expect(elsewhere.names == ["lock", "temporary.store"])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: own.path).sorted()
        == ["lock", "notes.txt", "temporary.store"])
  }

  @Test func `a store that cannot be created leaves no folder`() throws {
    let place = try TemporaryFolder()
    let result = try runTool(
      builtExecutable("test-child"), ["temporary-fail", "-"], environment: ["TMPDIR": place.url.path])
    #expect(result.status == 1 && result.errors.contains("differs from the model"), "\(result.errors)")
    #expect(place.names.isEmpty)
  }

  @Test func `a temporary folder that cannot be used is an error that names it`() throws {
    let folder = try TemporaryFolder()
    try folder.write(Data("x".utf8), to: "file")
    for (place, reason) in [
      (folder.path("missing"), "does not exist; set TMPDIR"),
      (folder.path("file"), "is not a folder; set TMPDIR"),
      // Not even the superuser creates files there.
      ("/sys", "no permission to create files in this folder"),
    ] {
      let result = try runTool(
        builtExecutable("test-child"), ["temporary-fail", "-"], environment: ["TMPDIR": place])
      // The classes are not compared with the steps before there is a folder.
      #expect(result.status == 1 && result.errors.contains(place), "\(result.errors)")
      #expect(result.errors.contains(reason), "\(result.errors)")
    }
  }
}
