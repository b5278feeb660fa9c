// Texts of this package: its documents and sources.

import Foundation
import TestSupport

enum PackageFiles {
  /// The text of a file, by its path from the root of the package.
  static func text(_ path: String) throws -> String {
    try String(contentsOf: packageRoot.appendingPathComponent(path), encoding: .utf8)
  }

  /// The files below a folder that end in a suffix, by their paths from the root of the package.
  static func files(in folder: String, suffix: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: packageRoot.appendingPathComponent(folder).path)
    return (names?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(suffix) }.sorted().map {
      "\(folder)/\($0)"
    }
  }

  /// The code blocks of the README.
  static func readme() throws -> [CodeBlock] {
    CodeBlock.blocks(ofPage: try text("README.md"), file: "README.md")
  }

  /// The complete programs of the README.
  static func readmePrograms() throws -> [String] {
    try readme().filter { $0.language == "swift" && $0.lines.first?.hasPrefix("import") == true }.map(\.code)
  }
}
