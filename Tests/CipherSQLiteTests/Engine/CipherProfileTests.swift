// Custom cipher settings: rounds, hashes, pages, a header in clear with its salt stored elsewhere.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct CipherProfiles {
  static let salt = [UInt8](100..<116)
  static let raw = [UInt8](0..<32)
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("p.store")
  }

  func settings(_ profile: CipherProfile) -> Connection.Configuration {
    var settings = Connection.Configuration()
    settings.profile = profile
    return settings
  }

  /// Creates a file of a hundred rows with a canary in them.
  func create(_ key: Key, _ profile: CipherProfile) throws {
    _ = try Connection.create(path, key: key, configuration: settings(profile)) { connection in
      try connection.execute("CREATE TABLE t(x)")
      for number in 0..<100 { _ = try connection.execute("INSERT INTO t VALUES (\("canary \(number)"))") }
    }
  }

  func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Returns what the sqlcipher shell prints as the number of rows.
  func shellCount(_ key: String, _ pragmas: [String]) throws -> String {
    let shell = try #require(cipherShell)
    return try runTool(
      shell, [path],
      input: "PRAGMA key = \(key);\n\(pragmas.joined(separator: "\n"))\nSELECT 'rows ' || count(*) FROM t;\n"
    ).output
  }

  @Test func `a file of custom rounds opens only with them, also in the shell`() throws {
    var profile = CipherProfile.engineDefault
    profile.rounds = 1234
    profile.pageBytes = 8192
    try create(.passphrase("horse"), profile)
    #expect(throws: SQLError.wrongKey(file: path)) { try Connection.open(path, key: .passphrase("horse")) }
    let connection = try Connection.open(path, key: .passphrase("horse"), configuration: settings(profile))
    #expect(try connection.value("SELECT count(*) FROM t") == 100)
    #expect(connection.unlocked.profile == profile && connection.auditPages().isEmpty)
    #expect(throws: SQLError.wrongKey(file: path)) {
      try Connection.open(path, key: .passphrase("mule"), configuration: settings(profile))
    }
    if cipherShell != nil {
      let pragmas = profile.shellPragmas(major: Engine.current.cipherMajor)
      #expect(pragmas.contains("PRAGMA kdf_iter = 1234;"))
      #expect(try shellCount("'horse'", pragmas).contains("rows 100"))
    }
  }

  @Test func `custom settings do not prevent opening a file of the engine's own settings`() throws {
    try create(.passphrase("horse"), .engineDefault)
    var other = CipherProfile.engineDefault
    other.rounds = 10
    let connection = try Connection.open(path, key: .passphrase("horse"), configuration: settings(other))
    #expect(connection.unlocked.profile == .engineDefault)
  }

  @Test func `a pool, a rekey, a copy and a backup keep custom settings`() throws {
    var profile = CipherProfile.engineDefault
    profile.rounds = 777
    profile.pageBytes = 2048
    try create(.passphrase("horse"), profile)
    var configuration = ConnectionPool.Configuration()
    configuration.connection = settings(profile)
    let pool = try ConnectionPool(path: path, key: .passphrase("horse"), configuration: configuration)
    try pool.rekey(to: .passphrase("pony"))
    try pool.withWriter { connection in
      try connection.backup(to: folder.path("b.store"), key: .passphrase("b"))
      try connection.copy(to: folder.path("c.store"), key: .passphrase("c"))
    }
    pool.close()
    for (name, key) in [("p.store", "pony"), ("b.store", "b"), ("c.store", "c")] {
      let other = try Connection.open(
        folder.path(name), key: .passphrase(key), configuration: settings(profile))
      #expect(other.unlocked.profile == profile)
      #expect(try other.value("SELECT count(*) FROM t") == 100)
    }
  }

  @Test(.enabled(if: Engine.current.cipherMajor >= 4, "SQLCipher 3 has SHA-1 alone"))
  func `each pair of hashes makes a file that this library and the shell read`() throws {
    for hash in [CipherProfile.Hash.sha1, .sha256, .sha512] {
      for derivation in [CipherProfile.Hash.sha1, .sha256, .sha512] {
        let profile = CipherProfile(pageBytes: 4096, hash: hash, derivationHash: derivation, rounds: 500)
        try create(.passphrase("horse"), profile)
        let connection = try Connection.open(
          path, key: .passphrase("horse"), configuration: settings(profile))
        #expect(connection.auditPages().isEmpty && connection.unlocked.profile == profile)
        connection.close()
        if cipherShell != nil {
          let found = try shellCount("'horse'", profile.shellPragmas(major: 4))
          #expect(found.contains("rows 100"), "\(profile): \(found)")
        }
        try FileManager.default.removeItem(atPath: path)
      }
    }
  }

  @Test func `a file of a raw key with a salt begins with the salt, and the shell opens it`() throws {
    try create(.raw(Self.raw, salt: Self.salt), .engineDefault)
    #expect(Array(try folder.bytes("p.store").prefix(16)) == Self.salt)
    #expect(try Connection.open(path, key: .raw(Self.raw)).value("SELECT count(*) FROM t") == 100)
    #expect(try Connection.open(path, key: .raw(Self.raw, salt: Self.salt)).auditPages().isEmpty)
    #expect(throws: SQLError.wrongKey(file: path)) {
      try Connection.open(path, key: .raw(Self.raw, salt: Self.salt.reversed()))
    }
    if cipherShell != nil {
      let key = "\"x'\(hex(Self.raw))\(hex(Self.salt))'\""
      let pragmas = CipherProfile.engineDefault.shellPragmas(major: Engine.current.cipherMajor)
      #expect(try shellCount(key, pragmas).contains("rows 100"))
    }
  }

  @Test func `a salt of a wrong length and settings that no engine supports are refused`() throws {
    #expect(throws: SQLError.saltLength(expected: 16, found: 3)) {
      try create(.raw(Self.raw, salt: [1, 2, 3]), .engineDefault)
    }
    for change: (inout CipherProfile) -> Void in [
      { $0.pageBytes = 1000 }, { $0.rounds = 0 }, { $0.clearHeaderBytes = 17 },
      { $0.clearHeaderBytes = 4096 },
    ] {
      var profile = CipherProfile.engineDefault
      change(&profile)
      #expect(throws: SQLError.cipherSettingsMismatch(file: path, profile: profile)) {
        try create(.raw(Self.raw), profile)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }
  }

  @Test(.enabled(if: Engine.current.cipherMajor < 4, "SQLCipher 4 has them"))
  func `a header in clear and newer hashes need SQLCipher 4`() throws {
    for profile in [
      CipherProfile.sqlcipher4,
      CipherProfile(pageBytes: 4096, hash: .sha1, rounds: 64_000, clearHeaderBytes: 32),
    ] {
      #expect(throws: SQLError.cipherSettingsMismatch(file: path, profile: profile)) {
        try create(.raw(Self.raw, salt: Self.salt), profile)
      }
    }
  }
}

@Suite(.enabled(if: Engine.current.cipherMajor >= 4, "SQLCipher 3 has no header in clear"))
struct ClearHeaders {
  let files: CipherProfiles
  let profile = CipherProfile(pageBytes: 4096, hash: .sha512, rounds: 2000, clearHeaderBytes: 32)
  let key = Key.passphrase("horse").withSalt(CipherProfiles.salt)
  var path: String { files.path }

  init() throws {
    files = try CipherProfiles()
    try files.create(key, profile)
  }

  func open(_ key: Key) throws -> Connection {
    try Connection.open(path, key: key, configuration: files.settings(profile))
  }

  @Test func `a file with a clear header begins like a plain file, and the rest is unreadable`() throws {
    let bytes = try files.folder.bytes("p.store")
    #expect(bytes.starts(with: Data("SQLite format 3\0".utf8)))
    #expect(bytes.range(of: Data("canary".utf8)) == nil && bytes.range(of: Data("CREATE".utf8)) == nil)
    let connection = try open(key)
    #expect(try connection.value("SELECT count(*) FROM t") == 100)
    #expect(connection.auditPages().isEmpty)
    #expect(connection.unlocked.profile == profile)
  }

  @Test func `a raw key with the salt opens a file with a clear header`() throws {
    let raw = files.folder.path("raw.store")
    let key = Key.raw(CipherProfiles.raw, salt: CipherProfiles.salt)
    _ = try Connection.create(raw, key: key, configuration: files.settings(profile)) {
      try $0.execute("CREATE TABLE t(x)")
    }
    #expect(try Connection.open(raw, key: key).value("SELECT count(*) FROM t") == 0)
  }

  @Test(.enabled(if: cipherShell != nil, "make deps installs the shell"))
  func `the shell reads a file with a clear header, given the salt`() throws {
    let pragmas =
      profile.shellPragmas(major: 4) + ["PRAGMA cipher_salt = \"x'\(files.hex(CipherProfiles.salt))'\";"]
    let found = try files.shellCount("'horse'", pragmas)
    #expect(found.contains("rows 100"), "\(found)")
  }

  @Test func `each mistake with a clear header has its own error`() throws {
    #expect(throws: SQLError.saltMissing(file: path)) { try open(.passphrase("horse")) }
    #expect(throws: SQLError.wrongKey(file: path)) {
      try open(.passphrase("mule").withSalt(CipherProfiles.salt))
    }
    #expect(throws: SQLError.wrongKey(file: path)) {
      try open(.passphrase("horse").withSalt(CipherProfiles.salt.reversed()))
    }
    #expect(throws: SQLError.saltMissing(file: files.folder.path("new.store"))) {
      try Connection.create(
        files.folder.path("new.store"), key: .passphrase("horse"), configuration: files.settings(profile)
      ) { _ in }
    }
    var bytes = try files.folder.bytes("p.store")
    bytes[4096 + 100] ^= 1
    try files.folder.write(bytes, to: "p.store")
    #expect(throws: SQLError.corrupted(file: path, pages: [2])) {
      _ = try open(key).rows("SELECT * FROM t")
    }
  }

  @Test func `a file with a clear header works in a pool and survives rekeys, copies and backups`()
    async throws
  {
    var configuration = ConnectionPool.Configuration()
    configuration.connection = files.settings(profile)
    let pool = try ConnectionPool(path: path, key: key, configuration: configuration)
    try await pool.write { _ = try $0.execute("INSERT INTO t VALUES ('more')") }
    #expect(try await pool.read { try $0.value("SELECT count(*) FROM t") } == 101)
    try pool.rekey(to: .passphrase("pony"))
    #expect(try await pool.read { try $0.value("SELECT count(*) FROM t") } == 101)
    // To a file without a clear header, and back.
    try pool.rekey(to: .passphrase("plain pony"), profile: .sqlcipher4)
    #expect(throws: SQLError.saltMissing(file: path)) {
      try pool.rekey(to: .passphrase("x"), profile: profile)
    }
    try pool.rekey(to: key, profile: profile)
    try pool.withWriter { connection in
      try connection.copy(to: files.folder.path("c.store"), key: key)
      try connection.backup(to: files.folder.path("b.store"))
    }
    pool.close()
    for name in ["p.store", "b.store", "c.store"] {
      let other = try Connection.open(
        files.folder.path(name), key: key, configuration: files.settings(profile))
      #expect(try other.value("SELECT count(*) FROM t") == 101)
      #expect(other.auditPages().isEmpty)
    }
    let attached = try open(key)
    try attached.attach(files.folder.path("c.store"), as: "c", key: key, profile: profile)
    #expect(try attached.value("SELECT count(*) FROM c.t") == 101)
  }
}
