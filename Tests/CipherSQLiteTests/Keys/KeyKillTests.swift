// A process is killed while it changes keys. The file opens afterwards and has the same content.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.kills, .slow), .serialized) struct KeyKills {
  let folder: TemporaryFolder
  let url: URL

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("a.store")
  }

  func fill(_ connection: Connection) throws {
    try connection.executeScript(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)
      INSERT INTO t SELECT i, hex(i * i) || ' some text that fills the page' FROM n;
      """)
  }

  func create(_ journal: String) throws {
    _ = try Connection.create(url.path, key: childKeys.first, fill: fill)
    let connection = try Connection.open(url.path, key: childKeys.first)
    try connection.setJournalMode(journal == "wal" ? .wal : .delete)
    connection.close()
  }

  func check(_ connection: Connection) throws {
    // The length that the statement above produces, computed here.
    let tail = " some text that fills the page".utf8.count
    var length = 0
    for number in 1...5000 { length += 2 * String(number * number).utf8.count + tail }
    let found = try connection.rows("SELECT count(*), sum(id), sum(length(body)) FROM t")
    #expect(found == [[5000, 12_502_500, .integer(Int64(length))]])
    #expect(try connection.integrityErrors().isEmpty)
    if try connection.checkpoint() { #expect(connection.auditPages().isEmpty) }
  }

  /// Kills a child `killCount` times, and continues until at least one killed child had completed something.
  /// Until then the time for each child grows: how long a child needs depends on the machine and its load.
  func killChildren(_ mode: String, _ url: URL, after seconds: Double, check: () throws -> Void) throws {
    var (rounds, done, allowed) = (0, 0, seconds)
    while rounds < killCount || (done == 0 && rounds < killCount + 40) {
      let lines = try runAndKillChild(mode, url, after: 0...allowed)
      // The first line reports the start.
      #expect(lines > 0)
      done += max(0, lines - 1)
      rounds += 1
      if done == 0, rounds % 4 == 0 { allowed = min(allowed * 1.5, 20) }
      try check()
    }
    #expect(done > 0, "\(rounds) children were killed, and none had done anything")
  }

  /// The modes that create `a.store.out` from the content of the store.
  static let copies = ["encrypt", "export", "backup", "restore"]

  @Test(arguments: copies)
  func `kills while a file is created leave nothing of it or all of it`(_ mode: String) throws {
    _ = try Connection.create(url.path, key: childKeys.first, fill: fill)
    let out = url.path + ".out"
    do {
      let source = try Connection.open(url.path, key: childKeys.first)
      try source.exportPlaintext(to: url.path + ".plain")
      try source.backup(to: url.path + ".backup")
      if mode == "restore" { try source.backup(to: out) }
    }
    try killChildren(mode, url, after: 0.25) {
      try check(try Connection.open(url.path, key: childKeys.first))
      // A restore replaces an existing file, which is never missing.
      let isThere = FileManager.default.fileExists(atPath: out)
      #expect(isThere || mode != "restore")
      guard isThere else { return }
      if mode == "export" {
        try? FileManager.default.removeItem(atPath: out + ".again")
        try Connection.encrypt(plaintext: out, to: out + ".again", key: childKeys.first)
        try check(try Connection.open(out + ".again", key: childKeys.first))
      } else {
        try check(try Connection.open(out, key: childKeys.first))
      }
    }
    // The next file that is created removes what the killed children left.
    if mode == "encrypt" {
      try? FileManager.default.removeItem(atPath: out)
      try Connection.encrypt(plaintext: url.path + ".plain", to: out, key: childKeys.first)
      #expect(!folder.names.contains { $0.contains(".new-") }, "\(folder.names)")
    }
  }

  @Test func `kills during a change of slots leave a key file that opens`() throws {
    let path = url.path + ".keys"
    let keys = try KeyFile.create(at: path, slot: "token", unlock: childKeys.token)
    _ = try Connection.create(url.path, key: keys.key, fill: fill)
    try killChildren("slots", URL(fileURLWithPath: path), after: 0.05) {
      let opened = try KeyFile.open(at: path, unlock: childKeys.token)
      #expect(
        try KeyFile.slots(at: path).map(\.name).allSatisfy { ["token", "spare", "other"].contains($0) })
      try check(try Connection.open(url.path, key: opened.key))
    }
  }

  /// A pool works with a log, a single connection in either mode.
  static let rekeys = [("rekey", "wal"), ("rekey-alone", "wal"), ("rekey-alone", "delete")]

  @Test(arguments: rekeys)
  func `kills during a rekey leave the old key or the new one`(_ mode: String, _ journal: String) throws {
    try create(journal)
    try killChildren(mode, url, after: 0.15) {
      let keys = [childKeys.first, childKeys.second]
      let opened = keys.compactMap { try? Connection.open(url.path, key: $0) }
      #expect(opened.count == 1)
      try check(try #require(opened.first))
    }
  }

  @Test(arguments: ["wal", "delete"])
  func `a full disk during a rekey leaves the old key or the new one, and the store usable`(_ journal: String)
    throws
  {
    try create(journal)
    let lines = try runChild("rekey-full", url.path)
    #expect(lines.count == 40)
    // An error together with the new key occurred after the key was changed. Success with the old key is
    // wrong.
    #expect(
      Set(lines).isSubset(of: ["failed old goes on", "failed new goes on", "rekeyed new goes on"]), "\(lines)"
    )
    #expect(lines.contains("failed old goes on") && lines.contains("rekeyed new goes on"), "\(lines)")
    for key in [childKeys.first, childKeys.second] {
      if let opened = try? Connection.open(url.path, key: key) { try check(opened) }
    }
  }

  @Test func `kills during a change of the cipher settings leave the old file or the new one`() throws {
    _ = try Connection.create(url.path, key: childKeys.first, fill: fill)
    try killChildren("resettle", url, after: 0.15) {
      let connection = try Connection.open(url.path, key: childKeys.first)
      #expect([4096, 8192].contains(connection.unlocked.profile.pageBytes))
      try check(connection)
    }
  }

  @Test func `kills during a rotation leave a key file that opens the store, another one and a backup`()
    throws
  {
    let keys = try KeyFile.create(at: url.path + ".keys", slot: "token", unlock: childKeys.token)
    _ = try Connection.create(url.path, key: keys.key, fill: fill)
    _ = try Connection.create(folder.path("b.store"), key: keys.key, fill: fill)
    try Connection.open(url.path, key: keys.key).backup(to: folder.path("monday.store"))
    var rounds = 0
    try killChildren("rotate", url, after: 0.2) {
      rounds += 1
      // Each of the files is the first to be opened after some of the kills.
      let files = [url.path, folder.path("b.store"), folder.path("monday.store")]
      for place in 0..<3 {
        let file = files[(place + rounds) % 3]
        try check(try Connection.open(file, key: .keyFile(url.path + ".keys", unlock: childKeys.token)))
      }
      #expect(try KeyFile.slots(at: url.path + ".keys").map(\.name) == ["token"])
    }
  }
}
