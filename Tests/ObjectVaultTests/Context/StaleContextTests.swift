// Three contexts, each of which saves changes of outdated objects. More seeds: VAULT_SECONDS.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct StaleContexts {
  @Test func `stale contexts lose no update, and find rows that were deleted and restored`() async throws {
    let end = ContinuousClock.now + .seconds(childSeconds)
    var seed: UInt64 = 0
    var counts: [String: Int] = [:]
    while seed < 4 || (childSeconds > 1 && ContinuousClock.now < end) {
      seed += 1
      let temporary = try await TemporaryStore(randomModel)
      let script = StaleScript(temporary.store, seed: seed)
      do { try await script.run(steps: 250) } catch {
        Issue.record("seed \(seed): \(error)\n\(script.trace.suffix(60).joined(separator: "\n"))")
        return
      }
      counts.merge(script.counts) { $0 + $1 }
      #expect(try await temporary.store.verify().isEmpty)
    }
    for what in ["insert", "save", "conflict", "undo", "back", "gone", "fail", "lost"] {
      #expect(counts[what, default: 0] > 0, "\(what): \(counts)")
    }
  }
}
