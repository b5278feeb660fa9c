// The README's programs, as a new user would run them: in a package of their own that depends on this one.

import Foundation
import TestSupport
import Testing

@Suite struct Readme {
  let text = try? String(contentsOf: packageRoot.appendingPathComponent("README.md"), encoding: .utf8)

  /// The Swift blocks; those that begin with `import` are whole programs.
  func blocks() throws -> [String] {
    try #require(text).components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
  }

  @Test func `the first program has at most forty lines and every program compiles and runs`() throws {
    let programs = try blocks().filter { $0.hasPrefix("import") }
    let first = try #require(programs.first)
    #expect(first.split(separator: "\n", omittingEmptySubsequences: false).count <= 40)
    let folder = try TemporaryFolder()
    let sources = folder.url.appendingPathComponent("Sources/first")
    try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
    let manifest = """
      // swift-tools-version: 6.2
      import PackageDescription
      let package = Package(
        name: "first",
        dependencies: [.package(name: "ObjectVault", path: "\(packageRoot.path)")],
        targets: [.executableTarget(name: "first", dependencies: [.product(name: "ObjectVault", package: "ObjectVault")])]
      )
      """
    try Data(manifest.utf8).write(to: folder.url.appendingPathComponent("Package.swift"))
    for program in programs {
      try Data(program.utf8).write(to: sources.appendingPathComponent("main.swift"))
      let scratch = folder.path(".build")
      let swift = ProcessInfo.processInfo.environment["SWIFT"] ?? "/usr/bin/env"
      var arguments = ["run", "--package-path", folder.url.path, "--scratch-path", scratch]
      if let configuration = ProcessInfo.processInfo.environment["PKG_CONFIG_PATH"], !configuration.isEmpty {
        arguments += ["--pkg-config-path", configuration]
      }
      let result = try runTool(
        swift, (swift == "/usr/bin/env" ? ["swift"] : []) + arguments, environment: ["VAULT_CHECK": ""])
      #expect(result.status == 0, "\(result.output)\(result.errors)")
      #expect(!result.errors.contains("warning:") && !result.output.contains("warning:"), "\(result.errors)")
      #expect(result.output.contains("Binger"), "\(result.output)")
    }
  }

  @Test func `the README has under 200 lines and every file it links to is there`() throws {
    let text = try #require(text)
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count < 200)
    for match in text.matches(of: /\]\(([^)#]+)\)/) where !match.1.hasPrefix("http") {
      #expect(
        FileManager.default.fileExists(atPath: packageRoot.appendingPathComponent(String(match.1)).path),
        "\(match.1)")
    }
  }
}
