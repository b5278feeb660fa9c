// Users' files with the name of a generated one: no command overwrites them, not even through a link.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure, .slow)) struct GeneratedFileOwners {
  private static let names = ["migrations.lock", "schema.json", "Embedded.swift"]
  private static let commands = [["embed"], ["squash", "--to", "2"], ["rebase", "0002_s2.migration"]]
  private let folder: TemporaryFolder
  private var steps: URL { folder.url.appendingPathComponent("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
    for (number, text) in ["create entity A {\n attribute n int\n}", "add index A(n)"].enumerated() {
      try write("format: 1\n\n[up]\n\(text)\n", to: "000\(number + 1)_s\(number + 1).migration")
    }
  }

  private func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: steps.appendingPathComponent(name))
  }

  private func run(_ words: [String]) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["-m", steps.path, "--no-input"])
  }

  /// Every file of the folder with its bytes, read from the file system.
  private func image() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: steps.path)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: steps.appendingPathComponent($0))) })
  }

  /// Writes a second step of the same number for rebase, which would have nothing to renumber otherwise.
  private func prepare(_ words: [String]) throws {
    guard words[0] == "rebase" else { return }
    try write("format: 1\n\n[up]\nadd attribute A.m int optional\n", to: "0002_theirs.migration")
  }

  private static let foreign = [
    "migrations.lock": "# mine, of another tool\n",
    "schema.json": "{\"mine\": \"written by hand, in no git\"}\n",
    "Embedded.swift": "enum Mine { static let handwritten = 1 }\n",
  ]

  @Test(arguments: commands, names)
  func `a user's file with the name of a generated one is not overwritten`(_ words: [String], _ name: String)
    throws
  {
    try prepare(words)
    try write(Self.foreign[name] ?? "", to: name)
    let before = try image()
    let result = try run(words)
    #expect(result.status == 5, "\(words): \(result)")
    #expect(
      result.errors.contains("Steps/\(name): ") && result.errors.contains("Move or rename the file")
        && result.errors.contains("Nothing was written."), "\(result)")
    #expect(try image() == before, "\(words), \(name)")
  }

  @Test(arguments: commands, names)
  func `a file that a link with the name of a generated one refers to is not overwritten`(
    _ words: [String], _ name: String
  ) throws {
    try prepare(words)
    let text = Data((Self.foreign[name] ?? "").utf8)
    try folder.write(text, to: "mine")
    try FileManager.default.createSymbolicLink(
      at: steps.appendingPathComponent(name), withDestinationURL: folder.url.appendingPathComponent("mine"))
    let before = try image()
    #expect(try run(words).status == 5)
    #expect(try folder.bytes("mine") == text && image() == before)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: steps.appendingPathComponent(name).path)
        == folder.path("mine"))
  }

  @Test(arguments: names)
  func `check reports such a file, and does not suggest overwriting it`(_ name: String) throws {
    #expect(try run(["embed"]).status == 0)
    try write(Self.foreign[name] ?? "", to: name)
    let result = try run(["check"])
    #expect(result.status == 2 && result.output.contains("\(name): embed generates"), "\(result)")
    #expect(!result.output.contains("commit the files that it writes"), "\(result)")
  }

  @Test func `a generated file is recognized after edits, merges and of an earlier version`() throws {
    #expect(try run(["embed"]).status == 0)
    let whole = try image()
    let text = { (name: String) in String(decoding: whole[name] ?? Data(), as: UTF8.self) }
    let model = try MigrationSet.directory(steps).model(at: 2).json + "\n"
    let others = model.replacing("\"A\"", with: "\"B\"")
    let cases = [
      ("schema.json", model), ("schema.json", "\u{FEFF}" + model.replacing("\n", with: "\r\n")),
      ("schema.json", "<<<<<<< ours\n\(model)=======\n\(others)>>>>>>> theirs\n"),
      ("schema.json", text("schema.json").replacing("\"A\"", with: "\"damaged")), ("schema.json", ""),
      ("Embedded.swift", "// Copyright\n\n" + text("Embedded.swift")),
      ("Embedded.swift", "<<<<<<< ours\n\(text("Embedded.swift"))=======\n>>>>>>> theirs\n"),
      ("Embedded.swift", "\n"), ("Embedded.swift", text("Embedded.swift").replacing("\n", with: "\r\n")),
      (
        "migrations.lock",
        text("migrations.lock").split(separator: "\n").dropFirst().map { "\($0)\n" }.joined()
      ),
    ]
    for (name, text) in cases {
      try write(text, to: name)
      let result = try run(["embed"])
      #expect(result.status == 0, "\(name): \(result), \(text)")
      #expect(try image() == whole, "\(name): \(text)")
    }
  }

  @Test func `the JSON schema with its mark of the generator is still a valid model`() throws {
    #expect(try run(["embed"]).status == 0)
    let text = String(decoding: try #require(try image()["schema.json"]), as: UTF8.self)
    #expect(try Schema(json: text) == MigrationSet.directory(steps).model(at: 2))
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    #expect(object?["generated"] as? String == "by store-migrate embed")
  }
}
