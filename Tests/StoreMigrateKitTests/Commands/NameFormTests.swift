// A step name in both Unicode forms that systems use: ö as one character (NFC), and as o with a combining
// mark (NFD).

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
    try write("create entity A {\n attribute n int\n}", to: "0001_a")
    try write("add attribute A.m int optional", to: "0002_\(Self.composed)")
  }

  private func write(_ text: String, to name: String) throws {
    try Data("format: 1\n\n[up]\n\(text)\n".utf8).write(
      to: steps.appendingPathComponent("\(name).migration"))
  }

  /// The names as bytes: as strings both forms are equal.
  private func names() throws -> Set<[UInt8]> {
    Set(try FileManager.default.contentsOfDirectory(atPath: steps.path).map { Array($0.utf8) })
  }

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["-m", steps.path, "--no-input"])
  }

  /// Renames the file of the second step to the other form, as a checkout on another system does.
  /// - Returns: Whether this file system distinguishes the two forms.
  private func splitName() throws -> Bool {
    let (old, new) = ("0002_\(Self.composed).migration", "0002_\(Self.split).migration")
    try FileManager.default.moveItem(
      at: steps.appendingPathComponent(old), to: steps.appendingPathComponent(new))
    return try names().contains(Array(new.utf8))
  }

  @Test func `the generated files are the same for both forms of a file name`() throws {
    #expect(try run("embed", "--released", "1.0").status == 0)
    let generated = ["migrations.lock", "schema.json", "Embedded.swift"]
    let before = try generated.map { try Data(contentsOf: steps.appendingPathComponent($0)) }
    guard try splitName() else { return }
    let check = try run("check")
    #expect(check.status == 0, "\(check)")
    let embed = try run("embed")
    #expect(embed.status == 0 && !embed.output.contains("wrote"), "\(embed)")
    #expect(try generated.map { try Data(contentsOf: steps.appendingPathComponent($0)) } == before)
    // In one form, whatever form the folder has.
    #expect(
      String(decoding: before[0], as: UTF8.self).utf8.elementsEqual(
        String(decoding: before[0], as: UTF8.self).precomposedStringWithCanonicalMapping.utf8))
  }

  @Test func `the file list of a manifest is kept for both forms of a file name`() throws {
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

  @Test func `rebase finds a file by either form of its name`() throws {
    try write("add attribute A.k int optional", to: "0002_theirs")
    guard try splitName() else { return }
    let result = try run("rebase", "0002_\(Self.composed).migration")
    #expect(result.status == 0, "\(result)")
    #expect(try names().contains(Array("0003_\(Self.split).migration".utf8)))
    #expect(try run("check").status == 0)
  }

  @Test func `squash leaves one file for either form of its name`() throws {
    guard try splitName() else { return }
    let result = try run("squash", "--to", "2")
    #expect(result.status == 0, "\(result)")
    let left = try names().filter { String(decoding: $0, as: UTF8.self).hasSuffix(".migration") }
    #expect(left == [Array("0002_\(Self.split).migration".utf8)])
    #expect(try run("check").status == 0)
  }

  @Test func `a new step gets its name in the composed form`() throws {
    #expect(try run("new", "ho\u{308}he").status == 0)
    #expect(try names().contains(Array("0003_h\u{F6}he.migration".utf8)))
  }
}
