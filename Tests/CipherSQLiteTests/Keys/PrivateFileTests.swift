// New files are their owner's alone, and none is written through what somebody planted.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct PrivateFiles {
  let folder: TemporaryFolder
  let store: Connection

  init() throws {
    folder = try TemporaryFolder()
    _ = try Connection.create(folder.path("a.store"), key: childKeys.first) {
      try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
    }
    store = try Connection.open(folder.path("a.store"), key: childKeys.first)
  }

  func mode(_ name: String) throws -> Int {
    let found = try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions]
    return try #require(found as? Int)
  }

  @Test func `every new file has the mode 0600 whatever the umask, and folders keep theirs`() throws {
    let before = try mode("")
    // In a process of its own: the umask is that of all tests.
    let lines = try runChild("make-files", store.path)
    let modes = Dictionary(lines.map { $0.split(separator: " ") }.map { ($0[0], $0[1]) }) { $1 }
    #expect(modes["control"] == "666", "what has no mode of its own shows the umask")
    for (name, found) in modes where name != "control" { #expect(found == "600", "\(name)") }
    let made = try fileMakers(beside: store).map { Substring("new." + $0.name) }
    #expect(Set(modes.keys).isSuperset(of: made + ["a.store", "new.create-wal"]))
    #expect(try mode("") == before)
  }

  @Test func `a file or a link that is there already is neither written nor followed`() throws {
    let victim = folder.path("victim")
    for (name, make) in try fileMakers(beside: store) {
      let target = folder.path("planted." + name)
      try Data("planted".utf8).write(to: URL(fileURLWithPath: target))
      #expect(throws: SQLError.alreadyExists(file: target)) { try make(target) }
      #expect(try folder.bytes("planted." + name) == Data("planted".utf8))
      try FileManager.default.removeItem(atPath: target)
      // A link that leads nowhere yet: followed, it would make the file there.
      try FileManager.default.createSymbolicLink(atPath: target, withDestinationPath: victim)
      #expect(throws: SQLError.alreadyExists(file: target), "\(name)") { try make(target) }
      #expect(!FileManager.default.fileExists(atPath: victim), "\(name)")
    }
    #expect(!folder.names.contains { $0.contains(".new-") })
  }

  @Test func `a link in the place of the former key file is replaced, not followed`() throws {
    let keys = try KeyFile.create(at: folder.path("k.keys"), slot: "token", unlock: childKeys.token)
    let victim = folder.path("victim")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: victim))
    try? FileManager.default.removeItem(atPath: folder.path("k.keys.previous"))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("k.keys.previous"), withDestinationPath: victim)
    try keys.renameSlot("token", to: "other")
    #expect(try folder.bytes("victim") == Data("mine".utf8))
    #expect(try KeyFile.slots(at: folder.path("k.keys")).map(\.name) == ["other"])
  }

  @Test
  func `what a killed builder left goes with the next file of that name, and what one builds now stays`()
    throws
  {
    let stale = try folder.path(TemporaryName.random(for: "b.store"))
    try Data("rest".utf8).write(to: URL(fileURLWithPath: stale))
    let (started, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let path = folder.path("b.store")
    let finished = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = try? Connection.create(path, key: childKeys.first) { connection in
        started.signal()
        goOn.wait()
        try connection.execute("CREATE TABLE built(x)")
      }
      // Also when it failed before: nobody is to wait for ever.
      started.signal()
      finished.signal()
    }
    started.wait()
    #expect(!FileManager.default.fileExists(atPath: stale))
    // Another one of the same name, while the first is at work; the first one is then told.
    _ = try Connection.create(path, key: childKeys.first) { try $0.execute("CREATE TABLE second(x)") }
    goOn.signal()
    finished.wait()
    #expect(try Connection.open(path, key: childKeys.first).tableExists("second"))
    #expect(!folder.names.contains { $0.contains(".new-") }, "\(folder.names)")
  }

  @Test func `a second name that a killed builder left of the file itself goes, and the file stays`() throws {
    let path = folder.path("k.keys")
    let keys = try KeyFile.create(at: path, slot: "token", unlock: childKeys.token)
    try FileManager.default.linkItem(atPath: path, toPath: folder.path(TemporaryName.random(for: "k.keys")))
    try keys.renameSlot("token", to: "other")
    #expect(try KeyFile.slots(at: path).map(\.name) == ["other"])
    #expect(!folder.names.contains { $0.contains(".new-") }, "\(folder.names)")
  }

  @Test func `removing a second name of a file in use leaves this process's locks on it`() throws {
    let backup = folder.path("backup")
    try store.backup(to: backup)
    try store.begin()
    try FileManager.default.linkItem(
      atPath: store.path, toPath: folder.path(TemporaryName.random(for: "a.store")))
    try Connection.restore(backup, to: folder.path("elsewhere"), key: childKeys.first)
    #expect(!folder.names.contains { $0.contains(".new-") }, "\(folder.names)")
    // Another process asks: within this one SQLite keeps its own account of locks.
    #expect(try runChild("lock", store.path) == ["busy"])
    store.rollback()
    #expect(try runChild("lock", store.path) == ["free"])
  }
}
