// A program that really dies while it saves: the store that it leaves is the old or the new one.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

/// The program, and the arguments that choose what it saves.
enum Killed {
  static let program = URL(fileURLWithPath: builtExecutable("test-child"))
  static func saving(_ kind: String) -> [String] { ["killed-save", kind] }
}

@Suite(.tags(.kills, .slow), .serialized) struct ProgramKills {
  private func make() async throws -> TestStore {
    try await TestStore(microblog, migrations: MicroblogMigrations.all)
  }

  @Test(arguments: [SaveMoment.write(1), .halfWrite(5), .write(20), .sync(1), .commit, .committed])
  func `a killed program leaves the store as it was, or with all that it saved`(_ moment: SaveMoment)
    async throws
  {
    let test = try await make()
    let left = try await test.killed(at: moment, running: Killed.program, arguments: Killed.saving("one"))
    #expect(try left.content().count == (moment == .committed ? 31 : 0))
    #expect(try await left.store.verify().isEmpty)
    #expect(try test.content().count == 0)
    // The store stays usable.
    try await left.store.write { _ = $0.insert(User.self) { $0.name = "Bo" } }
    #expect(try left.content().count == (moment == .committed ? 32 : 1))
  }

  @Test func `one write is complete or absent, wherever the program dies`() async throws {
    let test = try await make()
    try await test.checkKilledAnywhere(
      running: Killed.program, arguments: Killed.saving("one"), moments: min(killCount, 16))
    #expect(try test.content().count == 0)
  }

  @Test(arguments: [SaveMoment.commit, .committed])
  func `a transaction that exceeds the cache is committed once its checksums are written`(
    _ moment: SaveMoment
  ) async throws {
    let test = try await make()
    let left = try await test.killed(at: moment, running: Killed.program, arguments: Killed.saving("large"))
    #expect(try left.content().count == (moment == .committed ? 200 : 0))
    #expect(try await left.store.verify().isEmpty)
  }

  @Test func `checkKilledAnywhere detects two writes that belong together`() async throws {
    let test = try await make()
    let found = try await #require(
      #expect(throws: CheckFailure.self) {
        try await test.checkKilledAnywhere(
          running: Killed.program, arguments: Killed.saving("two"), moments: 6)
      })
    #expect(found.check == "checkKilledAnywhere" && found.place.hasPrefix("killed at"), "\(found)")
    #expect("\(found)".contains("the store contains only a part of the changes"), "\(found)")
    #expect("\(found)".contains("User: 1 row is new (row 1)"), "\(found)")
  }

  @Test func `a program that was not killed is reported with the way that it ended`() async throws {
    let test = try await make()
    let late = try await #require(
      #expect(throws: CheckFailure.self) {
        _ = try await test.killed(
          at: .write(100_000), running: Killed.program, arguments: Killed.saving("one"))
      })
    #expect(late.findings == ["the program was not killed, but ended normally"])
    let failed = try await #require(
      #expect(throws: CheckFailure.self) {
        try await test.checkKilledAnywhere(running: Killed.program, arguments: Killed.saving("nothing"))
      })
    #expect(failed.findings.first?.hasPrefix("the program ended with the status 1") == true, "\(failed)")
    let endless = try await #require(
      #expect(throws: CheckFailure.self) {
        _ = try await test.killed(
          at: .commit, running: Killed.program, arguments: Killed.saving("endless"),
          within: .milliseconds(1500))
      })
    #expect(
      endless.findings == ["the program was not killed, but ran for 1.5 seconds without ending"], "\(endless)"
    )
    await #expect(throws: (any Error).self) {
      _ = try await test.killed(at: .commit, running: URL(fileURLWithPath: "/nowhere/program"))
    }
  }
}
