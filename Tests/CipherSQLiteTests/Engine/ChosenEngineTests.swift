// The engine that the tests run on.

import CipherSQLite
import Foundation
import Testing

@Suite struct ChosenEngine {
  private static let major = ProcessInfo.processInfo.environment["VAULT_ENGINE"]

  /// `make test4` makes programs load another library than the one that they were built with. If it were not found, all tests
  /// would pass on the installed one.
  @Test(.enabled(if: major != nil, "make test4 asks for one"))
  func `the tests run on the engine that was asked for`() throws {
    #expect(
      try "\(Engine.current.cipherMajor)" == #require(Self.major), "SQLCipher \(Engine.current.cipherVersion)"
    )
  }
}
