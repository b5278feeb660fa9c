// What a step did to a store: refused it, or left it sound.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension MigrationLab {
  /// Why a step was refused; nil where it ran.
  func refusal(_ step: String) async throws -> StoppedStep? {
    do {
      try await migrate(step)
      return nil
    } catch { return StoppedStep(error) }
  }

  /// Whether tables, values and references are as the model has them.
  func isWhole() throws -> Bool {
    let connection = try open()
    let info = try StoreInfo(connection)
    #expect(try info.valueFindings(connection) == [])
    #expect(try info.referenceFindings(connection) == [])
    return try isSound()
  }
}
