// The package that a reader of our documents would make: the programs of the README, the examples, the code of the pages.
// It depends on this package by its path. One build serves all tests, and what was built stays for the next run.

import Foundation
import TestSupport

/// A package in `.build`, built.
struct ReaderPackage: Sendable {
  /// How the build ended, and what it said.
  let build: ToolResult
  private let scratch: String

  /// Built when somebody asks for it, on a thread of its own: the others shall not wait for minutes.
  private static let task = Task {
    let adopted = try await AdoptedClasses.program()
    return try await onThread { try ReaderPackage(adopted: adopted) }
  }
  static var shared: ReaderPackage { get async throws { try await task.value } }

  /// How many programs the README has.
  static func readmePrograms() throws -> [CodeBlock] {
    try readme().filter { $0.language == "swift" && $0.lines.first?.hasPrefix("import") == true }
  }

  static func readme() throws -> [CodeBlock] {
    CodeBlock.blocks(ofPage: try text("README.md"), file: "README.md")
  }

  static func text(_ path: String) throws -> String {
    try String(contentsOf: packageRoot.appendingPathComponent(path), encoding: .utf8)
  }

  /// The files below a folder of this package, by their paths from its root.
  static func files(_ folder: String, _ suffix: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: packageRoot.appendingPathComponent(folder).path)
    return (names?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(suffix) }.sorted().map {
      "\(folder)/\($0)"
    }
  }

  /// Runs one of its programs.
  func run(_ program: String, _ arguments: [String] = [], input: String = "") throws -> ToolResult {
    try runTool("\(scratch)/debug/\(program)", arguments, input: input)
  }

  /// - Parameter adopted: A program with the classes of an adopted file.
  private init(adopted: String) throws {
    let environment = ProcessInfo.processInfo.environment
    let configuration = environment["PKG_CONFIG_PATH"].flatMap { $0.isEmpty ? nil : $0 }
    // Each engine has its own, as their headers and libraries differ.
    let root = packageRoot.appendingPathComponent(
      ".build/reader\(configuration == nil ? "" : "-other-engine")")
    scratch = root.appendingPathComponent(".build").path
    var sources = try Self.sources()
    sources["Sources/adopted/main.swift"] = adopted
    try Self.write(sources, into: root)
    let swift = environment["SWIFT"] ?? "/usr/bin/env"
    // Nobody looks up symbols in it, or debugs it.
    var arguments = [
      "build", "--package-path", root.path, "--scratch-path", scratch, "--disable-index-store",
      "-debug-info-format", "none",
    ]
    if let configuration { arguments += ["--pkg-config-path", configuration] }
    build = try runTool(
      swift, (swift == "/usr/bin/env" ? ["swift"] : []) + arguments, environment: ["VAULT_CHECK": ""])
  }

  /// Every file of the package by its path: the examples as they are, and the rest beside them.
  private static func sources() throws -> [String: String] {
    var sources: [String: String] = [:]
    for path in files("Examples/Sources", ".swift") {
      sources[String(path.dropFirst("Examples/".count))] = try text(path)
    }
    let programs = try readmePrograms()
    for (index, program) in programs.enumerated() {
      sources["Sources/readme-\(index + 1)/main.swift"] = program.code
    }
    sources["Sources/rendered/main.swift"] = RenderedClasses.program
    for (module, file) in try Snippets.files() { sources["Sources/Pages/\(module).swift"] = file.text }
    sources["Package.swift"] =
      try text("Examples/Package.swift").replacingOccurrences(
        of: "path: \"..\"", with: "path: \"\(packageRoot.path)\"") + """

        package.targets += (1...\(programs.count)).map { number in
          .executableTarget(
            name: "readme-\\(number)", dependencies: [.product(name: "ObjectVault", package: "ObjectVault")])
        }
        package.targets += ["rendered", "adopted"].map { name in
          .executableTarget(
            name: name, dependencies: [.product(name: "ObjectVault", package: "ObjectVault")])
        }
        package.targets.append(
          .target(
            name: "Pages",
            dependencies: [
              "ObjectVault", "CipherSQLite", "VaultAuthoring", "StoreMigrateKit", "ObjectVaultTesting",
            ].map {
              .product(name: $0, package: "ObjectVault")
            },
            // Pages show values that they do not go on to use.
            swiftSettings: [.swiftLanguageMode(.v6), .unsafeFlags(["-suppress-warnings"])]))

        """
    return sources
  }

  /// Writes what has changed, and removes what is there no more, so that the rest is not compiled again.
  private static func write(_ sources: [String: String], into root: URL) throws {
    let manager = FileManager.default
    for (path, text) in sources {
      let url = root.appendingPathComponent(path)
      guard (try? String(contentsOf: url, encoding: .utf8)) != text else { continue }
      try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url)
    }
    let folder = root.appendingPathComponent("Sources")
    for name in manager.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? []
    where name.hasSuffix(".swift") && sources["Sources/\(name)"] == nil {
      try manager.removeItem(at: folder.appendingPathComponent(name))
    }
  }
}
