// Reads that fail for a while, for tests.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension Store {
  /// Calls `body` while each read and save of the store's contexts fails, as it does for one whose tables another process has
  /// changed; it is put right afterwards. A write or read that has begun already goes on.
  func whileReadsFail<Result>(_ body: () throws -> Result) throws -> Result {
    try raiseGeneration(by: 1)
    defer { #expect(throws: Never.self) { try raiseGeneration(by: -1) } }
    return try body()
  }

  private func raiseGeneration(by count: Int) throws {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    try connection.execute("UPDATE vault_meta SET value = value + \(count) WHERE key = 'generation'")
  }
}
