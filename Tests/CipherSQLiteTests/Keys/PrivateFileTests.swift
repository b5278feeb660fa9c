// New files are private to their owner, and no planted file or link is written through.

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

  @Test func `every new file has mode 0600 whatever the umask, and folders keep their mode`() throws {
    let before = try mode("")
    // In a process of its own, as all tests share one umask.
    let lines = try runChild("make-files", store.path)
    let modes = Dictionary(lines.map { $0.split(separator: " ") }.map { ($0[0], $0[1]) }) { $1 }
    #expect(modes["control"] == "666", "a file without a mode of its own shows the umask")
    for (name, found) in modes where name != "control" { #expect(found == "600", "\(name)") }
    let made = try fileMakers(beside: store).map { Substring("new." + $0.name) }
    #expect(Set(modes.keys).isSuperset(of: made + ["a.store", "new.create-wal"]))
    #expect(try mode("") == before)
  }

  @Test func `an existing file is not overwritten, and an existing link is not followed`() throws {
    let victim = folder.path("victim")
    for (name, make) in try fileMakers(beside: store) {
      let target = folder.path("planted." + name)
      try Data("planted".utf8).write(to: URL(fileURLWithPath: target))
      #expect(throws: SQLError.alreadyExists(file: target)) { try make(target) }
      #expect(try folder.bytes("planted." + name) == Data("planted".utf8))
      try FileManager.default.removeItem(atPath: target)
      // A dangling link: following it would create the file at its target.
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

  @Test func `creating a file removes a killed builder's leftovers, and may run beside another builder`()
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
      // Also if it failed before, so that the test does not wait forever.
      started.signal()
      finished.signal()
    }
    started.wait()
    #expect(!FileManager.default.fileExists(atPath: stale))
    // Another builder of the same name, while the first one is at work. The first one then fails.
    _ = try Connection.create(path, key: childKeys.first) { try $0.execute("CREATE TABLE second(x)") }
    goOn.signal()
    finished.wait()
    #expect(try Connection.open(path, key: childKeys.first).tableExists("second"))
    #expect(!folder.names.contains { $0.contains(".new-") }, "\(folder.names)")
  }

  @Test func `a leftover second name of the file itself is removed, and the file stays`() throws {
    let path = folder.path("k.keys")
    let keys = try KeyFile.create(at: path, slot: "token", unlock: childKeys.token)
    try FileManager.default.linkItem(atPath: path, toPath: folder.path(TemporaryName.random(for: "k.keys")))
    try keys.renameSlot("token", to: "other")
    #expect(try KeyFile.slots(at: path).map(\.name) == ["other"])
    #expect(!folder.names.contains { $0.contains(".new-") }, "\(folder.names)")
  }

  @Test func `removing a second name of a file in use keeps this process's locks on it`() throws {
    let backup = folder.path("backup")
    try store.backup(to: backup)
    try store.begin()
    try FileManager.default.linkItem(
      atPath: store.path, toPath: folder.path(TemporaryName.random(for: "a.store")))
    try Connection.restore(backup, to: folder.path("elsewhere"), key: childKeys.first)
    #expect(!folder.names.contains { $0.contains(".new-") }, "\(folder.names)")
    // Another process checks the lock: within this process SQLite keeps its own record of locks.
    #expect(try runChild("lock", store.path) == ["busy"])
    store.rollback()
    #expect(try runChild("lock", store.path) == ["free"])
  }
}
