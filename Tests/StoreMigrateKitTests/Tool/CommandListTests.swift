// What every command must have: its help and its reports in golden files, runs that succeed and runs that
// fail, and its line on the page of the tool. The list of commands is the tool's own.

import CipherSQLite
import Foundation
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.slow, .pure)) struct HelpGoldens {
  static let topics = ["overview"] + StoreMigrate.commandNames

  @Test(arguments: topics)
  func `each help equals its golden file`(_ topic: String) throws {
    let words = topic == "overview" ? ["--help"] : ["help", topic]
    let result = try runTool(builtExecutable("store-migrate"), words)
    #expect(result.status == 0 && result.errors.isEmpty)
    let difference = try Golden.difference(
      of: result.output, from: "help-\(topic).txt", in: "StoreMigrateKitTests")
    #expect(difference == nil, "\(difference ?? "")")
    if topic != "overview" {
      #expect(try runTool(builtExecutable("store-migrate"), [topic, "--help"]).output == result.output)
    }
  }

  @Test(arguments: topics)
  func `no line of a help is wider than 120 characters`(_ topic: String) throws {
    let result = try runTool(
      builtExecutable("store-migrate"), topic == "overview" ? ["--help"] : ["help", topic])
    for line in result.output.split(separator: "\n") {
      #expect(line.count <= 120 && !line.hasSuffix(" "), "\(topic): \(line)")
    }
  }
}

@Suite(.tags(.sampled, .slow)) struct ReportGoldens {
  static let cases = CommandCase.all.filter { $0.golden != nil }
  /// On SQLCipher 4: all cases with files of their own for this engine, and a third of the others.
  static let compared: [Int] = {
    guard Engine.current.cipherMajor >= 4, !Golden.isWriting else { return Array(cases.indices) }
    let files = (try? Golden.names(in: "StoreMigrateKitTests")) ?? []
    let own = cases.indices.filter { index in
      files.contains { $0.hasPrefix("\(cases[index].golden ?? "").sqlcipher4.") }
    }
    return own + Rotation.part(of: cases.indices.filter { !own.contains($0) }, oneIn: 3)
  }()

  /// The JSON output of each case, and the folder of its run: run once, and used by several tests.
  private actor JSONRuns {
    private var done: [Int: (result: ToolResult, folder: String)] = [:]

    func callAsFunction(_ index: Int) async throws -> (result: ToolResult, folder: String) {
      if let run = done[index] { return run }
      let folder = try await CommandFolder()
      let run = (try folder.run(ReportGoldens.cases[index], "--json"), folder.folder.url.path)
      done[index] = run
      return run
    }
  }
  private static let runAsJSON = JSONRuns()

  @Test(arguments: compared)
  func `each report equals its golden file, as text and as JSON`(_ index: Int) async throws {
    let command = Self.cases[index]
    let name = try #require(command.golden)
    // Each run in a folder of its own, as a command that changes something changes it once.
    let folder = try await CommandFolder()
    let (text, path) = (try folder.run(command), folder.folder.url.path)
    try Self.expect(
      "\(normalized(text.output, folder: path))----\n\(normalized(text.errors, folder: path))",
      toBe: "\(name).txt", command)
    let json = try await Self.runAsJSON(index)
    try Self.expect(normalized(json.result.output, folder: json.folder), toBe: "\(name).json", command)
    #expect(json.result.errors.isEmpty && !json.result.output.contains(Template.hex(Template.key)))
    try Self.check(json.result, of: command)
  }

  private static func expect(_ text: String, toBe file: String, _ command: CommandCase) throws {
    let difference = try Golden.difference(of: text, from: file, in: "StoreMigrateKitTests")
    #expect(difference == nil, "\(command): \(difference ?? "")")
  }

  static let others = Rotation.part(of: CommandCase.all.filter { $0.golden == nil }, oneIn: 2)

  @Test(arguments: others.indices)
  func `each line without a golden file exits with its code, in JSON too`(_ index: Int) async throws {
    let command = Self.others[index]
    try Self.check(try await CommandFolder().run(command, "--json"), of: command)
  }

  /// Checks the exit code of a command, by itself and in its JSON, and the JSON by its schema.
  private static func check(_ result: ToolResult, of command: CommandCase) throws {
    #expect(result.status == command.code, "\(command): \(result)")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any],
      "\(command): \(result)")
    #expect(object["exit"] as? Int == Int(command.code) && object["ok"] as? Bool == (command.code == 0))
    #expect(object["command"] as? String == command.command && object["tool"] as? String == "store-migrate")
    #expect((object["error"] is NSNull) == (object["error"] as? String == nil))
    #expect(try ReportSchema().faults(in: result.output) == [], "\(command): \(result)")
  }

  @Test func `the schema of the reports has each command, and detects deviations`() throws {
    let schema = try ReportSchema()
    #expect(schema.commands == Set(StoreMigrate.commandNames + ["help", "version"]))
    let count =
      #"{"tool":"store-migrate","format":1,"command":"count","ok":true,"exit":0,"error":null,"entity":"Note","count":1}"#
    #expect(try schema.faults(in: count) == [])
    for (old, new) in [
      (#""count":1"#, #""count":"1""#), (#","count":1"#, ""), (#""count":1"#, #""count":-1"#),
      (#""count":1"#, #""count":1,"more":1"#), (#""exit":0"#, #""exit":7"#), (#""ok":true"#, #""ok":1"#),
      (#""error":null"#, #""error":"x""#), (#""format":1"#, #""format":2"#),
      (#""count","ok""#, #""counts","ok""#),
    ] {
      #expect(try !schema.faults(in: count.replacing(old, with: new)).isEmpty, "\(new)")
    }
  }

  private static let hasValidator =
    KeyInput.python.map { (try? runTool($0, ["-c", "import jsonschema"]).status) == 0 } ?? false

  @Test(.enabled(if: hasValidator, "needs python3 with jsonschema"))
  func `another validator agrees with the schema`() async throws {
    let script = """
      import json, jsonschema, sys
      text = sys.stdin.read()  # all of it, or who writes it dies
      schema = json.load(open(sys.argv[1]))
      jsonschema.Draft202012Validator.check_schema(schema)
      for line in text.split("\\0"):
          if line: jsonschema.validate(json.loads(line), schema)
      """
    var outputs: [String] = []
    for index in Self.compared { outputs.append(try await Self.runAsJSON(index).result.output) }
    let result = try runTool(
      KeyInput.python ?? "", ["-c", script, ReportSchema.file.path], input: outputs.joined(separator: "\0"))
    #expect(result.status == 0, "\(result.errors)")
  }
}

@Suite(.tags(.pure)) struct CommandList {
  static let names = StoreMigrate.commandNames
  static func page() throws -> String {
    try String(
      contentsOf: packageRoot.appendingPathComponent(
        "Sources/StoreMigrateKit/Documentation.docc/commands.md"), encoding: .utf8)
  }

  @Test(arguments: names)
  func `every command has successful and failing runs, and a golden file of its report`(_ name: String) {
    let cases = CommandCase.all.filter { $0.command == name }
    #expect(cases.contains { $0.code == 0 && $0.golden != nil }, "\(name) has no golden file of its report")
    #expect(cases.contains { $0.code != 0 }, "\(name) has no run that fails")
  }

  @Test func `the commands of the cases are those of the tool`() {
    #expect(Set(CommandCase.all.map(\.command)) == Set(Self.names))
    #expect(Set(CommandCase.all.compactMap(\.golden)).count == CommandCase.all.count { $0.golden != nil })
  }

  @Test(arguments: names)
  func `every command has its line on the page of the tool, with the summary of its help`(_ name: String)
    throws
  {
    let summary = try #require(StoreMigrate.summary(of: name))
    #expect(try Self.page().contains("| `\(name)` | \(summary) |"))
  }

  @Test func `the table of the page has no other command`() throws {
    let page = try Self.page()
    let listed = page.matches(of: #/(?m)^\| `([a-z][a-z-]*)` \|/#).map { String($0.1) }
    #expect(listed.sorted() == Self.names.sorted())
  }

  @Test(arguments: names)
  func `the overview has each command once, with its summary`(_ name: String) throws {
    let overview = try runTool(builtExecutable("store-migrate"), ["--help"]).output
    let lines = overview.split(separator: "\n").filter { $0.hasPrefix("  \(name) ") }
    #expect(lines.count == 1 && lines.first?.hasSuffix(StoreMigrate.summary(of: name) ?? "?") == true)
  }

  @Test func `every golden file belongs to a case`() throws {
    let known = Set(
      HelpGoldens.topics.map { "help-\($0)" } + CommandCase.all.compactMap(\.golden)
        + (ScreenGoldens.cases.map(\.name) + FailedRunScreens.names).map { "screen-\($0)" })
    for file in try Golden.names(in: "StoreMigrateKitTests") {
      #expect(known.contains(String(file.prefix { $0 != "." })), "\(file)")
    }
  }
}
