// Properties of ordered relationships, in memory and across saves.

import CipherSQLite
import Foundation
import TestSupport
import Testing

import ObjectVault

@Suite struct OrderedRelationships {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  /// Albums 1 and 2, and songs 1 to 5, of which the album 1 has 1, 2 and 3, and the playlist 1 has 3, 1.
  init() async throws {
    temporary = try await TemporaryStore(orderedModel)
    try await temporary.store.write { context in
      let songs = (1...5).map { key in context.insert(Song.self) { $0.key = key } }
      context.insert(Album.self) { album in
        album.key = 1
        album.songs = Array(songs.prefix(3))
      }
      context.insert(Album.self) { $0.key = 2 }
      context.insert(Playlist.self) { list in
        list.key = 1
        list.songs = [songs[2], songs[0]]
      }
    }
  }

  private func album(_ context: ObjectContext) throws -> Album { try album(1, context) }
  private func album(_ key: Int, _ context: ObjectContext) throws -> Album {
    try #require(try context.fetch(Album.self).where("key == %@", key).first())
  }
  private func song(_ key: Int, _ context: ObjectContext) throws -> Song {
    try #require(try context.fetch(Song.self).where("key == %@", key).first())
  }
  private func playlist(_ context: ObjectContext) throws -> Playlist {
    try context.fetch(Playlist.self).one()
  }
  private func saved(_ key: Int = 1) throws -> [Int] {
    let context = store.makeContext()
    return try withExtendedLifetime(context) { try album(key, context).songs.map(\.key) }
  }

  @Test func `duplicates in an ordered relationship are dropped, and the first occurrence wins`() throws {
    let context = store.makeContext()
    let (one, two, four) = (try song(1, context), try song(2, context), try song(4, context))
    try album(context).songs = [two, one, two, four, four, one]
    #expect(try album(context).songs.map(\.key) == [2, 1, 4])
    try album(context).songs += [one, two]
    try album(context).songs.append(four)
    #expect(try album(context).songs.map(\.key) == [2, 1, 4])
    try context.save()
    #expect(try saved() == [2, 1, 4])
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `ordered relationships can be changed by the methods of arrays`() throws {
    let context = store.makeContext()
    let album = try album(context)
    album.songs.swapAt(0, 2)
    #expect(album.songs.map(\.key) == [3, 2, 1])
    album.songs.insert(try song(5, context), at: 1)
    album.songs.remove(at: 0)
    album.songs.reverse()
    #expect(album.songs.map(\.key) == [1, 2, 5])
    try song(4, context).album = album
    album.remove(try song(2, context), from: \.songs)
    album.add(try song(2, context), to: \.songs)
    #expect(album.songs.map(\.key) == [1, 5, 4, 2])
    try context.save()
    #expect(try saved() == [1, 5, 4, 2])
    #expect(try song(3, context).album == nil)
  }

  @Test func `a save writes only the positions of members that moved`() async throws {
    let changes = store.changes()
    let context = store.makeContext()
    let version = try song(3, context).rowVersion
    try album(context).songs.swapAt(0, 2)
    try album(context).songs.swapAt(1, 2)
    #expect(try album(context).songs.map(\.key) == [3, 1, 2])
    #expect(context.hasChanges)
    try context.save()
    #expect(!context.hasChanges)
    #expect(try saved() == [3, 1, 2])
    context.refresh(try song(3, context))
    #expect(try song(3, context).rowVersion == version)
    // Moved back: nothing differs from the file.
    try album(context).songs.reverse()
    try album(context).songs.reverse()
    try context.save()
    store.close()
    let sets = try await ChangeReplays.all(changes)
    #expect(sets.count == 1)
    let placed = try #require(sets.first?.placed.first)
    #expect(sets.first?.count == 1 && placed.relationship == "songs" && placed.member == 3)
    #expect("\(sets[0])" == "placed Album 1.songs 3")
  }

  @Test func `a save that fails keeps the order pending, and rollback discards it`() throws {
    let context = store.makeContext()
    try album(context).songs.reverse()
    context.insert(Song.self) { $0.code = 1 }
    let twice = context.insert(Song.self) { $0.code = 1 }
    #expect(throws: StoreError.self) { try context.save() }
    #expect(try album(context).songs.map(\.key) == [3, 2, 1])
    #expect(try saved() == [1, 2, 3])
    context.delete(twice)
    try context.save()
    #expect(try saved() == [3, 2, 1])
    try album(context).songs.swapAt(0, 1)
    context.rollback()
    #expect(try album(context).songs.map(\.key) == [3, 2, 1])
    #expect(!context.hasChanges)
  }

  @Test func `a save keeps what another context has saved meanwhile`() throws {
    let (one, other) = (store.makeContext(), store.makeContext())
    let mine = try album(one)
    #expect(mine.songs.map(\.key) == [1, 2, 3])
    try song(4, other).album = try album(other)
    try album(other).songs.remove(at: 1)
    try other.save()
    #expect(try saved() == [1, 3, 4])
    mine.songs.swapAt(0, 2)
    #expect(mine.songs.map(\.key) == [3, 2, 1])
    try one.save()
    // Song 2 was removed by the other context. Moving it does not make it a member again.
    #expect(try saved().filter { $0 != 4 } == [3, 1])
    #expect(try saved().contains(4))
  }

  @Test func `a refreshed member is at its position in the file`() throws {
    let context = store.makeContext()
    let (album, two) = (try album(context), try song(2, context))
    #expect(album.songs.map(\.key) == [1, 2, 3])
    two.album = nil
    #expect(album.songs.map(\.key) == [1, 3])
    context.refresh(two)
    #expect(album.songs.map(\.key) == [1, 2, 3])
    two.album = nil
    two.album = album
    #expect(album.songs.map(\.key) == [1, 3, 2])
    try context.save()
    #expect(try saved() == [1, 3, 2])
  }

  @Test func `a refreshed owner has the order of the file again`() throws {
    let context = store.makeContext()
    let album = try album(context)
    album.songs.reverse()
    #expect(context.hasChanges)
    context.refresh(album)
    #expect(album.songs.map(\.key) == [1, 2, 3] && !context.hasChanges)
    // With a member that was added since, the pending order stays.
    album.songs = [try song(5, context), album.songs[2], album.songs[0], album.songs[1]]
    context.refresh(album)
    #expect(album.songs.map(\.key) == [5, 3, 1, 2])
    try context.save()
    #expect(try saved() == [5, 3, 1, 2])
  }

  @Test func `members of a list that is not loaded keep their positions before added members`() throws {
    let context = store.makeContext()
    let two = try song(2, context)
    // The album's songs have not been read.
    try song(5, context).album = try album(context)
    two.album = nil
    two.album = try album(context)
    try song(4, context).album = try album(context)
    #expect(try album(context).songs.map(\.key) == [1, 3, 5, 2, 4])
    try context.save()
    #expect(try saved() == [1, 3, 5, 2, 4])
  }

  @Test func `both ends of a many-to-many have an order of their own`() throws {
    let context = store.makeContext()
    let (list, one) = (try playlist(context), try song(1, context))
    let other = context.insert(Playlist.self) { $0.key = 2 }
    one.lists = [other] + one.lists
    list.songs.insert(try song(2, context), at: 1)
    #expect(other.songs.map(\.key) == [1])
    try context.save()
    let fresh = store.makeContext()
    #expect(try song(1, fresh).lists.map(\.key) == [2, 1])
    #expect(try fresh.fetch(Playlist.self).where("key == 1").one().songs.map(\.key) == [3, 2, 1])
  }

  @Test func `a prefetch returns the members in order`() throws {
    let writer = store.makeContext()
    try album(writer).songs.reverse()
    try album(2, writer).songs = [try song(5, writer), try song(4, writer)]
    try writer.save()
    let context = store.makeContext()
    let albums = try context.fetch(Album.self).sorted(by: \.key).prefetch(\.songs).all()
    let queries = context.statistics.queries
    #expect(albums.map { $0.songs.map(\.key) } == [[3, 2, 1], [5, 4]])
    #expect(context.statistics.queries == queries)
    let lists = try context.fetch(Playlist.self).prefetch(\.songs).all()
    #expect(lists.map { $0.songs.map(\.key) } == [[3, 1]])
  }

  @Test func `predicates on ordered relationships mean the same as on sets`() throws {
    let context = store.makeContext()
    for isPending in [true, false] {
      if isPending { try album(2, context).songs = [try song(5, context)] }
      #expect(
        try context.fetch(Album.self).where(#Predicate { $0.songs.contains { $0.key == 5 } }).all().map(\.key)
          == [2])
      #expect(try context.fetch(Album.self).where(#Predicate { $0.songs.count > 2 }).all().map(\.key) == [1])
      #expect(try context.fetch(Album.self).where(#Predicate { $0.songs.isEmpty }).count() == 0)
      #expect(try context.fetch(Album.self).where("ANY songs.key == 2 AND songs.@count == 3").count() == 1)
      let three = try song(3, context).id
      #expect(
        try context.fetch(Album.self).where(#Predicate { $0.songs.contains { $0.id == three } }).all().map(
          \.key) == [1])
      if isPending { try context.save() }
    }
  }

  @Test func `members without a position come first, by their ids`() throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    try StoreInfo.prepare(connection)
    try connection.execute("UPDATE Song SET _album_position = NULL WHERE key = 3")
    try connection.execute("UPDATE Song SET album_id = 1, _album_position = NULL WHERE key = 4")
    connection.close()
    #expect(try saved() == [3, 4, 1, 2])
    let context = store.makeContext()
    try album(context).songs.insert(try song(5, context), at: 1)
    try context.save()
    #expect(try saved() == [3, 5, 4, 1, 2])
  }
}
