// The lab in XCTest, as in an app that has its tests there: the error of a check is the message of the test.

import CipherSQLite
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import XCTest

final class MicroblogXCTests: XCTestCase {
  private func lab() throws -> MigrationLab {
    var lab = try MigrationLab(MicroblogMigrations.all, model: microblog)
    lab.rules["User.name"] = { $0 != "" }
    return lab
  }

  func testTownBecomesCity() async throws {
    let old = try await lab().store(at: 4)
    let ada = try old.insert("User", ["name": "Ada", "town": "London"])
    let new = try await old.migrate(to: 5)
    XCTAssertEqual(try new.object(ada)["city"], "London")
  }

  func testEveryRowIsKept() async throws { try await lab().checkPath(from: 4) }

  func testASaveIsCompleteOrAbsent() async throws {
    let test = try await TestStore(microblog, migrations: MicroblogMigrations.all)
    try await test.checkKilledAnywhere(
      running: Killed.program, arguments: Killed.saving("one"), moments: 2)
  }

  /// The findings of a check are in the description of its error, which XCTest shows for a failed test.
  func testFindingsAreInTheDescription() async throws {
    let steps = try Steps.set([Steps.blog, "transform sql { DELETE FROM $Status }"])
    do {
      try await MigrationLab(steps).checkPath(from: 1)
      XCTFail("nothing was found")
    } catch let error as CheckFailure {
      XCTAssertTrue("\(error)".contains("- Status: 12 of 12 rows are missing"), "\(error)")
    }
  }
}
