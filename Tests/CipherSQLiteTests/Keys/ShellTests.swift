// The sqlcipher shell as a second witness: the file format is SQLCipher's, not one of this library.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
struct Shell {
  let folder: TemporaryFolder
  let path: String
  let shell: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
    shell = try #require(cipherShell)
  }

  @Test func `the shell opens a file of this library with the same passphrase`() throws {
    let unlocked = try Connection.create(path, key: .passphrase("correct horse")) { connection in
      try connection.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES ('gr\u{FC}n 北京')")
    }
    let pragmas = unlocked.profile.shellPragmas(major: Engine.current.cipherMajor).joined(separator: "\n")
    let result = try runTool(
      shell, [path], input: "PRAGMA key = 'correct horse';\n\(pragmas)\nSELECT x FROM t;\n")
    #expect(result.output.contains("gr\u{FC}n 北京"), "\(result.output)\(result.errors)")
  }

  @Test func `this library opens a file of the shell with the same passphrase`() throws {
    let result = try runTool(
      shell, [path], input: "PRAGMA key = 'correct horse';\nCREATE TABLE t(x);\nINSERT INTO t VALUES (42);\n")
    #expect(result.status == 0, "\(result.errors)")
    let connection = try Connection.open(path, key: .passphrase("correct horse"))
    #expect(try connection.value("SELECT x FROM t") == 42)
    #expect(connection.auditPages().isEmpty)
  }

  @Test func `the shell opens a file of this library with the same raw key`() throws {
    let key = [UInt8](0..<32)
    let unlocked = try Connection.create(path, key: .raw(key)) { connection in
      try connection.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (7)")
    }
    let digits = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let pragmas = unlocked.profile.shellPragmas(major: Engine.current.cipherMajor).joined(separator: "\n")
    let result = try runTool(
      shell, [path], input: "PRAGMA key = \"x'\(digits)'\";\n\(pragmas)\nSELECT x FROM t;\n")
    #expect(result.output.contains("7"), "\(result.output)\(result.errors)")
  }

  @Test func `after a rekey the shell opens the file with the new passphrase only`() throws {
    _ = try Connection.create(path, key: .passphrase("old")) { try $0.execute("CREATE TABLE t(x)") }
    let pool = try ConnectionPool(path: path, key: .passphrase("old"))
    try pool.rekey(to: .passphrase("new"))
    let pragmas = pool.profile.shellPragmas(major: Engine.current.cipherMajor).joined(separator: "\n")
    pool.close()
    for (key, opens) in [("new", true), ("old", false)] {
      let result = try runTool(
        shell, [path], input: "PRAGMA key = '\(key)';\n\(pragmas)\nSELECT 'opened', count(*) FROM t;\n")
      #expect(result.output.contains("opened") == opens, "\(key): \(result.output)\(result.errors)")
    }
  }
}
