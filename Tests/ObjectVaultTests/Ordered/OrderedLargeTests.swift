// Many members, a small stack, and objects without classes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct LargeOrders {
  private static let count = 10_000

  @Test func `ten thousand members keep their order, and moving one is one write`() async throws {
    let temporary = try await TemporaryStore(orderedModel)
    let store = temporary.store
    try await store.write { context in
      let album = context.insert(Album.self)
      for key in 0..<Self.count {
        let song = context.insert(Song.self) { $0.key = key }
        if key % 2 == 0 { song.album = album } else { album.add(song, to: \.songs) }
      }
    }
    let changes = store.changes()
    try await store.write { context in
      let album = try context.fetch(Album.self).one()
      guard album.songs.map(\.key) == Array(0..<Self.count) else { throw Mismatch("the order is another") }
      album.songs.insert(album.songs[Self.count - 1], at: 0)
      // Duplicates are dropped; the first occurrence wins.
      guard album.songs.count == Self.count else { throw Mismatch("there are \(album.songs.count) songs") }
    }
    try await store.write { context in
      let album = try context.fetch(Album.self).one()
      guard album.songs.first?.key == Self.count - 1 else { throw Mismatch("nobody moved") }
      for song in album.songs.prefix(Self.count / 2) { song.album = nil }
    }
    store.close()
    let sets = try await ChangeReplays.all(changes)
    #expect(sets.map(\.placed.count) == [1, Self.count / 2])
  }

  @Test func `large orders need no large stack`() async throws {
    let temporary = try await TemporaryStore(orderedModel)
    let store = temporary.store
    let keys: [Int] = try await withCheckedThrowingContinuation { done in
      let thread = Thread {
        done.resume(
          with: Result {
            let context = store.makeContext()
            let album = context.insert(Album.self)
            album.songs = (0..<Self.count).map { key in context.insert(Song.self) { $0.key = key } }
            album.songs.reverse()
            try context.save()
            let fresh = store.makeContext()
            return try withExtendedLifetime(fresh) { try fresh.fetch(Album.self).one().songs.map(\.key) }
          })
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    #expect(keys == (0..<Self.count).reversed())
  }

  @Test func `objects without classes return and accept ordered lists`() async throws {
    let temporary = try await TemporaryStore(orderedModel)
    temporary.store.close()
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    try await store.write { context in
      let songs = try (1...4).map { key in try context.insert(entity: "Song") { try $0.set("key", to: key) } }
      let album = try context.insert(entity: "Album")
      album[ordered: "songs"] = [songs[2], songs[0], songs[2]]
      // A set has no order: new members are last, in the order of their insertion.
      album[toMany: "songs"] = Set(songs)
      try album.remove(songs[0], from: "songs")
      try album.add(songs[0], to: "songs")
    }
    let context = store.makeContext()
    let album = try #require(try context.fetch(entity: "Album").first())
    #expect(album[ordered: "songs"].map { $0["key"] as Int } == [3, 2, 4, 1])
    album[ordered: "songs"].swapAt(0, 3)
    try context.save()
    #expect(album[toMany: "songs"].count == 4)
    #expect(album[ordered: "songs"].map { $0["key"] as Int } == [1, 2, 4, 3])
    let song = try #require(try context.fetch(entity: "Song").first())
    #expect(song[ordered: "followers"].isEmpty)
    #expect("\(context.faultErrors)".contains("is not ordered; use [toMany: \"followers\"]"))
    song[ordered: "follows"] = [album]
    #expect(context.faultErrors.count == 2 && song[ordered: "follows"].isEmpty)
  }
}
