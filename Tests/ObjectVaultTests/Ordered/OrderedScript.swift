// Random changes of ordered relationships, by each of the possible ways, on a context and on plain arrays.

import Foundation

import ObjectVault

final class OrderedScript {
  let context: ObjectContext
  var dice: Dice
  var shelf: MusicShelf
  private(set) var saved: MusicShelf
  private var objects: [Int: ManagedObject] = [:]
  /// Row ids by key, for contexts that have not loaded the object.
  private(set) var rows: [Int: Int64]
  private var nextKey: Int
  private(set) var trace: [String] = []
  /// Whether there are fetches in between. Inside of a write transaction they cause writes.
  private let fetches: Bool

  init(
    _ context: ObjectContext, seed: UInt64, _ start: (shelf: MusicShelf, rows: [Int: Int64]), fetches: Bool
  ) {
    (self.context, self.fetches) = (context, fetches)
    dice = Dice(seed)
    (shelf, saved, rows) = (start.shelf, start.shelf, start.rows)
    nextKey = (start.rows.keys.max() ?? 0) + 1
  }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      try step()
      let violations = context.pending.violations(among: context.maps.objects)
      if let first = violations.first { throw Mismatch("what is pending: \(first)") }
      if fetches, dice.isOne(in: 4) { _ = try context.fetch(Song.self).where("album != nil").count() }
    }
    try save()
  }

  private func log(_ line: String) { trace.append(line) }

  private func object<Object: ManagedObject>(_ key: Int) throws -> Object {
    if let known = objects[key] as? Object { return known }
    guard let row = rows[key], let found = try context.existing(ObjectID<Object>(rowID: row)) else {
      throw Mismatch("\(Object.self) \(key) is not there")
    }
    objects[key] = found
    return found
  }

  private func song(_ key: Int) throws -> Song { try object(key) }

  private func step() throws {
    switch dice.next(16) {
    case 0, 1, 2: make()
    case 3, 4, 5: try changeAlbum()
    case 6, 7, 8: try changePlaylist()
    case 9: try changeLists()
    case 10: try changeOthers()
    case 11: try moveSong()
    case 12: try delete()
    case 13 where dice.isOne(in: 3): rollBack()
    case 14: try save()
    default: try look()
    }
  }

  private func make() {
    defer { nextKey += 1 }
    let key = nextKey
    log("make \(key)")
    switch dice.next(5) {
    case 0:
      objects[key] = context.insert(Album.self) { $0.key = key }
      shelf.albums[key] = []
    case 1:
      objects[key] = context.insert(Playlist.self) { $0.key = key }
      shelf.playlists[key] = []
    default:
      objects[key] = context.insert(Song.self) { $0.key = key }
      shelf.songs.append(key)
    }
  }

  /// Returns a changed list: a member more, less or elsewhere, another order, or duplicates.
  private func changed(_ list: [Int], with candidates: [Int]) -> [Int] {
    var list = list
    let other = dice.pick(candidates)
    switch dice.next(8) {
    case 0: if let other { list.append(other) }
    case 1: if let other { list.insert(other, at: dice.next(list.count + 1)) }
    case 2: if !list.isEmpty { list.remove(at: dice.next(list.count)) }
    case 3: if !list.isEmpty { list.swapAt(dice.next(list.count), dice.next(list.count)) }
    case 4: list.reverse()
    case 5: if !list.isEmpty { list.append(list.remove(at: dice.next(list.count))) }
    case 6: list = (0..<dice.next(5)).compactMap { _ in dice.pick(candidates) }
    default: list += list + (other.map { [$0] } ?? [])
    }
    return list
  }

  private func changeAlbum() throws {
    guard let key = dice.pick(shelf.albums.keys.sorted() as [Int]) else { return }
    let songs = changed(shelf.albums[key] ?? [], with: shelf.songs)
    log("songs of album \(key): \(songs)")
    let album: Album = try object(key)
    album.songs = try songs.map(song)
    shelf.setSongs(of: key, songs)
  }

  private func changePlaylist() throws {
    guard let key = dice.pick(shelf.playlists.keys.sorted() as [Int]) else { return }
    let list: Playlist = try object(key)
    let present = shelf.playlists[key] ?? []
    if dice.isOne(in: 2), let other = dice.pick(shelf.songs) {
      let adds = dice.isOne(in: 2)
      let way = dice.next(2)
      log("playlist \(key): \(adds ? "+" : "-") \(other), way \(way)")
      switch (adds, way) {
      case (true, 0): list.add(try song(other), to: \.songs)
      case (true, _): try song(other).add(list, to: \.lists)
      case (false, 0): list.remove(try song(other), from: \.songs)
      case (false, _): try song(other).remove(list, from: \.lists)
      }
      if !adds {
        shelf.setPlaylist(key, present.filter { $0 != other })
      } else if !present.contains(other) {
        shelf.setPlaylist(key, present + [other])
      }
      return
    }
    let songs = changed(present, with: shelf.songs)
    log("songs of playlist \(key): \(songs)")
    list.songs = try songs.map(song)
    shelf.setPlaylist(key, songs)
  }

  private func changeLists() throws {
    guard let key = dice.pick(shelf.songs) else { return }
    let lists = changed(shelf.lists[key] ?? [], with: shelf.playlists.keys.sorted())
    log("lists of song \(key): \(lists)")
    try song(key).lists = try lists.map { try object($0) as Playlist }
    shelf.setLists(of: key, lists)
  }

  private func changeOthers() throws {
    if dice.isOne(in: 2), let key = dice.pick(shelf.playlists.keys.sorted() as [Int]) {
      let songs = changed(shelf.extras[key] ?? [], with: shelf.songs)
      log("extras of \(key): \(songs)")
      (try object(key) as Playlist).extras = try songs.map(song)
      shelf.extras[key] = songs.reducedToFirst
    } else if let key = dice.pick(shelf.songs) {
      if let other = dice.pick(shelf.songs), dice.isOne(in: 2) {
        log("followers of \(other): + \(key)")
        try song(other).followers.insert(try song(key))
        if shelf.follows[key]?.contains(other) != true { shelf.follows[key, default: []].append(other) }
        return
      }
      let songs = changed(shelf.follows[key] ?? [], with: shelf.songs)
      log("follows of \(key): \(songs)")
      try song(key).follows = try songs.map(song)
      shelf.follows[key] = songs.reducedToFirst
    }
  }

  /// Moves a song by its to-one.
  private func moveSong() throws {
    guard let key = dice.pick(shelf.songs) else { return }
    let target = dice.isOne(in: 3) ? nil : dice.pick(shelf.albums.keys.sorted() as [Int])
    log("album of \(key): \(target ?? 0)")
    let former = shelf.album(of: key)
    let album: Album? = try target.map { try object($0) }
    if dice.isOne(in: 3) {
      log("  by nil")
      try song(key).album = nil
      if let former { shelf.albums[former]?.removeAll { $0 == key } }
      try song(key).album = album
      if let target { shelf.albums[target]?.append(key) }
      return
    }
    if dice.isOne(in: 2), let album {
      album.add(try song(key), to: \.songs)
    } else {
      try song(key).album = album
    }
    guard former != target else { return }
    if let former { shelf.albums[former]?.removeAll { $0 == key } }
    if let target { shelf.albums[target]?.append(key) }
  }

  private func delete() throws {
    guard dice.isOne(in: 2) else { return }
    switch dice.next(4) {
    case 0:
      guard let key = dice.pick(shelf.albums.keys.sorted() as [Int]) else { return }
      log("delete album \(key)")
      context.delete(try object(key) as Album)
      shelf.albums[key] = nil
    case 1:
      guard let key = dice.pick(shelf.playlists.keys.sorted() as [Int]) else { return }
      log("delete playlist \(key)")
      context.delete(try object(key) as Playlist)
      shelf.delete(playlist: key)
    default:
      guard let key = dice.pick(shelf.songs) else { return }
      log("delete song \(key)")
      context.delete(try song(key))
      shelf.delete(song: key)
    }
  }

  private func rollBack() {
    log("roll back")
    context.rollback()
    (shelf, objects) = (saved, [:])
  }

  private func look() throws {
    guard dice.isOne(in: 2), let key = dice.pick(shelf.songs) else { return }
    log("look at \(key)")
    guard dice.isOne(in: 3) else {
      _ = try song(key).lists.count
      return
    }
    let difference = try MusicShelf(context).difference(from: shelf)
    if !difference.isEmpty { throw Mismatch("between two changes: \(difference)") }
    try ask()
  }

  /// Compares predicates over members, with pending changes, with plain arrays.
  private func ask() throws {
    let key = nextKey / 2
    func expect<Object: ManagedObject>(
      _ type: Object.Type, where format: String, key path: KeyPath<Object, Int>, members: [Int: [Int]],
      test: ([Int]) -> Bool
    ) throws {
      let found = try context.fetch(type).where(format).all().map { $0[keyPath: path] }.sorted()
      let expected = members.filter { test($0.value) }.keys.sorted()
      if found != expected { throw Mismatch("\(Object.self) where \(format): \(found), not \(expected)") }
    }
    let normal = shelf.normal
    try expect(Album.self, where: "ANY songs.key > \(key)", key: \.key, members: normal.albums) {
      $0.contains { $0 > key }
    }
    try expect(Album.self, where: "songs.@count == 2", key: \.key, members: normal.albums) { $0.count == 2 }
    try expect(Playlist.self, where: "ALL songs.key > \(key)", key: \.key, members: normal.playlists) {
      $0.allSatisfy { $0 > key }
    }
    try expect(Playlist.self, where: "extras.@count > 0", key: \.key, members: normal.extras) { !$0.isEmpty }
    try expect(Song.self, where: "NONE lists.key < \(key)", key: \.key, members: normal.lists) {
      !$0.contains { $0 < key }
    }
    try expect(Song.self, where: "ANY follows.key > \(key)", key: \.key, members: normal.follows) {
      $0.contains { $0 > key }
    }
  }

  private func save() throws {
    log("save")
    try context.save()
    saved = shelf
    if context.pending.isLive { throw Mismatch("after a save there are changes") }
    for (key, object) in objects where object.state != .invalid { rows[key] = object.rowID }
    let difference = try MusicShelf(context).difference(from: shelf)
    if !difference.isEmpty { throw Mismatch("after a save: \(difference)") }
    // Objects without references become faults again, and their members are unknown.
    if dice.isOne(in: 2) { objects = [:] }
  }
}
