// Messages of the engine's log, in addition to the errors that calls return.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct EngineLogs {
  /// The messages during `body` that contain `marker`. Other tests run at the same time.
  func messages(_ marker: String, showsValues: Bool = false, _ body: () throws -> Void) rethrows
    -> [EngineMessage]
  {
    let lock = NSLock()
    nonisolated(unsafe) var seen: [EngineMessage] = []
    EngineLog.onMessage(showsValues: showsValues) { message in
      guard message.text.contains(marker) else { return }
      lock.withLock { seen.append(message) }
    }
    defer { EngineLog.onMessage(nil) }
    try body()
    return lock.withLock { seen }
  }

  @Test func `a failed statement is logged, and its literals only with showsValues`() throws {
    #expect(EngineLog.isAvailable)
    let database = try TemporaryDatabase("CREATE TABLE log_marker(x UNIQUE)")
    let sql = "INSERT INTO log_marker VALUES ('it''s a canary')"
    try database.connection.execute(sql: sql)
    let fails = { _ = try? database.connection.execute(sql: sql) }
    let hidden = messages("log_marker", fails)
    #expect(hidden.contains { $0.code == 19 && $0.extendedCode == 2067 })
    #expect(hidden.allSatisfy { !$0.text.contains("canary") && !$0.text.contains("it") })
    #expect(hidden.contains { $0.text.contains("VALUES ('…')") })
    #expect(messages("log_marker", showsValues: true, fails).contains { $0.text.contains("canary") })
  }

  @Test func `a misspelled statement is logged`() throws {
    let database = try TemporaryDatabase()
    let seen = messages("SELEX2") {
      _ = try? database.connection.execute("SELEX2 x FROM nowhere")
    }
    #expect(seen.contains { $0.code == 1 && $0.text.contains("syntax error") })
  }
}
