// The engine that the tests run on.

import CipherSQLite
import Foundation
import Testing

@Suite struct ChosenEngine {
  /// `make test4` makes programs load another library than the one that they were built with. If it were not found, all tests
  /// would pass on the installed one.
  @Test func `the tests run on the engine that was asked for`() {
    guard let major = ProcessInfo.processInfo.environment["VAULT_ENGINE"] else { return }
    #expect("\(Engine.current.cipherMajor)" == major, "SQLCipher \(Engine.current.cipherVersion)")
  }
}
