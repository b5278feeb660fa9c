// Documents outside of DocC: their links, the index of the decisions, and the names of suites, files and make
// targets that they mention.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow, .pure)) struct Documents {
  static let pages =
    ["README.md", "PROMISES.md", "CONTRIBUTING.md", "SECURITY.md", "Examples/README.md"]
    + PackageFiles.files(in: "Decisions", suffix: ".md")

  @Test(arguments: pages)
  func `every link to a file has a target`(_ page: String) throws {
    let folder = packageRoot.appendingPathComponent(page).deletingLastPathComponent()
    for match in try PackageFiles.text(page).matches(of: #/\]\(([^)#]+)[^)]*\)/#)
    where !match.1.hasPrefix("http") {
      let path = folder.appendingPathComponent(String(match.1)).path
      #expect(FileManager.default.fileExists(atPath: path), "\(page) links to \(match.1)")
    }
  }

  @Test func `the index lists every decision, and each decision has its four headings`() throws {
    let index = try PackageFiles.text("Decisions/README.md")
    let listed = index.matches(of: #/(?m)^\| \[(\d{4})\]\(([^)]+)\) \| .+ \|$/#).map { String($0.2) }
    let pages = PackageFiles.files(in: "Decisions", suffix: ".md").map {
      String($0.dropFirst("Decisions/".count))
    }
    #expect(listed == pages.filter { $0 != "README.md" })
    for name in listed {
      let page = try PackageFiles.text("Decisions/\(name)")
      #expect(page.hasPrefix("# \(name.prefix(4)). "), "\(name)")
      let headings = page.matches(of: #/(?m)^## (.+)$/#).map { String($0.1) }
      #expect(headings == ["Decision", "Why", "Measured", "What would change it"], "\(name)")
    }
  }

  @Test(arguments: pages)
  func `every make target that a page names exists`(_ page: String) throws {
    let targets = Set(
      try PackageFiles.text("Makefile").matches(of: #/(?m)^([a-z0-9-]+):/#).map { String($0.1) })
    for match in try PackageFiles.text(page).matches(
      of: #/(?:`|^)make\s+([a-z0-9-]+)/#.anchorsMatchLineEndings())
    {
      #expect(targets.contains(String(match.1)), "\(page) names make \(match.1)")
    }
  }

  @Test(arguments: pages)
  func `every test suite that a page names exists`(_ page: String) throws {
    let names = PackageFiles.files(in: "Tests", suffix: ".swift").map { $0.split(separator: "/").last ?? "" }
    for match in try PackageFiles.text(page).matches(of: #/`(\w+Tests)`/#) {
      #expect(names.contains("\(match.1).swift"), "\(page) names \(match.1)")
    }
  }

  @Test func `every file and suite in where-to-add-things exists`() throws {
    let page = try PackageFiles.text(
      "Sources/ObjectVault/Documentation.docc/where-to-add-things.md")
    let table = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2)
    let sources =
      ["Sources", "Benchmarks/Sources", "Tests"].flatMap { PackageFiles.files(in: $0, suffix: ".swift") }
    let suites = Set(
      try PackageFiles.files(in: "Tests", suffix: ".swift").flatMap { path in
        try PackageFiles.text(path).matches(of: #/struct (\w+)/#).map { String($0.1) }
      })
    for line in table {
      let cells = line.split(separator: "|").map(String.init)
      for match in cells[1].matches(of: #/`([A-Za-z-]+\/[\w\/+*.-]+)`/#) {
        let parts = String(match.1).split(separator: "*", omittingEmptySubsequences: false).map(String.init)
        let isThere = sources.contains { path in
          let path = path.hasPrefix("Sources/ObjectVault/") ? String(path.dropFirst(20)) : path
          return parts.count == 1
            ? path.hasPrefix(parts[0]) : path.hasPrefix(parts[0]) && path.hasSuffix(parts[1])
        }
        #expect(isThere, "\(match.1)")
      }
      for match in cells[2].matches(of: #/`([A-Z]\w+)`/#) {
        #expect(suites.contains(String(match.1)), "\(match.1)")
      }
    }
  }

  @Test func `the editor configuration has the format that make lint checks`() throws {
    struct Format: Decodable {
      struct Indentation: Decodable { let spaces: Int }
      let lineLength: Int
      let indentation: Indentation
    }
    let format = try JSONDecoder().decode(Format.self, from: Data(PackageFiles.text(".swift-format").utf8))
    let lines = try PackageFiles.text(".editorconfig").split(separator: "\n").map(String.init)
    let swift = try #require(lines.firstIndex(of: "[*.swift]"))
    #expect(lines[swift + 1] == "max_line_length = \(format.lineLength)")
    #expect(lines.contains("indent_size = \(format.indentation.spaces)"))
  }

  @Test func `each unchecked conformance and variable has a comment with its reason`() throws {
    for path in PackageFiles.files(in: "Sources", suffix: ".swift") {
      let lines = try PackageFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false)
      #expect(!lines.contains { $0.contains("@preconcurrency import") }, "\(path)")
      for (index, line) in lines.enumerated()
      where line.contains("@unchecked Sendable") || line.contains("nonisolated(unsafe)") {
        // Above, with its doc comment between, or first in the braces.
        let around = lines[max(0, index - 9)...min(index + 1, lines.count - 1)]
        let hasReason = around.contains { $0.contains(#/\/\/ (Safe to|Guarded by|An address)/#) }
        #expect(hasReason, "\(path):\(index + 1) does not say why it is safe")
      }
    }
  }
}
