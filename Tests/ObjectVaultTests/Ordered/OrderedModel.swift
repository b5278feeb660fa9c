// A model with ordered relationships in both kinds of storage, and its content in plain arrays.

import Foundation
import ObjectVault

final class Album: ManagedObject {
  @Attribute var key: Int = 0
  @ToMany(inverse: \Song.album) var songs: [Song]
  @ToMany(inverse: \Sleeve.album, onDelete: .cascade) var sleeves: [Sleeve]
}

final class Sleeve: ManagedObject {
  @Attribute var key: Int = 0
  @ToOne(.required) var album: Album?
}

final class Playlist: ManagedObject {
  @Attribute var key: Int = 0
  @ToMany(inverse: \Song.lists) var songs: [Song]
  /// Without an inverse.
  @ToMany var extras: [Song]
}

final class Song: ManagedObject {
  @Attribute var key: Int = 0
  @Attribute(.unique) var code: Int?
  @ToOne var album: Album?
  @ToMany var lists: [Playlist]
  @ToMany(inverse: \Song.followers) var follows: [Song]
  @ToMany var followers: Set<Song>
}

let orderedModel = Schema {
  Entity(Album.self)
  Entity(Sleeve.self)
  Entity(Playlist.self)
  Entity(Song.self)
}

/// The model with a history of all entities.
let recordedOrderedModel = Schema {
  Entity(Album.self).history()
  Entity(Sleeve.self).history()
  Entity(Playlist.self).history()
  Entity(Song.self).history()
}

/// The content of a store, by keys.
struct MusicShelf: Equatable {
  var songs: [Int] = []
  /// The songs of albums and of playlists, in order.
  var albums: [Int: [Int]] = [:]
  var playlists: [Int: [Int]] = [:]
  var extras: [Int: [Int]] = [:]
  /// For songs: the playlists that have them, and the songs that they follow.
  var lists: [Int: [Int]] = [:]
  var follows: [Int: [Int]] = [:]

  func album(of song: Int) -> Int? { albums.first { $0.value.contains(song) }?.key }

  /// Sets an album's songs, as the property does.
  mutating func setSongs(of album: Int, _ songs: [Int]) {
    let songs = songs.reducedToFirst
    for other in albums.keys where other != album { albums[other]?.removeAll(where: songs.contains) }
    albums[album] = songs
  }

  mutating func setPlaylist(_ list: Int, _ songs: [Int]) {
    let songs = songs.reducedToFirst
    for song in playlists[list] ?? [] where !songs.contains(song) { lists[song]?.removeAll { $0 == list } }
    for song in songs where playlists[list]?.contains(song) != true { lists[song, default: []].append(list) }
    playlists[list] = songs
  }

  mutating func setLists(of song: Int, _ new: [Int]) {
    let new = new.reducedToFirst
    for list in lists[song] ?? [] where !new.contains(list) { playlists[list]?.removeAll { $0 == song } }
    for list in new where lists[song]?.contains(list) != true { playlists[list, default: []].append(song) }
    lists[song] = new
  }

  mutating func delete(song: Int) {
    songs.removeAll { $0 == song }
    lists[song] = nil
    follows[song] = nil
    for key in albums.keys { albums[key]?.removeAll { $0 == song } }
    for key in playlists.keys { playlists[key]?.removeAll { $0 == song } }
    for key in extras.keys { extras[key]?.removeAll { $0 == song } }
    for key in follows.keys { follows[key]?.removeAll { $0 == song } }
  }

  mutating func delete(playlist: Int) {
    for key in lists.keys { lists[key]?.removeAll { $0 == playlist } }
    playlists[playlist] = nil
    extras[playlist] = nil
  }
}

extension [Int] {
  var reducedToFirst: [Int] {
    var seen: Set<Int> = []
    return filter { seen.insert($0).inserted }
  }
}

extension MusicShelf {
  /// Reads what a context finds.
  init(_ context: ObjectContext) throws {
    func keyed<Object: ManagedObject>(
      _ objects: [Object], by key: (Object) -> Int, members: (Object) -> [Int]
    ) -> [Int: [Int]] {
      Dictionary(uniqueKeysWithValues: objects.map { (key($0), members($0)) })
    }
    let songs = try context.fetch(Song.self).all()
    let playlists = try context.fetch(Playlist.self).all()
    self.songs = songs.map(\.key).sorted()
    albums = keyed(try context.fetch(Album.self).all(), by: \.key) { $0.songs.map(\.key) }
    self.playlists = keyed(playlists, by: \.key) { $0.songs.map(\.key) }
    extras = keyed(playlists, by: \.key) { $0.extras.map(\.key) }
    lists = keyed(songs, by: \.key) { $0.lists.map(\.key) }
    follows = keyed(songs, by: \.key) { $0.follows.map(\.key) }
    if let error = context.faultErrors.first { throw error }
  }

  /// A copy with empty lists in the place of missing ones, for comparison.
  var normal: MusicShelf {
    var copy = self
    copy.songs.sort()
    for song in songs {
      copy.lists[song] = lists[song] ?? []
      copy.follows[song] = follows[song] ?? []
    }
    for list in playlists.keys { copy.extras[list] = extras[list] ?? [] }
    return copy
  }

  /// The differences of two contents, in few words.
  func difference(from other: MusicShelf) -> String {
    let (left, right) = (normal, other.normal)
    let parts: [(String, [Int: [Int]], [Int: [Int]])] = [
      ("songs", [0: left.songs], [0: right.songs]), ("albums", left.albums, right.albums),
      ("playlists", left.playlists, right.playlists), ("extras", left.extras, right.extras),
      ("lists", left.lists, right.lists), ("follows", left.follows, right.follows),
    ]
    return parts.flatMap { name, one, two in
      Set(one.keys).union(two.keys).sorted().filter { one[$0] != two[$0] }.map {
        "\(name) of \($0) are \(one[$0].map { "\($0)" } ?? "none"), not \(two[$0].map { "\($0)" } ?? "none")"
      }
    }.joined(separator: "; ")
  }
}
