// Golden files: a test compares a text with one, and only `make golden` rewrites them.

internal import CipherSQLite
import Foundation

/// The golden files of a test target, in its folder `Golden`.
public enum Golden {
  /// Compares a text with a golden file. With `UPDATE_GOLDEN` in the environment it writes the file first.
  ///
  /// If SQLCipher 4 gives another text, that is in a file of its own, such as `plan.sqlcipher4.json`.
  /// - Parameters:
  ///   - text: The present text.
  ///   - name: The file's name.
  ///   - target: The test target, such as `ObjectVaultTests`.
  /// - Returns: The first line that differs; nil if none does.
  /// - Throws: An error of the file system, also if there is no golden file.
  public static func difference(of text: String, from name: String, in target: String) throws -> String? {
    let folder = packageRoot.appendingPathComponent("Tests/\(target)/Golden")
    let common = folder.appendingPathComponent(name)
    var own: URL?
    if Engine.current.cipherMajor >= 4 {
      let parts = name.split(separator: ".", maxSplits: 1)
      own = folder.appendingPathComponent("\(parts[0]).sqlcipher4.\(parts.dropFirst().first ?? "txt")")
    }
    if isWriting { try write(text, common, own) }
    let file = own.flatMap { FileManager.default.fileExists(atPath: $0.path) ? $0 : nil } ?? common
    let golden = try String(contentsOf: file, encoding: .utf8)
    guard text != golden else { return nil }
    let (made, kept) = (lines(text), lines(golden))
    let place = zip(made, kept).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    let line = place ?? min(made.count, kept.count)
    return """
      \(file.lastPathComponent), line \(line + 1), differs; run make golden and review the difference.
      golden: \(line < kept.count ? kept[line] : "(no such line)")
      made:   \(line < made.count ? made[line] : "(no such line)")
      """
  }

  /// The names of the golden files of a target.
  public static func names(in target: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      atPath: packageRoot.appendingPathComponent("Tests/\(target)/Golden").path
    ).sorted()
  }

  /// Whether golden files are being written.
  public static var isWriting: Bool { ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil }

  private static func write(_ text: String, _ common: URL, _ own: URL?) throws {
    guard let own else { return try Data(text.utf8).write(to: common) }
    if (try? Data(contentsOf: common)) == Data(text.utf8) {
      try? FileManager.default.removeItem(at: own)
    } else {
      try Data(text.utf8).write(to: FileManager.default.fileExists(atPath: common.path) ? own : common)
    }
  }

  private static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }
}
