// Orders of lists with incomplete members during a fetch, and of owners that another context has changed.

import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Reel: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Clip.reels) var clips: [Clip]
}

private final class Clip: ManagedObject {
  /// Without a default: a clip without a title cannot be saved.
  @Attribute var title: String
  @ToMany var reels: Set<Reel>
}

private let reels = Schema {
  Entity(Reel.self)
  Entity(Clip.self)
}

@Suite struct OrderedFetches {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(reels)
    try await store.write { context in
      let reel = context.insert(Reel.self)
      for title in ["one", "two", "three"] {
        reel.clips.append(context.insert(Clip.self) { $0.title = title })
      }
    }
  }

  private func titles() throws -> [String] {
    let context = store.makeContext()
    return try context.fetch(Reel.self).one().clips.map(\.title)
  }

  @Test func `an incomplete member that was appended is last when it is saved`() async throws {
    try await store.write { context in
      let reel = try context.fetch(Reel.self).one()
      let clip = context.insert(Clip.self)
      reel.clips.append(clip)
      #expect(try context.fetch(Clip.self).includingPending(false).count() == 3)
      clip.title = "four"
    }
    #expect(try titles() == ["one", "two", "three", "four"])
  }

  @Test func `an incomplete member that was inserted in the middle is there when it is saved`() async throws {
    try await store.write { context in
      let reel = try context.fetch(Reel.self).one()
      let clip = context.insert(Clip.self)
      reel.clips.insert(clip, at: 1)
      #expect(try context.fetch(Clip.self).includingPending(false).count() == 3)
      clip.title = "four"
    }
    #expect(try titles() == ["one", "four", "two", "three"])
  }

  @Test func `a member that returns beside an incomplete one is last in the file, too`() async throws {
    let temporary = try await TemporaryStore(troupes)
    try await temporary.store.write { context in
      let troupe = context.insert(Troupe.self)
      troupe.players = ["a", "b", "c"].map { title in context.insert(Player.self) { $0.title = title } }
    }
    try await temporary.store.write { context in
      let troupe = try context.fetch(Troupe.self).one()
      let first = troupe.players[0]
      let open = context.insert(Player.self)
      troupe.players.insert(open, at: 0)
      #expect(try context.fetch(Player.self).count() == 4)
      first.troupe = nil
      context.refresh(first)
      context.delete(open)
      #expect(troupe.players.map(\.title) == ["b", "c", "a"])
    }
    let context = temporary.store.makeContext()
    #expect(try context.fetch(Troupe.self).one().players.map(\.title) == ["b", "c", "a"])
  }

  @Test func `an incomplete member is found by a predicate`() async throws {
    try await store.write { context in
      let reel = try context.fetch(Reel.self).one()
      let clip = context.insert(Clip.self)
      reel.clips.append(clip)
      #expect(try context.fetch(Clip.self).where("ANY reels.name == ''").count() == 4)
      clip.title = "four"
    }
    #expect(try titles() == ["one", "two", "three", "four"])
  }

  @Test func `a pending order survives a fetch of its owner that another context has changed`() throws {
    let context = store.makeContext()
    let reel = try context.fetch(Reel.self).one()
    reel.clips.swapAt(0, 2)
    let other = store.makeContext()
    let same = try other.fetch(Reel.self).one()
    same.name = "renamed"
    try other.save()
    #expect(try context.fetch(Reel.self).includingPending(false).all().map(\.name) == ["renamed"])
    #expect(context.hasChanges && reel.clips.map(\.title) == ["three", "two", "one"])
    try context.save()
    #expect(try titles() == ["three", "two", "one"])
  }
}
