// The number of usable processors: a process that is bound to one processor gains nothing from more threads.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct Processors {
  private static let taskset = "/usr/bin/taskset"

  @Test func `this process may use at least one processor, and no more than the machine has`() {
    #expect((1...max(1, ProcessInfo.processInfo.processorCount)).contains(usableProcessors()))
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: taskset)))
  func `a process that is bound to one processor counts one`() throws {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") })
    // The list is like `0-3,8`: take the first processor that this process may use.
    let first = try #require(line.split(whereSeparator: { !$0.isNumber }).first)
    let result = try runTool(
      Self.taskset, ["-c", String(first), builtExecutable("test-child"), "processors", "-"])
    #expect(result.output.trimmingCharacters(in: .whitespacesAndNewlines) == "1", "\(result)")
  }
}
