// Commands for keys and copies, with the real binary.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct KeyCommands {
  let folder: TemporaryFolder
  let store: String
  let migrations = packageRoot.appendingPathComponent("Migrations").path

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("notes.store")
  }

  func run(_ arguments: String..., key: String? = "horse", newKey: String? = nil) throws -> ToolResult {
    var environment = ["STORE_MIGRATE_KEY": key ?? ""]
    var words = arguments + ["--no-input"]
    if let newKey {
      environment["NEW_KEY"] = newKey
      words += ["--new-key-env", "NEW_KEY"]
    }
    return try runTool(builtExecutable("store-migrate"), words, environment: environment)
  }

  func create() async throws {
    try await Store.create(
      at: URL(fileURLWithPath: store), key: .passphrase("horse"),
      migrations: MigrationSet.embedded(MicroblogMigrations.steps))
    let connection = try Connection.open(store, key: .passphrase("horse"))
    try connection.execute("INSERT INTO User(id, name, screenName) VALUES (1, 'canary Ann', 'ann')")
    try connection.execute("INSERT OR REPLACE INTO vault_ids VALUES ('User', 1)")
  }

  func name(in file: String, key: String) throws -> String? {
    try Connection.open(file, key: .passphrase(key)).value("SELECT name FROM User", as: String.self)
  }

  @Test func `export is refused without --yes, and encrypt restores everything`() async throws {
    try await create()
    let plain = folder.path("plain.db")
    let refused = try run("export", store, plain)
    #expect(
      refused.status == 5 && refused.errors.contains("WITHOUT ENCRYPTION") && refused.errors.contains("--yes")
    )
    #expect(folder.names == ["notes.store"])
    let exported = try run("export", store, plain, "--yes")
    #expect(exported.status == 0 && exported.output.contains("NOT ENCRYPTED"), "\(exported.errors)")
    #expect(try folder.bytes("plain.db").range(of: Data("canary".utf8)) != nil)
    let back = folder.path("back.store")
    let encrypted = try run("encrypt", plain, back, newKey: "pony")
    #expect(encrypted.status == 0, "\(encrypted.errors)")
    #expect(try name(in: back, key: "pony") == "canary Ann")
    #expect(try folder.bytes("back.store").range(of: Data("canary".utf8)) == nil)
    // The new file is a store like the first one.
    #expect(try run("verify", back, "-m", migrations, "--deep", key: "pony").status == 0)
    #expect(try run("encrypt", plain, back, newKey: "pony").status == 1)
    #expect(try run("encrypt", back, folder.path("c"), newKey: "pony").status == 12)
  }

  @Test func `backup works beside a process that writes, and restore puts the backup back`() async throws {
    try await create()
    let backup = folder.path("copy.store")
    let made = try run("backup", store, backup)
    #expect(made.status == 0 && made.output.contains("store's key"), "\(made.errors)")
    #expect(try run("backup", store, backup).status == 1)
    #expect(try run("backup", store, folder.path("own.store"), newKey: "pony").status == 0)
    #expect(try name(in: folder.path("own.store"), key: "pony") == "canary Ann")
    do {
      let connection = try Connection.open(store, key: .passphrase("horse"))
      try connection.setJournalMode(.wal)
      try connection.execute("UPDATE User SET name = 'later'")
    }
    let refused = try run("restore", backup, store)
    #expect(refused.status == 5 && refused.errors.contains("--yes"))
    #expect(try name(in: store, key: "horse") == "later")
    #expect(try run("restore", backup, store, "--yes").status == 0)
    #expect(try name(in: store, key: "horse") == "canary Ann")
    #expect(try run("restore", backup, folder.path("third.store")).status == 0)
    #expect(try name(in: folder.path("third.store"), key: "horse") == "canary Ann")
  }

  @Test func `restore refuses a damaged backup and a store in use`() async throws {
    try await create()
    let backup = folder.path("copy.store")
    #expect(try run("backup", store, backup).status == 0)
    var bytes = try folder.bytes("copy.store")
    bytes[bytes.count - 100] ^= 1
    try folder.write(bytes, to: "bad.store")
    let bad = try run("restore", folder.path("bad.store"), store, "--yes")
    #expect(bad.status != 0 && bad.errors.contains("page"), "\(bad.errors)")
    let user = try Connection.open(store, key: .passphrase("horse"))
    try user.setJournalMode(.wal)
    try user.execute("INSERT INTO Tag(name) VALUES ('busy')")
    let busy = try run("restore", backup, store, "--yes")
    #expect(busy.status == 11, "\(busy.errors)")
    #expect(try user.value("SELECT count(*) FROM Tag") == 1)
  }

  @Test func `restore replaces a damaged store together with its log`() async throws {
    try await create()
    let backup = folder.path("copy.store")
    #expect(try run("backup", store, backup).status == 0)
    try folder.write(Data(repeating: 7, count: 8192), to: "notes.store")
    try folder.write(Data(repeating: 8, count: 8192), to: "notes.store-wal")
    #expect(try run("restore", backup, store, "--yes").status == 0)
    #expect(try name(in: store, key: "horse") == "canary Ann")
    #expect(folder.names == ["copy.store", "notes.store"])
  }

  @Test func `upgrade-cipher converts older settings to the engine's own, once`() async throws {
    try await create()
    let old = folder.path("old.store")
    do {
      let connection = try Connection.open(store, key: .passphrase("horse"))
      try StoreInfo.prepare(connection)
      try connection.copy(to: old, key: .passphrase("horse"), profile: .sqlcipher3)
    }
    #expect(try run("info", old).output.contains("page 1024"))
    let moved = try run("upgrade-cipher", old)
    #expect(
      moved.status == 0 && moved.output.contains("page 1024") && moved.output.contains("page 4096"),
      "\(moved.errors)")
    #expect(try run("upgrade-cipher", old).output.contains("Nothing to do"))
    #expect(try run("verify", old, "-m", migrations).status == 0)
    #expect(try name(in: old, key: "horse") == "canary Ann")
  }

  @Test func `a slot that does not exist is reported before any key is requested`() throws {
    let keys = folder.path("notes.keys")
    #expect(try run("slots", "create", keys, "Ann", newKey: "ann's horse").status == 0)
    for words in [["remove", keys, "Bob"], ["change", keys, "Bob"], ["rename", keys, "Bob", "Bo"]] {
      // Without any key.
      let told = try runTool(builtExecutable("store-migrate"), ["slots"] + words + ["--no-input"])
      #expect(told.status == 1 && told.errors.contains("there is no slot Bob. The slots are Ann."), "\(told)")
    }
  }

  @Test func `slots are created, added, changed, renamed, rotated and removed by the commands`() async throws
  {
    try await create()
    let keys = folder.path("notes.keys")
    let made = try run("slots", "create", keys, "Ann", newKey: "ann's horse")
    #expect(
      made.status == 0 && made.output.contains("Ann") && made.output.contains("scrypt"), "\(made.errors)")
    #expect(try run("rekey", store, "--new-slots", keys, newKey: "ann's horse").status == 0)
    #expect(try run("info", store).status == 12)
    let info = try run("info", store, "--slots", keys, key: "ann's horse")
    #expect(info.status == 0 && info.output.contains("slots        Ann"), "\(info.errors)")

    #expect(try run("slots", "add", keys, "Bo", key: "ann's horse", newKey: "bo's pony").status == 0)
    let paper = try run("slots", "add", keys, "paper", "--recovery", key: "ann's horse")
    let code = try #require(
      paper.output.split(separator: "\n").last.map { $0.trimmingCharacters(in: .whitespaces) })
    #expect(try run("info", store, "--slots", keys, "--key-format", "recovery", key: code).status == 0)
    #expect(
      try run(
        "info", store, "--slots", keys, "--key-format", "recovery",
        key: (code.first == "X" ? "y" : "x") + code.dropFirst()
      )
      .status
        == 12)
    #expect(try run("slots", "change", keys, "Ann", key: "ann's horse", newKey: "ann's mule").status == 0)
    let old = try run("info", store, "--slots", keys, key: "ann's horse")
    #expect(old.status == 12 && old.errors.contains("opens no slot"))
    #expect(try run("slots", "rename", keys, "Bo", "Bob", key: "ann's mule").status == 0)
    let listed = try run("slots", "list", keys, key: nil)
    #expect(listed.status == 0 && ["Ann", "Bob", "paper"].allSatisfy(listed.output.contains))

    try Data("bo's pony\n".utf8).write(to: folder.url.appendingPathComponent("bo.txt"))
    let lost = try run(
      "slots", "rotate", keys, store, "--keep", "Bob=\(folder.path("bo.txt"))", key: "ann's mule")
    #expect(lost.status == 5 && lost.errors.contains("Ann, paper"), "\(lost.errors)")
    let rotated = try run(
      "slots", "rotate", keys, store, "--keep", "Bob=\(folder.path("bo.txt"))", "--drop-others",
      key: "ann's mule")
    #expect(rotated.status == 0, "\(rotated.errors)")
    #expect(try run("info", store, "--slots", keys, key: "bo's pony").status == 0)
    #expect(try run("info", store, "--slots", keys, key: "ann's mule").status == 12)
    let last = try run("slots", "remove", keys, "Bob", "--yes", key: "bo's pony")
    #expect(last.status == 5 && last.errors.contains("last slot"))
  }

  @Test func `a slot that costs more than allowed is refused without mentioning a missing file`() throws {
    let keys = folder.path("notes.keys")
    let made = try run("slots", "create", keys, "Ann", "--slots-work", "0.2", newKey: "ann's horse")
    #expect(made.status == 5 && made.errors.contains("the slot was not created"), "\(made)")
    #expect(
      made.errors.contains("but only 0.2 s and") && made.errors.contains("--slots-work SECONDS"), "\(made)")
    #expect(
      made.errors.contains("Nothing was changed.") && !made.errors.contains("you trust"), "\(made)")
    #expect(folder.names.isEmpty)
  }

  @Test func `mistakes with slots are reported with a remedy`() throws {
    #expect(try run("slots", "lst", "x").errors.contains("Did you mean \"list\"?"))
    #expect(try run("slots", "add", "x").status == 64)
    #expect(try run("slots", "list", folder.path("none")).status == 10)
    try folder.write(Data("not a key file".utf8), to: "x.keys")
    let damaged = try run("slots", "list", folder.path("x.keys"))
    #expect(damaged.status == 12 && damaged.errors.contains("does not begin as a key file does"))
    for command in ["encrypt", "export", "backup", "restore", "upgrade-cipher", "slots"] {
      let help = try run("help", command)
      #expect(help.status == 0 && help.output.contains("EXAMPLES"), "\(command)")
    }
  }

  @Test func `missing memory for a passphrase is reported as such`() throws {
    let keys = folder.path("a.keys")
    let words = "slots create \(keys) Ann --new-key-env NEW_KEY --no-input"
    // Less than the size of the program and the 128 MiB of scrypt.
    let result = try runTool(
      "/bin/bash", ["-c", "ulimit -v 300000; exec '\(builtExecutable("store-migrate"))' \(words)"],
      environment: ["NEW_KEY": "horse"])
    #expect(result.status == 1, "\(result)")
    #expect(
      result.errors.contains("MiB of memory that scrypt") && result.errors.contains("Cannot allocate memory"),
      "\(result)")
    #expect(!result.errors.contains("Success") && folder.names.isEmpty, "\(result)")
  }

  @Test func `a slot name with an equals sign is refused, and no file is created`() throws {
    let result = try run("slots", "create", folder.path("a.keys"), "a=b", newKey: "pony")
    #expect(result.status == 1 && result.errors.contains("equals sign"), "\(result)")
    #expect(folder.names.isEmpty)
  }
}
