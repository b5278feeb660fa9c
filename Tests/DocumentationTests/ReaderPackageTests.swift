// Packages that depend on this one by its path, as the README shows. The package manager reads their
// manifests in each run. It builds them only in the long form (`make torture`), which compiles all modules
// once more.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .sampled, .pure, .slow)) struct PackagesOfReaders {
  /// The output of `swift package describe`, as far as the tests use it.
  struct Description: Decodable {
    struct Named: Decodable { let name: String }
    struct Target: Decodable {
      let name: String
      let type: String
      let productDependencies: [String]?
      enum CodingKeys: String, CodingKey {
        case name, type
        case productDependencies = "product_dependencies"
      }
    }
    let products: [Named]
    let targets: [Target]
  }

  /// Runs the package manager in a build folder of its own, as that of the tests is locked while they run.
  static func swift(_ words: [String], in package: URL, _ folder: TemporaryFolder) async throws -> ToolResult
  {
    let arguments =
      ["swift"] + words.prefix(1)
      + ["--package-path", package.path, "--scratch-path", folder.path("build")] + words.dropFirst()
    return try await onThread { try runTool("/usr/bin/env", arguments, environment: ["VAULT_CHECK": ""]) }
  }

  static func description(of package: URL) async throws -> Description {
    let folder = try TemporaryFolder()
    let result = try await swift(["package", "describe", "--type", "json"], in: package, folder)
    try #require(result.status == 0, "\(result.errors)")
    // Messages of the package manager may precede the object.
    let json = result.output.drop { $0 != "{" }
    return try JSONDecoder().decode(Description.self, from: Data(json.utf8))
  }

  static let examples = packageRoot.appendingPathComponent("Examples")

  @Test func `the examples depend on products that this package has`() async throws {
    let examples = try await Self.description(of: Self.examples)
    let products = Set(try await Self.description(of: packageRoot).products.map(\.name))
    let used = examples.targets.flatMap { $0.productDependencies ?? [] }
    #expect(examples.targets.count >= 3 && examples.targets.allSatisfy { $0.type == "executable" })
    #expect(Set(used) == ["ObjectVault"] && used.count == examples.targets.count)
    #expect(
      products.isSuperset(of: [
        "ObjectVault", "CipherSQLite", "VaultAuthoring", "StoreMigrateKit", "ObjectVaultTesting",
      ]))
  }

  @Test(.enabled(if: isTorture, "long form only"))
  func `the package manager builds the examples`() async throws {
    let folder = try TemporaryFolder()
    let build = try await Self.swift(["build", "--disable-index-store"], in: Self.examples, folder)
    let said = build.output + build.errors
    #expect(build.status == 0 && !said.contains("warning:"), "\(said)")
  }
}
