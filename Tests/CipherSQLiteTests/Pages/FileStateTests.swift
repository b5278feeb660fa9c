// The state of a file for a key, as a value: one case for each state, without opening the file by the
// engine.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct FileStates {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
  }

  private func create() throws {
    _ = try Connection.create(path, key: testKey) {
      try $0.execute("CREATE TABLE t(x)")
      for _ in 0..<30 { try $0.execute("INSERT INTO t VALUES (randomblob(3000))") }
    }
  }

  private func noise(_ count: Int) -> Data { Data((0..<count).map { _ in .random(in: 1...255) }) }

  /// The name of the state, and the error of the state.
  private func state(_ key: Key = testKey, profile: CipherProfile? = nil) throws -> (String, SQLError?) {
    let file = try DatabasePath(path)
    let state = try FileState.of(file, key: key, profile: profile, seconds: 0)
    let word = "\(state)".prefix { $0 != "(" }
    do {
      _ = try state.key(of: file)
      return (String(word), nil)
    } catch {
      return (String(word), error)
    }
  }

  @Test func `a file encrypted with the key has the state open, and its key opens it`() throws {
    try create()
    let file = try DatabasePath(path)
    guard case .open(let key) = try FileState.of(file, key: testKey, seconds: 0) else {
      Issue.record("the state is not open")
      return
    }
    #expect(try Connection.open(path, unlocked: key).value("SELECT count(*) FROM t") == 30)
  }

  @Test func `a file under another key and a file of noise have the same state, locked`() throws {
    try create()
    let other = Key.raw([UInt8](repeating: 1, count: 32))
    #expect(try state(other) == ("locked", .wrongKey(file: path)))
    try folder.write(noise(8192), to: "a.store")
    #expect(try state() == ("locked", .wrongKey(file: path)))
  }

  @Test func `a damaged first page has the state damaged with its number`() throws {
    try create()
    try folder.flip("a.store", at: 100)
    #expect(try state() == ("damaged", .corrupted(file: path, pages: [1])))
  }

  @Test func `a plaintext database has the state plain, and a file that is no database foreign`() throws {
    try create()
    let plain = folder.path("plain.db")
    try Connection.open(path, key: testKey).exportPlaintext(to: plain)
    try folder.write(try folder.bytes("plain.db"), to: "a.store")
    #expect(try state() == ("plain", .notEncrypted(file: path)))
    try folder.write(Data(repeating: 7, count: 100), to: "a.store")
    #expect(try state() == ("foreign", .notADatabase(file: path, reason: "it has only 100 bytes")))
    try folder.write(noise(5000), to: "a.store")
    #expect(
      try state() == ("foreign", .notADatabase(file: path, reason: "its 5000 bytes are not whole pages")))
  }

  @Test func `settings that the engine does not support are reported before anything is tried`() throws {
    try create()
    var profile = CipherProfile.sqlcipher4
    profile.pageBytes = 1000
    #expect(
      try state(profile: profile) == ("unusable", .cipherSettingsMismatch(file: path, profile: profile)))
  }
}
