// The numbers that Python counts in the same file, with package_counts.py, which shares no code with the
// library.

import Foundation
import TestSupport
import Testing

/// The numbers and lists that Python finds in an index. Without Python the tests that use them are
/// skipped.
struct PackageCounts: Sendable {
  private struct Answer: Decodable {
    let counts: [String: Int]
    let lists: [String: [String]]
  }

  /// Whether there is a Python that can count.
  static let hasPython =
    (try? runTool("/usr/bin/env", ["python3", "-c", "import json, re, decimal"]))?.status == 0

  private let answer: Answer?

  init(of file: URL) throws {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("package_counts.py").path
    guard Self.hasPython else {
      answer = nil
      return
    }
    let result = try runTool("/usr/bin/env", ["python3", script, file.path])
    try #require(result.status == 0, "\(result.errors)")
    answer = try JSONDecoder().decode(Answer.self, from: Data(result.output.utf8))
  }

  /// Compares a number with Python's.
  func expect(_ name: String, _ found: Int?, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let answer else { return Self.recordSilence(sourceLocation) }
    #expect(answer.counts[name] == found, "\(name)", sourceLocation: sourceLocation)
    if answer.counts[name] == nil {
      Issue.record("Python does not count \(name)", sourceLocation: sourceLocation)
    }
  }

  /// Compares a list with Python's.
  func expect(_ name: String, _ found: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    guard let answer else { return Self.recordSilence(sourceLocation) }
    #expect(answer.lists[name] == found, "\(name)", sourceLocation: sourceLocation)
  }

  /// Returns the first name of a list that Python found.
  func first(of name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
    try #require(answer?.lists[name]?.first, "Python lists no \(name)", sourceLocation: sourceLocation)
  }

  /// A test that compares without the trait would pass without a comparison.
  private static func recordSilence(_ sourceLocation: SourceLocation) {
    Issue.record(
      "There is no python3, and the test is not .enabled(if: PackageCounts.hasPython).",
      sourceLocation: sourceLocation)
  }
}
