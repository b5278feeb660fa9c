// Ctrl-C, SIGTERM and SIGHUP in a rekey: whatever the message says of the keys is so.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.kills, .sampled, .slow), .serialized) struct RekeyInterruptions {
  let folder: TemporaryFolder
  let store: String
  /// Some 16 MB, made once and copied: making them takes longer than the rekey that is interrupted.
  private let template: TemporaryFolder
  static let rows = 4000
  // Raw keys: to derive a key from a passphrase takes longer than the rekey.
  static let keys = ["horse": Template.key, "pony": Template.newKey]
  static let environment = [
    "OLD_KEY": Template.hex(Template.key), "NEW_KEY": Template.hex(Template.newKey),
  ]
  static let options = [
    "--key-env", "OLD_KEY", "--key-format", "hex", "--new-key-env", "NEW_KEY", "--new-key-format", "hex",
    "--no-input",
  ]

  init() throws {
    folder = try TemporaryFolder()
    template = try TemporaryFolder()
    store = folder.path("a.store")
    _ = try Connection.create(template.path("a.store"), key: .raw(Template.key)) {
      try $0.executeScript(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(Self.rows))
        INSERT INTO t SELECT i, zeroblob(4000) FROM n;
        """)
    }
  }

  func create() throws {
    for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
    try FileManager.default.copyItem(atPath: template.path("a.store"), toPath: store)
  }

  /// Which keys open the store, with all that is in it.
  func opens() -> [String] {
    Self.keys.filter { _, key in
      guard let connection = try? Connection.open(store, key: .raw(key)) else { return false }
      let count = try? connection.value("SELECT count(*) FROM t")
      #expect(count == .integer(Int64(Self.rows)))
      #expect(connection.auditPages().isEmpty)
      return true
    }.map(\.key)
  }

  func journalBytes() -> Int {
    let found = try? FileManager.default.attributesOfItem(atPath: store + "-journal")[.size] as? Int
    return found ?? 0
  }

  /// Runs a rekey, and sends it signals.
  /// - Parameters:
  ///   - signals: Each with the seconds after which it is sent.
  ///   - whenBegun: Whether the first waits until pages are written, whenever that is.
  func rekey(_ signals: [(Int32, Double)], whenBegun: Bool = false) throws
    -> (status: Int32, text: String, seconds: Double)
  {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: builtExecutable("store-migrate"))
    process.arguments = ["rekey", store, "--quiet"] + Self.options
    process.environment = ProcessInfo.processInfo.environment.merging(Self.environment) { $1 }
    let errors = Pipe()
    process.standardError = errors
    let start = Date()
    try process.run()
    // Bytes in the journal: the file itself is written to, and the commit far away.
    while whenBegun, process.isRunning, journalBytes() == 0 { usleep(1000) }
    for (signal, delay) in signals {
      Thread.sleep(forTimeInterval: delay)
      if process.isRunning { kill(process.processIdentifier, signal) }
    }
    let text = String(decoding: try errors.fileHandleForReading.readWhole(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text, Date().timeIntervalSince(start))
  }

  @Test(arguments: Rotation.part(of: [SIGINT, SIGTERM, SIGHUP], oneIn: 3), [1, 2])
  func `after a signal, and after a second one, the key that is named opens the store`(
    _ signal: Int32, _ times: Int
  ) throws {
    try create()
    let whole = try rekey([]).seconds
    var said: Set<String> = []
    let moments = max(3, killCount / 4)
    // What took long on a busy machine is over at each of these moments on an idle one: more of them do not go by the
    // clock, until one was before the commit.
    for moment in 0..<moments + 20 where moment < moments || !said.contains("old") {
      try create()
      let isTimed = moment < moments
      let first = (signal, isTimed ? whole * 1.1 * Double(moment) / Double(moments) : 0)
      let result = try rekey(times == 1 ? [first] : [first, (signal, 0.01)], whenBegun: !isTimed)
      let place: Comment = "moment \(moment): \(result)"
      let opens = opens()
      #expect(opens.count == 1, place)
      switch result.status {
      case 0:
        #expect(opens == ["pony"], place)
        said.insert("done")
      case 128 + signal where result.text.contains("with either the NEW key or the OLD key"):
        // Only at the very moment of the commit, and only of a process that was told twice.
        #expect(times == 2, place)
      case 128 + signal where result.text.contains("with the NEW key"):
        #expect(opens == ["pony"], place)
        said.insert("new")
      case 128 + signal where result.text.contains("with the OLD key"):
        #expect(opens == ["horse"], place)
        said.insert("old")
      case 128 + signal where result.text.contains("Nothing was changed"):
        #expect(opens == ["horse"], place)
        said.insert("nothing")
      // Before the program has listened, the signal ends it as it ends any other.
      case signal where result.text.isEmpty: #expect(opens == ["horse"], place)
      default: Issue.record(place)
      }
      // The engine's own journal may lie there after the end of a process; it is as encrypted as the store.
      #expect(folder.names.filter { times == 1 || $0 != "a.store-journal" } == ["a.store"], place)
    }
    #expect(said.contains("old"), "\(said)")
  }

  @Test func `who told the process to ignore a signal is obeyed`() throws {
    try create()
    let result = try runTool(
      "/bin/bash",
      [
        "-c",
        "trap '' HUP; \"\(builtExecutable("store-migrate"))\" rekey \(store) \(Self.options.joined(separator: " ")) & "
          + "sleep 0.1; kill -HUP $!; wait $!",
      ], environment: Self.environment)
    #expect(result.status == 0, "\(result)")
    #expect(opens() == ["pony"])
  }

  @Test func `a store in delete mode stays in it, and one with a log keeps that`() throws {
    for mode in ["delete", "wal"] {
      try create()
      try Connection.open(store, key: .raw(Template.key)).setJournalMode(mode == "wal" ? .wal : .delete)
      #expect(try rekey([]).status == 0)
      let connection = try Connection.open(store, key: .raw(Template.newKey))
      #expect(try connection.value("PRAGMA journal_mode") == .text(mode))
    }
  }
}
