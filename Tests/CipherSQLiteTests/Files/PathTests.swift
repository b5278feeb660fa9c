// Paths of database files: links, names, and strings that cannot be a path.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct Paths {
  let folder: TemporaryFolder
  /// The folder's own path, without links.
  let root: String

  init() throws {
    folder = try TemporaryFolder()
    root = try DatabasePath(folder.path("x")).folder
  }

  @Test(arguments: ["x", "./x", "../here/x", ".//x", "sub/../x"])
  func `every form of a relative path refers to the file in the working directory`(_ given: String) throws {
    for name in ["here", "here/sub"] {
      try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
    }
    // In a process of its own, as tests share one working directory.
    let result = try runTool(
      builtExecutable("test-child"), ["create-relative", given], directory: folder.path("here"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == "\(root)/here/x\n")
    let path = folder.path("here/x")
    #expect(try Connection.open(path, key: childKeys.first).value("SELECT x FROM t") == 1)
  }

  @Test func `the folder and name of a path equal the results of dirname and basename`() {
    for (path, folder, name) in [
      ("x", ".", "x"), ("/x", "/", "x"), ("./x", ".", "x"), ("/a/b", "/a", "b"), ("a/b", "a", "b"),
      ("/日/本", "/日", "本"), ("e\u{301}/e\u{301}", "e\u{301}", "e\u{301}"),
    ] {
      #expect(DatabasePath.split(path) == (folder, name))
    }
  }

  @Test func `a path that begins with two slashes is opened`() throws {
    let path = "/" + folder.path("x")
    _ = try Connection.create(path, key: testKey) { try $0.execute("CREATE TABLE t(x)") }
    #expect(try Connection.open(path, key: testKey).tableExists("t"))
    #expect(try DatabasePath("//etc").path == "/etc")
  }

  @Test func `a path that cannot be used is refused with the reason`() throws {
    let dir = folder.path("dir")
    try FileManager.default.createDirectory(atPath: dir, withIntermediateDirectories: true)
    try folder.write(Data([1]), to: "file")
    let tooLong = folder.path(String(repeating: "n", count: 300))
    let cases: [(String, String)] = [
      ("", "This path cannot be used: it is empty"), ("a\0b", "it contains a NUL character"),
      (dir, "this is a directory"), (dir + "/", "this is a directory"),
      (folder.path("none") + "/", "ends in a slash"), (folder.path("file/x"), "is a file, not a folder"),
      (folder.path("none/x"), "this folder does not exist"), (tooLong, "too long"),
      (folder.path(String(repeating: "n", count: 255)), "its name has 255 bytes"),
      (
        folder.path(Array(repeating: String(repeating: "d", count: 100), count: 6).joined(separator: "/")),
        "folder"
      ),
    ]
    for (path, expected) in cases {
      for attempt in [
        { _ = try Connection.open(path, key: testKey) },
        { _ = try Connection.create(path, key: testKey) { try $0.execute("CREATE TABLE t(x)") } },
      ] {
        #expect(throws: SQLError.self) { try attempt() }
        do { try attempt() } catch { #expect("\(error)".contains(expected), "\(error)") }
      }
    }
  }

  @Test func `a path that is too long for the engine is not reported as missing permission`() throws {
    var deep = folder.path("")
    while deep.utf8.count < 520 { deep += "/" + String(repeating: "d", count: 80) }
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    do {
      _ = try Connection.create(deep + "/x", key: testKey) { try $0.execute("CREATE TABLE t(x)") }
      Issue.record("a file with a path that is too long was created")
    } catch { #expect("\(error)".contains("SQLite accepts at most 483"), "\(error)") }
  }

  @Test func `names of 246 bytes in any script work with log and journal`() throws {
    for name in [String(repeating: "n", count: 246), String(repeating: "日", count: 82), "a'b\"c?d#e%41 f&g"] {
      let path = folder.path(name)
      _ = try Connection.create(path, key: testKey) { try $0.execute("CREATE TABLE t(x)") }
      let pool = try ConnectionPool(path: path, key: testKey)
      try pool.withWriter { _ = try $0.execute("INSERT INTO t VALUES (1)") }
      pool.close()
      let copy = folder.path("c")
      try Connection.open(path, key: testKey).backup(to: copy)
      try FileManager.default.removeItem(atPath: copy)
    }
  }

  @Test func `a pipe or a device is refused with its kind`() throws {
    let pipe = folder.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(throws: SQLError.notAFile(file: pipe, kind: "a pipe")) { try Connection.open(pipe, key: testKey) }
    #expect(throws: SQLError.notAFile(file: "/dev/null", kind: "a device")) {
      try Connection.open("/dev/null", key: testKey)
    }
    #expect(throws: SQLError.notAFile(file: pipe, kind: "a pipe")) {
      try Inspection(path: pipe, key: testKey)
    }
  }

  @Test func `a process without free descriptors gets the error about too many open files`() throws {
    let path = folder.path("x")
    _ = try Connection.create(path, key: childKeys.first) { try $0.execute("CREATE TABLE t(x)") }
    let result = try runTool(builtExecutable("test-child"), ["no-descriptors", path])
    #expect(result.output.contains("Too many open files"), "\(result.output)\(result.errors)")
  }

  // MARK: Links

  /// Creates a store with rows that are only in its log, as a killed process leaves it, and a link to the
  /// store.
  func linkedStore(_ target: String = "real/s.store") throws -> (link: String, real: String) {
    try FileManager.default.createDirectory(atPath: folder.path("real"), withIntermediateDirectories: true)
    let (real, live) = (folder.path("real/s.store"), folder.path("live"))
    _ = try Connection.create(live, key: testKey) {
      try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (0)")
    }
    let writer = try Connection.open(live, key: testKey)
    try writer.setJournalMode(.wal)
    try writer.executeScript("PRAGMA wal_autocheckpoint = 0")
    for number in 1...500 { try writer.execute("INSERT INTO t VALUES (\(number))") }
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: live + suffix, toPath: real + suffix)
    }
    let link = folder.path("s.store")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    return (link, real)
  }

  @Test(arguments: ["real/s.store", "second"])
  func `a store that is opened through a link is read and copied with its log`(_ target: String) throws {
    let (link, _) = try linkedStore(target)
    if target == "second" {
      try FileManager.default.createSymbolicLink(
        atPath: folder.path("second"), withDestinationPath: folder.path("real/s.store"))
    }
    let inspection = try Inspection(path: link, key: testKey)
    #expect(try inspection.connection.value("SELECT count(*) FROM t") == 501)
    try inspection.connection.backup(to: folder.path("copy"))
    #expect(try Connection.open(folder.path("copy"), key: testKey).value("SELECT count(*) FROM t") == 501)
    #expect(try Connection.open(link, key: testKey).value("SELECT count(*) FROM t") == 501)
    #expect(!folder.names.contains { $0.hasPrefix("s.store-") }, "\(folder.names)")
  }

  @Test func `replacing a store through a link replaces the store and keeps the link`() throws {
    let (link, real) = try linkedStore()
    var profile = CipherProfile.engineDefault
    profile.pageBytes = 8192
    _ = try Connection.upgradeCipher(link, key: testKey, newKey: .passphrase("pony"), to: profile)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real/s.store")
    #expect(throws: SQLError.wrongKey(file: real)) { try Connection.open(real, key: testKey) }
    for path in [link, real] {
      let opened = try Connection.open(path, key: .passphrase("pony"))
      #expect(try opened.value("SELECT count(*) FROM t") == 501)
      #expect(opened.unlocked.profile == profile)
    }
    try Connection.open(link, key: .passphrase("pony")).backup(to: folder.path("copy"))
    try Connection.restore(folder.path("copy"), to: link, key: .passphrase("pony"), replacesExisting: true)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real/s.store")
    #expect(try Connection.open(real, key: .passphrase("pony")).value("SELECT count(*) FROM t") == 501)
  }

  @Test func `a pool keeps its file when the link that it was opened by is replaced`() throws {
    let (link, _) = try linkedStore()
    let pool = try ConnectionPool(path: link, key: testKey)
    try FileManager.default.removeItem(atPath: link)
    try folder.write(Data("no store".utf8), to: "s.store")
    #expect(try pool.withReader { try $0.value("SELECT count(*) FROM t") } == 501)
    try pool.rekey(to: .passphrase("pony"))
    #expect(try pool.withReader { try $0.value("SELECT count(*) FROM t") } == 501)
    #expect(try folder.bytes("s.store") == Data("no store".utf8))
  }

  #if os(Linux)
    // No user can create a file there, not even root.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/sys/kernel")))
    func `the error for a folder that is not writable names the folder`() throws {
      #expect {
        _ = try Connection.create("/sys/kernel/none.store", key: testKey) { _ in }
      } throws: { error in
        error as? SQLError == .folderNotWritable(folder: "/sys/kernel")
          && "\(error)".contains("in this folder")
      }
    }
  #endif

  @Test func `dangling links and circular links have their own errors`() throws {
    let (link, other) = (folder.path("a"), folder.path("b"))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "b")
    #expect(throws: SQLError.danglingLink(file: link, target: root + "/b")) {
      try Connection.open(link, key: testKey)
    }
    try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: "a")
    let circle = SQLError.pathUnusable(file: link, reason: "its links form a cycle")
    #expect(throws: circle) { try Connection.open(link, key: testKey) }
    #expect(throws: circle) { try DatabasePath.isTaken(link) }
  }

  @Test func `isTaken follows links, and is false for a folder that does not exist`() throws {
    for (link, target) in [("dangling", "none"), ("good", "file")] {
      try FileManager.default.createSymbolicLink(atPath: folder.path(link), withDestinationPath: target)
    }
    try folder.write(Data(), to: "file")
    for name in ["file", "good", ".."] { #expect(try DatabasePath.isTaken(folder.path(name)), "\(name)") }
    for name in ["none", "dangling", "no/where"] {
      #expect(try !DatabasePath.isTaken(folder.path(name)), "\(name)")
    }
  }

  @Test func `a link to a name that is not UTF-8 fails, and such names beside a store do no harm`() throws {
    let bytes: [UInt8] = Array(folder.path("").utf8) + [UInt8(ascii: "/"), 0xff, 0xfe, 0]
    let isMade = bytes.withUnsafeBytes { raw -> Bool in
      guard let path = raw.baseAddress?.assumingMemoryBound(to: CChar.self) else { return false }
      let descriptor = open(path, O_CREAT | O_RDWR, 0o600)
      defer { close(descriptor) }
      return descriptor >= 0 && symlink(path, folder.path("link")) == 0
    }
    // Not every file system allows such names.
    guard isMade else { return }
    do {
      _ = try Connection.open(folder.path("link"), key: testKey)
      Issue.record("a link to a name that is not UTF-8 was opened")
    } catch { #expect("\(error)".contains("is not UTF-8"), "\(error)") }
    let path = folder.path("x")
    _ = try Connection.create(path, key: testKey) { try $0.execute("CREATE TABLE t(x)") }
    #expect(bytes.withUnsafeBytes { access($0.baseAddress!.assumingMemoryBound(to: CChar.self), F_OK) } == 0)
  }
}
