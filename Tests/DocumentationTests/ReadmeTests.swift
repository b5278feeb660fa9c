// The README's programs, as a new user would run them: compiled against what is public.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .slow)) struct Readme {
  @Test func `the first program has at most forty lines and every program compiles and runs`() async throws {
    let programs = try PackageFiles.readmePrograms()
    #expect(try #require(programs.first).split(separator: "\n", omittingEmptySubsequences: false).count <= 40)
    for (index, source) in programs.enumerated() {
      let program = try await ReaderProgram(source, name: "readme-\(index + 1)")
      let said = program.build.output + program.build.errors
      #expect(program.build.status == 0 && !said.contains("warning:"), "\(said)")
      let result = try program.run()
      #expect(result.status == 0, "\(result.output)\(result.errors)")
      #expect(result.output.contains("Binger"), "\(result.output)")
    }
  }

  @Test func `the call of a tool of one's own is that of the page about it, whose code is compiled`() throws {
    let page = "Sources/StoreMigrateKit/Documentation.docc/getting-started.md"
    let calls = try ["README.md", page].map { path in
      try PackageFiles.text(path).firstMatch(of: #/StoreMigrate\.start\(([^)]*)\)/#).map {
        $0.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      }
    }
    #expect(calls[0] != nil && calls[0] == calls[1], "\(calls)")
    #expect(try PackageFiles.text("README.md").contains("(\(page))"))
  }

  @Test func `the tool of one's own and the test of the README are those of the tutorial, which a test runs`()
    throws
  {
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

  @Test func `the README has under 200 lines`() throws {
    let text = try PackageFiles.text("README.md")
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count < 200)
  }
}
