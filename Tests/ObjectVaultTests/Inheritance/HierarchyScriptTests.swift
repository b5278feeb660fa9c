// Random changes of an inheritance hierarchy have the same result in a store as in plain values, and so has
// their feed in another store.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct HierarchyScripts {
  // Safe to share: written on the writer's queue while the test waits for it.
  private final class Trace: @unchecked Sendable { var lines: [String] = [] }

  @Test(arguments: [true, false])
  func `random changes of a hierarchy have the same result in a store as in plain values`(_ isWrite: Bool)
    async throws
  {
    let end = ContinuousClock.now + .seconds(childSeconds)
    var seed: UInt64 = 0
    while seed < 6 || (childSeconds > 1 && ContinuousClock.now < end) {
      seed += 1
      let trace = Trace()
      do { try await run(seed: seed, isWrite: isWrite, trace: trace) } catch {
        Issue.record("seed \(seed): \(error)\n\(trace.lines.joined(separator: "\n"))")
        return
      }
    }
  }

  private func run(seed: UInt64, isWrite: Bool, trace: Trace) async throws {
    let temporary = try await TemporaryStore(company)
    let store = temporary.store
    let feed = store.changes()
    var state = try work(
      store.makeContext(), seed: seed + 500_000, steps: 60, from: (HierarchyWorld(), [:], 1), trace: trace)
    for round in 0..<2 {
      let begin = state
      if isWrite {
        state = try await store.write { context in
          let end = try work(
            context, seed: seed &+ UInt64(round) &* 1000, steps: 100, from: begin, trace: trace)
          return end
        }
      } else {
        state = try work(
          store.makeContext(), seed: seed &+ UInt64(round) &* 1000, steps: 100, from: begin, trace: trace)
      }
      try state.world.compare(store.makeContext(), "in another context")
    }
    let other = try await temporary.again()
    try state.world.compare(other.makeContext(), "in another store")
    other.close()
    let findings = try await store.verify()
    if !findings.isEmpty { throw Mismatch("verify: \(findings)") }
    let origin = try ChangeReplays.content(store)
    store.close()
    try await ChangeReplays.replay(try await ChangeReplays.all(feed), of: origin, in: company)
  }

  private func work(
    _ context: ObjectContext, seed: UInt64, steps: Int,
    from start: (world: HierarchyWorld, rows: [Int: Int64], next: Int), trace: Trace
  ) throws -> (world: HierarchyWorld, rows: [Int: Int64], next: Int) {
    let script = HierarchyScript(context, seed: seed, start)
    defer { trace.lines += script.trace }
    try script.run(steps: steps)
    return script.end
  }
}
