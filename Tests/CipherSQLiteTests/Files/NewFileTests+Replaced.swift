// Files that replace others: what they keep of the former file, what they wait for, and what is not
// replaced.

import CipherSQLite
import Foundation
import TestSupport
import Testing

extension NewFiles {
  private func look(path: String, key: Key, query question: SQL) throws -> SQLValue? {
    let inspection = try Inspection(path: path, key: key)
    return try withExtendedLifetime(inspection) { try inspection.connection.value(question) }
  }

  @Test(arguments: [0o600, 0o640, 0o604])
  func `a file that replaces another keeps its owner, group and mode`(_ mode: Int) throws {
    try create()
    let isRoot = geteuid() == 0
    if isRoot { #expect(chown(path, 65_534, 65_533) == 0) }
    chmod(path, mode_t(mode))
    func check() throws {
      let found = try FileManager.default.attributesOfItem(atPath: path)
      #expect(found[.posixPermissions] as? Int == mode)
      if isRoot {
        #expect(found[.ownerAccountID] as? Int == 65_534 && found[.groupOwnerAccountID] as? Int == 65_533)
      }
    }
    var profile = CipherProfile.engineDefault
    profile.pageBytes = 8192
    _ = try Connection.upgradeCipher(path, key: testKey, to: profile)
    try check()
    let pool = try ConnectionPool(path: path, key: testKey)
    profile.pageBytes = 2048
    try pool.rekey(to: testKey, profile: profile)
    pool.close()
    try check()
    try Connection.open(path, key: testKey).backup(to: folder.path("b"))
    try Connection.restore(folder.path("b"), to: path, key: testKey, replacesExisting: true)
    try check()
  }

  @Test func `a file with two hard links is opened for reading only`() throws {
    try create()
    let second = folder.path("second")
    try FileManager.default.linkItem(atPath: path, toPath: second)
    for name in [path, second] {
      #expect(throws: SQLError.severalNames(file: name, count: 2)) { try Connection.open(name, key: testKey) }
      var reading = Connection.Configuration()
      reading.access = .readOnly
      try Connection.open(name, key: testKey, configuration: reading).close()
    }
    #expect(folder.names == ["a.store", "second"])
    unlink(second)
    try Connection.open(path, key: testKey).close()
  }

  @Test func `opening a file removes its unfinished second name, and keeps similar names`() throws {
    try create()
    let unfinished = folder.path("a.store.unfinished")
    try FileManager.default.linkItem(atPath: path, toPath: unfinished)
    try FileManager.default.linkItem(atPath: path, toPath: folder.path(TemporaryName.random(for: "a.store")))
    try Connection.open(path, key: testKey).close()
    #expect(folder.names == ["a.store"])
    // Other files with such names, and second names that this library did not create.
    let alike = try TemporaryName.random(for: "a.store")
    try folder.write(Data("mine".utf8), to: "a.store.unfinished")
    try folder.write(Data("mine, too".utf8), to: alike)
    let given = ["a.store.backup", "a.store.new-0123456789abcdef", "b.store.unfinished"]
    for name in given { try FileManager.default.linkItem(atPath: path, toPath: folder.path(name)) }
    #expect(throws: SQLError.severalNames(file: path, count: 4)) { try Connection.open(path, key: testKey) }
    #expect(folder.names == (["a.store", "a.store.unfinished", alike] + given).sorted())
    #expect(try folder.bytes("a.store.unfinished") == Data("mine".utf8))
    // Opening the file by its unfinished name is refused.
    for name in given + [alike, "a.store.unfinished"] { unlink(folder.path(name)) }
    try FileManager.default.linkItem(atPath: path, toPath: unfinished)
    #expect(throws: SQLError.severalNames(file: unfinished, count: 2)) {
      try Connection.open(unfinished, key: testKey)
    }
    #expect(folder.names == ["a.store", "a.store.unfinished"])
  }

  @Test func `a file with two hard links is not replaced under one of them`() throws {
    try create()
    try FileManager.default.linkItem(atPath: path, toPath: folder.path("second"))
    let before = try folder.bytes("a.store")
    #expect(throws: SQLError.severalNames(file: path, count: 2)) {
      _ = try Connection.upgradeCipher(path, key: testKey, newKey: .passphrase("pony"))
    }
    #expect(try folder.bytes("a.store") == before)
    #expect(folder.names == ["a.store", "second"])
  }

  @Test(arguments: [Connection.JournalMode.wal, .delete])
  func `a file is locked while it is replaced, and a waiting caller opens the new one`(
    _ mode: Connection.JournalMode
  ) throws {
    try create()
    let opened = try Connection.open(path, key: testKey)
    try opened.setJournalMode(mode)
    opened.close()
    let (path, isDone) = (path, DispatchSemaphore(value: 0))
    nonisolated(unsafe) var found: SQLValue?
    var isStarted = false
    _ = try Connection.upgradeCipher(
      path, key: testKey, newKey: .passphrase("pony"),
      progress: { _, _ in
        guard !isStarted else { return }
        isStarted = true
        var settings = Connection.Configuration()
        settings.busyTimeout = 0
        #expect(
          isBusy(path, after: 0...60) { _ = try Connection.open(path, key: testKey, configuration: settings) }
        )
        Thread.detachNewThread {
          found = try? Connection.open(path, key: .passphrase("pony")).value("SELECT x FROM t")
          isDone.signal()
        }
        Thread.sleep(forTimeInterval: 0.3)
      })
    isDone.wait()
    #expect(isStarted && found == 1)
    #expect(
      try Connection.open(path, key: .passphrase("pony")).value("PRAGMA journal_mode")?.string
        == mode.rawValue)
  }

  @Test func `a connection to a file that was replaced fails, and neither reads nor writes the old one`()
    throws
  {
    try create()
    let late = try Connection.open(path, key: testKey)
    #expect(try late.value("SELECT x FROM t") == 1)
    _ = try Connection.upgradeCipher(path, key: testKey, newKey: .passphrase("pony"))
    #expect(throws: SQLError.fileReplaced(file: path)) { try late.value("SELECT x FROM t") }
    #expect(throws: SQLError.fileReplaced(file: path)) { try late.execute("INSERT INTO t VALUES (2)") }
  }

  @Test func `an open pool in WAL mode prevents every replacement of its file`() throws {
    try create()
    let pool = try ConnectionPool(path: path, key: testKey)
    let backup = folder.path("b")
    try pool.withReader { try $0.backup(to: backup) }
    var settings = Connection.Configuration()
    settings.busyTimeout = 0.1
    #expect(
      isBusy(path, after: 0...60) {
        _ = try Connection.upgradeCipher(
          path, key: testKey, newKey: .passphrase("pony"), configuration: settings)
      })
    #expect(
      isBusy(path, after: 0...60) {
        try Connection.restore(backup, to: path, key: testKey, replacesExisting: true, busyTimeout: 0.1)
      })
    // Also if the key of the file differs, so that only its locks reveal the pool.
    try pool.rekey(to: .passphrase("other"))
    #expect(
      isBusy(path, after: 0...60) {
        try Connection.restore(backup, to: path, key: testKey, replacesExisting: true, busyTimeout: 0.1)
      })
    try pool.withWriter { _ = try $0.execute("INSERT INTO t VALUES (2)") }
  }

  @Test func `restore replaces a file of another key with its log, and leaves both if it fails`() throws {
    try create()
    let backup = folder.path("b")
    try Connection.open(path, key: testKey).backup(to: backup)
    let other = folder.path("other")
    _ = try Connection.create(other, key: .passphrase("other")) { try $0.execute("CREATE TABLE u(y)") }
    let writer = try Connection.open(other, key: .passphrase("other"))
    try writer.setJournalMode(.wal)
    try writer.execute("INSERT INTO u VALUES (7)")
    for suffix in ["", "-wal"] {
      unlink(path + suffix)
      try FileManager.default.copyItem(atPath: other + suffix, toPath: path + suffix)
    }
    try FileManager.default.linkItem(atPath: path, toPath: folder.path("second"))
    #expect(throws: SQLError.severalNames(file: path, count: 2)) {
      try Connection.restore(backup, to: path, key: testKey, replacesExisting: true)
    }
    #expect(try look(path: path, key: .passphrase("other"), query: "SELECT y FROM u") == 7)
    unlink(folder.path("second"))
    try Connection.restore(backup, to: path, key: testKey, replacesExisting: true)
    #expect(try Connection.open(path, key: testKey).value("SELECT x FROM t") == 1)
    #expect(folder.names.filter { $0.hasPrefix("a.store") } == ["a.store"])
  }

  @Test(arguments: ["-wal", "-journal", "-shm"])
  func `a leftover log beside a free name prevents creating a file of that name`(_ suffix: String) throws {
    try create()
    let source = try Connection.open(path, key: testKey)
    let plain = folder.path("plain")
    try source.exportPlaintext(to: plain)
    try source.backup(to: folder.path("b"))
    let out = folder.path("out")
    try folder.write(Data("a log of long ago".utf8), to: "out" + suffix)
    let error = SQLError.leftBeside(file: out, name: "out" + suffix)
    let makers: [() throws -> Void] = [
      { _ = try Connection.create(out, key: testKey) { try $0.execute("CREATE TABLE t(x)") } },
      { try source.backup(to: out) }, { try source.copy(to: out, key: testKey) },
      { try source.exportPlaintext(to: out) },
      { try Connection.encrypt(plaintext: plain, to: out, key: testKey) },
      { try Connection.restore(folder.path("b"), to: out, key: testKey) },
    ]
    for (index, make) in makers.enumerated() { #expect(throws: error, "\(index)") { try make() } }
    #expect(try folder.bytes("out" + suffix) == Data("a log of long ago".utf8))
    // Also if the log appears while the file is built.
    unlink(out + suffix)
    #expect(throws: error) {
      try source.backup(to: out) { _, _ in try Data([1]).write(to: URL(fileURLWithPath: out + suffix)) }
    }
    #expect(!folder.names.contains("out"))
  }

  @Test(arguments: ["-wal", "-journal", "-shm"])
  func `a link in the place of the engine's log is not followed`(_ suffix: String) throws {
    try create()
    for mode in [Connection.JournalMode.wal, .delete] {
      let connection = try Connection.open(path, key: testKey)
      try connection.setJournalMode(mode)
      connection.close()
      try folder.write(Data("precious".utf8), to: "victim")
      try FileManager.default.createSymbolicLink(atPath: path + suffix, withDestinationPath: "victim")
      let error = SQLError.companionUnusable(file: path + suffix, kind: "a link")
      #expect(throws: error) { try Connection.open(path, key: testKey) }
      #expect(throws: error) { try Inspection(path: path, key: testKey) }
      #expect(throws: error) { try ConnectionPool(path: path, key: testKey) }
      #expect(try folder.bytes("victim") == Data("precious".utf8))
      unlink(path + suffix)
    }
  }

  // The engine trusts names: it truncates a file with the name of its index, and overwrites one with the
  // name of its log.
  // Also with the sizes of an index: 3 bytes, and whole pages.
  @Test(arguments: ["-wal", "-journal", "-shm"], [3, 8, 359, 4096, 32_768, 44_999])
  func `a foreign file with the name of the engine's log or index is refused and not changed`(
    _ suffix: String, _ count: Int
  ) throws {
    try create()
    for mode in [Connection.JournalMode.wal, .delete] {
      let connection = try Connection.open(path, key: testKey)
      try connection.setJournalMode(mode)
      connection.close()
      let notes = Data(String(repeating: "my notes ", count: count).utf8.prefix(count))
      try folder.write(notes, to: "a.store" + suffix)
      let error = SQLError.companionUnusable(file: path + suffix, kind: "a file that SQLite did not write")
      #expect(throws: error) { try Connection.open(path, key: testKey) }
      #expect(throws: error) { try Inspection(path: path, key: testKey) }
      #expect(throws: error) { try ConnectionPool(path: path, key: testKey) }
      var configuration = Connection.Configuration()
      configuration.access = .immutable
      try Connection.open(path, key: testKey, configuration: configuration).close()
      #expect(try folder.bytes("a.store" + suffix) == notes)
      unlink(path + suffix)
    }
  }

  @Test func `a log of another file is named, and the file opens once the log is moved away`() throws {
    try create()
    let other = folder.path("other.store")
    _ = try Connection.create(other, key: .passphrase("another key")) { try $0.execute("CREATE TABLE u(x)") }
    let writer = try Connection.open(other, key: .passphrase("another key"))
    try writer.setJournalMode(.wal)
    try writer.execute("INSERT INTO u VALUES (1)")
    let log = try folder.bytes("other.store-wal")
    try folder.write(log, to: "a.store-wal")
    let error = SQLError.logUnderOtherKey(file: path)
    #expect(throws: error) { try Connection.open(path, key: testKey) }
    #expect(throws: error) { try Inspection(path: path, key: testKey) }
    #expect("\(error)".contains("a.store-wal"))
    // A wrong key is still that.
    #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .passphrase("wrong")) }
    #expect(try folder.bytes("a.store-wal") == log)
    unlink(path + "-wal")
    try Connection.open(path, key: testKey).close()
  }

  @Test(arguments: ["-wal", "-journal", "-shm"])
  func `unfinished logs, journals and indexes of the engine are accepted`(_ suffix: String) throws {
    try create()
    // A new index first has 3 bytes and grows by 4096. A log and a journal may begin with zeros.
    for count in suffix == "-shm" ? [0, 3, 4096, 32_768] : [0, 8, 512] {
      try folder.write(Data(count: count), to: "a.store" + suffix)
      try Connection.open(path, key: testKey).close()
      unlink(path + suffix)
    }
  }

  // Reading the status of a file while its only name is removed may report that it has no name.
  @Test func `a log that is deleted while a file is opened is no reason to refuse the file`() async throws {
    try create()
    let (log, isDone) = (path + "-wal", Locked(false))
    let neighbour = ThreadWork {
      while !isDone.withLock({ $0 }) {
        close(open(log, O_CREAT | O_WRONLY, 0o600))
        unlink(log)
      }
    }
    var configuration = Connection.Configuration()
    configuration.access = .immutable
    defer { isDone.withLock { $0 = true } }
    for _ in 0..<400 { try Connection.open(path, key: testKey, configuration: configuration).close() }
    isDone.withLock { $0 = true }
    try await neighbour.value
  }

  // The engine writes the first 12 bytes over zeros once the rest is on the disk.
  @Test(arguments: 1...8)
  func `a journal with a partly written header is accepted as the engine's`(_ count: Int) throws {
    try create()
    let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    try folder.write(Data(magic.prefix(count)) + Data(count: 512 - count), to: "a.store-journal")
    let connection = try Connection.open(path, key: testKey)
    try connection.setJournalMode(.delete)
    try connection.execute("CREATE TABLE more(x)")
    connection.close()
    #expect(folder.names == ["a.store"])
  }

  @Test func `restore does not replace a file that is certainly not a store`() throws {
    try create()
    let backup = folder.path("b")
    let source = try Connection.open(path, key: testKey)
    try source.backup(to: backup)
    try source.exportPlaintext(to: folder.path("plain"))
    source.close()
    _ = try KeyFile.create(at: folder.path("keys"), slot: "Ann", unlock: childKeys.token)
    try folder.write(Data("correct horse\n".utf8), to: "short")
    try folder.write(Data(String(repeating: "Liebe Oma, schöne Grüße! ", count: 80).utf8), to: "letter")
    for (name, kind) in [
      ("plain", "an unencrypted database"), ("keys", "a key file"), ("short", "a text file"),
      ("letter", "a text file"),
    ] {
      let before = try folder.bytes(name)
      #expect(throws: SQLError.notReplaceable(file: folder.path(name), kind: kind)) {
        try Connection.restore(backup, to: folder.path(name), key: testKey, replacesExisting: true)
      }
      #expect(try folder.bytes(name) == before)
    }
    for damaged in [Data(), Data((0..<5000).map { _ in UInt8.random(in: 0...255) })] {
      try folder.write(damaged, to: "a.store")
      try Connection.restore(backup, to: path, key: testKey, replacesExisting: true)
      #expect(try Connection.open(path, key: testKey).value("SELECT x FROM t") == 1)
    }
    #expect(throws: SQLError.pathUnusable(file: backup, reason: "it is the backup itself")) {
      try Connection.restore(backup, to: backup, key: testKey, replacesExisting: true)
    }
  }

  @Test func `a replacement deletes the renamed log of a lost file, and keeps other files`() throws {
    try create()
    let backup = folder.path("backup")
    try FileManager.default.copyItem(atPath: path, toPath: backup)
    // The state after a process was killed right after the renaming: the log of a file that has no name any
    // more.
    try folder.write(Data(repeating: 0xF7, count: 5000), to: "a.store")
    let aside = try #require(try DatabasePath(path).renamedLogPath)
    try Data(repeating: 0xF8, count: 5000).write(to: URL(fileURLWithPath: aside))
    unlink(path)
    try folder.write(Data(repeating: 0xF9, count: 6000), to: "a.store")
    let mine = ["a.store-wal.0123456789abcdef", "a.store-wal.0123456789abcdef0", "a.store-wal.kept"]
    for name in mine { try folder.write(Data("mine".utf8), to: name) }
    try Connection.restore(backup, to: path, key: testKey, replacesExisting: true)
    #expect(folder.names == (["a.store", "backup"] + mine).sorted())
    #expect(try Connection.open(path, key: testKey).value("SELECT x FROM t") == 1)
  }

  @Test func `opening a file restores its log that a killed process had renamed`() throws {
    try create()
    let writer = try Connection.open(path, key: testKey)
    try writer.setJournalMode(.wal)
    try writer.execute("INSERT INTO t VALUES (2)")
    let died = folder.path("died")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: died + suffix)
    }
    // The state after a process was killed right before the renaming.
    let aside = try #require(try DatabasePath(died).renamedLogPath)
    #expect(rename(died + "-wal", aside) == 0)
    try folder.write(Data("mine".utf8), to: "died-wal.replaced")
    #expect(try Connection.open(died, key: testKey).value("SELECT count(*) FROM t") == 2)
    #expect(!FileManager.default.fileExists(atPath: aside))
    #expect(try folder.bytes("died-wal.replaced") == Data("mine".utf8))
  }

  @Test(arguments: ["wal", "delete"])
  func `processes that open and close a file during repeated replacements lose no commit`(_ mode: String)
    async throws
  {
    _ = try Connection.create(path, key: childKeys.first) {
      try $0.executeScript("CREATE TABLE visit(id INTEGER PRIMARY KEY, who); PRAGMA journal_mode = \(mode)")
    }
    // With a rollback journal the former file gets pages of another size from the new file's journal (see
    // below), and SQLCipher 3.4.1 crashes on that.
    let crash = mode == "delete" && Engine.current.cipherMajor == 3 ? SIGSEGV : nil
    let (path, visitors) = (path, Locked(2))
    let lines = try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<2 {
        group.addTask {
          try await onThread {
            defer { visitors.withLock { $0 -= 1 } }
            return try runChild("visit", path, allowing: crash)
          }
        }
      }
      group.addTask {
        try await onThread {
          var configuration = Connection.Configuration()
          configuration.busyTimeout = 60
          var count = 0
          repeat {
            var profile = CipherProfile.engineDefault
            profile.pageBytes = count.isMultiple(of: 2) ? 8192 : 4096
            _ = try Connection.upgradeCipher(
              path, key: childKeys.first, to: profile, configuration: configuration)
            count += 1
            // A process that waits for the lock polls it, and would never find it free.
            usleep(5000)
          } while visitors.withLock { $0 } > 0 || count < 3
          return []
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    // A process may find another file than the one that it opened. In a mode without a lasting lock it gets
    // that error, and nothing is lost. Without a log SQLite finds a journal by its name alone: a process
    // that still has the former file open may roll back, and delete, the journal of the new one
    // (IOERR_DELETE_NOENT for the writer there). PROMISES.md documents this.
    let errors = Set(
      lines.filter {
        $0.hasPrefix("error") && !$0.contains("deleted, moved or replaced since it was opened here")
          && !(mode == "delete" && $0.contains("(extended code 5898)"))
      })
    #expect(errors.isEmpty)
    let acknowledged = lines.compactMap { Int64($0) }
    // At least as many as the visitors make before they end.
    #expect(acknowledged.count >= 2 * 8)
    let connection = try Connection.open(path, key: childKeys.first)
    let found = Set(try connection.rows("SELECT id FROM visit").compactMap { $0[0].int64 })
    #expect(
      acknowledged.allSatisfy(found.contains), "\(acknowledged.filter { !found.contains($0) }.count) are gone"
    )
    #expect(try connection.integrityErrors().isEmpty)
  }
}
