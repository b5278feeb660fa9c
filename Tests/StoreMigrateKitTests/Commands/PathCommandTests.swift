// Stores in unusual places and files that are not quite stores, with the real binary.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PathCommands {
  let folder: TemporaryFolder
  let real: URL
  let store: String
  let migrations = packageRoot.appendingPathComponent("Migrations").path

  init() async throws {
    folder = try TemporaryFolder()
    real = folder.url.appendingPathComponent("real")
    try FileManager.default.createDirectory(at: real, withIntermediateDirectories: false)
    store = real.appendingPathComponent("s.store").path
    try await Store.create(
      at: URL(fileURLWithPath: store), key: .raw(Template.key),
      migrations: MigrationSet.embedded(Array(MicroblogMigrations.steps.prefix(1))))
    try Connection.open(store, key: .raw(Template.key)).setJournalMode(.wal)
  }

  func run(_ words: [String], in directory: URL? = nil, newKey: Bool = false) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      words + ["--no-input"]
        + (words[0] == "encrypt" ? [] : ["--key-env", newKey ? "NEW" : "OLD", "--key-format", "hex"])
        + (words[0] == "rekey" && !words.contains("--new-cipher") || words[0] == "encrypt"
          ? ["--new-key-env", newKey ? "OLD" : "NEW", "--new-key-format", "hex"] : []),
      environment: ["OLD": Template.hex(Template.key), "NEW": Template.hex(Template.newKey)],
      directory: (directory ?? real).path)
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: real.path)) ?? []).sorted()
  }

  @Test func `file names of one letter in the working directory work in every command`() throws {
    try FileManager.default.moveItem(atPath: store, toPath: real.appendingPathComponent("s").path)
    #expect(try run(["backup", "s", "b"]).status == 0)
    #expect(try run(["restore", "b", "r"]).status == 0)
    #expect(try run(["export", "s", "e", "--yes"]).status == 0)
    #expect(try run(["encrypt", "e", "n"]).status == 0)
    #expect(try run(["rekey", "s", "--new-cipher", "page=8192"]).status == 0)
    #expect(try run(["up", "s", "-m", migrations, "--no-backup"]).status == 0)
    #expect(try run(["verify", "s", "-m", migrations]).status == 0)
    #expect(names == ["b", "e", "n", "r", "s"])
  }

  @Test func `every command follows a link to the store and its log, and keeps the link`() throws {
    let link = folder.path("link.store")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real/s.store")
    // These rows stay in the log alone while a connection has the store open.
    let writer = try Connection.open(store, key: .raw(Template.key))
    try writer.executeScript("PRAGMA wal_autocheckpoint = 0; INSERT INTO User(id, name) VALUES (7, 'Ann')")
    let copy = folder.path("copy.store")
    for words in [["status", link, "-m", migrations], ["plan", link, "-m", migrations], ["info", link]] {
      let result = try run(words)
      #expect(result.status == 0, "\(words) \(result)")
    }
    #expect(try run(["backup", link, copy]).status == 0)
    #expect(try count(copy) == 1)
    #expect(try run(["export", link, folder.path("plain.db"), "--yes"]).status == 0)
    try FileManager.default.createSymbolicLink(atPath: folder.path("plain"), withDestinationPath: "plain.db")
    #expect(try run(["encrypt", folder.path("plain"), folder.path("back.store")]).status == 0)
    writer.close()
    let changes: [([String], Bool)] = [
      (["up", link, "-m", migrations], false), (["verify", link, "-m", migrations], false),
      (["rekey", link], false),
      (["rekey", link, "--new-cipher", "page=8192"], true), (["upgrade-cipher", link], true),
      (["rekey", link], true), (["restore", copy, link, "--yes"], false),
    ]
    for (words, newKey) in changes {
      let result = try run(words, newKey: newKey)
      #expect(result.status == 0, "\(words) \(result)")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real/s.store")
    }
    #expect(try count(store) == 1)
    #expect(names.filter { !$0.hasSuffix(".backup") } == ["s.store"], "\(names)")
  }

  @Test(arguments: [
    "status l -m $m", "plan l -m $m", "up l -m $m", "down l -m $m --to 0", "redo l -m $m", "verify l",
    "history l", "info l",
    "fetch l User", "count l User", "backup l b", "export l e --yes", "rekey l",
    "rekey l --new-cipher page=8192",
    "upgrade-cipher l", "restore l r", "restore s.store l --yes", "encrypt l n", "create l -m $m",
  ])
  func `circular links are reported as such, and not as a missing file`(_ line: String) throws {
    for (link, target) in [("l", "k"), ("k", "l")] {
      try FileManager.default.createSymbolicLink(
        atPath: real.appendingPathComponent(link).path, withDestinationPath: target)
    }
    let result = try run(line.split(separator: " ").map { $0 == "$m" ? migrations : String($0) })
    #expect(
      result.status == 1 && result.errors.contains("l: this path cannot be used: its links form a cycle"),
      "\(result)")
    #expect(!result.errors.contains("no such file"), "\(result)")
    #expect(names == ["k", "l", "s.store"])
  }

  func count(_ path: String) throws -> Int64? {
    try Connection.open(path, key: .raw(Template.key)).value("SELECT count(*) FROM User WHERE id = 7")?.int64
  }

  @Test func `info reports the log of an idle store, and --immutable never creates a file`() throws {
    #expect(try run(["info", store]).output.contains("wal"))
    let (bytes, folderBefore) = (try Data(contentsOf: URL(fileURLWithPath: store)), try changed(real))
    for words in [
      ["status", store, "-m", migrations], ["plan", store, "-m", migrations], ["info", store],
      ["verify", store, "-m", migrations], ["backup", store, folder.path("copy.store")],
    ] {
      let result = try run(words + ["--immutable"])
      #expect(result.status == 0, "\(words) \(result)")
      if words[0] == "info" { #expect(result.output.contains("wal"), "\(result)") }
    }
    #expect(try changed(real) == folderBefore)
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == bytes && names == ["s.store"])
    #expect(try Connection.open(folder.path("copy.store"), key: .raw(Template.key)).auditPages().isEmpty)
  }

  @Test func `a missing permission beside a log suggests --immutable, if the command has it`() throws {
    // Mode bits apply to the superuser as well.
    chmod(store, 0o400)
    for words in [["status", store, "-m", migrations], ["info", store], ["verify", store]] {
      let refused = try run(words)
      #expect(refused.status == 1 && refused.errors.contains("use --immutable."), "\(refused)")
      #expect(try run(words + ["--immutable"]).status == 0)
    }
    for words in [
      ["up", store, "-m", migrations], ["down", store, "--to", "0"], ["redo", store, "-m", migrations],
    ] {
      let refused = try run(words)
      #expect(
        refused.status == 1 && !refused.errors.contains("immutable")
          && refused.errors.contains(
            "Make the file and its folder writable, or run the command as their owner."),
        "\(refused)")
    }
    chmod(store, 0o600)
    #expect(try run(["up", store, "-m", migrations, "--no-backup"]).status == 0)
  }

  @Test(arguments: [
    "create l -m $m", "encrypt plain l", "restore s.store l", "backup s.store l", "export s.store l --yes",
    "baseline plain l --to 1 -m $m", "slots create l Ann",
  ])
  func `creating a file at a dangling link is refused before a key is requested`(_ line: String) throws {
    #expect(try run(["export", "s.store", "plain", "--yes"]).status == 0)
    try FileManager.default.createSymbolicLink(
      atPath: real.appendingPathComponent("l").path, withDestinationPath: "none")
    let before = names
    // Only restore gets a key.
    let result = try runTool(
      builtExecutable("store-migrate"),
      line.split(separator: " ").map { $0 == "$m" ? migrations : String($0) } + ["--no-input"]
        + (line.hasPrefix("restore") ? ["--key-env", "OLD", "--key-format", "hex"] : []),
      environment: ["OLD": Template.hex(Template.key)], directory: real.path)
    #expect(result.status == 1 && result.errors.contains("l: this is a link to "), "\(result)")
    #expect(names == before)
  }

  @Test func `reading a file through a dangling link reports the link`() throws {
    try FileManager.default.createSymbolicLink(
      atPath: real.appendingPathComponent("l").path, withDestinationPath: "none")
    for words in [["schema", "import", "l"], ["encrypt", "l", "n"], ["slots", "remove", "l", "Ann"]] {
      let result = try runTool(builtExecutable("store-migrate"), words + ["--no-input"], directory: real.path)
      #expect(result.status == 10 && result.errors.contains("l: this is a link to "), "\(result)")
    }
    #expect(names == ["l", "s.store"])
  }

  @Test func `a missing folder has the exit code notFound, whose meaning mentions folders`() throws {
    let result = try run(["backup", "s.store", "none/copy"])
    #expect(result.status == 10 && result.errors.contains("none: this folder does not exist"), "\(result)")
    #expect(ExitCode.notFound.meaning.contains("folder"))
  }

  func changed(_ url: URL) throws -> Date? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate] as? Date
  }

  @Test func `bytes after the last page are not reported as a full disk`() throws {
    let rest = try FileHandle(forWritingTo: URL(fileURLWithPath: store))
    try rest.seekToEnd()
    try rest.write(contentsOf: Data((0..<4096).map { _ in UInt8.random(in: 0...255) }))
    try rest.close()
    for words in [
      ["status", store, "-m", migrations], ["verify", store, "-m", migrations],
      ["backup", store, folder.path("copy.store")], ["rekey", store, "--new-cipher", "page=8192"],
    ] {
      let result = try run(words)
      #expect(
        !result.errors.contains("the disk may be full") && !(result.output + result.errors).contains("trap"),
        "\(result)"
      )
      if words[0] == "verify" {
        #expect([0, 2].contains(result.status), "\(words) \(result)")
      } else {
        #expect(result.status == 0, "\(words) \(result)")
      }
    }
    #expect(try run(["rekey", store]).status == 0)
    #expect(try Connection.open(store, key: .raw(Template.newKey)).auditPages().isEmpty)
  }

  @Test(arguments: [
    "backup $store b $key", "export $store e --yes $key", "encrypt $plain n --new-key-env OLD",
    "up $store -m $steps $key",
  ])
  func `reaching a limit of the file size exits with 6`(_ line: String) throws {
    let plain = folder.path("plain.db")
    let connection = try Connection.open(store, key: .raw(Template.key))
    try connection.executeScript(
      "PRAGMA journal_mode = delete; INSERT INTO User(id, name) VALUES (7, hex(zeroblob(90000)))")
    connection.close()
    #expect(try run(["export", store, plain, "--yes"]).status == 0)
    let result = try runTool(
      "/bin/bash",
      [
        "-c",
        "trap '' XFSZ; ulimit -f 64; \"$tool\" \(line) --no-input",
      ],
      environment: [
        "OLD": Template.hex(Template.key), "key": "--key-env OLD --key-format hex",
        "tool": builtExecutable("store-migrate"), "store": store,
        "plain": plain,
        "steps": migrations,
      ], directory: folder.url.path)
    #expect(result.status == 6 && !result.errors.contains("not an error"), "\(result)")
    #expect(names == ["s.store"] && folder.names == ["plain.db", "real"], "\(names) \(folder.names)")
  }
}
