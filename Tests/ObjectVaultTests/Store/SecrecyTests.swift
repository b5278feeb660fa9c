// No saved value may be readable in any file, and no key in any text.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Secrecy {
  static let canary = "CANARY-7f3a91"

  @Test func `a canary that is saved, sorted, migrated and rekeyed is in no file, in no encoding`()
    async throws
  {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    try await Store.create(at: url, key: testKey, migrations: MigrationSet(Array(set.steps.prefix(1))))
    do {
      let connection = try Connection.open(url.path, key: testKey)
      try connection.setJournalMode(.wal)
      for number in 0..<300 {
        try connection.execute(
          "INSERT INTO User(name) VALUES (?)",
          [.text("\(Self.canary) \(number) \(String(repeating: "x", count: 500))")])
      }
      // A sort that is larger than any cache would use a file.
      try connection.executeScript("PRAGMA cache_size = 10")
      _ = try connection.rows("SELECT a.name FROM User a, User b ORDER BY b.name || a.name LIMIT 5")
      try scan(folder)
    }
    let store = try await openMicroblog(url)
    try scan(folder)
    try await store.write { context in
      _ = context.insert(Status.self) {
        $0.text = Self.canary
        $0.createdAt = Date()
      }
    }
    try scan(folder)
    try await store.rekey(to: .passphrase("other"))
    try scan(folder)
    store.close()
    try scan(folder)
  }

  @Test(arguments: ["save", "rekey", "resettle", "rotate", "backup", "restore", "encrypt"])
  func `a canary is in no file of a process that is killed during its work`(_ mode: String) async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let store = try await openMicroblog(url)
    try await store.write { context in
      for number in 0..<300 {
        context.insert(User.self) {
          $0.name = "\(Self.canary) \(number) \(String(repeating: "x", count: 500))"
        }
      }
    }
    store.close()
    // The plain export is in another folder.
    let elsewhere = try TemporaryFolder()
    do {
      let connection = try Connection.open(url.path, key: testKey)
      try connection.backup(to: url.path + ".backup")
      try connection.backup(to: url.path + ".out")
      try connection.exportPlaintext(to: elsewhere.path("plain"))
      try FileManager.default.createSymbolicLink(
        atPath: url.path + ".plain", withDestinationPath: elsewhere.path("plain"))
      if mode == "rotate" {
        let keys = try KeyFile.create(at: url.path + ".keys", slot: "token", unlock: childKeys.token)
        connection.close()
        try ConnectionPool(path: url.path, key: testKey).rekey(to: keys.key)
      }
    }
    var lines = 0
    for _ in 0..<3 {
      lines += try runAndKillChild(mode, url, after: 0.0...0.3)
      try scan(folder)
    }
    // The children had begun their work.
    #expect(lines >= 3)
  }

  private func scan(_ folder: TemporaryFolder, _ location: SourceLocation = #_sourceLocation) throws {
    let utf8 = Data(Self.canary.utf8)
    let needles = [
      utf8, Self.canary.data(using: .utf16LittleEndian) ?? utf8,
      Self.canary.data(using: .utf16BigEndian) ?? utf8,
      Data(utf8.base64EncodedString().prefix(12).utf8),
      Data(utf8.map { String($0, radix: 16) }.joined().utf8),
      Data("screenName".utf8), Data("CREATE TABLE".utf8), Data("SQLite format".utf8),
    ]
    #expect(!folder.names.isEmpty, sourceLocation: location)
    for name in folder.names where !name.hasSuffix(".plain") {
      let bytes = try folder.bytes(name)
      for needle in needles {
        #expect(bytes.range(of: needle) == nil, "\(name) contains it", sourceLocation: location)
      }
    }
  }

  @Test func `no error and no description contains a key or a value`() async throws {
    let secret = "SECRET-KEY-4471"
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let key = Key.passphrase(secret)
    var texts = ["\(key)", String(reflecting: key), "\(Mirror(reflecting: key).children.map { "\($0)" })"]
    let store = try await openMicroblog(url, key: key)
    texts.append("\(store) \(String(reflecting: store.opening))")
    for attempt in [Key.passphrase("x" + secret), .raw([1, 2]), .passphrase("")] {
      do { _ = try await openMicroblog(url, key: attempt) } catch {
        texts.append("\(error) \(String(reflecting: error))")
      }
    }
    try await store.write { context in _ = context.insert(User.self) { $0.name = secret } }
    do {
      try await store.write { context in _ = context.insert(User.self) { $0.name = secret } }
    } catch { texts.append("\(error) \(String(reflecting: error))") }
    #expect(texts.count >= 7)
    for text in texts { #expect(!text.contains("SECRET"), "\(text)") }
  }
}
