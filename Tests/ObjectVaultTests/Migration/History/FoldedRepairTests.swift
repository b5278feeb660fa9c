// A step that was edited after it ran, and was then folded with others: what ran is another than what was folded, and only
// the files of before the fold can say so to a store.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct FoldedRepairs {
  @Test(arguments: [false, true])
  func `a store with a step that was folded as another is told what leads on, and that does`(
    _ isRepaired: Bool
  ) async throws {
    let lab = try await DowngradeLab(HistoryRepairs.steps, at: 3)
    let edited = try DowngradeLab.set(HistoryRepairs.edited)
    // Folded were the files that did not run there, be it that the store was repaired or that it was not.
    if isRepaired {
      try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: edited)
    }
    let folded = isRepaired ? lab.set : edited
    let fold = try folded.folded(to: 3).migrations
    await #expect {
      try await Store.plan(at: lab.url, key: testKey, migrations: fold)
    } throws: { error in
      guard case StoreError.historyConflict(.refolded(2, _, let applied, let found, into: 3, _)) = error
      else { return false }
      return applied != found && found == folded.steps[1].checksum
        && "\(error)".contains("ran with another text than was folded into 0003")
        && "\(error)".contains("record the step as it is in them (Store.repair)")
    }
    await #expect {
      try await Store.planRepair(at: lab.url, key: testKey, steps: [2], migrations: fold)
    } throws: { "\($0)".contains("folded into a later step") }
    // The advice.
    try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: folded)
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: fold).isUpToDate)
  }

  @Test func `the step that the others were folded into is told alike`() async throws {
    let lab = try await DowngradeLab(HistoryRepairs.steps, at: 2)
    let edited = try DowngradeLab.set(HistoryRepairs.edited)
    let fold = try edited.folded(to: 2).migrations
    await #expect {
      try await Store.plan(at: lab.url, key: testKey, migrations: fold)
    } throws: { error in
      guard case StoreError.historyConflict(.refolded(2, _, _, _, into: 2, _)) = error else { return false }
      return true
    }
    try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: edited)
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: fold).steps.map(\.number) == [3])
  }
}
