// A Package.swift as it occurs in practice: with other line ends, as a link, without a comment, with
// Swift in folders. The tool reports what it does not write.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PackageManifests {
  private let folder: TemporaryFolder
  private let begin = "    // store-migrate embed, Migrations: begin\n"
  private let end = "    // store-migrate embed, Migrations: end\n"

  init() throws {
    folder = try TemporaryFolder()
    try write(
      "Migrations/0001_initial.migration",
      text: "format: 1\n[up]\ncreate entity Note {\n attribute text string\n}\n")
    try write("Package.swift", text: "// nothing yet\n")
    let shown = try run("embed", "--package").output
    let target = try #require(shown.components(separatedBy: "once:\n").last)
    try write("Package.swift", text: "let package = Package(\n  targets: [\n\(target)  ])\n")
  }

  private func write(_ path: String, text: String) throws {
    let url = folder.url.appendingPathComponent(path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words, directory: folder.url.path)
  }

  private var manifest: String {
    get throws { String(decoding: try folder.bytes("Package.swift"), as: UTF8.self) }
  }

  private func addStep() throws {
    try write(
      "Migrations/0002_more.migration", text: "format: 1\n[up]\nadd attribute Note.more string optional\n")
  }

  @Test func `line ends of Windows are kept in a manifest`() throws {
    try write("Package.swift", text: manifest.replacing("\n", with: "\r\n"))
    try addStep()
    let stale = try run("check")
    #expect(
      stale.status == 2 && stale.output.contains("its exclude: list differs from the files"), "\(stale)")
    let embedded = try run("embed")
    #expect(embedded.status == 0 && embedded.output.contains("Package.swift"), "\(embedded)")
    let lines = try manifest.utf8.split(separator: UInt8(ascii: "\n")).map { String(Substring($0)) }
    #expect(lines.contains("    \"0002_more.migration\",\r") && lines.allSatisfy { $0.hasSuffix("\r") })
    #expect(try run("check").status == 0)
  }

  @Test(arguments: ["begin", "end"])
  func `a manifest without one of the comments is left alone, and that is reported`(_ mark: String) throws {
    let line = mark == "begin" ? begin : end
    let lost = try manifest.replacing(line, with: "")
    try write("Package.swift", text: lost)
    try addStep()
    for words in [["embed"], ["embed", "--package"]] {
      let result = try runTool(builtExecutable("store-migrate"), words, directory: folder.url.path)
      #expect(
        result.status == 0
          && result.output.contains("note: \(folder.path("Package.swift")) was not changed, because the line")
          && result.output.contains(line.trimmingCharacters(in: .whitespacesAndNewlines) + " is missing")
          && result.output.contains(". Put the lines"), "\(result)")
      #expect(result.output.contains("once:\n") == (words.count == 2), "\(result)")
    }
    #expect(try manifest == lost)
    let check = try run("check")
    #expect(
      check.status == 2 && check.output.contains("was not changed")
        && !check.output.contains("Run store-migrate"),
      "\(check)")
  }

  @Test func `comments that occur twice or in the wrong order are reported`() throws {
    let whole = try manifest
    for broken in [
      whole.replacing(begin, with: begin + begin),
      whole.replacing(begin, with: "@").replacing(end, with: begin).replacing("@", with: end),
    ] {
      try write("Package.swift", text: broken)
      let result = try run("embed")
      #expect(result.status == 0 && result.output.contains("duplicated or in the wrong order"), "\(result)")
      #expect(try manifest == broken)
    }
  }

  @Test func `a target without both comments is reported, and a manifest of others is not`() throws {
    let lost = try manifest.replacing(begin, with: "").replacing(end, with: "")
    try write("Package.swift", text: lost)
    let result = try run("embed")
    #expect(result.output.contains("its target for Migrations has no list that embed maintains"), "\(result)")
    #expect(try run("embed", "--json").output.contains("\"note\":"))
    // A list that its author maintains is not an error.
    #expect(try manifest == lost && run("check").status == 0)
    try write("Package.swift", text: lost.replacing("\"Migrations\"", with: "\"Other\""))
    #expect(try !run("embed").output.contains("note:"))
  }

  @Test func `a manifest that is a link is written at its target`() throws {
    try FileManager.default.createDirectory(
      atPath: folder.path("real"), withIntermediateDirectories: false)
    try FileManager.default.moveItem(
      atPath: folder.path("Package.swift"), toPath: folder.path("real/Manifest"))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("Package.swift"), withDestinationPath: "real/Manifest")
    try addStep()
    #expect(try run("embed").status == 0)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("Package.swift"))
        == "real/Manifest")
    #expect(
      String(decoding: try folder.bytes("real/Manifest"), as: UTF8.self).contains("0002_more.migration"))
  }

  @Test func `folders with Swift are compiled, and their other files are excluded`() throws {
    try write("Migrations/Transforms/Split.swift", text: "enum Split {}\n")
    try write("Migrations/Transforms/notes.md", text: "")
    try write("Migrations/Transforms/deep/more.txt", text: "")
    try write("Migrations/Data/cities.csv", text: "")
    try write("Migrations/Data/inner/towns.csv", text: "")
    try write("Migrations/Steps.docc/page.md", text: "")
    // A link to a parent folder.
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("Migrations/Transforms/up"), withDestinationPath: "..")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("Migrations/nowhere"), withDestinationPath: "absent")
    #expect(try run("embed").status == 0)
    let list = try #require(manifest.firstRange(of: begin).map { try manifest[$0.upperBound...] })
    let names = list.split(separator: "\n").prefix { !$0.contains(": end") }
      .map { $0.trimmingCharacters(in: .whitespaces) }
    #expect(
      names == [
        "\"0001_initial.migration\",", "\"Data\",", "\"Transforms/deep\",", "\"Transforms/notes.md\",",
        "\"migrations.lock\",", "\"nowhere\",", "\"schema.json\",",
      ])
    #expect(try run("check").status == 0)
  }
}
