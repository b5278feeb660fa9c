// Several tools at one store at the same time: each waits for the one that migrates it, and says what is true then.

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
    // Some seconds without a large file.
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

  /// Whether a process stands still, as the kernel says behind its name and its closing bracket.
  private func hasStopped(_ tool: StartedTool) -> Bool {
    let line = (try? String(contentsOfFile: "/proc/\(tool.processID)/stat", encoding: .utf8)) ?? ""
    return line.split(separator: ")").last?.hasPrefix(" T") ?? false
  }

  /// Stops a tool within its transaction. Its mark alone says too little: it is there before the transaction, and who waits for
  /// the mark goes on where the store is free.
  private func isStoppedWriting(_ tool: StartedTool) throws -> Bool {
    let (path, end) = (try DatabasePath(folder.path("old.store")), Date() + 60)
    while Date() < end {
      kill(tool.processID, SIGSTOP)
      // The signal is on its way: a lock that is seen before it has arrived may be given up yet.
      while !hasStopped(tool), Date() < end { usleep(100) }
      if LockHolder.writing(path).contains(where: { $0.processID == tool.processID }) { return true }
      kill(tool.processID, SIGCONT)
      usleep(1000)
    }
    return false
  }

  @Test(arguments: ["", " --to 4", " --to 3", " --steps 1"])
  func `who waited for another one's migration says so, and the version that the store has`(_ more: String)
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
      two.output == "old.store is at version 4: another process migrated it in the meantime. Nothing to do.\n")
    #expect(two.errors.components(separatedBy: "waiting").count == 2, "\(two.errors)")
  }

  @Test func `of three at once one runs the steps, and no one fails or says another version`() throws {
    let tools = try (0..<3).map { _ in try start("up old.store --no-backup") }
    let results = try tools.map { try $0.end() }
    #expect(
      results.allSatisfy { $0.status == 0 && $0.output.contains("old.store is at version 4") }, "\(results)")
    #expect(results.count { $0.output.contains("applied  0003 slow") } == 1, "\(results)")
    #expect(results.count { $0.output.contains("Nothing to do") } == 2, "\(results)")
    #expect(!folder.names.contains { $0.contains("migrating") })
  }

  @Test(.enabled(if: FaultInjector.isAvailable))
  func `who makes a store and finds another's at its end says that one is there, and claims nothing of it`()
    throws
  {
    // It stands still when its own store is whole and is about to get its name.
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
        && result.errors.hasSuffix("a file is there already and was left alone. Choose another path.\n"),
      "\(result)")
    #expect(try folder.bytes("made.store") == made)
    #expect(folder.names.filter { $0.hasPrefix("made.store") } == ["made.store"])
  }

  @Test func `what another process did before is told beside what this one did`() throws {
    let first = try start("up old.store --to 3 --json")
    try waitForMigration()
    let second = try start("up old.store --json")
    #expect(try first.end().output.contains(#""byAnother":false"#))
    let two = try second.end()
    #expect(two.output.contains(#""applied":["0004 last"]"#) && two.output.contains(#""from":3"#), "\(two)")
    #expect(two.output.contains(#""others":"Before, another process had brought it to version 3."#), "\(two)")
    #expect(two.output.contains(#""byAnother":true"#) && two.errors.contains("waiting for it"), "\(two)")
    #expect(try ReportSchema().faults(in: two.output) == [])
  }

  @Test(arguments: ["up old.store", "down old.store --to 0 --yes", "redo old.store --yes"])
  func `a migration is waited for no longer than the line says, be it one that stands still`(_ line: String)
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

  @Test func `a lock of who does not migrate is waited for as long as was asked for, and is told of`() throws
  {
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
  func `a store that somebody keeps for himself ends each command with 11`(_ command: String) throws {
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
