// What Python counts in the same file: package_counts.py, which shares no code with the library.

import Foundation
import TestSupport
import Testing

/// The numbers and lists that Python finds in an index; empty where there is no Python.
struct PackageCounts: Sendable {
  private struct Answer: Decodable {
    let counts: [String: Int]
    let lists: [String: [String]]
  }

  private let answer: Answer?

  init(of file: URL) throws {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("package_counts.py").path
    guard (try? runTool("/usr/bin/env", ["python3", "-c", "import json, re, decimal"]))?.status == 0 else {
      answer = nil
      return
    }
    let result = try runTool("/usr/bin/env", ["python3", script, file.path])
    try #require(result.status == 0, "\(result.errors)")
    answer = try JSONDecoder().decode(Answer.self, from: Data(result.output.utf8))
  }

  /// Compares a number with Python's.
  func expect(_ name: String, _ found: Int?, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let answer else { return }
    #expect(answer.counts[name] == found, "\(name)", sourceLocation: sourceLocation)
    if answer.counts[name] == nil {
      Issue.record("Python does not count \(name)", sourceLocation: sourceLocation)
    }
  }

  /// Compares a list with Python's.
  func expect(_ name: String, _ found: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    guard let answer else { return }
    #expect(answer.lists[name] == found, "\(name)", sourceLocation: sourceLocation)
  }

  /// A list of names that Python found; nil without Python.
  func list(_ name: String) -> [String]? { answer?.lists[name] }
}
