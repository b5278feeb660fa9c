// The README: its programs compile and run against the public API, and it stays short.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .slow)) struct Readme {
  @Test func `the first program has at most 40 lines, and every program compiles and runs`() async throws {
    let programs = try PackageFiles.readmePrograms()
    #expect(try #require(programs.first).split(separator: "\n", omittingEmptySubsequences: false).count <= 40)
    for (index, source) in programs.enumerated() {
      let program = try await ReaderProgram(source, name: "readme-\(index + 1)")
      let messages = program.build.output + program.build.errors
      #expect(program.build.status == 0 && !messages.contains("warning:"), "\(messages)")
      let result = try program.run()
      #expect(result.status == 0, "\(result.output)\(result.errors)")
      #expect(result.output.contains("Binger"), "\(result.output)")
    }
  }

  @Test func `the README and the page about an app's tool show the same call`() throws {
    let page = "Sources/StoreMigrateKit/Documentation.docc/getting-started.md"
    let calls = try ["README.md", page].map { path in
      try PackageFiles.text(path).firstMatch(of: #/StoreMigrate\.start\(([^)]*)\)/#).map {
        $0.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      }
    }
    #expect(calls[0] != nil && calls[0] == calls[1], "\(calls)")
    #expect(try PackageFiles.text("README.md").contains("(\(page))"))
  }

  @Test func `the tool and the test of the README are in the tutorial, which a test runs`() throws {
    func words(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }
    let tutorial = words(
      try PackageFiles.text("Sources/StoreMigrateKit/Documentation.docc/changing-your-model.md"))
    let blocks = try PackageFiles.readme().filter { $0.language == "swift" }.map { block in
      words(block.lines.filter { !$0.hasPrefix("// import") }.joined())
    }
    for mark in ["@mainstructTool", "checkAll()"] {
      let found = blocks.filter { $0.contains(mark) }
      #expect(found.count == 1 && tutorial.contains(found[0]), "\(mark): \(found)")
    }
    #expect(tutorial.contains("importAppMigrationsimportAppModelimportStoreMigrateKit@main"))
    #expect(tutorial.contains("importAppMigrationsimportAppModelimportObjectVaultTesting"))
  }

  @Test func `the README has at most 120 lines`() throws {
    #expect(try PackageFiles.text("README.md").count { $0 == "\n" } <= 120)
  }

  @Test func `the README has its sections in the order in which a newcomer needs them`() throws {
    let headings = try PackageFiles.text("README.md").matches(of: #/(?m)^## (.+)$/#).map { String($0.1) }
    #expect(
      headings == [
        "When to use it", "Platforms and engines", "Add it to a package", "A first program",
        "A first migration", "The tool", "Links",
      ])
  }
}
