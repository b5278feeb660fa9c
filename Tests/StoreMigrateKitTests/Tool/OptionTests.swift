// Options: each command accepts its own, and names the owners of others.

import Foundation
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.slow)) struct Options {
  static let all = Set(StoreMigrate.commandNames.flatMap { StoreMigrate.optionNames(of: $0) })

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), words + ["--no-input"], environment: ["STORE_MIGRATE_KEY": "x"])
  }

  @Test(arguments: StoreMigrate.commandNames)
  func `a help lists exactly the options that the command accepts`(_ name: String) throws {
    let help = try run("help", name).output
    let listed = help.matches(of: #/(?m)^  (?:-., |    )(--[a-z-]+)/#).map { String($0.1) }
    #expect(Set(listed) == Set(StoreMigrate.optionNames(of: name)) && listed.count == Set(listed).count)
  }

  @Test(arguments: StoreMigrate.commandNames)
  func `an option of other commands is refused before anything is opened`(_ name: String) throws {
    let own = StoreMigrate.optionNames(of: name)
    for foreign in Self.all.subtracting(own).sorted().prefix(6) {
      let owner = try #require(
        StoreMigrate.commandNames.first { StoreMigrate.optionNames(of: $0).contains(foreign) })
      let result = try run(name, "/nowhere/a.store", "\(foreign)", "1")
      #expect(result.status == 64, "\(result)")
      #expect(
        result.errors.contains("\(foreign) is not an option of \(name). These have it: \(owner)"), "\(result)"
      )
      #expect(result.errors.contains("help \(name)"), "\(result)")
    }
  }

  @Test func `--drop-others is refused by a command that does not have it`() throws {
    let result = try run("status", "a.store", "--drop-others")
    #expect(
      result.status == 64
        && result.errors.contains("--drop-others is not an option of status. These have it: slots."))
  }

  @Test(arguments: [
    ("list", "--key-env=X", "add, slots change, slots remove, slots rename, slots rotate"),
    ("list", "--yes", "remove"), ("create", "--key-file=x", "add, slots change"),
    ("create", "--recovery", "add"),
    ("add", "--keep=a=b", "rotate"), ("add", "--yes", "remove"), ("change", "--recovery", "add"),
    ("remove", "--new-key-env=X", "create, slots add, slots change"), ("rename", "--drop-others", "rotate"),
    ("rotate", "--new-key-env=X", "create, slots add, slots change"),
    ("remove", "--cipher=page=4096", "rotate"),
    ("list", "--lock-timeout=1", "add, slots change, slots remove, slots rename, slots rotate"),
  ])
  func `an option of another slots action is refused before anything is opened`(
    _ action: String, _ option: String, _ owners: String
  ) throws {
    let result = try run("slots", action, "/nowhere/a.keys", option)
    let name = option.prefix { $0 != "=" }
    #expect(result.status == 64, "\(result)")
    #expect(
      result.errors.contains("\(name) is not an option of slots \(action). These have it: slots \(owners)"),
      "\(result)")
  }

  @Test(arguments: [
    (["status", "a.store", "--exit-cod"], "Unknown option \"--exit-cod\". Did you mean \"--exit-code\"?"),
    (["fetch", "a.store", "Note", "--colums", "id"], "Did you mean \"--columns\"?"),
    (["--wher", "x", "count", "a.store", "Note"], "Did you mean \"--where\"?"),
    (["up", "a.store", "--yes=1"], "--yes takes no value."),
    (["up", "a.store", "-m"], "--migrations needs a value: --migrations DIR."),
    (
      ["up", "a.store", "--migrations", "--yes"],
      "--migrations needs a value, but --yes after it is an option."
    ),
    (["status", "a.store", "--passphrase", "x"], "list of processes"),
  ])
  func `a mistyped option is reported with a suggestion or the expected value`(
    words: [String], message: String
  ) throws {
    let result = try runTool(builtExecutable("store-migrate"), words)
    #expect(result.status == 64 && result.errors.contains(message), "\(result)")
  }

  @Test(
    arguments: ["1e9", "nan", "inf", "-1", "0x", ""].map { ("--lock-timeout", $0, "from 0 to 86400") }
      + ["0.01", "0", "nan", "1e9"].map { ("--slots-work", $0, "from 0.1 to 86400") } + [
        ("--cipher", "page=512,page=1024", "--cipher has page twice"),
        ("--cipher", "rounds=5,rounds=5", "--cipher has rounds twice"),
        ("--cipher", "sqlcipher3,sqlcipher4", "write sqlcipher4 first"),
        ("--cipher", "page=8192,sqlcipher3", "write sqlcipher3 first"),
        ("--cipher", "page=512", "The page size is a power of two"),
      ])
  func `an impossible value is refused with the possible ones`(
    _ option: String, _ value: String, _ message: String
  ) throws {
    let result = try run("info", "/nowhere/a.store", "\(option)=\(value)")
    #expect(result.status == 64 && result.errors.contains(message), "\(result)")
  }

  @Test func `the JSON report of an invalid line has its command`() throws {
    let result = try run("--json", "status", "a.store", "--exit-cod")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    #expect(object["command"] as? String == "status" && object["exit"] as? Int == 64 && result.errors.isEmpty)
  }

  @Test func `options may be anywhere, and after two dashes no word is an option`() throws {
    #expect(try run("--json", "status", "/nowhere/a.store").status == 10)
    #expect(try run("-m", "Steps", "status", "/nowhere/a.store").status == 10)
    #expect(try run("status", "--migrations=--yes", "/nowhere/a.store").status == 10)
    let dashed = try runTool(builtExecutable("store-migrate"), ["info", "--", "--json"])
    #expect(dashed.status == 10 && dashed.errors.contains("--json"))
  }
}
