// A step that was edited after it ran, and was then folded with others. The fold then differs from what
// ran, and only the files from before the fold can correct the store's record.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct FoldedRepairs {
  @Test(arguments: [false, true])
  func `a fold that differs from what ran is refused, and the error's advice resolves it`(_ isRepaired: Bool)
    async throws
  {
    let lab = try await DowngradeLab(HistoryRepairs.steps, at: 3)
    let edited = try DowngradeLab.set(HistoryRepairs.edited)
    // The fold has the file that did not run in this store, whether the store was repaired or not.
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
        && "\(error)".contains("ran with a text that differs from the one folded into 0003")
        && "\(error)".contains("record the step with the text that it has there (Store.repair)")
    }
    await #expect {
      try await Store.planRepair(at: lab.url, key: testKey, steps: [2], migrations: fold)
    } throws: { "\($0)".contains("folded into a later step") }
    // Follows the advice.
    try await Store.repair(at: lab.url, key: testKey, steps: [2], migrations: folded)
    #expect(try await Store.plan(at: lab.url, key: testKey, migrations: fold).isUpToDate)
  }

  @Test func `a fold whose last step differs from what ran is refused, too`() async throws {
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
