// Lines that are refused: SQL that no store can run, options that are given twice, and a rebase that needs
// more files than were named.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct RefusedLines {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Migrations"), withIntermediateDirectories: false)
    try write(
      "0001_base", step: "create entity User {\n attribute name string\n attribute age string optional\n}")
  }

  private func write(_ name: String, step: String) throws {
    try folder.write(Data("format: 1\n[up]\n\(step)\n".utf8), to: "Migrations/\(name).migration")
  }

  private func run(_ line: String) throws -> ToolResult {
    let words = line.split(separator: " ").map(String.init)
    let opens = !["check", "rebase", "new"].contains(words[0])
    return try runTool(
      builtExecutable("store-migrate"), words + (opens ? ["--key-format", "hex"] : []) + ["--no-input"],
      environment: ["STORE_MIGRATE_KEY": String(repeating: "5a", count: 32)], directory: folder.url.path)
  }

  @Test(arguments: [
    "retype User.age to int using (nofunc($User.age))",
    "require \"it is there\" { SELECT count(*) FROM nowhere }",
  ])
  func `create refuses steps whose SQL cannot run, with the message of check`(_ step: String) throws {
    try write("0002_wrong", step: step)
    let (check, create) = (try run("check"), try run("create new.store"))
    let fault = try #require(
      check.output.split(separator: "\n").first { $0.hasPrefix("0002_wrong.migration") })
    #expect(check.status == 2)
    #expect(create.status == 1 && create.errors.contains(fault), "\(create)\n\(fault)")
    #expect(folder.names == ["Migrations"])
    // Steps beyond the requested version are not tried.
    #expect(try run("create old.store --to 1").status == 0)
  }

  @Test func `an option with a single value is refused if it is given twice`() throws {
    #expect(try run("create s.store").status == 0)
    for line in [
      "up s.store --to 1 --to 2", "up s.store -m Migrations --migrations=Other", "plan s.store --to=1 --to=1",
    ] {
      let result = try run(line)
      #expect(result.status == 64 && result.errors.contains("is given twice"), "\(line): \(result)")
    }
    // An option for several objects may be repeated, and so may a flag.
    #expect(
      try run("up s.store -y -y --allow lossy:User.a --allow lossy:User.b").status == 0)
  }

  @Test func `rebase names the files that have to be renumbered as well`() throws {
    try write("0002_theirs", step: "add attribute User.theirs int optional")
    try write("0002_mine", step: "add attribute User.mine int optional")
    try write("0003_more", step: "rename attribute User.mine -> more")
    let result = try run("rebase 0002_mine.migration")
    #expect(
      result.status != 0 && result.errors.contains("rebase 0002_mine.migration 0003_more.migration"),
      "\(result)")
    let both = try run("rebase 0002_mine.migration 0003_more.migration")
    #expect(both.status == 0, "\(both)")
  }

  @Test func `rebase renames the Swift file of a step as well, or nothing`() throws {
    try write("0002_theirs", step: "add attribute User.theirs int optional")
    try write("0002_mine", step: "add attribute User.mine int optional")
    try folder.write(Data("// mine\n".utf8), to: "Migrations/0002_mine.swift")
    try folder.write(Data("// another\n".utf8), to: "Migrations/0003_mine.swift")
    let refused = try run("rebase 0002_mine.migration")
    #expect(
      refused.status == 1 && refused.errors.contains("0003_mine.swift, but that file already exists")
        && refused.errors.contains("No file was renamed."), "\(refused)")
    let migrations = folder.url.appendingPathComponent("Migrations")
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: migrations.path).filter { $0.hasPrefix("0") }
        .sorted()
    }
    #expect(try names().contains("0002_mine.migration"))
    try FileManager.default.removeItem(at: migrations.appendingPathComponent("0003_mine.swift"))
    let moved = try run("rebase 0002_mine.migration")
    #expect(
      moved.status == 0 && moved.output.contains("0002_mine.swift is now 0003_mine.swift"), "\(moved)")
    #expect(
      try names() == [
        "0001_base.migration", "0002_theirs.migration", "0003_mine.migration", "0003_mine.swift",
      ])
    #expect(
      try String(contentsOf: migrations.appendingPathComponent("0003_mine.swift"), encoding: .utf8)
        == "// mine\n")
    let last = try run("rebase 0003_mine.migration")
    #expect(
      last.errors.contains("no other step comes after it, so it keeps its number."), "\(last)")
  }

  @Test func `an edit that makes another model gets no suggestion of repair`() throws {
    #expect(try run("create s.store").status == 0)
    try write(
      "0001_base", step: "create entity User {\n attribute name string\n attribute age int optional\n}")
    for command in ["status", "plan", "up"] {
      let told = try run("\(command) s.store")
      #expect(
        told.status == 3 && told.errors.contains("make a model that differs from the store's")
          && told.errors.contains("`repair` cannot record the edit")
          && !told.errors.contains("store-migrate repair"),
        "\(told)")
    }
    #expect(try run("repair s.store 1 --yes").errors.contains("make a model that differs"))
    // The same model in other words can be recorded.
    try write(
      "0001_base",
      step: "create entity User {\n attribute name string\n}\nadd attribute User.age string optional")
    #expect(try run("status s.store").errors.contains("repair s.store 0001"))
  }

  @Test func `an unknown property in an index is reported with a suggestion`() throws {
    try write("0002_index", step: "add index User(naem)")
    let check = try run("check")
    #expect(
      (check.output + check.errors).contains(
        "\"add index User(naem)\": there is no property User.naem; did you mean"),
      "\(check)")
  }

  @Test func `create and up report a dangling link as such`() throws {
    try FileManager.default.createSymbolicLink(atPath: folder.path("link.store"), withDestinationPath: "none")
    let (create, up) = (try run("create link.store"), try run("up link.store"))
    #expect(create.status == 1 && create.errors.contains("this is a link to "), "\(create)")
    #expect(up.status == 10 && up.errors.contains("this is a link to "), "\(up)")
  }

  @Test func `an app version with line breaks is one line of the history`() throws {
    func run(_ tool: String, _ words: String...) throws -> ToolResult {
      try runTool(
        builtExecutable(tool), words + ["--key-env", "KEY", "--key-format", "hex", "--no-input"],
        environment: ["KEY": Template.hex(Template.key), "MICROBLOG_VERSION": "4.2\nbeta\r\n1"],
        directory: folder.url.path)
    }
    let steps = folder.path("Migrations")
    #expect(try run("microblog-migrate", "create", "a.store", "-m", steps).status == 0)
    let history = try run("store-migrate", "history", "a.store")
    #expect(history.output.contains("microblog-migrate 4.2 beta 1\n"), "\(history)")
  }
}
