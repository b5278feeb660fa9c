// Ctrl-C, SIGTERM and SIGHUP during a rekey: the message about the keys is true.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.kills, .sampled, .slow), .serialized) struct RekeyInterruptions {
  let folder: TemporaryFolder
  let store: String
  /// About 16 MB, created once and copied: creating them takes longer than the rekey that is interrupted.
  private let template: TemporaryFolder
  static let rows = 4000
  // Raw keys, as deriving a key from a passphrase takes longer than the rekey.
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

  /// The keys that open the store. Checks all of its content.
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
  ///   - signals: Each signal with the seconds after which it is sent.
  ///   - whenBegun: Whether the first signal waits until pages are written.
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
    // Bytes in the journal mean that the file itself is being written, and that the commit is far away.
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
  func `after one or two signals the key that the message names opens the store`(
    _ signal: Int32, _ times: Int
  ) throws {
    try create()
    let whole = try rekey([]).seconds
    var said: Set<String> = []
    let moments = max(3, killCount / 4)
    // A rekey that took long on a busy machine is over at each of these moments on an idle one. Further
    // moments ignore the clock, until one of them was before the commit.
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
        // Only at the moment of the commit, and only after a second signal.
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
      // Before the program handles signals, the signal ends it like any other program.
      case signal where result.text.isEmpty: #expect(opens == ["horse"], place)
      default: Issue.record(place)
      }
      // The engine's own journal may remain after the end of a process. It is as encrypted as the store.
      #expect(folder.names.filter { times == 1 || $0 != "a.store-journal" } == ["a.store"], place)
    }
    #expect(said.contains("old"), "\(said)")
  }

  @Test func `a signal that the process was set to ignore is ignored`() throws {
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

  @Test func `a rekey keeps the journal mode of the store`() throws {
    for mode in ["delete", "wal"] {
      try create()
      try Connection.open(store, key: .raw(Template.key)).setJournalMode(mode == "wal" ? .wal : .delete)
      #expect(try rekey([]).status == 0)
      let connection = try Connection.open(store, key: .raw(Template.newKey))
      #expect(try connection.value("PRAGMA journal_mode") == .text(mode))
    }
  }
}
