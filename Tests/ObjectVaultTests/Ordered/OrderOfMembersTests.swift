// Sorts by the order of a list, against the list.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct OrderOfMembers {
  private let temporary: TemporaryStore
  private let context: ObjectContext
  private let album: Album
  private let playlist: Playlist

  init() async throws {
    temporary = try await TemporaryStore(orderedModel)
    let context = temporary.store.makeContext()
    self.context = context
    let songs = (0..<60).map { key in context.insert(Song.self) { $0.key = key } }
    var random = SeededGenerator(seed: 5)
    album = context.insert(Album.self) { $0.songs = songs.prefix(40).shuffled(using: &random) }
    playlist = context.insert(Playlist.self) { $0.songs = songs.suffix(30).shuffled(using: &random) }
    try context.save()
  }

  @Test func `members have the order of an album and of a playlist`() throws {
    let songs = context.fetch(Song.self)
    for members in [album.songs, playlist.songs] {
      let all = try songs.sorted(byOrderOf: members).all()
      #expect(all.count == 60 && Array(all.prefix(members.count)) == members)
      // The others follow, in the order of their ids.
      let others = all.dropFirst(members.count).map(\.key)
      #expect(others == others.sorted() && Set(all).count == 60)
      #expect(try songs.sorted(byOrderOf: members.map(\.id)).ids() == all.map(\.id))
    }
    let some = try songs.where(\.album, equals: album).where("key < 20").sorted(byOrderOf: album.songs).all()
    #expect(some == album.songs.filter { $0.key < 20 })
    let limited = try songs.sorted(byOrderOf: playlist.songs).offset(3).limit(4).all()
    #expect(limited == Array(playlist.songs[3..<7]))
    #expect(
      try songs.sorted(byOrderOf: playlist.songs).values(\.key).prefix(30) == playlist.songs.map(\.key)[...])
  }

  @Test func `pages follow the order, also with other keys before and after it`() throws {
    let fetch = try context.fetch(Song.self).where(\.album, equals: album).sorted(byOrderOf: album.songs)
    var (found, cursor): ([Song], PageCursor<Song>?) = ([], nil)
    repeat {
      let page = try fetch.page(size: 7, after: cursor)
      (found, cursor) = (found + page.objects, page.next)
    } while cursor != nil
    #expect(found == album.songs)
    for (index, song) in album.songs.enumerated() { song.code = index.isMultiple(of: 3) ? nil : index }
    let byCode = try context.fetch(Song.self).where("code == nil AND album != nil").sorted(by: \.code)
      .sorted(byOrderOf: album.songs).all()
    #expect(byCode == album.songs.enumerated().filter { $0.offset.isMultiple(of: 3) }.map(\.element))
  }

  @Test func `pending changes and new objects have their positions in the list`() throws {
    album.songs[0].key = 100
    let new = context.insert(Song.self) { $0.key = 101 }
    album.songs.insert(new, at: 5)
    album.songs.swapAt(1, 8)
    let fetch = try context.fetch(Song.self).where(\.album, equals: album)
    #expect(try fetch.sorted(byOrderOf: album.songs).all() == album.songs)
    #expect(try fetch.sorted(byOrderOf: album.songs).first() === album.songs.first)
    try context.save()
    #expect(try fetch.sorted(byOrderOf: album.songs).all() == album.songs)
  }

  @Test func `a repeated member has its first position, and an empty list changes nothing`() throws {
    let ids = playlist.songs.map(\.id)
    let songs = context.fetch(Song.self)
    #expect(try songs.sorted(byOrderOf: ids + ids.reversed()).limit(30).ids() == ids)
    #expect(try songs.sorted(byOrderOf: [Song]()).ids() == songs.sorted(by: \.id).ids())
    let request = Song.request.sorted(byOrderOf: ids)
    let coded = try JSONDecoder().decode(ObjectRequest<Song>.self, from: JSONEncoder().encode(request))
    #expect(try coded == request && context.fetch(coded).limit(30).ids() == ids)
  }

  @Test func `ids of another store and new objects in a request are errors`() async throws {
    let other = try await TemporaryStore(orderedModel)
    let id = try await other.store.write { context in context.insert(Song.self) { $0.key = 1 }.id }
    #expect(throws: StoreError.self) { try context.fetch(Song.self).sorted(byOrderOf: [id]).all() }
    let strange = context.fetch(Song.request.sorted(byOrderOf: [id]))
    #expect(throws: StoreError.self) { try strange.ids() }
    let new = context.insert(Song.self)
    #expect(throws: StoreError.self) { try context.fetch(Song.request.sorted(byOrderOf: [new])).all() }
    #expect(try context.fetch(Song.self).sorted(byOrderOf: [new]).first() === new)
  }

  @Test func `objects without classes are sorted by the order of a list`() async throws {
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    defer { store.close() }
    let context = store.makeContext()
    let wanted = try Array(context.fetch(entity: "Song").all().reversed())
    #expect(try context.fetch(entity: "Song").sorted(byOrderOf: wanted).all() == wanted)
  }
}
