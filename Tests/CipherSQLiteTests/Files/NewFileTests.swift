// New files: how they are built and named, and leftovers. NewFileTests+Replaced tests files that replace
// others.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct NewFiles {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  func create() throws {
    _ = try Connection.create(path, key: testKey) {
      try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
    }
  }

  // MARK: Names of SQLite's own

  @Test(arguments: DatabasePath.companionSuffixes)
  func `no file gets a name that SQLite uses for the log, index or journal of another file`(_ suffix: String)
    throws
  {
    try create()
    let connection = try Connection.open(path, key: testKey)
    let companion = path + suffix
    let link = folder.path("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.url.path)
    for target in [companion, link + "/a.store" + suffix] {
      let refusal = SQLError.pathUnusable(
        file: target, reason: "SQLite uses this name for a file of its own beside a.store")
      #expect(throws: refusal) { try connection.backup(to: target, key: nil) }
      #expect(throws: refusal) { try connection.copy(to: target, key: testKey) }
      #expect(throws: refusal) { try connection.exportPlaintext(to: target) }
      #expect(throws: refusal) { _ = try Connection.create(target, key: testKey) { _ in } }
      #expect(throws: refusal) {
        _ = try KeyFile.create(at: target, slot: "Ann", unlock: .rawKey([UInt8](repeating: 1, count: 32)))
      }
      #expect(throws: refusal) { try TextFile.create(Array("text".utf8), at: target) }
    }
    // Without such a database the name is allowed.
    try connection.backup(to: folder.path("b.store" + suffix), key: nil)
    #expect(try Connection.open(folder.path("b.store" + suffix), key: testKey).value("SELECT x FROM t") == 1)
  }

  // MARK: Left over

  @Test func `files whose names only resemble temporary names are kept`() throws {
    let ours = try TemporaryName.random(for: "a.store")
    let digits = ours.suffix(16)
    let names = [
      "a.store.new-ideas.txt", "a.store.new-0123456789abcdef", "a.store.new-0123456789abcdef-wal",
      "a.store.new-", "a.store.new-\(digits.dropLast())", "a.store.new-\(digits.uppercased())0",
      "b.store.new-\(digits)", "a.store.new-\(digits).txt", "\(ours).new-\(digits)",
    ]
    #expect(TemporaryName.isOurs(ours) && TemporaryName.isOurs(ours + "-wal"))
    for name in names {
      #expect(!TemporaryName.isOurs(name), "\(name)")
      try folder.write(Data(name.utf8), to: name)
    }
    try create()
    _ = try Connection.upgradeCipher(path, key: testKey, newKey: .passphrase("pony"))
    for name in names { #expect(try folder.bytes(name) == Data(name.utf8)) }
  }

  @Test func `directories, links, pipes and other users' files with temporary names are kept`() throws {
    let names = try (0..<4).map { _ in try TemporaryName.random(for: "a.store") }
    try FileManager.default.createDirectory(atPath: folder.path(names[0]), withIntermediateDirectories: true)
    try folder.write(Data("mine".utf8), to: "victim")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path(names[1]), withDestinationPath: folder.path("victim"))
    #expect(mkfifo(folder.path(names[2]), 0o600) == 0)
    try folder.write(Data("theirs".utf8), to: names[3])
    // Only the superuser can give a file to another user.
    let isForeign = chown(folder.path(names[3]), 65_534, 65_534) == 0
    try create()
    for name in names.prefix(isForeign ? 4 : 3) { #expect(folder.names.contains(name)) }
    #expect(try folder.bytes("victim") == Data("mine".utf8))
  }

  @Test func `the next new file of a folder removes what a killed builder left, with log and journal`() throws
  {
    let name = try TemporaryName.random(for: "other.store.v6-20261120T201502Z.backup")
    for suffix in ["", "-wal", "-journal", "-shm"] { try folder.write(Data([1]), to: name + suffix) }
    let lone = try TemporaryName.random(for: "third") + "-journal"
    try folder.write(Data([1]), to: lone)
    try create()
    #expect(folder.names == ["a.store"])
  }

  @Test func `of several processes that create one file, one succeeds and the others get an error`()
    async throws
  {
    let path = path
    for _ in 0..<5 {
      let outcomes = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<4 { group.addTask { try await onThread { try runChild("create-once", path) } } }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(outcomes.sorted() == ["created", "exists", "exists", "exists"])
      #expect(folder.names == ["a.store"])
      unlink(path)
    }
  }

  @Test func `temporary names of long names are shortened between characters`() throws {
    for name in [String(repeating: "日", count: 82), String(repeating: "e\u{301}", count: 80)] {
      let temporary = try TemporaryName.random(for: name)
      #expect(temporary.utf8.count <= 255 - 8 && TemporaryName.isOurs(temporary + "-journal"))
    }
  }

  // MARK: Sealed

  @Test func `a file whose log could not be copied into it gets no name`() throws {
    var reader: Connection?
    #expect(throws: (any Error).self) {
      _ = try Connection.create(path, key: testKey) { connection in
        try connection.execute("CREATE TABLE t(x)")
        try connection.setJournalMode(.wal)
        // A reader of the former state prevents emptying the log.
        var settings = Connection.Configuration()
        settings.busyTimeout = 0
        reader = try Connection.open(
          connection.file.path, unlocked: connection.unlocked, configuration: settings)
        try reader?.begin(.deferred)
        _ = try reader?.value("SELECT count(*) FROM sqlite_master")
        try connection.execute("INSERT INTO t VALUES (1)")
      }
    }
    reader?.close()
    #expect(folder.names.isEmpty)
  }

  @Test func `a file with a page too many or too few gets no name`() throws {
    for change in [4096, -4096] {
      #expect(throws: (any Error).self) {
        _ = try Connection.create(path, key: testKey) { connection in
          try connection.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(20000))")
          let temporary = connection.file.path
          let size = try FileManager.default.attributesOfItem(atPath: temporary)[.size] as? Int ?? 0
          #expect(truncate(temporary, size + change) == 0)
        }
      }
      #expect(folder.names.isEmpty)
    }
  }

  @Test func `on a full disk creating, saving, restoring and slot changes succeed or report that`()
    throws
  {
    _ = try Connection.create(path, key: childKeys.first) { connection in
      try connection.executeScript("CREATE TABLE t(x)")
      for _ in 0..<30 { try connection.execute("INSERT INTO t VALUES (zeroblob(4000))") }
    }
    try Connection.open(path, key: childKeys.first).backup(to: path + ".backup")
    _ = try KeyFile.create(at: path + ".keys", slot: "token", unlock: childKeys.token)
    let lines = try runChild("full-disk", path)
    let expected = Set(["create", "save", "restore", "slots"].flatMap { ["\($0) done", "\($0) full"] })
    #expect(Set(lines) == expected)
    #expect(lines.count == 160)
    #expect(folder.names == ["a.store", "a.store.backup", "a.store.keys", "a.store.keys.previous"])
  }
}
