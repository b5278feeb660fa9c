// Finding the settings and the key of a file if page 1 does not reveal them: every page size, every format.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow, .sampled)) struct SettingsSearch {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  static let sizes = [1024, 2048, 4096, 8192, 16384, 32768, 65536]
  static let formats: [CipherProfile] =
    Engine.current.cipherMajor >= 4
    ? [.sqlcipher3, .sqlcipher4, CipherProfile(pageBytes: 4096, hash: .sha256, rounds: 256_000)]
    : [.sqlcipher3]
  static let all = formats.flatMap { format in
    sizes.map { size -> CipherProfile in
      var profile = format
      profile.pageBytes = size
      return profile
    }
  }

  /// Creates a store with the rounds of its format, so that a passphrase finds the settings.
  func create(_ profile: CipherProfile, rows: Int = 40) throws -> Connection {
    var configuration = Connection.Configuration()
    configuration.profile = profile
    _ = try Connection.create(path, key: .passphrase("right"), configuration: configuration) { connection in
      try connection.execute("CREATE TABLE t(x)")
      for _ in 0..<rows { try connection.execute("INSERT INTO t VALUES (zeroblob(3000))") }
    }
    // A rekey waits this long for a reader that never ends, and then continues.
    var opening = Connection.Configuration()
    opening.busyTimeout = 0.05
    return try Connection.open(path, key: .passphrase("right"), configuration: opening)
  }

  @Test(arguments: Rotation.part(of: all, oneIn: 6))
  func `a process killed after a rekey beside a reader leaves the new key in force`(_ profile: CipherProfile)
    throws
  {
    let writer = try create(profile)
    #expect(writer.unlocked.profile == profile)
    try writer.setJournalMode(.wal)
    let reader = try Connection.open(path, unlocked: writer.unlocked)
    try reader.begin(.deferred)
    #expect(try reader.value("SELECT count(*) FROM t") == 40)
    try writer.rekey(to: .passphrase("new"))
    let died = folder.path("died.store")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: died + suffix)
    }
    #expect(throws: SQLError.logUnderOtherKey(file: died)) {
      try Connection.open(died, key: .passphrase("right"))
    }
    let inspected = try Inspection(path: died, key: .passphrase("new"))
    #expect(try inspected.connection.value("SELECT count(*) FROM t") == 40)
    let opened = try Connection.open(died, key: .passphrase("new"))
    #expect(try opened.value("SELECT sum(length(x)) FROM t") == 120_000)
    #expect(opened.unlocked.profile == profile)
  }

  @Test(.enabled(if: Engine.current.cipherMajor >= 4, "SQLCipher 3 has one hash"))
  func `files of other hashes are recognized, also with two different hashes`() throws {
    let hashes: [CipherProfile.Hash] = [.sha1, .sha256, .sha512]
    for derivation in hashes {
      for hash in hashes {
        let profile = CipherProfile(pageBytes: 2048, hash: hash, derivationHash: derivation, rounds: 256_000)
        #expect(try create(profile, rows: 1).unlocked.profile == profile)
        unlink(path)
      }
    }
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `a file of format 2 opens, and a file of format 1 is reported as unauthenticated`() throws {
    let shell = try #require(cipherShell)
    for format in [1, 2] {
      let settings =
        Engine.current.cipherMajor >= 4
        ? "PRAGMA cipher_default_compatibility = \(format);"
        : "PRAGMA cipher_default_kdf_iter = 4000;"
          + (format == 1 ? "PRAGMA cipher_default_use_hmac = OFF;" : "")
      let input = "\(settings) PRAGMA key = 'right'; CREATE TABLE t(x); INSERT INTO t VALUES (7);"
      let made = try runTool(shell, [path], input: input)
      #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
      if format == 1 {
        #expect(throws: SQLError.unauthenticated(file: path)) {
          try Connection.open(path, key: .passphrase("right"))
        }
      } else {
        let opened = try Connection.open(path, key: .passphrase("right"))
        #expect(try opened.value("SELECT x FROM t") == 7)
        #expect(opened.unlocked.profile == CipherProfile(pageBytes: 1024, hash: .sha1, rounds: 4000))
      }
      #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .passphrase("wrong")) }
      unlink(path)
    }
  }

  @Test func `destroyed first pages are damage and not a wrong key, however many they are`() throws {
    let connection = try create(.engineDefault, rows: 170)
    let pages = Int(try connection.value("PRAGMA page_count")?.int64 ?? 0)
    connection.close()
    let whole = try folder.bytes("a.store")
    #expect(pages > 160)
    for destroyed in [1, 6, 30, pages - 3] {
      var bytes = whole
      // Except the salt, without which no key can be checked.
      bytes.replaceSubrange(16..<(destroyed * 4096), with: Data(repeating: 7, count: destroyed * 4096 - 16))
      try folder.write(bytes, to: "a.store")
      #expect(throws: SQLError.corrupted(file: path, pages: Array(1...min(destroyed, 100)))) {
        try Connection.open(path, key: .passphrase("right"))
      }
      #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .passphrase("wrong")) }
    }
  }

  @Test func `pages of 512 bytes, which no database has, are refused as settings`() throws {
    let profile = CipherProfile(pageBytes: 512, hash: .sha1, rounds: 64_000)
    #expect(!profile.isUsable)
    var configuration = Connection.Configuration()
    configuration.profile = profile
    #expect(throws: SQLError.cipherSettingsMismatch(file: path, profile: profile)) {
      _ = try Connection.create(path, key: testKey, configuration: configuration) { _ in }
    }
  }

  @Test func `a checkpoint of another process after a rekey is not reported as damage`() throws {
    let new = Key.raw([UInt8](repeating: 1, count: 32))
    let writer = try create(.engineDefault, rows: 400)
    try writer.setJournalMode(.wal)
    let reader = try Connection.open(path, unlocked: writer.unlocked)
    try reader.begin(.deferred)
    _ = try reader.value("SELECT count(*) FROM t")
    try writer.rekey(to: new)
    let log = try folder.bytes("a.store-wal")
    let died = folder.path("died.store")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: died + suffix)
    }
    // Like a checkpoint: page by page in any order, while the log exists until the end.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: died))
    let isDone = Locked(false)
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      for start in stride(from: 32, to: log.count - 4119, by: 4120) {
        let number = log[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        try? file.seek(toOffset: UInt64((number - 1) * 4096))
        // In two parts: a page that is partly written is valid under no key.
        try? file.write(contentsOf: log[start + 24..<start + 2000])
        usleep(500)
        try? file.write(contentsOf: log[start + 2000..<start + 4120])
      }
      isDone.withLock { $0 = true }
      ended.signal()
    }
    repeat {
      #expect(try Connection.open(died, key: new).value("SELECT count(*) FROM t") == 400)
      #expect(throws: SQLError.wrongKey(file: died)) { try Connection.open(died, key: testKey) }
    } while !isDone.withLock { $0 }
    ended.wait()
    #expect(try Connection.open(died, key: new).value("SELECT count(*) FROM t") == 400)
  }
}
