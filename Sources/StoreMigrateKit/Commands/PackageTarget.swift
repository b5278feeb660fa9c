// The steps' folder as a target of a Swift package. Its files that are not Swift have to be in the
// target's `exclude:`, or the package manager warns. The list is between two comments in Package.swift
// and is updated by each `embed`, `rebase` and `squash`.

import CipherSQLite
import Foundation
import ObjectVault

struct PackageTarget {
  let folder: URL
  /// The name of the steps' enum, and of the target.
  let typeName: String
  /// The names of the generated files. They are listed even before they exist.
  let generated: [String]
  /// The nearest `Package.swift` above the folder; nil when there is none.
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

  /// The path of the folder, relative to the manifest.
  private var path: String {
    let root = manifest?.deletingLastPathComponent() ?? folder.deletingLastPathComponent()
    return String(folder.path.dropFirst(root.path == "/" ? 1 : root.path.count + 1))
  }

  private var begin: String { "// store-migrate embed, \(path): begin" }
  private var end: String { "// store-migrate embed, \(path): end" }

  /// Returns the files of the folder that are not Swift, as Swift string literals with commas.
  private func names() throws -> [String] {
    var visited: Set<String> = []
    return Set(try others(in: folder, "", &visited) + generated).sorted()
      .map { "\(SwiftLiteral.quoted($0))," }
  }

  /// Returns the names of what is not Swift. A folder with Swift in it is compiled, so its other files
  /// are named one by one; any other folder is named as a whole.
  /// - Parameter visited: The folders that were visited, because symbolic links may form a cycle.
  private func others(in folder: URL, _ prefix: String, _ visited: inout Set<String>) throws -> [String] {
    guard visited.insert(folder.resolvingSymlinksInPath().path).inserted else { return [] }
    var names: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    // The package manager recognizes documentation catalogs itself.
    where !name.hasPrefix(".") && !name.hasSuffix(".swift") && !name.hasSuffix(".docc")
      // Temporary files: of a write in progress, or of a process that was killed.
      && !TemporaryName.isOurs(name)
    {
      let inner = folder.appendingPathComponent(name)
      var seen: Set<String> = []
      if Self.hasSwift(inner, &seen) {
        names += try others(in: inner, "\(prefix)\(name)/", &visited)
      } else {
        names.append(prefix + name)
      }
    }
    return names
  }

  /// Returns whether a folder contains Swift, at any depth. False for a dangling link and for an
  /// unreadable folder.
  private static func hasSwift(_ folder: URL, _ seen: inout Set<String>) -> Bool {
    let folder = folder.resolvingSymlinksInPath()
    guard seen.insert(folder.path).inserted,
      let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
    else { return false }
    return names.contains { name in
      !name.hasPrefix(".")
        && (name.hasSuffix(".swift") || hasSwift(folder.appendingPathComponent(name), &seen))
    }
  }

  /// Returns the declaration of the target, to be put into a manifest once.
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

  /// What the manifest contains about the folder.
  enum Listing {
    /// There is no manifest, or it does not mention the folder.
    case none
    /// The manifest has both comments. `text` is the whole manifest, with the list between them up to
    /// date.
    case kept(URL, text: String)
    /// The list cannot be updated, because of `reason`: the manifest cannot be read, or it mentions the
    /// folder, but a comment is missing, or the two are duplicated or in the wrong order. `hasMarks` is
    /// true when the manifest has at least one of the comments, that is, when there was a list.
    case lost(URL, reason: String, hasMarks: Bool)
  }

  /// Reads the manifest and looks for the list.
  func listing() throws -> Listing {
    guard let manifest else { return .none }
    guard let data = FileManager.default.contents(atPath: manifest.path),
      let text = String(validating: data, as: UTF8.self)
    else { return .lost(manifest, reason: "it cannot be read as text", hasMarks: false) }
    // Split by bytes, because "\r\n" is a single Character. A "\r" before the "\n" stays in its line.
    var lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    func places(_ mark: String) -> [Int] {
      lines.indices.filter { lines[$0].trimmingCharacters(in: .whitespacesAndNewlines) == mark }
    }
    let (first, last) = (places(begin), places(end))
    if first.isEmpty, last.isEmpty {
      return isTarget(in: lines)
        ? .lost(manifest, reason: "its target for \(path) has no list that embed maintains", hasMarks: false)
        : .none
    }
    guard first.count == 1, last.count == 1, first[0] < last[0] else {
      let reason =
        first.isEmpty
        ? "the line \(begin) is missing"
        : last.isEmpty
          ? "the line \(end) is missing"
          : "its two comments about \(path) are duplicated or in the wrong order"
      return .lost(manifest, reason: reason, hasMarks: true)
    }
    let line = lines[first[0]]
    let indent = line.prefix { $0 == " " || $0 == "\t" }
    let ending = line.utf8.last == UInt8(ascii: "\r") ? "\r" : ""
    let (place, list) = (first[0] + 1..<last[0], try names().map { "\(indent)\($0)\(ending)" })
    // `!=` compares by canonical equivalence, so names in another Unicode normalization form, as some
    // file systems return them, cause no change.
    if Array(lines[place]) != list { lines.replaceSubrange(place, with: list) }
    return .kept(manifest, text: lines.joined(separator: "\n"))
  }

  /// Returns whether the manifest seems to have a target for the folder. Its text is searched; it is not
  /// parsed.
  private func isTarget(in lines: [String]) -> Bool {
    let text = lines.filter { !$0.drop { $0 == " " || $0 == "\t" }.hasPrefix("//") }.joined(separator: "\n")
    let paths = text.matches(of: #/\bpath\s*:\s*"(?:\./)?([^"]*?)/?"/#).map { String($0.output.1) }
    if paths.contains(path) { return true }
    // A target without a path is in a folder with the target's name.
    let parts = path.split(separator: "/")
    guard parts.count == 2, ["Sources", "Source", "src", "srcs"].contains(String(parts[0])) else {
      return false
    }
    return text.matches(of: #/\bname\s*:\s*"([^"]*)"/#).contains { $0.output.1 == parts[1] }
  }

  /// Returns what to do about a list that cannot be updated.
  func advice(_ manifest: URL, _ reason: String) -> String {
    "\(manifest.path) was not changed, because \(ended(reason)) Put the lines \(begin) and \(end) into the "
      + "exclude: of the target for this folder, around the list; or replace the target by the output of "
      + "\(ToolLine("embed", "--package", "-m", folder.path))."
  }
}
