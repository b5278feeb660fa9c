// The real binary in a folder of its own: its output, its exit codes, and the files that it leaves.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Commands {
  let folder: TemporaryFolder
  let url: URL
  let migrations = packageRoot.appendingPathComponent("Migrations").path

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("notes.store")
  }

  func run(_ arguments: String..., key: String? = "horse", environment: [String: String] = [:]) throws
    -> ToolResult
  {
    var environment = environment
    environment["STORE_MIGRATE_KEY"] = key ?? ""
    return try runTool(builtExecutable("store-migrate"), arguments + ["--no-input"], environment: environment)
  }

  func create(_ version: Int = 6) async throws {
    let steps = try MigrationSet.embedded(MicroblogMigrations.steps).steps.prefix(version)
    try await Store.create(at: url, key: .passphrase("horse"), migrations: MigrationSet(Array(steps)))
  }

  @Test func `help has examples and lists every exit code`() throws {
    let result = try run("--help")
    #expect(result.status == 0)
    #expect(result.output.contains("EXAMPLES") && result.output.contains("--key-file"))
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "10", "11", "12", "64", "130"] {
      #expect(result.output.contains("\n  \(code)"), "\(code)")
    }
    for command in ["status", "plan", "up", "new", "embed", "check", "info", "verify", "rekey"] {
      let help = try run("help", command)
      #expect(help.status == 0 && help.output.contains("EXAMPLES"), "\(command)")
    }
  }

  @Test func `help and --version are available as JSON`() throws {
    let schema = try ReportSchema()
    for words in [
      ["--version", "--json"], ["help", "--json"], ["help", "up", "--json"], ["up", "--help", "--json"],
    ] {
      let told = try runTool(builtExecutable("store-migrate"), words)
      #expect(told.status == 0 && told.errors.isEmpty, "\(told)")
      #expect(try schema.faults(in: told.output) == [], "\(told)")
    }
    let mistyped = try runTool(builtExecutable("store-migrate"), ["help", "upp", "--json"])
    #expect(mistyped.status == 64, "\(mistyped)")
    #expect(try schema.faults(in: mistyped.output) == [])
  }

  @Test func `status and plan name a trigger that prevents steps`() async throws {
    try await create(1)
    let connection = try Connection.open(url.path, key: .passphrase("horse"))
    try connection.executeScript("CREATE TRIGGER spy AFTER INSERT ON User BEGIN DELETE FROM User; END")
    connection.close()
    let steps = folder.url.appendingPathComponent("Steps")
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
    for file in try FileManager.default.contentsOfDirectory(atPath: migrations) where file.hasPrefix("0001") {
      try FileManager.default.copyItem(atPath: "\(migrations)/\(file)", toPath: "\(steps.path)/\(file)")
    }
    try Data("format: 1\n[up]\nretype User.name to string using (upper($User.name))\n".utf8).write(
      to: steps.appendingPathComponent("0002_upper.migration"))
    let status = try run("status", url.path, "-m", steps.path)
    #expect(
      status.output.contains("objects      ✗ the trigger spy on User is not part of the store"), "\(status)")
    #expect(status.output.contains("matches the model of version 1") && status.output.contains("references"))
    let plan = try run("plan", url.path, "-m", steps.path)
    #expect(plan.output.contains("✗ Steps are refused because of these objects in the store:"), "\(plan)")
    #expect(plan.output.contains("the trigger spy on User"), "\(plan)")
  }

  @Test func `mistyped words get a suggestion, and a key as an argument is refused`() throws {
    #expect(try run("stats", "x").errors.contains("Unknown command \"stats\". Did you mean \"status\"?"))
    #expect(
      try run("status", "x", "--jsno").errors.contains(
        "Unknown option \"--jsno\". Did you mean \"--json\"?"))
    #expect(try run("status", "x", "--key", "secret").errors.contains("list of processes"))
    for words in [
      ["stats", "x"], ["status"], ["status", "a", "b"], ["status", "x", "--lock-timeout", "soon"],
    ] {
      let result = try runTool(builtExecutable("store-migrate"), words)
      #expect(result.status == 64, "\(words)")
    }
  }

  @Test func `status, plan, info and verify change no byte and create no file`() async throws {
    try await create(3)
    let before = try folder.bytes("notes.store")
    let status = try run("status", url.path, "-m", migrations)
    #expect(status.status == 0 && status.output.contains("3 of 6") && status.output.contains("pending"))
    #expect(try run("status", url.path, "-m", migrations, "--exit-code").status == 2)
    let plan = try run("plan", url.path, "--migrations=\(migrations)")
    #expect(
      plan.status == 0 && plan.output.contains("Nothing was written.")
        && plan.output.contains("CREATE TABLE \"Tag\""))
    let info = try run("info", url.path)
    #expect(info.status == 0 && info.output.contains("PRAGMA key") && info.output.contains("version      3"))
    let verify = try run("verify", url.path, "-m", migrations)
    #expect(verify.status == 0, "\(verify.output)\(verify.errors)")
    #expect(try folder.bytes("notes.store") == before)
    #expect(folder.names == ["notes.store"])
  }

  @Test func `verify and info do not change a store whose last process crashed`() async throws {
    try await create()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: builtExecutable("test-child"))
    try? FileManager.default.removeItem(at: url)
    process.arguments = ["save", url.path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    _ = try pipe.fileHandleForReading.read(upToCount: 40)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let names = folder.names
    #expect(names.contains("notes.store-wal"))
    // A reader creates the index of the log anew. The index has no content of the store.
    let kept = names.filter { !$0.hasSuffix("-shm") }
    let before = try kept.map { try folder.bytes($0) }
    let hex = String(repeating: "5a", count: 32)
    let result = try run("verify", url.path, "-m", migrations, "--key-format", "hex", key: hex)
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    let info = try run("info", url.path, "--key-format", "hex", key: hex)
    #expect(info.status == 0 && info.output.contains("User"))
    #expect(folder.names == names)
    #expect(try kept.map { try folder.bytes($0) } == before)
  }

  @Test func `up migrates once, and then reports that there is nothing to do`() async throws {
    try await create(1)
    let first = try run("up", url.path, "-m", migrations)
    #expect(first.status == 0 && first.output.contains("0006 places"), "\(first.errors)")
    // The second step fills a column by SQL, so a backup is made first.
    #expect(first.output.contains("backup   \(url.path).v1-"))
    #expect(folder.names.count { $0.hasSuffix(".backup") } == 1)
    let second = try run("up", url.path, "-m", migrations)
    #expect(second.status == 0 && second.output.contains("Nothing to do"))
  }

  @Test func `a step that loses data is refused until it is allowed`() async throws {
    try await create()
    let steps = folder.url.appendingPathComponent("Steps")
    try FileManager.default.copyItem(at: URL(fileURLWithPath: migrations), to: steps)
    try Data("format: 1\n[up]\ndrop attribute User.city\n".utf8).write(
      to: steps.appendingPathComponent("0007_no_city.migration"))
    let check = try run("check", "-m", steps.path)
    #expect(check.status == 2 && check.output.contains("0007_no_city.migration loses User.city"))
    let refused = try run("up", url.path, "-m", steps.path)
    #expect(refused.status == 5 && refused.errors.contains("--allow lossy:User.city"))
    #expect(try run("status", url.path, "-m", steps.path).output.contains("`up` will write"))
    #expect(
      try run("up", url.path, "-m", steps.path, "--allow", "lossy:User.city", "--no-backup").status == 0)
    #expect(!folder.names.contains { $0.hasSuffix(".backup") })
    try Data("format: 1\nallow: lossy:Language\n[up]\ndrop entity Language\n".utf8)
      .write(to: steps.appendingPathComponent("0008_no_languages.migration"))
    let allowed = try run("up", url.path, "-m", steps.path)
    #expect(allowed.status == 0, "\(allowed.errors)")
  }

  @Test func `each failure has its exit code`() async throws {
    #expect(try run("status", url.path, "-m", migrations).status == 10)
    try await create()
    #expect(try run("status", url.path, "-m", migrations, key: "wrong").status == 12)
    #expect(try run("status", url.path, "-m", migrations, key: nil).status == 12)
    try folder.write(Data("SQLite format 3\0".utf8) + Data(count: 4080), to: "plain.db")
    let plain = try run("status", folder.path("plain.db"), "-m", migrations)
    #expect(plain.status == 12 && plain.errors.contains("unencrypted"))
    let keyless = try run("status", url.path, "-m", migrations, "--key-file", folder.path("nosuch"), key: nil)
    #expect(
      keyless.status == 10 && keyless.errors.contains("nosuch cannot be read: No such file"), "\(keyless)")
    // A path that exists and is not a key file is another mistake.
    #expect(try run("status", url.path, "--key-file", folder.url.path, key: nil).status == 64)

    let steps = folder.url.appendingPathComponent("Steps")
    try FileManager.default.copyItem(at: URL(fileURLWithPath: migrations), to: steps)
    let third = steps.appendingPathComponent("0003_town.migration")
    try Data("format: 1\n[up]\nadd attribute User.town string optional\n".utf8).write(to: third)
    let edited = try run("status", url.path, "-m", steps.path)
    #expect(edited.status == 3 && edited.errors.contains("+ add attribute User.town string optional"))
    for number in 3...6 {
      for name in try FileManager.default.contentsOfDirectory(atPath: steps.path)
      where name.hasPrefix("000\(number)") {
        try FileManager.default.removeItem(at: steps.appendingPathComponent(name))
      }
    }
    #expect(try run("status", url.path, "-m", steps.path).status == 4)
  }

  @Test func `rekey under a held write lock exits with 11, and only the old key opens the store`()
    async throws
  {
    try await create()
    let other = try Connection.open(url.path, key: .passphrase("horse"))
    try other.setJournalMode(.wal)
    try other.execute("BEGIN IMMEDIATE")
    let arguments = ["rekey", url.path, "--new-key-env", "NEW_KEY", "--lock-timeout", "0.3", "--no-input"]
    let environment = ["STORE_MIGRATE_KEY": "horse", "NEW_KEY": "new"]
    let locked = try runTool(builtExecutable("store-migrate"), arguments, environment: environment)
    #expect(locked.status == 11, "\(locked.errors)")
    try other.execute("COMMIT")
    other.close()
    #expect(try run("verify", url.path, key: "new").status == 12)
    #expect(try run("verify", url.path).status == 0)
    let done = try runTool(builtExecutable("store-migrate"), arguments, environment: environment)
    #expect(done.status == 0, "\(done.errors)")
    #expect(try run("verify", url.path, key: "new").status == 0)
    #expect(try run("verify", url.path).status == 12)
  }

  @Test func `a key is read from a file, a descriptor, a variable or a command, less one line end`()
    async throws
  {
    try await create()
    let file = folder.path("key.txt")
    try folder.write(Data("horse\n".utf8), to: "key.txt")
    let byFile = try run("verify", url.path, "--key-file", file, key: nil)
    #expect(byFile.status == 0 && byFile.errors.contains("chmod 600"))
    chmod(file, 0o600)
    #expect(try run("verify", url.path, "--key-file", file).errors.isEmpty)
    #expect(try run("verify", url.path, "--key-command", "printf 'horse\\n'", key: nil).status == 0)
    #expect(
      try run("verify", url.path, "--key-env", "MY_KEY", key: nil, environment: ["MY_KEY": "horse"]).status
        == 0)
    let piped = try runTool(
      builtExecutable("store-migrate"), ["verify", url.path, "--key-fd", "0", "--no-input"], input: "horse\n")
    #expect(piped.status == 0, "\(piped.errors)")
    let dash = try runTool(
      builtExecutable("store-migrate"), ["verify", url.path, "--key-file", "-"], input: "horse")
    #expect(dash.status == 0)
    let none = try runTool(
      builtExecutable("store-migrate"), ["verify", url.path, "--no-input"],
      environment: ["STORE_MIGRATE_KEY": "horse2"])
    #expect(none.status == 12)
    #expect(try run("verify", url.path, "--key-command", "exit 3").status == 64)
    #expect(try run("verify", url.path, "--key-file", file, "--key-env", "X").status == 64)
    // A line end is LF or CR LF. Other characters at the end belong to the key.
    for (end, code) in [("\r\n", 0), ("\r", 12), ("\n\n", 12), ("\r\r\n", 12), (" \n", 12)] {
      try folder.write(Data("horse\(end)".utf8), to: "key.txt")
      let result = try run("verify", url.path, "--key-file", file, key: nil)
      #expect(result.status == Int32(code), "\(end.debugDescription): \(result)")
    }
  }

  @Test func `a JSON report is one object, also on failure, and contains no key`() async throws {
    try await create(2)
    for arguments in [
      ["status", url.path, "-m", migrations], ["plan", url.path, "-m", migrations], ["info", url.path],
      ["status", "/nowhere"],
    ] {
      let result = try runTool(
        builtExecutable("store-migrate"), arguments + ["--json", "--no-input"],
        environment: ["STORE_MIGRATE_KEY": "horse"])
      let object = try #require(
        JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
      #expect(object["tool"] as? String == "store-migrate" && object["exit"] as? Int == Int(result.status))
      #expect(object["command"] as? String == arguments[0])
      #expect(result.errors.isEmpty && !result.output.contains("horse"))
    }
  }

  @Test func `new, embed and check work together without a store`() throws {
    let steps = folder.path("Steps")
    #expect(try run("new", "Add the city!", "-m", steps).status == 0)
    #expect(folder.names == ["Steps"])
    let file = folder.url.appendingPathComponent("Steps/0001_add_the_city.migration")
    #expect(FileManager.default.fileExists(atPath: file.path))
    let text =
      try String(contentsOf: file, encoding: .utf8) + "create entity City {\n  attribute name string\n}\n"
    try Data(text.utf8).write(to: file)
    let before = try run("check", "-m", steps)
    #expect(before.status == 2 && before.output.contains("migrations.lock is missing"))
    #expect(try run("embed", "-m", steps, "--type", "CityMigrations").status == 0)
    #expect(try run("check", "-m", steps).status == 0)
    try Data(text.replacingOccurrences(of: "string", with: "string optional").utf8).write(to: file)
    let after = try run("check", "-m", steps)
    #expect(after.status == 2 && after.output.contains("0001_add_the_city.migration was edited"))
    let syntax = try run("new", "second", "-m", steps)
    #expect(syntax.status == 0)
    try Data("format: 1\n[up]\nadd atribute City.x int\n".utf8).write(
      to: folder.url.appendingPathComponent("Steps/0002_second.migration"))
    let broken = try run("check", "-m", steps)
    #expect(broken.status == 1 && broken.errors.contains("0002_second.migration:3:5"), "\(broken.errors)")
  }

  @Test func `the package's own generated files agree with its steps`() throws {
    let result = try run("check", "-m", migrations)
    #expect(result.status == 0, "\(result.output)")
  }

  @Test func `an interrupted up exits with 130 and leaves the store as it was`() async throws {
    try await create(1)
    do {
      let connection = try Connection.open(url.path, key: .passphrase("horse"))
      try connection.execute(
        sql:
          "INSERT INTO User(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600000) "
          + "SELECT 'user ' || i FROM n")
      try connection.execute("INSERT OR REPLACE INTO vault_ids VALUES ('User', 600000)")
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: builtExecutable("store-migrate"))
    process.arguments = ["up", url.path, "-m", migrations, "--no-input"]
    process.environment = ProcessInfo.processInfo.environment.merging(["STORE_MIGRATE_KEY": "horse"]) {
      _, new in new
    }
    process.standardError = Pipe()
    try process.run()
    // A journal with bytes in it means that the migration has begun.
    var hasBegun = false
    let deadline = Date(timeIntervalSinceNow: 600)
    while process.isRunning, !hasBegun, Date() < deadline {
      // Blocking on purpose: a task that sleeps may resume long after the end of the migration.
      usleep(5000)
      hasBegun = (try? folder.bytes("notes.store-journal").isEmpty) == false
    }
    process.interrupt()
    process.waitUntilExit()
    try #require(hasBegun, "the migration ended before it was seen, with \(process.terminationStatus)")
    #expect(process.terminationStatus == 130)
    #expect(try Connection.open(url.path, key: .passphrase("horse")).userVersion() == 1)
    #expect(try run("verify", url.path).status == 0)
  }

  @Test func `verify finds a damaged page and names it`() async throws {
    try await create()
    var bytes = try folder.bytes("notes.store")
    bytes[2 * 4096 + 100] ^= 1
    try folder.write(bytes, to: "notes.store")
    let result = try run("verify", url.path, "-m", migrations)
    #expect(
      result.status == 2 && result.output.contains("page 3 is damaged"),
      "\(result.output)\(result.errors)")
  }
}
