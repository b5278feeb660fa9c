// A store that ran a step which a rebase has renumbered since: the printed lines restore the step's number,
// and can be pasted.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ReturnedSteps {
  private let folder: TemporaryFolder
  private static let tool = builtExecutable("store-migrate")
  private var store: String { folder.path("a.store") }
  private var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path("My Steps")).filter {
        $0.hasSuffix(".migration") || $0.hasPrefix("0")
      }.sorted()
    }
  }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("My Steps"), withIntermediateDirectories: false)
    try Data(repeating: 7, count: 32).write(to: URL(fileURLWithPath: folder.path("key")))
    try write("0001_base", text: "create entity A {\n attribute n int\n}")
  }

  private func write(_ name: String, text: String) throws {
    try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
      to: URL(fileURLWithPath: folder.path("My Steps/\(name).migration")))
  }

  private func run(_ words: String...) throws -> ToolResult {
    let key = ["up", "status", "create", "verify"].contains(words[0]) ? ["--key-file", "key"] : []
    return try runTool(
      Self.tool, words + ["-m", "My Steps", "--no-input"] + key, directory: folder.url.path,
      keepsPath: true)
  }

  /// Runs the printed lines for the files of the steps in a shell.
  private func paste(_ text: String) throws -> [String] {
    let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { $0.hasPrefix("mv ") || $0.hasPrefix("\(Self.tool) rebase ") }
    for line in lines {
      let done = try runTool("/bin/sh", ["-c", line], directory: folder.url.path)
      #expect(done.status == 0, "\(line): \(done)")
    }
    return lines.map { callingByName($0, Self.tool) }
  }

  @Test func `the printed lines restore the number of a step that ran before a rebase`() throws {
    try write("0002_ours", text: "add attribute A.ours int optional")
    #expect(try run("create", "a.store").status == 0)
    try write("0002_theirs", text: "add attribute A.theirs int optional")
    #expect(try run("rebase", "0002_ours.migration").status == 0)
    let told = try run("status", "a.store")
    #expect(told.status == 3, "\(told)")
    #expect(
      try paste(told.output + told.errors) == [
        "mv 'My Steps/0003_ours.migration' 'My Steps/0002_ours.migration'",
        "store-migrate rebase 0002_theirs.migration -m 'My Steps'",
      ], "\(told)")
    #expect(try names == ["0001_base.migration", "0002_ours.migration", "0003_theirs.migration"])
    #expect(try run("up", "a.store").status == 0)
    #expect(try run("verify", "a.store").status == 0 && run("check").status == 0)
  }

  @Test func `the printed lines include several steps, later steps, and the Swift files of steps`() throws {
    try write("0002_ours", text: "add attribute A.ours int optional")
    try write("0003_more", text: "add attribute A.more int optional")
    #expect(try run("create", "a.store").status == 0)
    try write("0002_theirs", text: "add attribute A.theirs int optional")
    try write("0004_late", text: "add attribute A.late int optional")
    #expect(
      try run("rebase", "0002_ours.migration", "0003_more.migration", "0004_late.migration").status == 0)
    for name in ["0002_theirs", "0004_more"] {
      try Data("// \(name)\n".utf8).write(to: URL(fileURLWithPath: folder.path("My Steps/\(name).swift")))
    }
    let told = try run("up", "a.store")
    #expect(told.status == 3, "\(told)")
    #expect(
      try paste(told.output + told.errors) == [
        "mv 'My Steps/0003_ours.migration' 'My Steps/0002_ours.migration'",
        "mv 'My Steps/0004_more.migration' 'My Steps/0003_more.migration'",
        "mv 'My Steps/0004_more.swift' 'My Steps/0003_more.swift'",
        "store-migrate rebase 0002_theirs.migration 0005_late.migration -m 'My Steps'",
      ], "\(told)")
    #expect(
      try names == [
        "0001_base.migration", "0002_ours.migration", "0003_more.migration", "0003_more.swift",
        "0004_theirs.migration", "0004_theirs.swift", "0005_late.migration",
      ])
    #expect(try run("up", "a.store").status == 0 && run("check").status == 0)
  }

  @Test func `no printed line moves a released or a missing step`() throws {
    try write("0002_ours", text: "add attribute A.ours int optional")
    #expect(try run("create", "a.store").status == 0)
    let ours = folder.path("My Steps/0002_ours.migration")
    try FileManager.default.moveItem(atPath: ours, toPath: folder.path("kept"))
    try write("0002_theirs", text: "add attribute A.theirs int optional")
    let missing = try run("status", "a.store")
    #expect(missing.status == 3 && !(missing.output + missing.errors).contains("mv "), "\(missing)")
    #expect(try run("embed", "--released", "4.1").status == 0)
    try FileManager.default.moveItem(
      atPath: folder.path("kept"), toPath: folder.path("My Steps/0003_ours.migration"))
    let released = try run("status", "a.store")
    #expect(released.status == 3 && !(released.output + released.errors).contains("mv "), "\(released)")
  }
}
