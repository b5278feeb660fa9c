// create, up --to, down, redo and history with the real binary: migrating to a version and rolling back.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct DownCommands {
  let folder: TemporaryFolder
  let url: URL
  static let hex = String(repeating: "5a", count: 32)
  static let steps = [
    "[up]\ncreate entity Note {\n  attribute text string\n}",
    "[up]\nadd attribute Note.town string optional\nadd index Note(text)",
    "[up]\nrename attribute Note.text -> body\n[down]\nrename attribute Note.body -> text",
    "[up]\nadd index Note(town)\n[down]\nirreversible \"the towns were counted by hand\"",
  ]

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("notes.store")
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Steps"), withIntermediateDirectories: false)
    for (index, step) in Self.steps.enumerated() { try write(index + 1, step) }
  }

  private func write(_ number: Int, _ step: String) throws {
    try folder.write(Data("format: 1\n\(step)\n".utf8), to: "Steps/000\(number)_s.migration")
  }

  private func run(_ words: String..., withSteps: Bool = true) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      [words[0], url.path, "--key-format", "hex", "--no-input"] + words.dropFirst()
        + (withSteps ? ["-m", folder.path("Steps")] : []),
      environment: ["STORE_MIGRATE_KEY": Self.hex], directory: folder.url.path)
  }

  private func version() throws -> Int { try Connection.open(url.path, key: testKey).userVersion() }

  @Test func `down and redo refuse more steps than the store has run, and roll none back`() throws {
    #expect(try run("create", "--to", "3").status == 0)
    for command in ["down", "redo"] {
      let told = try run(command, "--steps", "9", "--yes")
      #expect(
        told.status == 64
          && told.errors.contains("is at version 3, so there are only 3 steps to roll back"),
        "\(told)")
      #expect(try version() == 3)
    }
  }

  @Test func `a name of one letter gets no suggestion of a loss`() throws {
    #expect(try run("create", "--to", "2").status == 0)
    let short = try run("down", "--allow", "lossy:x")
    #expect(short.status == 5 && short.errors.contains("has no effect"), "\(short)")
    #expect(!short.errors.contains("Did you mean"), "\(short)")
    let near = try run("down", "--allow", "lossy:Note.twn")
    #expect(near.status == 5 && near.errors.contains("Did you mean \"lossy:Note.town\"?"), "\(near)")
  }

  @Test func `verify ignores errors in pending steps, and reports an edited applied step`() throws {
    #expect(try run("create", "--to", "2").status == 0)
    try write(3, "[up]\ntransform sql { UPDATE $Note SET $Note.text = ?1 }")
    let verify = try run("verify")
    #expect(verify.status == 0 && verify.output.contains("the history matches the steps."), "\(verify)")
    try write(2, "[up]\nadd attribute Note.town string optional")
    #expect(try run("verify").status == 3)
  }

  @Test func `a version within folded steps cannot be created, and down to it prints a warning`() throws {
    #expect(try run("create", "--to", "3").status == 0)
    let folder = folder.path("Steps")
    #expect(
      try runTool(builtExecutable("store-migrate"), ["squash", "--to", "2", "-m", folder, "--no-input"])
        .status == 0)
    let words = "the steps up to 0002 s were folded into one"
    for line in [["schema", "--to", "1"], ["sql", "--from", "1", "--to", "2"]] {
      let told = try runTool(builtExecutable("store-migrate"), line + ["-m", folder, "--no-input"])
      #expect(told.status == 64 && told.errors.contains(words), "\(told)")
    }
    let plan = try run("plan", "--to", "1")
    #expect(plan.errors.contains("cannot migrate the store up again from version 1"), "\(plan)")
    #expect(plan.errors.contains("you need the files of those steps from before the fold"), "\(plan)")
    let down = try run("down", "--to", "1", "--yes", "--no-backup")
    #expect(
      down.status == 0 && down.errors.contains("cannot migrate the store up again from version 1"),
      "\(down)")
    try FileManager.default.removeItem(at: url)
    let made = try run("create", "--to", "1")
    #expect(made.status == 64 && made.errors.contains("Use 2 or higher"), "\(made)")
  }

  @Test func `redo repeats folded steps as a whole, and not a part of them`() throws {
    #expect(try run("create", "--to", "3").status == 0)
    #expect(
      try runTool(
        builtExecutable("store-migrate"), ["squash", "--to", "2", "-m", folder.path("Steps"), "--no-input"]
      ).status == 0)
    let told = try run("redo", "--steps", "2", "--yes", "--no-backup")
    #expect(
      told.status != 0
        && told.errors.contains("the steps up to 0002 s are folded into one and run only together")
        && told.errors.contains("repeat all 3 steps, or at most the last 1"), "\(told)")
    #expect(!told.errors.contains("Migrate the store"), "\(told)")
    for count in ["1", "3"] {
      let again = try run("redo", "--steps", count, "--yes", "--no-backup")
      #expect(again.status == 0, "\(again)")
    }
  }

  @Test func `redo and up refuse steps after a fold that was edited since`() throws {
    try write(4, "[up]\ncreate entity Extra {\n  attribute n int\n}")
    #expect(try run("create", "--to", "3").status == 0)
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute("INSERT INTO Note(id, body, town) VALUES (1, 'a', 'secret')")
    connection.close()
    func tool(_ words: String...) throws -> ToolResult {
      try runTool(builtExecutable("store-migrate"), words + ["-m", folder.path("Steps"), "--no-input"])
    }
    #expect(try tool("squash", "--to", "2").status == 0)
    let file = folder.url.appendingPathComponent("Steps/0002_s.migration")
    let text = try String(contentsOf: file, encoding: .utf8)
    let edited = text.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.contains("attribute town") }.joined(separator: "\n")
    #expect(edited != text)
    try Data(edited.utf8).write(to: file)
    #expect(try tool("embed").status == 0)
    for command in ["redo", "up"] {
      let told = try run(command, "--yes", "--no-backup")
      #expect(
        told.status == 3 && told.errors.contains("its file no longer makes the model that they made"),
        "\(told)")
    }
    let after = try Connection.open(url.path, key: testKey)
    #expect(try after.value("SELECT town FROM Note", as: String.self) == "secret")
    after.close()
    // With the original file they run.
    try Data(text.utf8).write(to: file)
    #expect(try tool("embed").status == 0)
    #expect(try run("redo", "--yes", "--no-backup").status == 0)
  }

  @Test func `plan back into a fold names the release before the fold, and not a later one`() throws {
    #expect(try run("create", "--to", "3").status == 0)
    for line in [
      ["embed", "--released", "4.1"], ["squash", "--to", "2", "--allow-released"],
      ["embed", "--released", "5.0"],
    ] {
      let told = try runTool(
        builtExecutable("store-migrate"), line + ["-m", folder.path("Steps"), "--no-input"])
      #expect(told.status == 0, "\(told)")
    }
    let plan = try run("plan", "--to", "1")
    #expect(plan.errors.contains("you need release 4.1, or the files"), "\(plan)")
  }

  @Test func `create makes a store of any version, and replaces no file`() throws {
    for target in 0...4 {
      let made = try run("create", "--to", "\(target)")
      #expect(made.status == 0 && made.output.contains("is at version \(target), encrypted"), "\(made)")
      #expect(try version() == target)
      #expect(try run("verify").status == 0)
      let bytes = try folder.bytes("notes.store")
      let second = try run("create")
      #expect(second.status == 1, "\(second)")
      #expect(try folder.bytes("notes.store") == bytes && folder.names == ["Steps", "notes.store"])
      try FileManager.default.removeItem(at: url)
    }
    // A file that is not a store is not replaced either.
    try folder.write(Data("mine".utf8), to: "notes.store")
    #expect(try run("create").status == 1)
    #expect(try folder.bytes("notes.store") == Data("mine".utf8))
  }

  @Test func `up and down stop at the requested version`() throws {
    #expect(try run("create", "--to", "1").status == 0)
    #expect(try run("up", "--steps", "1").status == 0)
    #expect(try version() == 2)
    #expect(try run("up", "--to", "3").status == 0)
    #expect(try version() == 3)
    let low = try run("up", "--to", "2")
    #expect(low.status == 0 && low.output.contains("is at version 3, above 2. Nothing to do"), "\(low)")
    let one = try run("down")
    #expect(one.status == 0 && one.output.contains("rolled back  0003 s"), "\(one)")
    let refused = try run("down", "--to", "1")
    #expect(refused.status == 5 && refused.errors.contains("--allow lossy:Note.town"), "\(refused)")
    #expect(try version() == 2)
    let allowed = try run("down", "--to", "1", "--allow", "lossy:Note.town")
    #expect(allowed.status == 0 && allowed.output.contains("backup       \(url.path).v2-"), "\(allowed)")
    #expect(try version() == 1)
  }

  @Test func `an irreversible step makes down exit with 5 and its reason, and status and plan show it`()
    throws
  {
    #expect(try run("create", "--to", "3").status == 0)
    #expect(try run("plan").output.contains("! no rollback: the towns were counted by hand"))
    #expect(
      try run("status").output.contains(#/pending .*no rollback: the towns were counted by hand/#))
    #expect(try run("up").status == 0)
    #expect(try run("status").output.contains("no rollback: the towns were counted by hand"))
    for words in [["down"], ["down", "--to", "0", "--yes"], ["redo"], ["plan", "--to", "2"]] {
      let result = try runTool(
        builtExecutable("store-migrate"),
        words + [url.path, "--key-format", "hex", "--no-input", "-m", folder.path("Steps")],
        environment: ["STORE_MIGRATE_KEY": Self.hex])
      #expect(
        result.status == 5
          && result.errors.contains("0004 s cannot be rolled back: the towns were counted by hand."),
        "\(words): \(result)")
    }
    #expect(try version() == 4)
  }

  @Test func `down without a step folder uses the steps in the store`() throws {
    #expect(try run("create", "--to", "3").status == 0)
    let before = try folder.bytes("notes.store")
    let plan = try run("plan", "--to", "1", withSteps: false)
    #expect(
      plan.status == 0 && plan.output.contains("2 steps to roll back in one transaction, from version 3 to 1")
        && plan.output.contains("LOSES Note.town"), "\(plan)")
    #expect(try folder.bytes("notes.store") == before)
    let down = try run("down", "--steps", "2", "--yes", "--no-backup", withSteps: false)
    #expect(down.status == 0, "\(down)")
    #expect(try version() == 1 && folder.names == ["Steps", "notes.store"])
    // A folder that is named must exist.
    #expect(try run("down", "-m", folder.path("Absent"), withSteps: false).status == 10)
  }

  @Test func `redo runs an edited step again, and history lists every run`() throws {
    #expect(try run("create", "--to", "2").status == 0)
    try write(2, "[up]\nadd attribute Note.city string optional\nadd index Note(text)")
    for number in 3...4 {
      try FileManager.default.removeItem(atPath: folder.path("Steps/000\(number)_s.migration"))
    }
    #expect(try run("up").status == 3)
    #expect(try run("redo").status == 5)
    let redo = try run("redo", "--allow", "lossy:Note.town", "--no-backup")
    #expect(
      redo.status == 0 && redo.output.hasPrefix("rolled back  0002 s\napplied      0002 s\n"), "\(redo)")
    #expect(try run("up").output.contains("Nothing to do"))
    let history = try run("history", "--json", withSteps: false)
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(history.output.utf8)) as? [String: Any], "\(history)")
    let events = try #require(object["events"] as? [[String: Any]])
    #expect(events.map { $0["kind"] as? String } == ["created", "created", "down", "up"])
    #expect(events.map { $0["number"] as? Int } == [1, 2, 2, 2])
    #expect(events.allSatisfy { ($0["app"] as? String)?.contains("store-migrate") == true }, "\(events)")
  }

  @Test func `rows that a rollback rejects make plan and down exit with 5`() throws {
    try write(3, "[up]\nmake Note.text optional")
    #expect(try run("create", "--to", "3").status == 0)
    try Connection.open(url.path, key: testKey).execute("INSERT INTO Note(id, text) VALUES (8, NULL)")
    let plan = try run("plan", "--to", "2")
    #expect(
      plan.status == 5
        && plan.output.contains("REFUSED make Note.text required: 1 object has no text (row 8)")
        && plan.output.contains("`down` would fail"), "\(plan)")
    let down = try run("down")
    #expect(down.status == 5 && down.errors.contains("row 8"), "\(down)")
    #expect(try version() == 3)
  }

  @Test func `check finds a down section that does not restore the model before the step`() throws {
    try write(3, "[up]\nrename attribute Note.text -> body\n[down]\ndrop index Note(body)")
    let check = try runTool(
      builtExecutable("store-migrate"), ["check", "-m", folder.path("Steps")])
    #expect(
      check.status == 2
        && check.output.contains(
          "0003_s.migration: its [down] section does not restore the model before the step."),
      "\(check)")
  }

  @Test func `two processes that run down at once leave the version that both requested`() async throws {
    #expect(try run("create", "--to", "3").status == 0)
    let results = try await withThrowingTaskGroup(of: ToolResult.self) { group in
      for _ in 0..<2 {
        group.addTask {
          try await onThread { try run("down", "--to", "1", "--yes", "--lock-timeout", "600") }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.allSatisfy { $0.status == 0 }, "\(results)")
    #expect(try version() == 1)
    #expect(folder.names.count { $0.hasSuffix(".backup") } == 1 && folder.names.count == 3, "\(folder.names)")
    #expect(try run("verify").status == 0)
  }

  @Test func `plan and down refuse a number that is too large for the former type`() throws {
    try write(3, "[up]\nadd attribute Note.rank int8 optional")
    try write(4, "[up]\nretype Note.rank to int")
    #expect(try run("create", "--to", "4").status == 0)
    try Connection.open(url.path, key: testKey).execute(
      "INSERT INTO Note(id, text, rank) VALUES (8, '', 1000)")
    let plan = try run("plan", "--to", "3")
    #expect(plan.status == 5 && plan.output.contains("REFUSED"), "\(plan)")
    let down = try run("down")
    #expect(
      down.status == 5
        && down.errors.contains("1 of 1 value of Note.rank is invalid (expected: int8): row 8"), "\(down)")
    #expect(try version() == 4)
  }
}
