// Predicates on elements of ordered relationships, compared with the arrays.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ElementPredicates {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(orderedModel)
    context = temporary.store.makeContext()
    let songs = (0..<12).map { key in context.insert(Song.self) { $0.key = key } }
    // Orders that differ from those of the ids: 3 2 1 0, 7 6 5 4, 9 8, none.
    for (key, range) in [(0, 0..<4), (1, 4..<8), (2, 8..<10), (3, 10..<10)] {
      context.insert(Album.self) {
        $0.key = key
        $0.songs = songs[range].reversed()
      }
      context.insert(Playlist.self) {
        $0.key = key
        $0.songs = songs[range].map { $0 } + [songs[11]]
        $0.extras = [songs[key]]
      }
    }
    try context.save()
  }

  private func check<Object: ManagedObject>(
    _ fetch: Fetch<Object>, _ isWanted: (Object) -> Bool, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let all = try context.fetch(Object.self).all()
    let expected = Set(all.filter(isWanted).map(\.id))
    #expect(!expected.isEmpty && expected.count < all.count, sourceLocation: location)
    let sql = try fetch.sql.text
    #expect(try Set(fetch.ids()) == expected, "\(sql)", sourceLocation: location)
  }

  private func checkAll() throws {
    let (albums, lists) = (context.fetch(Album.self), context.fetch(Playlist.self))
    try check(try albums.where("songs[FIRST].key == 3")) { $0.songs.first?.key == 3 }
    try check(try albums.where("songs[0].key > 3")) { ($0.songs.first?.key ?? 0) > 3 }
    try check(try albums.where("songs[LAST].key == 4")) { $0.songs.last?.key == 4 }
    try check(try albums.where("songs[2].key == nil")) { $0.songs.count < 3 }
    try check(try albums.where("songs[1].key IN {2, 6}")) {
      $0.songs.count > 1 && [2, 6].contains($0.songs[1].key)
    }
    try check(try albums.where("songs[SIZE] == 4")) { $0.songs.count == 4 }
    try check(try lists.where("songs[last].key == songs[first].key")) { $0.songs.count == 1 }
    try check(try lists.where("songs[1].album.key == 1")) {
      $0.songs.count > 1 && $0.songs[1].album?.key == 1
    }
    try check(try lists.where("songs[0].album.songs[0].key == 7")) {
      $0.songs.first?.album?.songs.first?.key == 7
    }
    try check(try lists.where("songs[0].lists.@count == 1")) { $0.songs.first?.lists.count == 1 }
    try check(try lists.where("ANY songs.album.songs[LAST].key == 4")) { list in
      list.songs.contains { $0.album?.songs.last?.key == 4 }
    }
    try check(try lists.where("extras[0] == songs[0]")) { $0.extras.first === $0.songs.first }
    try check(try context.fetch(Song.self).where("album.songs[0] == SELF")) { $0.album?.songs.first === $0 }
    try check(try albums.where(#Predicate { $0.songs[0].key == 3 })) { $0.songs.first?.key == 3 }
    try check(try albums.where(#Predicate { $0.songs[1].key > 3 })) {
      $0.songs.count > 1 && $0.songs[1].key > 3
    }
  }

  @Test func `elements of ordered to-manys are those of the arrays`() throws {
    try checkAll()
    let sorted = try context.fetch(Album.self).sorted(byPath: "songs[0].key", .reverse).all().map(\.key)
    #expect(sorted == [2, 1, 0, 3])
  }

  @Test func `elements reflect pending orders, additions and removals`() throws {
    let albums = try context.fetch(Album.self).sorted(by: \.key).all()
    albums[0].songs.reverse()
    albums[0].songs.swapAt(1, 3)
    albums[0].songs[0].key = 3
    albums[1].songs.append(albums[2].songs[0])
    albums[2].songs.append(context.insert(Song.self) { $0.key = 4 })
    let lists = try context.fetch(Playlist.self).sorted(by: \.key).all()
    lists[1].songs.remove(at: 0)
    lists[2].songs.insert(albums[1].songs[0], at: 0)
    lists[3].extras = [lists[3].songs[0]]
    try checkPending()
    try context.save()
    try checkPending()
  }

  private func checkPending() throws {
    let (albums, lists) = (context.fetch(Album.self), context.fetch(Playlist.self))
    for key in 0..<12 {
      for index in 0..<5 {
        let expected = try albums.all().filter { $0.songs.count > index && $0.songs[index].key == key }
        #expect(
          try Set(albums.where("songs[\(index)].key == \(key)").all()) == Set(expected), "\(index), \(key)")
        let others = try lists.all().filter { $0.songs.count > index && $0.songs[index].key == key }
        #expect(
          try Set(lists.where("songs[\(index)].key == \(key)").all()) == Set(others), "\(index), \(key)")
      }
      let last = try albums.all().filter { $0.songs.last?.key == key }
      #expect(try Set(albums.where("songs[LAST].key == \(key)").all()) == Set(last), "last, \(key)")
      let first = try lists.all().filter { $0.extras.first?.key == key }
      #expect(try Set(lists.where("extras[FIRST].key == \(key)").all()) == Set(first), "extras, \(key)")
    }
  }

  @Test(arguments: [
    ("songs[FIRST].key == 3", "first"), ("songs[LAST].key == 3", "last"),
    ("songs[2].album.songs[0].key == 3", "of-element"),
    ("songs[SIZE] == 3", "size"),
  ])
  func `the SQL of an element equals its golden file`(_ format: String, _ name: String) throws {
    let text = "\(format)\n\(try context.fetch(Playlist.self).where(format).sql)\n"
    let difference = try Golden.difference(of: text, from: "element-\(name).txt", in: "ObjectVaultTests")
    #expect(difference == nil, "\(difference ?? "")")
  }

  @Test func `indexes of other relationships are errors`() throws {
    for (format, reason) in [
      ("followers[0].key == 1", "not an ordered to-many"), ("album[0].key == 1", "not an ordered to-many"),
      ("key[0] == 1", "not an ordered to-many"), ("nothing[0] == 1", "no property"),
    ] {
      #expect {
        _ = try context.fetch(Song.self).where(format).all()
      } throws: { error in "\(error)".contains(reason) }
    }
  }
}
