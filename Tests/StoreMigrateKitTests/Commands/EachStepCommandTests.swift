// up --tx step: if it is stopped between its steps, it reports which of them are applied. Other processes
// meanwhile see a store of that version.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow), .serialized) struct EachStepCommands {
  private let folder: TemporaryFolder

  init() async throws {
    folder = try await CommandFolder().folder
    let steps = folder.url.appendingPathComponent("Steps")
    // So long that no test waits for its end.
    let slow = """
      format: 1
      [up]
      transform sql {
        UPDATE $Author SET $Author.city = (
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000000) SELECT count(*) FROM n)
      }

      """
    try Data(slow.utf8).write(to: steps.appendingPathComponent("0003_slow.migration"))
  }

  private func start(_ line: String) throws -> StartedTool {
    try StartedTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + [
        "--key-env", "KEY", "--key-format", "hex", "--no-input",
      ],
      environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path)
  }

  /// The version that other processes see.
  private func version() throws -> Int {
    let inspection = try Inspection(path: folder.path("old.store"), key: .raw(Template.key))
    return try StoreInfo(inspection.connection).version
  }

  private func waitForSecondStep(_ tool: StartedTool) throws {
    let end = Date() + 120
    while (try? version()) != 2, Date() < end { usleep(5000) }
    try #require(try version() == 2)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal within the third step keeps the steps before it and reports them`(_ signal: Int32) throws {
    let tool = try start("up old.store -m Steps --tx step")
    try waitForSecondStep(tool)
    kill(tool.processID, signal)
    let result = try tool.end()
    #expect(result.status == 128 + signal, "\(result)")
    let said =
      "0002 step is committed. To continue after it, run `up` again. old.store is at version 2, and opens"
    #expect(result.errors.contains(said), "\(result)")
    #expect(try version() == 2)
    let left = folder.names.filter { $0.hasPrefix("old.store.") }
    #expect(left.count == 1 && left[0].hasSuffix(".backup"), "\(left)")
    let status = try start("status old.store -m Steps").end()
    #expect(status.output.contains(", from before a run that did not complete)"), "\(status)")
    let report = try start("status old.store -m Steps --json").end().output
    #expect(report.contains(#""isBeforeRun":true"#), "\(report)")
    #expect(try ReportSchema().faults(in: report) == [])
  }

  @Test func `a kill within the third step keeps the steps before it, and the next run succeeds`() throws {
    let tool = try start("up old.store -m Steps --tx step --no-backup")
    try waitForSecondStep(tool)
    kill(tool.processID, SIGKILL)
    _ = try tool.end()
    #expect(try version() == 2)
    try FileManager.default.removeItem(atPath: folder.path("Steps/0003_slow.migration"))
    let next = try start("up old.store -m Steps --tx step").end()
    #expect(next.status == 0 && next.output.contains("at version 2. Nothing to do."), "\(next)")
    #expect(!folder.names.contains { $0.hasPrefix("old.store.") }, "\(folder.names)")
  }

  @Test func `between the steps an older tool is refused, and a second up waits`() throws {
    let tool = try start("up old.store -m Steps --tx step --no-backup")
    try waitForSecondStep(tool)
    let older = try start("status old.store -m First").end()
    #expect(
      older.status == 4 && older.errors.contains("is at version 2; these migrations end at 1"), "\(older)")
    let second = try start("up old.store -m Steps --tx step --no-backup --lock-timeout 0.2")
    #expect(try second.says("Another process is migrating old.store; waiting for it."))
    kill(second.processID, SIGINT)
    #expect(try second.end().status == 130)
    kill(tool.processID, SIGINT)
    #expect(try tool.end().status == 130)
    #expect(try version() == 2)
  }
}
