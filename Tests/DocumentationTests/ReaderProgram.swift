// A program as a reader of the documents would write it, compiled with the modules that were built with the
// tests. It sees only what is public, as any other package does. `PackagesOfReaders` builds whole packages.

import Foundation
import TestSupport

/// A compiled program.
struct ReaderProgram: Sendable {
  /// The exit code of the compiler, and its messages.
  let build: ToolResult
  private let folder: TemporaryFolder

  /// Compiles a program of one file, on a thread of its own, and links it.
  /// - Parameters:
  ///   - source: Swift, as in a `main.swift`.
  ///   - name: The name of the program in the compiler's messages.
  init(_ source: String, name: String) async throws {
    let folder = try TemporaryFolder()
    let directory = folder.path(name)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try Data(source.utf8).write(to: URL(fileURLWithPath: "\(directory)/main.swift"))
    let objects = ["ObjectVault", "CipherSQLite", "CVaultShims"].flatMap {
      BuiltModules.objects(of: $0)
    }
    // As the package manager does: otherwise a single file is a script.
    let hasMainType = source.contains("\n@main ")
    build = try await onThread {
      try BuiltModules.compile(
        (hasMainType ? ["-parse-as-library"] : []) + [
          "\(directory)/main.swift", "-o", folder.path("program"),
        ] + objects + BuiltModules.libraries())
    }
    self.folder = folder
  }

  /// Runs the program.
  func run(_ arguments: [String] = [], input: String = "") throws -> ToolResult {
    try runTool(folder.path("program"), arguments, input: input)
  }

  /// Checks that sources compile, as one module. Warnings are suppressed.
  /// - Parameter sources: The texts, by the names of their files.
  static func check(_ sources: [String: String]) async throws -> ToolResult {
    let folder = try TemporaryFolder()
    let paths = try sources.sorted { $0.key < $1.key }.map { name, text in
      try folder.write(Data(text.utf8), to: name)
      return folder.path(name)
    }
    return try await onThread {
      // Beyond type checking, so that later passes report their findings as well: a missing return, a value
      // used before it is set, a race.
      try BuiltModules.compile(
        ["-emit-sil", "-wmo", "-parse-as-library", "-suppress-warnings", "-o", "/dev/null"] + paths)
    }
  }
}

/// The modules that the package manager built beside the tests.
enum BuiltModules {
  static let folder = URL(fileURLWithPath: builtExecutable("store-migrate")).deletingLastPathComponent().path

  /// Runs the compiler with the search paths of the built modules.
  static func compile(_ arguments: [String]) throws -> ToolResult {
    try runTool("/usr/bin/env", ["swiftc"] + searchPaths() + arguments)
  }

  /// The arguments of the compiler with which it finds the built modules.
  static func searchPaths() throws -> [String] {
    let maps =
      ["CSQLCipher", "CLibCrypto"].map {
        packageRoot.appendingPathComponent("Sources/\($0)/module.modulemap").path
      }
      + ["\(folder)/CVaultShims.build/module.modulemap"]
    let toC = maps.map { "-fmodule-map-file=\($0)" } + (try words(ofPackages: "--cflags"))
    return ["-swift-version", "6", "-I", "\(folder)/Modules"] + toC.flatMap { ["-Xcc", $0] }
  }

  /// The object files of a module's present sources. Those of former sources stay until the folder is
  /// removed.
  static func objects(of module: String) -> [String] {
    func names(_ path: String) -> [String] {
      FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    }
    let sources = Set(
      names(packageRoot.appendingPathComponent("Sources/\(module)").path)
        .map { URL(fileURLWithPath: $0).lastPathComponent + ".o" })
    return names("\(folder)/\(module).build")
      .filter { sources.contains(URL(fileURLWithPath: $0).lastPathComponent) }.sorted()
      .map { "\(folder)/\(module).build/\($0)" }
  }

  /// The system libraries, as arguments for the linker.
  static func libraries() throws -> [String] { try words(ofPackages: "--libs") }

  private static func words(ofPackages option: String) throws -> [String] {
    try runTool("/usr/bin/env", ["pkg-config", option, "sqlcipher", "libcrypto"]).output
      .split(whereSeparator: \.isWhitespace).map(String.init)
  }
}
