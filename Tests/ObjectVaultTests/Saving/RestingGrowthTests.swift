// What takes as long for each of many objects as for each of few: flushes beside objects that cannot be written yet, and what is
// asked after each of many changes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct RestingGrowth {
  /// How many times as long eight times the work takes: 8 when the time is linear, 64 when it is quadratic.
  private func factor(
    _ model: Schema = library, _ work: (_ context: ObjectContext, _ count: Int) throws -> Double
  ) async throws -> Double {
    try await timeFactor(from: 100, to: 800, below: 24) { count in
      let temporary = try await TemporaryStore(model)
      return try work(temporary.store.makeContext(), count)
    }
  }

  private func expect<Object>(_ isThere: Bool, _ fetch: Fetch<Object>) throws {
    #expect(try fetch.exists() == isThere)
  }

  @Test func `half-filled objects with a fetch after each`() async throws {
    let factor = try await timeFactor(from: 100, to: 800, below: 24) { count in
      let temporary = try await TemporaryStore(library)
      return try await temporary.store.write { context in
        let start = threadTime()
        var open: [Book] = []
        for number in 0..<count {
          open.append(context.insert(Book.self))
          // One that others refer to.
          context.insert(Loan.self) { ($0.reader, $0.book) = ("\(number)", open.last) }
          try expect(false, context.fetch(Book.self))
        }
        for book in open {
          book.title = "At last"
          try expect(true, context.fetch(Book.self))
        }
        return threadTime() - start
      }
    }
    #expect(factor < 24)
  }

  /// The ways in which a player is in a troupe.
  enum Membership: CaseIterable { case list, set, linkedSet, linkedList }

  @Test(arguments: Membership.allCases)
  func `half-filled members of one object with a fetch of it after each`(_ membership: Membership)
    async throws
  {
    let factor = try await timeFactor(from: 100, to: 800, below: 24) { count in
      let temporary = try await TemporaryStore(troupes)
      return try await temporary.store.write { context in
        let start = threadTime()
        let troupe = context.insert(Troupe.self) { $0.key = 1 }
        let players = try (0..<count).map { _ in
          let player = context.insert(Player.self)
          switch membership {
          case .list: player.troupe = troupe
          case .set: player.pool = troupe
          case .linkedSet: player.add(troupe, to: \.clubs)
          case .linkedList: player.add(troupe, to: \.lists)
          }
          try expect(true, context.fetch(Troupe.self).where("key == 1"))
          return player
        }
        for player in players {
          player.title = "At last"
          try expect(true, context.fetch(Player.self).where("title == 'At last'"))
        }
        return threadTime() - start
      }
    }
    #expect(factor < 24)
  }

  @Test(arguments: [false, true])
  func `deletions that are denied, and put right one by one, with a fetch after each`(_ isByDeletion: Bool)
    async throws
  {
    let factor = try await timeFactor(from: 50, to: 400, below: 24) { count in
      let temporary = try await TemporaryStore(library)
      try await temporary.store.write { context in
        for number in 0..<count {
          let book = context.insert(Book.self) { $0.title = "\(number)" }
          context.insert(Loan.self) { ($0.reader, $0.book) = ("\(number)", book) }
        }
      }
      return try await temporary.store.write { context in
        let other = context.insert(Book.self) { $0.title = "other" }
        let loans = try context.fetch(Loan.self).all()
        let start = threadTime()
        for loan in loans { loan.book.map(context.delete) }
        for loan in loans {
          if isByDeletion { context.delete(loan) } else { loan.book = other }
          // What books are deleted may say something of authors.
          try expect(false, context.fetch(Author.self).where("name == 'absent'"))
        }
        #expect(try context.fetch(Book.self).count() == 1)
        return threadTime() - start
      }
    }
    #expect(factor < 24)
  }

  @Test(arguments: [false, true])
  func `unique values that each object takes from the next one, with a fetch after each`(_ isBackward: Bool)
    async throws
  {
    let factor = try await timeFactor(from: 100, to: 800, below: 24) { count in
      let temporary = try await TemporaryStore(library)
      try await temporary.store.write { context in
        // The last one stays where it is, so that nothing can move before it goes.
        for number in 0...count { context.insert(Genre.self) { $0.name = "\(100_000 + number)" } }
      }
      return try await temporary.store.write { context in
        let all = try context.fetch(Genre.self).sorted(by: \.name).all()
        let start = threadTime()
        let moved = all.dropLast()
        for genre in isBackward ? Array(moved.reversed()) : Array(moved) {
          genre.name = "\((Int(genre.name) ?? 0) + 1)"
          try expect(true, context.fetch(Genre.self).where("name == '100000'"))
        }
        all[count].name = "last"
        try expect(false, context.fetch(Genre.self).where("name == '100000'"))
        return threadTime() - start
      }
    }
    #expect(factor < 24)
  }

  @Test func `changed objects that are refreshed one by one`() async throws {
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

  @Test func `members of an ordered relationship that are deleted one by one`() async throws {
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

  @Test func `change sets that are merged`() {
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
