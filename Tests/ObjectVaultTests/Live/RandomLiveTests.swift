// Live results after each of many random commits, against a fetch of everything.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.sampled)) struct RandomLiveResults {
  /// What a view would show of a room.
  struct Line: Sendable, Hashable {
    var title: String
    var size: Int
    var details: String
  }

  /// A request, and a consumer of its results with the list that it has so far.
  private final class Follower {
    let name: String
    let request: ObjectRequest<LiveRoom>
    let details: @Sendable (LiveRoom) throws -> String
    var iterator: LiveResults<LiveRoom, Line>.Iterator
    var ids: [Int64] = []
    var lines: [Line] = []
    var isFirst = true

    init(
      _ name: String, _ store: Store, _ request: ObjectRequest<LiveRoom>,
      details: @escaping @Sendable (LiveRoom) throws -> String = { $0.note ?? "" }
    ) {
      (self.name, self.request, self.details) = (name, request, details)
      iterator = store.observe(request) { try Line(title: $0.title, size: $0.size, details: details($0)) }
        .makeAsyncIterator()
    }

    /// Compares the next result with a fetch, if the fetch finds something else than before.
    func check(_ store: Store, _ place: String) async throws {
      let (request, details) = (request, details)
      let (ids, lines) = try await store.read { context in
        let rooms = try context.fetch(request).all()
        return (
          rooms.map(\.id.rowID),
          try rooms.map { try Line(title: $0.title, size: $0.size, details: details($0)) }
        )
      }
      guard isFirst || ids != self.ids || lines != self.lines else { return }
      let result = try #require(try await iterator.next())
      #expect(result.values == lines, "\(name), \(place)")
      #expect(result.rowIDs == ids, "\(name), \(place)")
      let difference = result.difference
      #expect(
        LiveModel.apply(difference, to: self.ids, for: ids) == ids, "\(name), \(place): \(difference)")
      // All that differs, and nothing else, is an update.
      let former = Dictionary(
        zip(self.ids, self.lines).map { ($0, $1) }, uniquingKeysWith: { first, _ in first })
      let expected = zip(ids, lines).enumerated().filter { _, pair in
        former[pair.0].map { $0 != pair.1 } == true
      }.map(\.offset)
      #expect(difference.updates == expected, "\(name), \(place)")
      (self.ids, self.lines, isFirst) = (ids, lines, false)
    }
  }

  @Test func `each result equals a fetch, and its difference leads there`() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 31)
    var random = SeededGenerator(seed: seed)
    let temporary = try await TemporaryStore(LiveModel.schema)
    let store = temporary.store
    let other = try await temporary.again()
    let all = ObjectRequest<LiveRoom>()
    let followers = [
      Follower("all", store, all.sorted(by: \.id)),
      Follower("open", store, try all.where("isOpen == YES").sorted(by: \.size, .reverse).sorted(by: \.id)),
      Follower("window", store, all.sorted(by: \.title).sorted(by: \.id).limit(4)),
      Follower("nils", store, all.sorted(by: \.note).sorted(by: \.size).sorted(by: \.id).limit(7)),
      Follower(
        "folded", store,
        try all.where("size > 1").sorted(by: \.title, comparing: .caseInsensitive).sorted(by: \.id)),
      Follower("offset", store, all.sorted(by: \.size).sorted(by: \.id).offset(2).limit(3)),
      Follower("guests", store, try all.where("guests.@count > 0").sorted(by: \.id)),
      Follower(
        "related", store, all.sorted(by: \.size).sorted(by: \.id),
        details: { room in
          room.guests.map(\.name).joined() + room.tags.map(\.word).sorted().joined()
        }),
    ]
    let (own, foreign) = (store.makeContext(), other.makeContext())
    for follower in followers { try await follower.check(store, "begin") }
    let rounds = isTorture ? 20_000 : 250
    for round in 0..<rounds {
      switch round % 10 {
      case 4:
        foreign.reset()
        try LiveModel.change(foreign, &random, round)
        try foreign.save()
      case 7:
        _ = try own.execute("UPDATE LiveRoom SET size = size + 1 WHERE size = \(round % 5)")
      default:
        own.reset()
        try LiveModel.change(own, &random, round)
        try own.save()
      }
      for follower in followers { try await follower.check(store, "seed \(seed), round \(round)") }
    }
    other.close()
  }
}
