// The step folder as a target of a package: embed rewrites the list of the files that are not Swift, and
// nothing else of Package.swift.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure, .slow)) struct PackageTargets {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try write(
      "Migrations/0001_initial.migration",
      text: "format: 1\n[up]\ncreate entity Note {\n attribute text string\n}\n")
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

  /// Writes a manifest with the target that `embed --package` prints.
  private func writeManifest(_ target: String) throws {
    try write(
      "Package.swift",
      text: """
        // swift-tools-version: 6.0
        import PackageDescription
        let package = Package(
          name: "App", dependencies: [.package(path: "ObjectVault")],
          targets: [
        \(target)
          ])

        """)
  }

  private func shownTarget() throws -> String {
    let shown = try run("embed", "--package")
    #expect(shown.status == 0, "\(shown)")
    return try #require(shown.output.components(separatedBy: "once:\n").last)
  }

  @Test func `embed --package prints the target once, and embed then keeps its list up to date`() throws {
    try write("Package.swift", text: "// nothing yet\n")
    try writeManifest(try shownTarget())
    let before = try manifest
    #expect(
      before.contains("path: \"Migrations\"") && before.contains("\"0001_initial.migration\","), "\(before)")
    #expect(try run("check").status == 0)
    try write(
      "Migrations/0002_more.migration", text: "format: 1\n[up]\nadd attribute Note.more string optional\n")
    try write("Migrations/README.md", text: "Steps.\n")
    let stale = try run("check")
    #expect(
      stale.status == 2 && stale.output.contains("Package.swift: its exclude: list differs from the files"),
      "\(stale)")
    let embedded = try run("embed")
    #expect(embedded.status == 0 && embedded.output.contains("Package.swift"), "\(embedded)")
    let list = "    \"0001_initial.migration\",\n"
    #expect(
      try manifest
        == before.replacing(list, with: "\(list)    \"0002_more.migration\",\n    \"README.md\",\n"))
    #expect(try run("check").status == 0)
    let again = try run("embed", "--package")
    #expect(again.output.contains("unchanged") && !again.output.contains("once:"), "\(again)")
  }

  @Test func `a manifest without the two comments, or with those of another folder, is left alone`() throws {
    try writeManifest(try shownTarget().replacing("Migrations: ", with: "Others: "))
    let before = try manifest
    #expect(try run("embed").status == 0 && run("embed", "--package").status == 0)
    #expect(try manifest == before)
  }

  @Test func `a package with the target builds without a warning`() throws {
    // A stub of the library with the declarations that a generated file uses.
    try write(
      "ObjectVault/Package.swift",
      text: """
        // swift-tools-version: 6.0
        import PackageDescription
        let package = Package(
          name: "ObjectVault", products: [.library(name: "ObjectVault", targets: ["ObjectVault"])],
          targets: [.target(name: "ObjectVault")])

        """)
    try write(
      "ObjectVault/Sources/ObjectVault/Store.swift",
      text: """
        public enum MigrationSet {
          public struct Embedded: Sendable {
            public init(number: Int, name: String, checksum: String, text: String) {}
          }
        }
        public enum Store {
          public enum Migrations { case embedded([MigrationSet.Embedded]) }
        }

        """)
    try write(
      "Migrations/0002_more.migration", text: "format: 1\n[up]\nadd attribute Note.more string optional\n")
    try writeManifest(try shownTarget())
    let swift = ProcessInfo.processInfo.environment["SWIFT"] ?? "/usr/bin/env"
    let build = try runTool(
      swift,
      (swift == "/usr/bin/env" ? ["swift"] : []) + ["build", "--package-path", folder.url.path],
      environment: ["VAULT_CHECK": ""])
    let said = build.output + build.errors
    #expect(build.status == 0 && !said.contains("warning:") && !said.contains("unhandled"), "\(said)")
  }
}
