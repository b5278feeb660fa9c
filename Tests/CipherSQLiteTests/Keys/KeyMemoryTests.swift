// Keys that are no longer in use are nowhere in the process, and those in use are kept out of dumps and swap.

import CipherSQLite
import Foundation
import TestSupport
import Testing

#if os(Linux)
  @Suite struct KeyMemory {
    @Test func `a secret's memory is locked and left out of dumps, and the search finds what is there`()
      throws
    {
      let lines = try runChild("memory", "-")
      let flags = try #require(lines.last { $0.hasPrefix("flags") }).split(separator: " ")
      #expect(flags.contains("dd"), "MADV_DONTDUMP")
      // Refused only where the process may lock nothing.
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
  }
#endif
