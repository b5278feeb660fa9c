// Deleting a store: which files disappear, which stay, and when it is refused.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct DestroyedStores {
  private let folder: TemporaryFolder
  private let url: URL

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("notes.store")
  }

  private func open(busyTimeout: Double = 5) async throws -> Store {
    var configuration = Store.Configuration()
    configuration.busyTimeout = busyTimeout
    return try await Store.open(
      at: url, key: testKey, schema: library, migrations: .creatingSchema, configuration: configuration)
  }

  /// Makes the store, a copy that a step requested, and files that only look as if they belonged to it.
  /// - Returns: The names that must stay.
  private func makeFiles() async throws -> [String] {
    let texts = [
      "format: 1\n[up]\ncreate entity Note {\n attribute text string\n}\n",
      "format: 1\nbackup: always\n[up]\nadd index Note(text)\n",
    ]
    let steps = try texts.enumerated().map {
      try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: $1)
    }
    try await Store.create(at: url, key: testKey, migrations: MigrationSet([steps[0]]))
    let outcome = try await Store.migrate(at: url, key: testKey, migrations: MigrationSet(steps))
    let copy = try #require(outcome.backup)
    #expect(folder.names == ["notes.store", copy.lastPathComponent])
    let store = try await Store.open(at: url, key: testKey)
    try await store.backup(to: folder.url.appendingPathComponent("mine.store"))
    try await store.exportPlaintext(to: folder.url.appendingPathComponent("mine.sqlite"))
    store.close()
    _ = try KeyFile.create(at: folder.path("notes.store.keys"), slot: "Ann", unlock: childKeys.token)
    // The name of a copy, but the content of another file.
    try folder.write(Data("mine".utf8), to: "notes.store.v1-20260101T000000Z.backup")
    try folder.write(Data("mine".utf8), to: "notes.store.txt")
    try folder.write(Data("mine".utf8), to: "other.store-wal")
    return [
      "mine.sqlite", "mine.store", "notes.store.keys", "notes.store.txt",
      "notes.store.v1-20260101T000000Z.backup", "other.store-wal",
    ]
  }

  /// Makes the files that a killed migration and a killed builder leave.
  private func makeLeftovers() throws {
    let copy = try copy()
    try FileManager.default.copyItem(
      atPath: folder.path(copy), toPath: folder.path("\(copy).unfinished"))
    try folder.write(Data(), to: MigrationMark.path(of: url.lastPathComponent))
    try folder.write(Data("x".utf8), to: try TemporaryName.random(for: "notes.store"))
  }

  /// The name of the copy that a step requested.
  private func copy() throws -> String {
    try #require(folder.names.first { $0.hasSuffix("Z.backup") && !$0.contains("v1-20260101") })
  }

  @Test(arguments: [true, false])
  func `the store and what the library keeps beside it are deleted, and all other files stay`(
    _ isOpen: Bool
  ) async throws {
    let kept = try await makeFiles()
    if isOpen {
      let store = try await Store.open(at: url, key: testKey)
      try await store.write { _ = try $0.insert(entity: "Note") { $0["text"] = "a" } }
      try makeLeftovers()
      // Beside what stays: the file, its log with its index, the copy, and the leftovers.
      #expect(folder.names.count == kept.count + 7, "\(folder.names)")
      try await store.destroy()
    } else {
      try makeLeftovers()
      #expect(folder.names.count == kept.count + 5, "\(folder.names)")
      try await Store.destroy(at: url)
    }
    #expect(folder.names == kept)
    // Nothing is left that a new store would refuse, or read as its own.
    let new = try await open()
    #expect(new.opening.isNew)
    #expect(try await new.read { try $0.fetch(Genre.self).count() } == 0)
  }

  @Test func `after destroy every call throws that the store is closed, and the feed ends`() async throws {
    let store = try await open()
    let (context, changes) = (store.makeContext(), store.changes())
    context.insert(Genre.self) { $0.name = "a" }
    try await store.destroy()
    let closed = SQLError.closed(file: url.path)
    await #expect(throws: closed) { try await store.write { _ in } }
    await #expect(throws: closed) { try await store.destroy() }
    #expect(throws: closed) { try context.save() }
    var count = 0
    for await _ in changes { count += 1 }
    #expect(count == 0 && folder.names.isEmpty)
    store.close()
  }

  @Test func `a store that is open elsewhere is refused, and stays open here`() async throws {
    let store = try await open(busyTimeout: 0.05)
    try await store.write { _ = $0.insert(Genre.self) { $0.name = "a" } }
    func expectRefused(_ location: SourceLocation = #_sourceLocation) async throws {
      await #expect { try await store.destroy() } throws: { ($0 as? SQLError)?.isBusy == true }
      await #expect { try await Store.destroy(at: url, busyTimeout: 0.05) } throws: {
        ($0 as? SQLError)?.isBusy == true
      }
      #expect(
        try await store.read { try $0.fetch(Genre.self).count() } == 1, sourceLocation: location)
      try await store.write { try $0.fetch(Genre.self).one().name += "!" }
    }
    let second = try await open()
    try await expectRefused()
    second.close()
    let child = try SteppedChild("hold", url.path)
    #expect(try child.line() == "open")
    try await expectRefused()
    try child.proceed()
    #expect(child.end() == 0)
    // Still open here: the static call is refused without another process, too.
    await #expect { try await Store.destroy(at: url, busyTimeout: 0.05) } throws: {
      ($0 as? SQLError)?.isBusy == true
    }
    try await store.destroy()
    #expect(folder.names.isEmpty)
  }

  @Test func `a copy that a process has open stays`() async throws {
    _ = try await makeFiles()
    let copy = try copy()
    let child = try SteppedChild("hold", folder.path(copy))
    #expect(try child.line() == "open")
    try await Store.destroy(at: url)
    #expect(folder.names.contains(copy) && !folder.names.contains("notes.store"))
    try child.proceed()
    #expect(child.end() == 0)
  }

  @Test func `a link stays, and its target is deleted`() async throws {
    try await open().close()
    let link = folder.url.appendingPathComponent("link.store")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
    try await Store.destroy(at: link)
    #expect(folder.names == ["link.store"])
    await #expect(throws: SQLError.danglingLink(file: link.path, target: url.path)) {
      try await Store.destroy(at: link)
    }
  }

  @Test func `a file that has taken the place of the store stays`() async throws {
    let store = try await open()
    try FileManager.default.moveItem(at: url, to: folder.url.appendingPathComponent("moved.store"))
    try folder.write(Data("mine".utf8), to: "notes.store")
    await #expect(throws: SQLError.fileReplaced(file: url.path)) { try await store.destroy() }
    #expect(try folder.bytes("notes.store") == Data("mine".utf8))
    store.close()
  }

  @Test func `what certainly is no store is refused and stays`() async throws {
    try await open().close()
    _ = try KeyFile.create(at: folder.path("k"), slot: "Ann", unlock: childKeys.token)
    try folder.write(Data(repeating: UInt8(ascii: "x"), count: 2000), to: "text")
    try folder.write(Data(), to: "empty")
    try folder.write(Data("SQLite format 3\0".utf8) + Data(count: 2000), to: "plain")
    try folder.write(Data(count: 100), to: "short")
    try folder.write(Data(count: 4096), to: "zeros")
    let noise = Data((0..<4096).map { _ in UInt8.random(in: 0...255) })
    try folder.write(Data([0x89, 0x50, 0x4E, 0x47]) + noise, to: "png")
    try folder.write(Data([0, 0, 0, 24]) + Data("ftypmp42".utf8) + noise, to: "video")
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("dir"), withIntermediateDirectories: true)
    for (name, error) in [
      ("k", SQLError.notReplaceable(file: folder.path("k"), kind: "a key file")),
      ("text", .notReplaceable(file: folder.path("text"), kind: "a text file")),
      ("plain", .notReplaceable(file: folder.path("plain"), kind: "an unencrypted database")),
      ("short", .notReplaceable(file: folder.path("short"), kind: "a file of 100 bytes")),
      (
        "zeros",
        .notReplaceable(
          file: folder.path("zeros"), kind: "a file without the random bytes of an encrypted page")
      ), ("png", .notReplaceable(file: folder.path("png"), kind: "a PNG image")),
      ("video", .notReplaceable(file: folder.path("video"), kind: "a media file")),
      ("empty", .emptyFile(file: folder.path("empty"))), ("dir", .isDirectory(file: folder.path("dir"))),
      ("none", .notFound(file: folder.path("none"))),
    ] {
      await #expect(throws: error) {
        try await Store.destroy(at: folder.url.appendingPathComponent(name))
      }
    }
    // A log that SQLite did not write, and a second name of the file.
    try folder.write(Data("mine".utf8), to: "notes.store-wal")
    await #expect { try await Store.destroy(at: url) } throws: { "\($0)".contains("notes.store-wal") }
    try FileManager.default.removeItem(atPath: folder.path("notes.store-wal"))
    try FileManager.default.linkItem(at: url, to: folder.url.appendingPathComponent("second"))
    await #expect(throws: SQLError.severalNames(file: url.path, count: 2)) {
      try await Store.destroy(at: url)
    }
    #expect(
      folder.names == [
        "dir", "empty", "k", "notes.store", "plain", "png", "second", "short", "text", "video", "zeros",
      ])
  }
}
