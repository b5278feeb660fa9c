// Features of the command line besides its commands: aliases, dry runs, output without colours, and keys
// that other processes cannot see.

import CipherSQLite
import Foundation
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ToolHabits {
  let folder: TemporaryFolder

  init() async throws { folder = try await CommandFolder().folder }

  private func run(_ line: String, _ more: [String] = [], tool: String = "store-migrate") throws -> ToolResult
  {
    try runTool(
      builtExecutable(tool), line.split(separator: " ").map(String.init) + more + ["--no-input"],
      environment: ["STORE_MIGRATE_KEY": Template.hex(Template.key), "STORE_MIGRATE_FORMAT": "hex"],
      directory: folder.url.path)
  }

  private func look(_ line: String, _ more: [String] = []) throws -> ToolResult {
    try run(line, more + ["--key-format", "hex"])
  }

  @Test(arguments: [
    ("migrate", "up", "old.store -m Steps"), ("run", "up", "old.store -m Steps"),
    ("rollback", "down", "back.store -m Back --yes"), ("revert", "down", "back.store -m Back --yes"),
    ("validate", "verify", "new.store -m Steps"),
  ])
  func `a command has aliases, and its report has its own name`(
    _ alias: String, _ name: String, _ line: String
  ) throws {
    let result = try look("\(alias) \(line) --json")
    #expect(result.status == 0 && result.output.contains("\"command\":\"\(name)\""), "\(result)")
    #expect(try run("help \(alias)").output == run("help \(name)").output)
    #expect(try run("help \(name)").output.contains("Also called: "))
  }

  @Test func `new has aliases as well`() throws {
    for (number, name) in [(3, "add"), (4, "generate")] {
      #expect(try run("\(name) more -m Steps").output.contains("Steps/000\(number)_more.migration"))
    }
    #expect(try run("migrat old.store").errors.contains("Did you mean \"migrate\"?"))
  }

  @Test func `a warning is in the JSON object, also on failure, and otherwise beside the report`() throws {
    let key = folder.url.appendingPathComponent("shown.key")
    try Data(Template.hex(Template.key).utf8).write(to: key)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key.path)
    let how = ["--key-file", "shown.key", "--key-format", "hex"]
    let text = "other users may be able to read the key file shown.key; run: chmod 600 shown.key"
    for line in ["status old.store -m Steps", "info old.store", "up old.store -m Steps --to 99"] {
      let (plain, object) = (try run(line, how), try run(line + " --json", how))
      #expect(plain.errors.contains("warning: \(text)"), "\(plain)")
      #expect(object.errors.isEmpty && object.status == plain.status, "\(object)")
      let warnings = try JSONSerialization.jsonObject(with: Data(object.output.utf8)) as? [String: Any]
      #expect(warnings?["warnings"] as? [String] == [text], "\(object)")
      #expect(try ReportSchema().faults(in: object.output) == [], "\(object)")
    }
    // Rows that are written as they are read have no place for a warning.
    let rows = try run("fetch old.store Author --json", how)
    #expect(rows.status == 0 && rows.errors.contains("warning: \(text)"), "\(rows)")
    // Without a warning the report has no member for it, except in reports that always have one.
    #expect(try !look("info old.store --json").output.contains("warnings"))
  }

  @Test func `--color never and --no-color disable colours`() throws {
    #expect(try look("status old.store -m Steps --color always").output.contains("\u{1b}["))
    for word in ["--color never", "--no-color"] {
      #expect(try !look("status old.store -m Steps \(word)").output.contains("\u{1b}["))
    }
  }

  @Test func `--quiet keeps requested data and omits reports`() throws {
    for line in [
      "fetch new.store Note", "count new.store Note", "sql -m Steps", "schema new.store", "schema -m Steps",
    ] {
      let (loud, quiet) =
        try line.hasSuffix("Steps") ? (run(line), run(line + " -q")) : (look(line), look(line + " -q"))
      #expect(quiet.status == 0 && !quiet.output.isEmpty && quiet.output == loud.output, "\(line): \(quiet)")
    }
    for line in [
      "status old.store -m Steps", "info new.store", "up old.store -m Steps", "verify new.store -m Steps",
    ] {
      let quiet = try look(line + " --quiet")
      #expect(quiet.status == 0 && quiet.output.isEmpty && quiet.errors.isEmpty, "\(line): \(quiet)")
    }
    let help = try run("help fetch").output
    #expect(
      help.contains("fetch, count, sql, schema and embed --package, and a new recovery code"), "\(help)")
  }

  @Test func `--quiet keeps a recovery code that is shown once, and a requested target`() throws {
    let made = try look("slots add n.keys paper --recovery -q")
    let code = try #require(made.output.split(separator: "\n").last, "\(made)")
    // The code opens the file, so the slot is usable.
    let renamed = try runTool(
      builtExecutable("store-migrate"),
      ["slots", "rename", "n.keys", "Ann", "Anna", "--key-format", "recovery", "--no-input", "-q"],
      environment: ["STORE_MIGRATE_KEY": code.trimmingCharacters(in: .whitespaces)],
      directory: folder.url.path)
    #expect(renamed.status == 0 && renamed.output.isEmpty, "\(renamed)")
    #expect(try run("slots list n.keys -q").output.isEmpty)
    #expect(try run("embed -m Steps -q").output.isEmpty)
    let target = try run("embed -m Steps --package -q")
    #expect(target.status == 0 && target.output.contains(".target("), "\(target)")
    let help = try run("help slots").output
    #expect(help.contains("embed --package, and a new recovery code"), "\(help)")
  }

  @Test func `a dry run prints what plan prints, and writes nothing`() throws {
    let before = try folder.bytes("old.store")
    for (dry, plan) in [
      ("up old.store -m Steps --dry-run", "plan old.store -m Steps"),
      ("up old.store -m Losing --to 2 --dry-run", "plan old.store -m Losing --to 2"),
      ("down back.store -m Back --dry-run", "plan back.store -m Back --to 1"),
    ] {
      let (one, two) = (try look(dry), try look(plan))
      #expect(one.status == 0 && one.output.contains("Nothing was written."), "\(one)")
      let withoutNext = { (text: String) in text.split(separator: "\n").filter { !$0.hasPrefix("next:") } }
      #expect(
        withoutNext(normalized(one.output, folder: folder.url.path))
          == withoutNext(normalized(two.output, folder: folder.url.path)))
    }
    let one = try look("up old.store -m Losing --steps 1 --dry-run")
    #expect(one.output.contains("from version 1 to 2") && one.output.contains("--steps 1"), "\(one)")
    #expect(try folder.bytes("old.store") == before)
    #expect(!folder.names.contains { $0.hasSuffix(".backup") })
  }

  @Test func `a shell can run the lines after next as printed`() throws {
    let shown = try runTool(
      builtExecutable("store-migrate"),
      ["status", "my notes.store", "-m", "Losing", "--key-env", "KEY", "--key-format", "hex"],
      environment: ["KEY": Template.hex(Template.key)], directory: folder.url.path)
    let lines = shown.output.split(separator: "\n").drop { !$0.hasPrefix("next:") }
      .map { $0.drop { $0 != "s" }.trimmingPrefix("store-migrate") }
    #expect(lines.count == 2, "\(shown)")
    for line in lines {
      let result = try runTool(
        "/bin/sh", ["-c", "\"$TOOL\" \(line) --no-input"],
        environment: ["KEY": Template.hex(Template.key), "TOOL": builtExecutable("store-migrate")],
        directory: folder.url.path)
      #expect(result.status == 0, "\(line): \(result)")
    }
    #expect(try look("status", ["my notes.store", "-m", "Losing"]).output.contains("3 of 3"))
  }

  @Test func `colours do not change the text, and --plain output is ASCII`() throws {
    let line = "status old.store -m Losing"
    let usual = normalized(try look(line).output, folder: folder.url.path)
    let colored = normalized(try look(line + " --color always").output, folder: folder.url.path)
    #expect(colored.contains("\u{1B}[") && colored.replacing(#/\x1B\[\d+m/#, with: "") == usual)
    let plain = try look(line + " --plain --color always").output
    #expect(plain.unicodeScalars.allSatisfy(\.isASCII) && plain.contains("* pending"), "\(plain)")
    // Output for a compiler has no colours.
    let swift = try look("schema old.store --format swift")
    #expect(try look("schema old.store --format swift --color always").output == swift.output)
  }

  @Test func `up reports many free pages after a rebuild, and --vacuum frees them`() throws {
    let connection = try Connection.open(folder.path("new.store"), key: .raw(Template.key))
    try connection.executeScript(
      """
      INSERT INTO Note(text, createdAt) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
        SELECT 'a note with some more words in it ' || i, i FROM n
      """)
    connection.close()
    try Data("format: 1\n[up]\nset default of Note.text to \"a\"\n".utf8).write(
      to: folder.url.appendingPathComponent("Steps/0003_text.migration"))
    let up = try look("up new.store -m Steps --no-backup")
    #expect(up.status == 0 && up.output.contains("of the file are now free pages"), "\(up)")
    #expect(up.output.contains("  store-migrate up new.store --vacuum"), "\(up)")
    let before = try folder.bytes("new.store").count
    let given = try look("up new.store -m Steps --vacuum")
    #expect(given.status == 0 && given.output.contains("has no free pages"), "\(given)")
    let after = try folder.bytes("new.store").count
    #expect(after < before * 3 / 4, "\(before) -> \(after)")
    #expect(try look("verify new.store -m Steps").status == 0)
    #expect(try !look("up new.store -m Steps").output.contains("free pages"))
  }

  @Test func `errors in steps do not mention a store`() throws {
    let step = folder.url.appendingPathComponent("Steps/0003_wrong.migration")
    try Data("format: 1\n[up]\nadd attribute Nobody.name string optional\n".utf8).write(to: step)
    for line in ["check -m Steps", "lint -m Steps", "embed -m Steps"] {
      let result = try run(line)
      #expect(result.status == 1 && result.errors.contains("Nobody"), "\(result)")
      #expect(!result.errors.contains("store is unchanged"), "\(result)")
    }
    #expect(try look("up old.store -m Steps").errors.contains("Nothing was changed."))
  }

  @Test func `marks of a merge conflict are reported as such, in the lock file and in a step`() throws {
    let lock = folder.url.appendingPathComponent("Embedded/migrations.lock")
    let text = try String(contentsOf: lock, encoding: .utf8)
    try Data(("<<<<<<< HEAD\n" + text).utf8).write(to: lock)
    let check = try run("check -m Embedded")
    #expect(
      check.status == 2 && check.output.contains("migrations.lock contains merge conflict markers"),
      "\(check)")
    for line in ["lint -m Conflict", "plan old.store -m Conflict --key-format hex"] {
      let result = try run(line)
      #expect(
        result.status == 1
          && result.errors.contains("0003_ours.migration:4:1: there is a merge conflict here"),
        "\(result)")
    }
  }
}

@Suite(.tags(.slow)) struct HiddenKeys {
  private static let hasProcesses = FileManager.default.fileExists(atPath: "/proc/self/cmdline")

  @Test(
    .enabled(if: hasProcesses, "there is no /proc"), arguments: ["env", "file", "fd", "command", "usual"])
  func `the arguments of a running command contain no key`(_ way: String) async throws {
    let (folder, secret) = (try await CommandFolder().folder, Template.hex(Template.key))
    let other = try Connection.open(folder.path("old.store"), key: .raw(Template.key))
    try other.execute("BEGIN IMMEDIATE")
    try Data(secret.utf8).write(to: folder.url.appendingPathComponent("key.txt"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("key.txt"))
    let options: [String: [String]] = [
      "env": ["--key-env", "KEY"], "file": ["--key-file", "key.txt"], "fd": ["--key-fd", "0"],
      "command": ["--key-command", "cat key.txt"], "usual": [],
    ]
    let tool = try StartedTool(
      builtExecutable("store-migrate"),
      ["up", "old.store", "-m", "Steps", "--key-format", "hex", "--no-input"] + (options[way] ?? []),
      input: way == "fd" ? secret + "\n" : "",
      environment: way == "usual" ? ["STORE_MIGRATE_KEY": secret] : ["KEY": secret],
      directory: folder.url.path)
    // The tool has read its key, and waits.
    #expect(try tool.says("Another process uses old.store"))
    try expectHidden([secret], from: tool, naming: "old.store")
    try other.execute("COMMIT")
    other.close()
    let result = try tool.end()
    #expect(result.status == 0 && !(result.output + result.errors).contains(secret), "\(result)")
  }

  /// Expects that no process has one of the secrets among its arguments, and that those of the tool contain
  /// `name`.
  private func expectHidden(_ secrets: [String], from tool: StartedTool, naming name: String) throws {
    var lists: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int32(name) != nil {
      guard let data = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else { continue }
      lists.append(String(decoding: data, as: UTF8.self))
    }
    let own = FileManager.default.contents(atPath: "/proc/\(tool.processID)/cmdline") ?? Data()
    #expect(String(decoding: own, as: UTF8.self).contains(name))
    #expect(!lists.contains { list in secrets.contains { list.contains($0) } })
  }

  @Test(
    .enabled(if: hasProcesses, "there is no /proc"),
    arguments: [["rekey", "old.store"], ["slots", "add", "n.keys", "Bo"]])
  func `the arguments of a running command contain no new key either`(_ words: [String]) async throws {
    let (folder, secrets) = (
      try await CommandFolder().folder, [Template.hex(Template.key), Template.hex(Template.newKey)]
    )
    for (name, secret) in zip(["key.txt", "new.txt"], secrets) {
      try Data(secret.utf8).write(to: folder.url.appendingPathComponent(name))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path(name))
    }
    let end = folder.url.appendingPathComponent("end")
    // The tool has read both keys, and waits for the rest of the output of the command.
    let command = "cat new.txt; echo both are read >&2; while [ ! -e end ]; do sleep 0.02; done"
    let tool = try StartedTool(
      builtExecutable("store-migrate"),
      words + [
        "--key-file", "key.txt", "--key-format", "hex", "--new-key-command", command, "--new-key-format",
        "hex", "--no-input",
      ], directory: folder.url.path)
    #expect(try tool.says("both are read"))
    try expectHidden(secrets, from: tool, naming: words[words.count - 1])
    try Data().write(to: end)
    let result = try tool.end()
    #expect(result.status == 0, "\(result)")
    #expect(!secrets.contains { (result.output + result.errors).contains($0) }, "\(result)")
  }

  /// The options for keys, with the names of their values: where a key is, and in which form.
  private static let ways: [String: String] = {
    let ways = ["file": "PATH", "fd": "N", "env": "NAME", "command": "COMMAND", "format": "FORMAT"]
    return ["--key", "--new-key"].reduce(
      into: ["--slots": "FILE", "--new-slots": "FILE", "--slots-work": "SECONDS", "--keep": "NAME=FILE"]
    ) { all, name in
      for (way, value) in ways { all["\(name)-\(way)"] = value }
    }
  }()

  @Test(arguments: StoreMigrate.commandNames)
  func `no option of any command takes a key itself`(_ name: String) {
    // A new kind of value is added here, once it is certain that it is not a key.
    let kinds: Set = [
      "CODES", "DATE", "DIR", "FILE", "FORMAT", "ID", "K", "N", "NAME", "NAME,…", "NAME=ENTITY",
      "NAME[:desc],…",
      "OLD",
      "OLD=NEW",
      "PREDICATE", "SCOPE", "SECONDS", "SETTINGS", "TEXT", "VERSION", "WHEN", "lossy:NAME",
    ]
    let words = ["key", "pass", "secret", "slot", "code", "unlock", "salt", "token", "pin"]
    for (option, value) in StoreMigrate.optionValues(of: name) {
      if let way = Self.ways[option] {
        #expect(value == way, "\(name) \(option)")
      } else {
        #expect(kinds.contains(value), "\(name) \(option) \(value)")
        #expect(!words.contains { option.contains($0) }, "\(name) \(option) \(value)")
      }
    }
  }

  @Test func `every listed option for keys belongs to a command`() {
    let all = StoreMigrate.commandNames.flatMap { StoreMigrate.optionValues(of: $0).keys }
    #expect(Set(Self.ways.keys).isSubset(of: all))
  }

  @Test(arguments: [["status", "old.store", "-m", "Steps"], ["fetch", "old.store", "Author"]])
  func `a key as the value of any option opens nothing`(_ words: [String]) async throws {
    // In another form than the one that the other tests search for among all processes.
    let (folder, secret) = (try await CommandFolder().folder, Data(Template.key).base64EncodedString())
    for option in StoreMigrate.optionValues(of: words[0]).keys.sorted() {
      let format = option == "--key-format" ? [] : ["--key-format=base64"]
      let result = try runTool(
        builtExecutable("store-migrate"), words + ["\(option)=\(secret)", "--no-input"] + format,
        directory: folder.url.path)
      #expect(result.status != 0 && result.output.isEmpty, "\(option): \(result)")
    }
  }

  @Test(arguments: ["--key", "--password", "--passphrase", "--new-key"])
  func `a key among the arguments is refused before anything is opened`(_ option: String) throws {
    let result = try runTool(
      builtExecutable("store-migrate"), ["status", "/nowhere/absent.store", option, "hunter2"])
    #expect(result.status == 64 && result.errors.contains("list of processes"), "\(result)")
    #expect(!(result.output + result.errors).contains("hunter2"))
    let joined = try runTool(builtExecutable("store-migrate"), ["up", "absent.store", "\(option)=hunter2"])
    #expect(joined.status == 64 && !(joined.output + joined.errors).contains("hunter2"), "\(joined)")
  }
}
