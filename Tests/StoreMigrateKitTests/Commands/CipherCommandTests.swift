// Custom cipher settings on the command line, with the real binary.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct CipherCommands {
  let folder: TemporaryFolder
  let store: String
  let migrations = packageRoot.appendingPathComponent("Migrations").path

  init() async throws {
    folder = try TemporaryFolder()
    store = folder.path("notes.store")
    try await Store.create(
      at: URL(fileURLWithPath: store), key: .passphrase("horse"),
      migrations: MigrationSet.embedded(Array(MicroblogMigrations.steps.prefix(5))))
    try Connection.open(store, key: .passphrase("horse")).execute(
      "INSERT INTO User(id, name, screenName) VALUES (1, 'Ann', 'ann')")
  }

  func run(_ arguments: String..., newKey: String? = nil) throws -> ToolResult {
    var environment = ["STORE_MIGRATE_KEY": "horse"]
    var words = arguments + ["--no-input"]
    if let newKey {
      environment["NEW_KEY"] = newKey
      words += ["--new-key-env", "NEW_KEY"]
    }
    return try runTool(builtExecutable("store-migrate"), words, environment: environment)
  }

  @Test func `rekey changes the rounds under the same key, and every command opens with them`() throws {
    let changed = try run("rekey", store, "--new-cipher", "rounds=1000,page=8192")
    #expect(changed.status == 0 && changed.output.contains("same key, page 8192"), "\(changed)")
    #expect(changed.errors.contains("rekey 100 %") && changed.output.contains("rounds=1000"))
    let rounds = "--cipher=rounds=1000"
    // Nothing in the file reveals the rounds: without the option the key seems to be wrong.
    let silent = try run("status", store, "-m", migrations)
    #expect(
      silent.status == 12 && silent.errors.contains("the key does not open this file.")
        && silent.errors.contains("a custom number of KDF rounds"),
      "\(silent)")
    #expect(
      silent.errors.contains("Check which key is in use") && silent.errors.contains("--cipher rounds=N"),
      "\(silent)")
    let info = try run("info", store, rounds)
    #expect(info.output.contains("1000 rounds") && info.output.contains("kdf_iter = 1000"), "\(info)")
    #expect(info.output.contains("opens with --cipher sqlcipher\(Engine.current.cipherMajor),rounds=1000"))
    #expect(try run("status", store, "-m", migrations, rounds, "--exit-code").status == 2)
    #expect(try run("plan", store, "-m", migrations, rounds).output.contains("0006"))
    #expect(try run("up", store, "-m", migrations, rounds).status == 0)
    #expect(try run("verify", store, "-m", migrations, rounds, "--deep").status == 0)
    let (copy, plain) = (folder.path("copy.store"), folder.path("plain.db"))
    #expect(try run("backup", store, copy, rounds).status == 0)
    #expect(try run("restore", copy, store, rounds, "--yes").status == 0)
    let export = try run("export", store, plain, rounds, "--yes")
    #expect(export.status == 0 && export.errors.contains("export 100 %"), "\(export)")
    let back = folder.path("back.store")
    let encrypted = try run("encrypt", plain, back, "--new-cipher", "rounds=1000", newKey: "horse")
    #expect(encrypted.status == 0 && encrypted.errors.contains("encrypt 100 %"), "\(encrypted)")
    #expect(try run("verify", back, "-m", migrations, rounds).status == 0)
    #expect(try run("slots", "create", folder.path("k.keys"), "Ann", newKey: "ann").status == 0)
    #expect(try run("rekey", back, rounds, "--new-slots", folder.path("k.keys"), newKey: "ann").status == 0)
  }

  @Test func `info shows the shell's line for the key in the form of the key`() throws {
    let plain = try run("info", store)
    #expect(plain.output.contains("PRAGMA key = 'your passphrase';"), "\(plain)")
    let raw = String(repeating: "0b", count: 32)
    #expect(try run("rekey", store, "--new-key-format", "hex", newKey: raw).status == 0)
    let info = try runTool(
      builtExecutable("store-migrate"), ["info", store, "--key-format", "hex", "--no-input"],
      environment: ["STORE_MIGRATE_KEY": raw])
    #expect(info.status == 0 && !info.output.contains("passphrase"), "\(info)")
    #expect(info.output.contains("PRAGMA key = \"x'your key in 64 hexadecimal digits'\";"))
  }

  @Test func `upgrade-cipher does not reduce the rounds unless that is requested`() throws {
    #expect(try run("rekey", store, "--new-cipher", "rounds=300000,page=1024").status == 0)
    let moved = try run("upgrade-cipher", store, "--cipher", "rounds=300000")
    #expect(moved.status == 0 && moved.output.contains(", 300000 rounds ("), "\(moved)")
    #expect(moved.errors.contains("upgrade-cipher 100 %"))
    let told = try run("upgrade-cipher", store, "--cipher", "rounds=300000", "--new-cipher", "page=4096")
    #expect(told.status == 0 && told.output.contains(" to \(CipherProfile.engineDefault) ("), "\(told)")
    #expect(try run("verify", store, "-m", migrations).status != 12)
  }

  @Test(.enabled(if: Engine.current.cipherMajor >= 4, "SQLCipher 3 leaves no header in clear"))
  func `rekey adds and removes a header in clear with a salt that is kept elsewhere`() throws {
    let salt = "header=32,salt=000102030405060708090a0b0c0d0e0f"
    #expect(try run("rekey", store, "--new-cipher", salt).status == 0)
    #expect(try folder.bytes("notes.store").starts(with: Data("SQLite format 3".utf8)))
    let missing = try run("info", store)
    #expect(missing.status != 0 && missing.errors.contains("salt"), "\(missing)")
    let info = try run("info", store, "--cipher", salt)
    #expect(info.output.contains("opens with --cipher sqlcipher4,header=32,salt=HEX"), "\(info)")
    #expect(try run("up", store, "-m", migrations, "--cipher", salt).status == 0)
    let back = try run(
      "rekey", store, "--cipher", salt, "--new-cipher", "sqlcipher4,salt=ff0102030405060708090a0b0c0d0e0f")
    #expect(back.status == 0, "\(back)")
    #expect(try folder.bytes("notes.store").first == 0xff)
    #expect(try run("verify", store, "-m", migrations).status == 0)
  }

  @Test(arguments: [
    ("round=5", "Did you mean \"rounds\"?"), ("rounds=many", "needs a number"), ("hmac=md5", "sha1, sha256"),
    ("salt=12", "32 hexadecimal digits"), ("", "comma-separated list"),
    ("page=1000", "does not support these settings"),
    ("page=512", "does not support these settings"),
    ("rounds=0", "does not support these settings"),
    ("page=4096,,rounds=5", "comma-separated list"),
  ])
  func `invalid cipher settings are refused before anything is opened`(text: String, hint: String) throws {
    for option in ["--cipher", "--new-cipher"] {
      let result = try run("rekey", folder.path("absent"), option, text)
      #expect(result.status == 64 && result.errors.contains(hint), "\(result)")
      #expect(result.errors.contains(option))
    }
  }
}
