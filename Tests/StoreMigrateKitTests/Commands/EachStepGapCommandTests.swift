// up --tx step, paused between its first step and the next, and what another process does to the store
// meanwhile: the report states what either did.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow), .serialized, .enabled(if: FaultInjector.isAvailable)) struct EachStepGapCommands {
  private let folder: TemporaryFolder

  init() async throws {
    folder = try await CommandFolder().folder
    for (number, name) in [(3, "third"), (4, "last")] {
      let text = "format: 1\n[up]\nadd attribute Tag.\(name) string optional\n"
      try folder.write(Data(text.utf8), to: "Steps/000\(number)_\(name).migration")
    }
  }

  private func start(_ line: String, _ environment: [String: String] = [:]) throws -> StartedTool {
    try StartedTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + [
        "-m", "Steps", "--key-env", "KEY", "--key-format", "hex", "--no-input", "--no-backup",
      ], environment: environment.merging(["KEY": Template.hex(Template.key)]) { $1 },
      directory: folder.url.path)
  }

  /// Starts the tool, and waits until it has paused itself after its first commit, a moment after it removed
  /// its mark. On a busy machine the pause may be within the next step, whose lock outlasts every wait: then
  /// the start is repeated.
  private func startAndStop(_ line: String) throws -> StartedTool {
    let (store, kept) = (folder.path("old.store"), folder.path("kept"))
    try FileManager.default.copyItem(atPath: store, toPath: kept)
    defer { unlink(kept) }
    let before = try version()
    for _ in 0..<20 {
      let tool = try startUntilStopped(line)
      if try version() != before, isFree() { return tool }
      kill(tool.processID, SIGKILL)
      _ = try tool.end()
      for name in folder.names where name.contains("old.store") { unlink(folder.path(name)) }
      try FileManager.default.copyItem(atPath: kept, toPath: store)
    }
    Issue.record("the tool never stopped between two steps")
    throw CancellationError()
  }

  private func startUntilStopped(_ line: String) throws -> StartedTool {
    let tool = try start(
      line,
      [
        "LD_PRELOAD": FaultInjector.library ?? "", "VAULT_FAULT_IN": ".migrating-",
        "VAULT_FAULT_CALLS": "unlink",
        "VAULT_FAULT_KIND": "signal", "VAULT_FAULT_SIGNAL": "\(SIGSTOP)", "VAULT_FAULT_AT": "1",
        "VAULT_FAULT_MILLISECONDS": "40",
      ])
    let (status, end) = ("/proc/\(tool.processID)/stat", Date() + 60)
    func isStopped() -> Bool {
      (try? String(contentsOfFile: status, encoding: .utf8))?.contains(") T ") == true
    }
    while !isStopped(), Date() < end { usleep(2000) }
    guard isStopped() else {
      kill(tool.processID, SIGKILL)
      Issue.record("\(try tool.end())")
      throw CancellationError()
    }
    return tool
  }

  private func open() throws -> Connection {
    var configuration = Connection.Configuration()
    configuration.busyTimeout = 0
    return try Connection.open(
      folder.path("old.store"), key: .raw(Template.key), configuration: configuration)
  }

  /// The version of the committed state.
  private func version() throws -> Int {
    let connection = try open()
    defer { connection.close() }
    return try connection.userVersion()
  }

  /// Whether no lock keeps others from the store.
  private func isFree() -> Bool {
    guard let connection = try? open() else { return false }
    defer { connection.close() }
    return (try? connection.transaction { try connection.userVersion() }) != nil
  }

  private func goOn(_ tool: StartedTool) throws -> ToolResult {
    kill(tool.processID, SIGCONT)
    return try tool.end()
  }

  @Test func `up succeeds if another process migrated the store beyond the requested version`() throws {
    let tool = try startAndStop("up old.store --to 3 --tx step")
    #expect(try start("up old.store").end().status == 0)
    let result = try goOn(tool)
    #expect(result.status == 0, "\(result)")
    #expect(
      result.output.hasPrefix("applied  0002 step\nold.store is at version 4 (")
        && result.output.hasSuffix("During this run, another process ran 0003 third, 0004 last.\n"),
      "\(result)")
  }

  @Test(arguments: ["up old.store", "up old.store --to 3"])
  func `up reports the steps that another process ran meanwhile beside its own`(_ other: String) throws {
    let tool = try startAndStop("up old.store --tx step")
    #expect(try start(other).end().status == 0)
    let result = try goOn(tool)
    let isAll = !other.hasSuffix("3")
    #expect(
      result.status == 0
        && result.output.hasPrefix(
          "applied  0002 step\n\(isAll ? "" : "applied  0004 last\n")old.store is at version 4 (")
        && result.output.hasSuffix(
          "During this run, another process ran 0003 third\(isAll ? ", 0004 last" : "").\n"),
      "\(result)")
    #expect(!result.output.contains("Before this run,"), "\(result)")
  }

  @Test func `the JSON report has the version at which the run began`() throws {
    let tool = try startAndStop("up old.store --tx step --json")
    #expect(try start("up old.store --to 3").end().status == 0)
    let result = try goOn(tool)
    #expect(
      result.output.contains(#""from":1"#) && result.output.contains(#""to":4"#)
        && result.output.contains(#""byAnother":true"#)
        && result.output.contains(#""applied":["0002 step","0004 last"]"#), "\(result)")
    #expect(try ReportSchema().faults(in: result.output) == [])
  }

  @Test func `a lock between two steps is waited for once, and the applied steps are reported`() throws {
    let tool = try startAndStop("up old.store --tx step --lock-timeout 10")
    let other = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try other.execute("BEGIN EXCLUSIVE")
    let start = Date()
    let result = try goOn(tool)
    let seconds = Date().timeIntervalSince(start)
    other.rollback()
    other.close()
    #expect(result.status == 11 && result.errors.contains("--lock-timeout SECONDS."), "\(result)")
    #expect(
      result.errors.contains("the last complete step is committed") || result.errors.contains("at version 2"),
      "\(result)")
    // Waiting twice takes 20 seconds, and a busy machine needs some seconds for the rest.
    #expect((9..<19).contains(seconds), "\(seconds) s")
  }

  @Test func `down reports the steps that another process rolled back meanwhile`() throws {
    let text = "format: 1\n[up]\nadd attribute Tag.fifth string optional\n"
    try folder.write(Data(text.utf8), to: "Steps/0005_fifth.migration")
    #expect(try start("up old.store").end().status == 0)
    let tool = try startAndStop("down old.store --to 2 --tx step --yes")
    #expect(try start("down old.store --to 3 --yes").end().status == 0)
    let result = try goOn(tool)
    #expect(
      result.status == 0
        && result.output.hasPrefix(
          "rolled back  0005 fifth\nrolled back  0003 third\nold.store is at version 2 (")
        && result.output.hasSuffix("During this run, another process rolled back 0004 last.\n")
        && !result.output.contains("Before this run,"), "\(result)")
  }

  @Test func `up to a version below the store's prints the down command`() throws {
    #expect(try start("up old.store").end().status == 0)
    let result = try start("up old.store --to 2").end()
    #expect(
      result.status == 0
        && result.output.hasPrefix(
          "old.store is at version 4, above 2. Nothing to do: `up` does not roll back steps. To roll back:\n  store-migrate down old.store "
            + "--to 2 "),
      "\(result)")
  }
}
