// Random changes of ordered relationships have the same result in a store as in plain arrays, and the feed
// includes all of them.

import CipherSQLite
import Foundation
import TestSupport
import Testing

import ObjectVault

@Suite(.tags(.random, .slow)) struct OrderedScripts {
  enum Mode: CaseIterable { case context, contextWithFetches, write, writeWithFetches }
  static let seeds: UInt64 = isTorture ? 400 : 6

  @Test(arguments: Mode.allCases)
  func `random changes of ordered relationships have the same result as in plain arrays`(_ mode: Mode)
    async throws
  {
    for seed in 1...Self.seeds {
      let temporary = try await TemporaryStore(recordedOrderedModel)
      let store = temporary.store
      let changes = store.changes(bufferingUpTo: .max)
      var start: (shelf: MusicShelf, rows: [Int: Int64]) = (MusicShelf(), [:])
      for part in 0..<UInt64(3) {
        let isFirst = part == 0
        let fetches = !isFirst && (mode == .contextWithFetches || mode == .writeWithFetches)
        if isFirst || mode == .context || mode == .contextWithFetches {
          start = try Self.work(store.makeContext(), seed: seed * 3 + part, from: start, fetches: fetches)
        } else {
          let begin = start
          start = try await store.write {
            try Self.work($0, seed: seed * 3 + part, from: begin, fetches: fetches)
          }
        }
        let difference = try MusicShelf(store.makeContext()).difference(from: start.shelf)
        #expect(difference.isEmpty, "seed \(seed): \(difference)")
      }
      #expect(try await store.verify() == [])
      let content = try ChangeReplays.content(store)
      let kept = try await store.history().map(\.changes).filter { !$0.isEmpty }
      store.close()
      let told = try await ChangeReplays.all(changes)
      #expect(kept.map(ChangeReplays.lines) == told.map(ChangeReplays.lines), "seed \(seed)")
      try await ChangeReplays.replay(told, of: content, in: orderedModel)
    }
  }

  private static func work(
    _ context: ObjectContext, seed: UInt64, from start: (shelf: MusicShelf, rows: [Int: Int64]),
    fetches: Bool
  ) throws -> (shelf: MusicShelf, rows: [Int: Int64]) {
    let script = OrderedScript(context, seed: seed, start, fetches: fetches)
    do { try script.run(steps: 60) } catch {
      throw Mismatch("seed \(seed): \(error)\n\(script.trace.joined(separator: "\n"))")
    }
    return (script.shelf, script.rows)
  }
}
