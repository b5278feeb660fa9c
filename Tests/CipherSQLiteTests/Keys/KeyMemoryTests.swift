// Keys that are no longer in use are nowhere in the process, and keys in use are excluded from dumps and
// swap.

import CipherSQLite
import Foundation
import TestSupport
import Testing

#if os(Linux)
  @Suite(.tags(.kills)) struct KeyMemory {
    @Test func `memory of a secret is locked and excluded from dumps, and the search finds the control`()
      throws
    {
      let lines = try runChild("memory", "-")
      let flags = try #require(lines.last { $0.hasPrefix("flags") }).split(separator: " ")
      #expect(flags.contains("dd"), "MADV_DONTDUMP")
      // Locking is refused only if the process may not lock any memory.
      let limits = try FileHandle(forReadingAtPath: "/proc/self/limits")?.readToEnd() ?? Data()
      let line = String(decoding: limits, as: UTF8.self).split(separator: "\n").first {
        $0.hasPrefix("Max locked memory")
      }
      let mayLockNothing = line?.split(separator: " ")[3] == "0"
      #expect(flags.contains("lo") || mayLockNothing, "mlock")
      let control = try #require(lines.first { $0.hasPrefix("control") })
      #expect(control != "control 0")
    }

    @Test func `after closing, no sixteen bytes of any key are left in the process`() throws {
      let folder = try TemporaryFolder()
      let lines = try runChild("memory-keys", folder.path("a.store"))
      #expect(lines == ["searched"], "\(lines.joined(separator: "\n"))")
    }

    static let debugger = ["/usr/bin/gcore", "/usr/local/bin/gcore"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test(.enabled(if: debugger != nil && isTorture, "long form only, with the debugger's gcore"))
    func `a dump of a process has no key of a closed or an open database`() throws {
      let folder = try TemporaryFolder()
      let child = Process()
      child.executableURL = URL(fileURLWithPath: builtExecutable("test-child"))
      child.arguments = ["memory-dump", folder.path("a.store")]
      let (input, output) = (Pipe(), Pipe())
      child.standardInput = input
      child.standardOutput = output
      try child.run()
      #expect(try output.fileHandleForReading.read(upToCount: 6) == Data("ready\n".utf8))
      let dump = try runTool(
        try #require(Self.debugger), ["-o", folder.path("dump"), "\(child.processIdentifier)"])
      #expect(dump.status == 0, "\(dump.errors)")
      try input.fileHandleForWriting.close()
      child.waitUntilExit()
      let lines = try runChild("dump-search", folder.path("dump.\(child.processIdentifier)"))
      // The unprotected control is found: otherwise the search would prove nothing.
      #expect(lines.contains("control from byte 0"))
      #expect(lines.last == "searched")
      let keys = lines.dropLast().filter { !$0.hasPrefix("control") }
      #expect(keys.isEmpty, "\(keys.joined(separator: "\n"))")
    }
  }
#endif
