// Makes the reads of a store fail for a while.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension Store {
  /// Calls `body` while each new read and save of the store's contexts fails, as if another process had
  /// changed the tables. Afterwards they work again. A read or write that has already begun continues.
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
