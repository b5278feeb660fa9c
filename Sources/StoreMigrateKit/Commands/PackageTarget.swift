// The folder of steps as a target of a package: what is in it and not Swift is named in the target's `exclude:`, or the
// package manager warns. The list stands between two comments of Package.swift, and is written anew with each step.

import CipherSQLite
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
    var visited: Set<String> = []
    return Set(try others(in: folder, "", &visited) + generated).sorted()
      .map { "\(SwiftLiteral.quoted($0))," }
  }

  /// What is not Swift. A folder with Swift in it is compiled, so that only what else it has is named; any other is named whole.
  /// - Parameter visited: The folders that were looked into: a link may lead back to one.
  private func others(in folder: URL, _ prefix: String, _ visited: inout Set<String>) throws -> [String] {
    guard visited.insert(folder.resolvingSymlinksInPath().path).inserted else { return [] }
    var names: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    // The package manager knows what documentation is.
    where !name.hasPrefix(".") && !name.hasSuffix(".swift") && !name.hasSuffix(".docc")
      // Of one that is being written, or was when its writer was killed.
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

  /// A link that leads nowhere, and a folder that cannot be read, have none.
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

  /// What the manifest above the folder has of it.
  enum Listing {
    /// There is no manifest, or none that speaks of the folder.
    case none
    /// The two comments, and the whole text with the list between them as it should be.
    case kept(URL, text: String)
    /// The folder is a target, or was one, and no list can be kept up to date, for this reason.
    /// - hasMarks: Whether one of the comments is there, so that a list was kept.
    case lost(URL, reason: String, hasMarks: Bool)
  }

  /// Reads the manifest.
  func listing() throws -> Listing {
    guard let manifest else { return .none }
    guard let data = FileManager.default.contents(atPath: manifest.path),
      let text = String(validating: data, as: UTF8.self)
    else { return .lost(manifest, reason: "it cannot be read as text", hasMarks: false) }
    // Not by characters, of which a line's end may be one or two. What stands before the end of a line stays as it is.
    var lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    func places(_ mark: String) -> [Int] {
      lines.indices.filter { lines[$0].trimmingCharacters(in: .whitespacesAndNewlines) == mark }
    }
    let (first, last) = (places(begin), places(end))
    if first.isEmpty, last.isEmpty {
      return isTarget(in: lines)
        ? .lost(manifest, reason: "its target for \(path) has no list that embed keeps", hasMarks: false)
        : .none
    }
    guard first.count == 1, last.count == 1, first[0] < last[0] else {
      let reason =
        first.isEmpty
        ? "the line \(begin) is missing"
        : last.isEmpty
          ? "the line \(end) is missing"
          : "its two comments about \(path) are there twice, or the wrong way round"
      return .lost(manifest, reason: reason, hasMarks: true)
    }
    let line = lines[first[0]]
    let indent = line.prefix { $0 == " " || $0 == "\t" }
    let ending = line.utf8.last == UInt8(ascii: "\r") ? "\r" : ""
    let (place, list) = (first[0] + 1..<last[0], try names().map { "\(indent)\($0)\(ending)" })
    // Another form of the same signs, as some systems have it in the names of files, is left as it is.
    if Array(lines[place]) != list { lines.replaceSubrange(place, with: list) }
    return .kept(manifest, text: lines.joined(separator: "\n"))
  }

  /// Whether the manifest has a target of this folder, as far as its words tell.
  private func isTarget(in lines: [String]) -> Bool {
    let text = lines.filter { !$0.drop { $0 == " " || $0 == "\t" }.hasPrefix("//") }.joined(separator: "\n")
    let paths = text.matches(of: #/\bpath\s*:\s*"(?:\./)?([^"]*?)/?"/#).map { String($0.output.1) }
    if paths.contains(path) { return true }
    // A target without a path lies in a folder of its name.
    let parts = path.split(separator: "/")
    guard parts.count == 2, ["Sources", "Source", "src", "srcs"].contains(String(parts[0])) else {
      return false
    }
    return text.matches(of: #/\bname\s*:\s*"([^"]*)"/#).contains { $0.output.1 == parts[1] }
  }

  /// What to do about a list that is lost.
  func advice(_ manifest: URL, _ reason: String) -> String {
    "\(manifest.path) was left alone, as \(reason): put the lines \(begin) and \(end) into the exclude: of that target, "
      + "around the list; or put what \(ToolLine("embed", "--package", "-m", folder.path)) shows in its place."
  }
}
