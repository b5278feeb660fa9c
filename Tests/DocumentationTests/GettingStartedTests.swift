// The page "Getting started": its commands run in order in an empty folder, and print what the page shows.
//
// A script stands in for the package manager. It compiles the reader's package against the modules that were
// built with the tests, so that a run takes seconds. The long form (`make torture`) runs the package manager
// itself, which compiles all modules of this package again.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .sampled, .slow)) struct GettingStarted {
  static let path = "Sources/ObjectVault/Documentation.docc/getting-started.md"
  /// The line that the script prints after each block of commands.
  private static let mark = "--- end of block ---"

  /// The folder in which the reader begins.
  private let folder: TemporaryFolder
  /// The script of the page's commands, and the stand-in for the package manager.
  private let tools: TemporaryFolder

  init() throws { (folder, tools) = (try TemporaryFolder(), try TemporaryFolder()) }

  @Test func `the commands of the page run in order and print what the page shows`() async throws {
    try BuiltPackage.write(to: tools)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let result = try await run(["PATH": "\(tools.url.path):\(path)"])
    try check(result)
    let package = try await PackagesOfReaders.description(of: folder.url.appendingPathComponent("notes"))
    #expect(package.targets.map(\.name).sorted() == ["AppModel", "AppTests", "app-migrate", "notes"])
  }

  @Test(.enabled(if: isTorture, "long form only"))
  func `the commands of the page run with the package manager`() async throws {
    try check(try await run(["VAULT_CHECK": ""]))
  }

  /// Runs all commands of the page as one script.
  private func run(_ environment: [String: String]) async throws -> ToolResult {
    // One stream: a full pipe for errors would stop the commands while the other one is read.
    var lines = ["set -e", "exec 2>&1"]
    for block in try Self.blocks() where block.language == "sh" {
      lines += block.lines + ["echo '\(Self.mark)'"]
    }
    let script = lines.joined(separator: "\n").replacing(
      "\"../ObjectVault\"", with: "\"\(packageRoot.path)\"")
    try tools.write(Data((script + "\n").utf8), to: "page.sh")
    let (file, directory) = (tools.path("page.sh"), folder.url.path)
    return try await onThread {
      try runTool("/bin/sh", [file], environment: environment, directory: directory)
    }
  }

  /// Compares what the commands printed with the page: a block of text belongs to the commands before it.
  private func check(_ result: ToolResult) throws {
    try #require(result.status == 0, "\(result.output)")
    let outputs = result.output.components(separatedBy: "\(Self.mark)\n")
    var (commands, texts) = (0, 0)
    for block in try Self.blocks() {
      switch block.language {
      case "sh": commands += 1
      case "text":
        texts += 1
        #expect(outputs[commands - 1].contains(block.code), "line \(block.line): \(outputs[commands - 1])")
      default: Issue.record("line \(block.line): a block in the language \"\(block.language)\"")
      }
    }
    #expect(commands == 8 && texts == 4)
    #expect(result.output.contains("Test run with 2 tests"), "\(result.output)")
    let warnings = result.output.matches(of: #/\.swift:\d+:\d+: warning: .*/#).map { String($0.0) }
    #expect(warnings.isEmpty, "\(warnings)")
  }

  private static func blocks() throws -> [CodeBlock] {
    CodeBlock.blocks(ofPage: try PackageFiles.text(path), file: path)
  }
}

/// A command `swift` that compiles the package of the page against the modules that were built with the
/// tests.
private enum BuiltPackage {
  /// Writes the command into a folder, with the main type of a program that runs tests.
  static func write(to folder: TemporaryFolder) throws {
    let modules = [
      "CVaultShims", "CipherSQLite", "ObjectVault", "VaultAuthoring", "StoreMigrateKit", "ObjectVaultTesting",
    ]
    let compile = quoted(["swiftc"] + (try BuiltModules.searchPaths()) + ["-parse-as-library"])
    let libraries = quoted(modules.flatMap { BuiltModules.objects(of: $0) } + (try BuiltModules.libraries()))
    let runner = folder.path("Runner.swift")
    let script = """
      #!/bin/sh
      # In place of the package manager: swift run NAME [ARGUMENT]..., swift test
      set -e
      build=.build/debug
      mkdir -p "$build"
      case "$1" in
      run) name=$2 folder=Sources/$2 main=; shift 2 ;;
      test) name=AppTests folder=Tests/AppTests main=\(quoted([runner])); shift ;;
      *) echo "swift $1 is not expected here" >&2; exit 64 ;;
      esac
      sum=$(cat Sources/AppModel/*.swift "$folder"/*.swift | cksum)
      if [ "$(cat "$build/$name.sum" 2>/dev/null)" != "$sum" ]; then
        \(compile) -wmo -c -module-name AppModel -o "$build/AppModel.o" -emit-module \\
          -emit-module-path "$build/AppModel.swiftmodule" Sources/AppModel/*.swift >&2
        # In some toolchains the macros of Testing are in a folder of their own.
        plugins=$(dirname "$(command -v swiftc)")/../lib/swift/host/plugins/testing
        options=
        if [ -d "$plugins" ]; then options="-plugin-path $plugins"; fi
        \(compile) $options -I "$build" -module-name "$(echo "$name" | tr - _)" -o "$build/$name" \\
          "$folder"/*.swift $main "$build/AppModel.o" \(libraries) >&2
        echo "$sum" > "$build/$name.sum"
      fi
      exec "$build/$name" "$@"

      """
    try folder.write(Data(script.utf8), to: "swift")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path("swift"))
    let main = """
      import Testing

      @main struct Runner {
        static func main() async { await Testing.__swiftPMEntryPoint() as Never }
      }

      """
    try folder.write(Data(main.utf8), to: "Runner.swift")
  }

  /// Words as a shell reads them.
  private static func quoted(_ words: [String]) -> String {
    words.map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
  }
}
