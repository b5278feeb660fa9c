// The engine that the tests run on.

import CipherSQLite
import Foundation
import Testing

@Suite struct ChosenEngine {
  private static let major = ProcessInfo.processInfo.environment["VAULT_ENGINE"]

  /// `make test4` makes programs load another library than the one that they were linked with. If it were
  /// not found, all tests would pass on the installed one.
  @Test(.enabled(if: major != nil, "only make test4 requests an engine"))
  func `the tests run on the requested engine`() throws {
    #expect(
      try "\(Engine.current.cipherMajor)" == #require(Self.major), "SQLCipher \(Engine.current.cipherVersion)"
    )
  }
}
