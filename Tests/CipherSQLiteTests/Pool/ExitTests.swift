// A process that exits while its stores are at work.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct Exits {
  // libcrypto frees its tables when a process exits. If another thread decrypted a page then, the process
  // would end with a signal instead of its exit status.
  @Test func `a process may exit while its threads read, write and open stores`() async throws {
    let folder = try TemporaryFolder()
    for round in 0..<20 {
      let path = folder.path("\(round).store")
      let result = try await onThread { try runTool(builtExecutable("test-child"), ["exit", path]) }
      #expect(result.status == 0, "\(result.status) \(result.errors.prefix(400))")
      #expect(try Connection.open(path, key: childKeys.first).integrityErrors().isEmpty)
    }
  }
}
