// Work that is repeated after each of many changes, and whose time per change does not grow with their
// number.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PendingGrowth {
  /// How many times longer eight times the work takes: 8 if the time is linear, 64 if it is quadratic.
  private func factor(
    _ model: Schema = library, _ work: (_ context: ObjectContext, _ count: Int) throws -> Double
  ) async throws -> Double {
    try await timeFactor(from: 100, to: 800, below: 24) { count in
      let temporary = try await TemporaryStore(model)
      return try work(temporary.store.makeContext(), count)
    }
  }

  @Test func `refreshing changed objects one by one takes linear time`() async throws {
    let factor = try await factor { context, count in
      let authors = (0..<count).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
      try context.save()
      for author in authors { author.age = 40 }
      return threadTime {
        for author in authors {
          #expect(context.hasChanges)
          context.refresh(author)
        }
        #expect(!context.hasChanges)
      }
    }
    #expect(factor < 24)
  }

  @Test func `deleting members of an ordered relationship one by one takes linear time`() async throws {
    let factor = try await factor(orderedModel) { context, count in
      let album = context.insert(Album.self)
      let songs = (0..<count).map { number in context.insert(Song.self) { $0.key = number } }
      album.songs = songs
      try context.save()
      var left = songs
      var time = 0.0
      // From the front, the end and the middle in turn.
      for number in 0..<count {
        let place = number % 3 == 0 ? 0 : number % 3 == 1 ? left.count - 1 : left.count / 2
        let song = left.remove(at: place)
        time += threadTime {
          context.delete(song)
          #expect(album.songs.count == left.count)
        }
        if number % 100 == 0 { #expect(album.songs == left) }
      }
      return time
    }
    #expect(factor < 24)
  }

  @Test func `merging change sets takes linear time`() {
    func time(_ count: Int) -> Double {
      let sets = (1...count).map { number in
        ChangeSet(inserted: [.init(entity: "A", rowID: Int64(number), values: ["n": .integer(1)])])
      }
      return threadTime { #expect(ChangeSet(merging: sets).inserted.count == count) }
    }
    let least = (0..<3).map { _ in time(500) }.min() ?? 0
    let most = (0..<3).map { _ in time(4000) }.min() ?? 0
    #expect(most < 24 * least)
  }
}
