// Several tools with one store at the same time: each waits for the one that migrates it, and then reports
// the actual version.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.processes, .slow)) struct SeveralTools {
  let folder: TemporaryFolder

  init() async throws {
    folder = try await CommandFolder().folder
    let steps = folder.url.appendingPathComponent("Steps")
    // Takes some seconds without a large file.
    let slow = """
      format: 1
      [up]
      transform sql {
        UPDATE $Author SET $Author.city = (
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000) SELECT count(*) FROM n)
      }

      """
    try Data(slow.utf8).write(to: steps.appendingPathComponent("0003_slow.migration"))
    let last = "format: 1\n[up]\nadd attribute Tag.color string optional\n"
    try Data(last.utf8).write(to: steps.appendingPathComponent("0004_last.migration"))
  }

  private func start(_ line: String) throws -> StartedTool {
    try StartedTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map(String.init) + [
        "-m", "Steps", "--key-env", "KEY", "--key-format", "hex", "--no-input",
      ], environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path)
  }

  private func waitForMigration() throws {
    let (path, end) = (try DatabasePath(folder.path("old.store")).path, Date() + 60)
    while !MigrationMark.isHeld(path), Date() < end { usleep(1000) }
    #expect(MigrationMark.isHeld(path))
  }

  /// Whether a process is stopped, by the state in the kernel's line, which follows the name in brackets.
  private func hasStopped(_ tool: StartedTool) -> Bool {
    let line = (try? String(contentsOfFile: "/proc/\(tool.processID)/stat", encoding: .utf8)) ?? ""
    return line.split(separator: ")").last?.hasPrefix(" T") ?? false
  }

  /// Stops a tool within its transaction. The mark of a migration is not enough: it exists before the
  /// transaction, and a tool that waits for the mark continues if the store is free.
  private func isStoppedWriting(_ tool: StartedTool) throws -> Bool {
    let (path, end) = (try DatabasePath(folder.path("old.store")), Date() + 60)
    while Date() < end {
      kill(tool.processID, SIGSTOP)
      // The signal is asynchronous: a lock that is seen before its arrival may still be released.
      while !hasStopped(tool), Date() < end { usleep(100) }
      if LockHolder.writing(path).contains(where: { $0.processID == tool.processID }) { return true }
      kill(tool.processID, SIGCONT)
      usleep(1000)
    }
    return false
  }

  @Test(arguments: ["", " --to 4", " --to 3", " --steps 1"])
  func `up that waited for another process's migration reports it and the store's version`(_ more: String)
    throws
  {
    let first = try start("up old.store")
    try waitForMigration()
    let second = try start("up old.store\(more)")
    #expect(try second.says("Another process is migrating old.store; waiting for it."))
    let (one, two) = (try first.end(), try second.end())
    #expect(one.status == 0 && one.output.contains("old.store is at version 4 ("), "\(one)")
    #expect(two.status == 0, "\(two)")
    #expect(
      two.output == "old.store is at version 4: another process migrated it in the meantime. Nothing to do.\n"
    )
    #expect(two.errors.components(separatedBy: "waiting").count == 2, "\(two.errors)")
  }

  @Test func `of three concurrent ups one runs the steps, and all report the same version`() throws {
    let tools = try (0..<3).map { _ in try start("up old.store --no-backup") }
    let results = try tools.map { try $0.end() }
    #expect(
      results.allSatisfy { $0.status == 0 && $0.output.contains("old.store is at version 4") }, "\(results)")
    #expect(results.count { $0.output.contains("applied  0003 slow") } == 1, "\(results)")
    #expect(results.count { $0.output.contains("Nothing to do") } == 2, "\(results)")
    #expect(!folder.names.contains { $0.contains("migrating") })
  }

  @Test(.enabled(if: FaultInjector.isAvailable))
  func `create leaves a store alone that another process created meanwhile, and claims nothing`() throws {
    // The tool stops when its own store is complete and is about to get its name.
    let late = try FaultInjector.start(
      builtExecutable("store-migrate"),
      ["create", "made.store", "-m", "Steps", "--key-env", "KEY", "--key-format", "hex", "--no-input"],
      directory: folder.url.path, environment: ["KEY": Template.hex(Template.newKey)], in: "made.store",
      calls: ["rename", "link"], fault: Fault(.signal(SIGSTOP, times: 1), at: 1))
    let end = Date() + 60
    while !hasStopped(late), Date() < end { usleep(1000) }
    #expect(hasStopped(late))
    let first = try start("create made.store").end()
    #expect(first.status == 0, "\(first)")
    let made = try folder.bytes("made.store")
    kill(late.processID, SIGCONT)
    let result = try late.end()
    #expect(
      result.status == 1 && !result.errors.contains("was created")
        && result.errors.hasSuffix("It was not changed. Choose another path.\n"),
      "\(result)")
    #expect(try folder.bytes("made.store") == made)
    #expect(folder.names.filter { $0.hasPrefix("made.store") } == ["made.store"])
  }

  @Test func `the JSON report states what another process did before`() throws {
    let first = try start("up old.store --to 3 --json")
    try waitForMigration()
    let second = try start("up old.store --json")
    #expect(try first.end().output.contains(#""byAnother":false"#))
    let two = try second.end()
    #expect(two.output.contains(#""applied":["0004 last"]"#) && two.output.contains(#""from":3"#), "\(two)")
    let others = "Before this run, another process migrated the store to version 3."
    #expect(two.output.contains("\"others\":\"\(others)\""), "\(two)")
    #expect(two.output.contains(#""byAnother":true"#) && two.errors.contains("waiting for it"), "\(two)")
    #expect(try ReportSchema().faults(in: two.output) == [])
  }

  @Test(arguments: ["up old.store", "down old.store --to 0 --yes", "redo old.store --yes"])
  func `a migration is waited for as long as --lock-timeout, even if its process is stopped`(_ line: String)
    throws
  {
    let first = try start("up old.store")
    try waitForMigration()
    #expect(try isStoppedWriting(first))
    let late = try start("\(line) --lock-timeout 1").end()
    #expect(late.status == 11 && late.errors.contains("process \(first.processID)"), "\(late)")
    kill(first.processID, SIGCONT)
    let one = try first.end()
    #expect(one.status == 0 && one.output.contains("old.store is at version 4 ("), "\(one)")
  }

  @Test func `a lock without a migration is waited for as long as --lock-timeout, and reported`() throws {
    let other = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try other.execute("BEGIN IMMEDIATE")
    let late = try start("up old.store --lock-timeout 0.7").end()
    #expect(late.status == 11 && late.errors.contains("old.store is in use by process"), "\(late)")
    #expect(
      late.errors.contains("waited 0.7 s. Try again, or wait longer: --lock-timeout SECONDS."), "\(late)")
    let patient = try start("up old.store --lock-timeout 60 --to 2")
    #expect(
      try patient.says("Another process uses old.store; waiting for it for at most 60 s (--lock-timeout)."))
    try other.execute("COMMIT")
    #expect(try patient.end().status == 0)
    other.close()
  }

  @Test(arguments: ["up", "status", "plan", "down", "redo", "history", "verify"])
  func `every command exits with 11 on a store that is locked exclusively`(_ command: String) throws {
    let other = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try other.execute("BEGIN EXCLUSIVE")
    let words = command == "history" ? "history old.store" : "\(command) old.store -m Steps"
    let result = try runTool(
      builtExecutable("store-migrate"),
      words.split(separator: " ").map(String.init)
        + ["--key-env", "KEY", "--key-format", "hex", "--lock-timeout", "0.2", "--no-input"],
      environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path)
    #expect(result.status == 11 && result.errors.contains("old.store is in use by process"), "\(result)")
    try other.execute("ROLLBACK")
    other.close()
  }
}
