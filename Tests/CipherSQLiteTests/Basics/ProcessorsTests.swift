// How many threads at once are worth it: a process that is bound to one processor has no use of another.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct Processors {
  private static let taskset = "/usr/bin/taskset"

  @Test func `this process may use one at least, and no more than there are`() {
    #expect((1...max(1, ProcessInfo.processInfo.processorCount)).contains(usableProcessors()))
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: taskset)))
  func `a process that is bound to one processor counts one`() throws {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") })
    // Such as `0-3,8`: the first that this one may use.
    let first = try #require(line.split(whereSeparator: { !$0.isNumber }).first)
    let result = try runTool(
      Self.taskset, ["-c", String(first), builtExecutable("test-child"), "processors", "-"])
    #expect(result.output.trimmingCharacters(in: .whitespacesAndNewlines) == "1", "\(result)")
  }
}
