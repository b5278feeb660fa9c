// A step's name in the two forms that systems keep of the same signs: ö as one sign (NFC), and as o with its dots behind (NFD).

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure, .slow)) struct NameForms {
  private static let (composed, split) = ("gr\u{F6}\u{DF}e", "gro\u{308}\u{DF}e")
  private let folder: TemporaryFolder
  private var steps: URL { folder.url.appendingPathComponent("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
    try write("create entity A {\n attribute n int\n}", "0001_a")
    try write("add attribute A.m int optional", "0002_\(Self.composed)")
  }

  private func write(_ text: String, _ name: String) throws {
    try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
      to: steps.appendingPathComponent("\(name).migration"))
  }

  /// The names as bytes: as texts both forms are equal.
  private func names() throws -> Set<[UInt8]> {
    Set(try FileManager.default.contentsOfDirectory(atPath: steps.path).map { Array($0.utf8) })
  }

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["-m", steps.path, "--no-input"])
  }

  /// Gives the second step's file its name in the other form, as a checkout on another system does.
  /// - Returns: Whether this file system keeps the two apart.
  private func splitName() throws -> Bool {
    let (old, new) = ("0002_\(Self.composed).migration", "0002_\(Self.split).migration")
    try FileManager.default.moveItem(
      at: steps.appendingPathComponent(old), to: steps.appendingPathComponent(new))
    return try names().contains(Array(new.utf8))
  }

  @Test func `the generated files are the same whichever form a checkout has`() throws {
    #expect(try run("embed", "--released", "1.0").status == 0)
    let generated = ["migrations.lock", "schema.json", "Embedded.swift"]
    let before = try generated.map { try Data(contentsOf: steps.appendingPathComponent($0)) }
    guard try splitName() else { return }
    let check = try run("check")
    #expect(check.status == 0, "\(check)")
    let embed = try run("embed")
    #expect(embed.status == 0 && !embed.output.contains("wrote"), "\(embed)")
    #expect(try generated.map { try Data(contentsOf: steps.appendingPathComponent($0)) } == before)
    // In one form, whatever the folder has.
    #expect(
      String(decoding: before[0], as: UTF8.self).utf8.elementsEqual(
        String(decoding: before[0], as: UTF8.self).precomposedStringWithCanonicalMapping.utf8))
  }

  @Test func `the list of a manifest is kept whichever form it has`() throws {
    let manifest = folder.url.appendingPathComponent("Package.swift")
    try Data("// nothing yet\n".utf8).write(to: manifest)
    let target = try #require(try run("embed", "--package").output.components(separatedBy: "once:\n").last)
    try Data("let package = Package(\n  targets: [\n\(target)  ])\n".utf8).write(to: manifest)
    #expect(try run("embed").status == 0 && run("check").status == 0)
    let before = try Data(contentsOf: manifest)
    guard try splitName() else { return }
    #expect(try run("check").status == 0)
    #expect(try run("embed").status == 0)
    #expect(try Data(contentsOf: manifest) == before)
  }

  @Test func `rebase finds the file by either form`() throws {
    try write("add attribute A.k int optional", "0002_theirs")
    guard try splitName() else { return }
    let result = try run("rebase", "0002_\(Self.composed).migration")
    #expect(result.status == 0, "\(result)")
    #expect(try names().contains(Array("0003_\(Self.split).migration".utf8)))
    #expect(try run("check").status == 0)
  }

  @Test func `squash leaves one file, whichever form its name has`() throws {
    guard try splitName() else { return }
    let result = try run("squash", "--to", "2")
    #expect(result.status == 0, "\(result)")
    let left = try names().filter { String(decoding: $0, as: UTF8.self).hasSuffix(".migration") }
    #expect(left == [Array("0002_\(Self.split).migration".utf8)])
    #expect(try run("check").status == 0)
  }

  @Test func `a step that is new gets its name in one form`() throws {
    #expect(try run("new", "ho\u{308}he").status == 0)
    #expect(try names().contains(Array("0003_h\u{F6}he.migration".utf8)))
  }
}
