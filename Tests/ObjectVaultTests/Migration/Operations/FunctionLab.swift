// A store whose steps call functions of the app.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

/// A store of some steps and functions.
struct FunctionLab {
  private let lab: DowngradeLab
  let set: MigrationSet
  var folder: TemporaryFolder { lab.folder }
  var url: URL { lab.url }
  var image: StoreImage { get throws { try lab.image } }
  var version: Int { get throws { try lab.version } }

  init(_ steps: [String], _ functions: [MigrationTransform], at version: Int = 1, fill: [String] = [])
    async throws
  {
    set = try DowngradeLab.set(steps).transforming(by: functions)
    lab = try await DowngradeLab(set, at: version, fill: fill)
  }

  func rows(_ sql: String) throws -> [[SQLValue]] { try lab.rows(sql) }
  func run(_ sql: String) throws { try lab.run(sql) }

  func isSound() throws -> Bool {
    let connection = try lab.open()
    return try connection.findings().isEmpty && StoreInfo(connection).drift(connection).isEmpty
  }

  @discardableResult
  func up(allowing losses: Set<String> = []) async throws -> MigrationOutcome {
    try await lab.up(allowing: losses)
  }

  @discardableResult
  func down() async throws -> MigrationOutcome { try await lab.down(1) }
}
