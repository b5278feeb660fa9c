// Mistyped command lines: they are reported before a file is opened, with a suggestion.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct MistypedLines {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Migrations"), withIntermediateDirectories: false)
    try write("create entity A {\n attribute n int\n}")
  }

  private func write(_ step: String) throws {
    try folder.write(Data("format: 1\n[up]\n\(step)\n".utf8), to: "Migrations/0001_base.migration")
  }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), line.split(separator: " ").map(String.init) + ["--no-input"],
      environment: ["STORE_MIGRATE_KEY": "horse"], directory: folder.url.path)
  }

  @Test(arguments: ["up", "down", "plan", "create"])
  func `an option that is not a number is reported before the store is opened`(_ command: String) throws {
    let result = try run("\(command) absent.store --to abc")
    #expect(result.status == 64 && result.errors.contains("not \"abc\""), "\(result)")
    #expect(!result.errors.contains("create absent.store"))
  }

  @Test(arguments: ["up", "down", "redo"])
  func `a count of zero steps is refused`(_ command: String) throws {
    #expect(try run("create a.store --to 0").status == 0)
    let result = try run("\(command) a.store --steps 0")
    #expect(
      result.status == 64 && result.errors.contains("--steps takes a number that is 1 or more, not 0"),
      "\(result)")
  }

  @Test(arguments: [
    ("schema improt x.db", "Did you mean \"import\"?"), ("STATUS a.store", "Did you mean \"status\"?"),
    ("schema --format JSON", "Did you mean \"json\"?"), ("check --color Never", "Did you mean \"never\"?"),
    ("check --Json", "Did you mean \"--json\"?"), ("hlp", "Did you mean \"help\"?"),
    ("hlep status", "Did you mean \"help\"?"),
  ])
  func `a mistyped word gets a suggestion`(_ line: String, _ hint: String) throws {
    let result = try run(line)
    #expect(result.status == 64 && (result.errors + result.output).contains(hint), "\(result)")
  }

  @Test func `the error for a missing step names only the options that were given`() throws {
    let one = try run("sql --from 9")
    #expect(one.errors.contains("--from 9: the steps are 1 to 1."), "\(one)")
    let two = try run("sql --from 2 --to 3")
    #expect(two.errors.contains("--from 2 --to 3: the steps are 1 to 1."), "\(two)")
  }

  @Test func `step numbers in the wrong order are reported as such`() throws {
    for (name, attribute) in [("0002_b", "b"), ("0003_c", "c")] {
      try folder.write(
        Data("format: 1\n[up]\nadd attribute A.\(attribute) int optional\n".utf8),
        to: "Migrations/\(name).migration")
    }
    let result = try run("sql --from 3 --to 2")
    #expect(
      result.status == 64
        && result.errors.contains("--from 3 is greater than --to 2. Give the lower number with --from."),
      "\(result)")
    #expect(try run("sql --from 2 --to 3").status == 0)
  }

  @Test func `help takes one command or none, and prints the overview without one`() throws {
    for line in ["help up extra", "help up extra words", "help help up"] {
      let result = try run(line)
      #expect(
        result.status == 64 && result.errors.contains("help takes at most one command, not "),
        "\(line): \(result)")
    }
    let overview = try run("help")
    #expect(try run("help help").output == overview.output && overview.status == 0)
    #expect(try run("help up").status == 0)
    // At the end of any line --help prints the help, whatever else the line has.
    #expect(try run("up a.store more --help").output == run("help up").output)
  }

  @Test(arguments: [
    ("require { SELECT 1 }", "what is required, as a text, is missing; write it in double quotes"),
    (
      "create entity B {\n atribute a int\n}",
      "\"atribute\" is not one of attribute, relationship, index; did you mean \"attribute\"?"
    ),
    ("add atribute A.b int", "\"atribute\" is not one of attribute, relationship, index; did you mean"),
    ("add", "attribute or relationship or index is missing; write one of these"),
  ])
  func `an unexpected word in a step is not reported as missing`(_ step: String, _ reason: String) throws {
    try write(step)
    let result = try run("check")
    #expect(result.errors.contains(reason), "\(result)")
  }

  @Test func `help explains each option for its command`() throws {
    #expect(
      try run("help baseline").output.contains(
        "Note.owner=Person imports Note.owner as a to-one to Person"))
    #expect(
      try run("help schema").output.contains(
        "import: Note.owner=Person reads Note.owner as a to-one to Person"))
    for command in ["up", "down", "redo"] {
      let help = try run("help \(command)").output
      #expect(help.contains("show the plan before running it") && !help.contains("status:"), "\(help)")
    }
    #expect(try run("help status").output.contains("checksum, program and engine of each step"))
  }

  @Test func `squash keeps SQL blocks readable`() throws {
    try write("create entity A {\n attribute n int\n}")
    try folder.write(
      Data(
        """
        format: 1
        [up]
        seed {
            INSERT INTO $A ($A.n)
              VALUES (1);
            INSERT INTO $A ($A.n) VALUES (length('a
          b'))
        }
        """.utf8), to: "Migrations/0002_seed.migration")
    #expect(try run("squash --to 2").status == 0)
    let text = String(decoding: try folder.bytes("Migrations/0002_seed.migration"), as: UTF8.self)
    #expect(
      text.contains(
        "seed {\n    INSERT INTO $A ($A.n)\n    VALUES (1);\n    INSERT INTO $A ($A.n) VALUES (length('a\n  b'))\n}"
      ),
      "\(text)")
    #expect(try run("check").status == 0)
  }
}
