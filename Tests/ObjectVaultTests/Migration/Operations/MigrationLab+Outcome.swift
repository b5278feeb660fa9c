// The result of a step: a refusal, or a sound store.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension MigrationLab {
  /// The refusal of a step; nil when it ran.
  func refusal(_ step: String) async throws -> StoppedStep? {
    do {
      try await migrate(step)
      return nil
    } catch { return StoppedStep(error) }
  }

  /// Whether tables, values and references agree with the model.
  func isWhole() throws -> Bool {
    let connection = try open()
    let info = try StoreInfo(connection)
    #expect(try info.valueFindings(connection) == [])
    #expect(try info.referenceFindings(connection) == [])
    return try isSound()
  }
}
