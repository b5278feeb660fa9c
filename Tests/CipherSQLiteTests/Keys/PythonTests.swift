// Python as a witness that shares no code with this library: hashlib for the keys and the pages, and the
// wheel `sqlcipher3` with an engine of its own.

import CipherSQLite
import Foundation
import TestSupport
import Testing

/// A Python with hashlib; nil if there is none.
private let python: String? = [
  "/usr/bin/python3", "/usr/local/bin/python3",
].first {
  FileManager.default.isExecutableFile(atPath: $0)
    && (try? runTool($0, ["-c", "import hashlib, hmac"]))?.status == 0
}

/// Whether that Python has the wheel.
private let hasWheel = python.map { (try? runTool($0, ["-c", "import sqlcipher3"]))?.status == 0 } ?? false

@Suite(.enabled(if: python != nil, "there is no python3"))
struct PythonWitness {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  func run(_ script: String, _ arguments: [String]) throws -> String {
    let result = try runTool(try #require(python), ["-", path] + arguments, input: script)
    #expect(result.status == 0, "\(result.errors)")
    return result.output
  }

  /// Counts the pages whose HMAC is valid, from SQLCipher's description alone.
  static let audit = """
    import hashlib, hmac, sys
    path, password, key_hash, page_hash, rounds, size, header = sys.argv[1:8]
    rounds, size, header = int(rounds), int(size), int(header)
    data = open(path, "rb").read()
    salt = bytes.fromhex(sys.argv[8]) if header else data[:16]
    key = hashlib.pbkdf2_hmac(key_hash, password.encode(), salt, rounds, 32)
    mac = hashlib.pbkdf2_hmac(key_hash, key, bytes(byte ^ 0x3a for byte in salt), 2, 32)
    length = hashlib.new(page_hash).digest_size
    reserve = (16 + length + 15) // 16 * 16
    good = 0
    for number in range(1, len(data) // size + 1):
        page = data[(number - 1) * size:number * size]
        start = max(16, header) if number == 1 else 0
        covered = page[start:size - reserve + 16] + number.to_bytes(4, "little")
        stored = page[size - reserve + 16:size - reserve + 16 + length]
        good += hmac.new(mac, covered, page_hash).digest() == stored
    print(good, "of", len(data) // size)
    """

  func pagesFit(_ password: String, _ profile: CipherProfile, salt: String = "") throws -> String {
    try run(
      Self.audit,
      [
        password, profile.derivationHash.rawValue.lowercased(), profile.hash.rawValue.lowercased(),
        "\(profile.rounds)", "\(profile.pageBytes)", "\(profile.clearHeaderBytes)", salt,
      ]
    ).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func fill(_ connection: Connection) throws {
    try connection.executeScript(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, x);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
      INSERT INTO t SELECT i, 'grün 北京 ' || hex(i * i * i) FROM n;
      """)
  }

  @Test func `hashlib derives the same key as this library, and every page is authenticated by it`() throws {
    var profiles = [CipherProfile.engineDefault]
    profiles.append(CipherProfile(pageBytes: 1024, hash: profiles[0].hash, rounds: 5000))
    if Engine.current.cipherMajor >= 4 {
      profiles.append(CipherProfile(pageBytes: 8192, hash: .sha256, derivationHash: .sha1, rounds: 300))
      profiles.append(.sqlcipher3)
    }
    for (number, profile) in profiles.enumerated() {
      try? FileManager.default.removeItem(atPath: path)
      var settings = Connection.Configuration()
      settings.profile = profile
      let password = "grün \(number) 北京"
      _ = try Connection.create(path, key: .passphrase(password), configuration: settings, fill: fill)
      let pages = try folder.bytes("a.store").count / profile.pageBytes
      #expect(try pagesFit(password, profile) == "\(pages) of \(pages)")
      #expect(try pagesFit(password + "x", profile) == "0 of \(pages)")
      // After a rekey the pages are under the new key.
      var configuration = ConnectionPool.Configuration()
      configuration.connection = settings
      let pool = try ConnectionPool(path: path, key: .passphrase(password), configuration: configuration)
      try pool.rekey(to: .passphrase("new"))
      pool.close()
      #expect(try pagesFit("new", profile) == "\(pages) of \(pages)")
    }
  }

  @Test(.enabled(if: Engine.current.cipherMajor >= 4, "SQLCipher 3 has no header in clear"))
  func `hashlib authenticates every page of a file with a header in clear`() throws {
    let profile = CipherProfile(pageBytes: 4096, hash: .sha512, rounds: 700, clearHeaderBytes: 32)
    let salt = [UInt8](16..<32)
    var settings = Connection.Configuration()
    settings.profile = profile
    _ = try Connection.create(
      path, key: .passphrase("horse").withSalt(salt), configuration: settings, fill: fill)
    let pages = try folder.bytes("a.store").count / 4096
    let text = salt.map { String($0, radix: 16) }.joined()
    #expect(try pagesFit("horse", profile, salt: text) == "\(pages) of \(pages)")
  }

  @Test func `a changed byte makes one page invalid for hashlib and for auditPages`() throws {
    _ = try Connection.create(path, key: .passphrase("horse"), fill: fill)
    var bytes = try folder.bytes("a.store")
    bytes[4096 * 3 + 77] ^= 1
    try folder.write(bytes, to: "a.store")
    let pages = bytes.count / 4096
    #expect(try pagesFit("horse", .engineDefault) == "\(pages - 1) of \(pages)")
    #expect(try Connection.open(path, key: .passphrase("horse")).auditPages() == [4])
  }

  @Test(.enabled(if: hasWheel, "the wheel sqlcipher3 is not installed"))
  func `the wheel's engine reads a file of this library, and this library reads its row`() throws {
    _ = try Connection.create(path, key: .passphrase("correct horse"), fill: fill)
    let script = """
      import sqlcipher3, sys
      connection = sqlcipher3.connect(sys.argv[1])
      connection.executescript("PRAGMA key = 'correct horse'; " + sys.argv[2])
      print(connection.execute("SELECT count(*) || ' ' || max(x) FROM t").fetchone()[0])
      connection.execute("INSERT INTO t VALUES (5000, 'from the wheel')")
      connection.commit()
      connection.close()
      """
    let pragmas = CipherProfile.engineDefault.shellPragmas(major: 4).joined(separator: " ")
    let expected = try Connection.open(path, key: .passphrase("correct horse"))
      .value("SELECT count(*) || ' ' || max(x) FROM t")?.string
    let seen = try run(script, [pragmas]).trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(seen == expected)
    let connection = try Connection.open(path, key: .passphrase("correct horse"))
    #expect(try connection.value("SELECT x FROM t WHERE id = 5000") == "from the wheel")
    #expect(connection.auditPages().isEmpty)
  }
}
