// The folder of steps as a target of a package: what is in it and not Swift is named in the target's `exclude:`, or the
// package manager warns. The list stands between two comments of Package.swift, and is written anew with each step.

import Foundation

struct PackageTarget {
  let folder: URL
  /// The name of the enum of the steps, and of the target.
  let typeName: String
  /// What the generated files are called: those that are not there yet are listed, too.
  let generated: [String]
  /// The nearest `Package.swift` above the folder; nil where there is none.
  let manifest: URL?

  init(_ folder: URL, typeName: String, generated: [String]) {
    self.folder = folder.standardizedFileURL.resolvingSymlinksInPath()
    (self.typeName, self.generated) = (typeName, generated)
    manifest = Self.manifest(above: self.folder)
  }

  private static func manifest(above folder: URL) -> URL? {
    var folder = folder
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let file = folder.appendingPathComponent("Package.swift")
      if FileManager.default.fileExists(atPath: file.path) { return file }
    }
    return nil
  }

  /// The folder as the manifest calls it.
  private var path: String {
    let root = manifest?.deletingLastPathComponent() ?? folder.deletingLastPathComponent()
    return String(folder.path.dropFirst(root.path == "/" ? 1 : root.path.count + 1))
  }

  private var begin: String { "// store-migrate embed, \(path): begin" }
  private var end: String { "// store-migrate embed, \(path): end" }

  /// The files of the folder that are not Swift, as strings of Swift.
  private func names() throws -> [String] {
    let present = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return Set(present + generated).filter { !$0.hasPrefix(".") && !$0.hasSuffix(".swift") }.sorted()
      .map { "\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"," }
  }

  /// The target, to be put into a manifest once.
  func text() throws -> String {
    """
    .target(
      name: "\(typeName)",
      dependencies: [.product(name: "ObjectVault", package: "ObjectVault")],
      path: "\(path)",
      exclude: [
        \(([begin] + (try names()) + [end]).joined(separator: "\n    "))
      ]),
    """
  }

  /// The manifest with the list as it should be.
  /// - Returns: nil where no manifest has the two comments.
  func updated() throws -> (url: URL, text: String)? {
    guard let manifest, let text = try? String(contentsOf: manifest, encoding: .utf8) else { return nil }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    func place(_ mark: String) -> Int? {
      lines.firstIndex { $0.trimmingCharacters(in: .whitespaces) == mark }
    }
    guard let first = place(begin), let last = place(end), first < last else { return nil }
    let indent = lines[first].prefix { $0 == " " || $0 == "\t" }
    lines.replaceSubrange(first + 1..<last, with: try names().map { indent + $0 })
    return (manifest, lines.joined(separator: "\n"))
  }
}
