// What a process says that ends while its stores work.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct Exits {
  // libcrypto takes its tables down when a process exits; a page that another thread decrypts then would end it with
  // a signal instead of the status that it exits with.
  @Test func `a process may exit while threads read, write and open`() async throws {
    let folder = try TemporaryFolder()
    for round in 0..<20 {
      let path = folder.path("\(round).store")
      let result = try await onThread { try runTool(builtExecutable("test-child"), ["exit", path]) }
      #expect(result.status == 0, "\(result.status) \(result.errors.prefix(400))")
      #expect(try Connection.open(path, key: childKeys.first).integrityErrors().isEmpty)
    }
  }
}
