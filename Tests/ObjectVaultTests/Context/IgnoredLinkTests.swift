// Triggers with RAISE(IGNORE) on link tables make the engine skip a statement without an error. A save
// detects this and throws.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct IgnoredLinks {
  let temporary: TemporaryStore
  let context: ObjectContext
  let (first, second): (Book, Book)
  let (kept, silent): (Genre, Genre)
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    first = context.insert(Book.self) { $0.title = "first" }
    second = context.insert(Book.self) { $0.title = "second" }
    kept = context.insert(Genre.self) { $0.name = "kept" }
    silent = context.insert(Genre.self) { $0.name = "silent" }
    first.genres = [kept]
    try context.save()
  }

  private func run(_ sql: String) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try connection.executeScript(sql)
  }

  private func ignore(_ event: String, _ genre: Genre) throws {
    try run(
      """
      CREATE TRIGGER silence BEFORE \(event) ON Book_genres
      WHEN \(event == "INSERT" ? "NEW" : "OLD").Genre_id = \(genre.id.rowID)
      BEGIN SELECT RAISE(IGNORE); END
      """)
  }

  private var links: Int {
    get throws {
      let connection = try Connection.open(store.url.path, key: testKey)
      defer { connection.close() }
      return Int(try connection.value("SELECT count(*) FROM Book_genres")?.int64 ?? -1)
    }
  }

  private func isSilence(_ error: any Error, _ words: String) -> Bool {
    guard case StoreError.validation(let failures) = error else { return false }
    return failures.count == 1 && failures[0].entity == "Book" && failures[0].property == "genres"
      && failures[0].rowID == first.id.rowID && failures[0].reason.contains("RAISE(IGNORE)")
      && failures[0].reason.contains(words)
  }

  @Test func `a save throws if a trigger ignores the insertion of a link`() async throws {
    try ignore("INSERT", silent)
    first.genres.insert(silent)
    second.genres.insert(kept)
    let name = "was not linked to Genre \(silent.id.rowID)"
    #expect { try context.save() } throws: { isSilence($0, name) }
    #expect(first.genres == [kept, silent] && context.hasChanges)
    #expect(try links == 1)
    let (book, genre) = (first.id, silent.id)
    await #expect {
      try await store.write { context in
        guard let book = try context.existing(book) else { return }
        try context.existing(genre)?.books.insert(book)
      }
    } throws: {
      isSilence($0, name)
    }
    try run("DROP TRIGGER silence")
    try context.save()
    #expect(try links == 3)
  }

  @Test func `a save throws if a trigger ignores the deletion of a link`() throws {
    try ignore("DELETE", kept)
    first.genres = []
    #expect { try context.save() } throws: { isSilence($0, "was not unlinked from Genre \(kept.id.rowID)") }
    #expect(first.genres.isEmpty && context.hasChanges)
    #expect(try links == 1)
  }

  @Test func `a save succeeds if another program has already made or removed the links`() throws {
    first.genres = [silent]
    try run("UPDATE Book_genres SET Genre_id = \(silent.id.rowID)")
    try context.save()
    let other = store.makeContext()
    #expect(try other.existing(first.id)?.genres.map(\.name) == ["silent"])
  }

  @Test func `a save throws if a trigger ignores the new place of a member`() async throws {
    let temporary = try await TemporaryStore(orderedModel)
    let context = temporary.store.makeContext()
    let songs = [1, 2, 3].map { key in context.insert(Song.self) { $0.key = key } }
    let list = context.insert(Playlist.self)
    list.songs = songs
    let album = context.insert(Album.self)
    album.songs = songs
    try context.save()
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    defer { connection.close() }
    for (table, property) in [("Playlist_songs", "Playlist"), ("Song", "Album")] {
      try connection.execute(
        sql: "CREATE TRIGGER silence BEFORE UPDATE ON \(table) BEGIN SELECT RAISE(IGNORE); END")
      list.songs = property == "Playlist" ? songs.reversed() : songs
      album.songs = property == "Album" ? songs.reversed() : songs
      #expect("\(table)") {
        try context.save()
      } throws: { error in
        guard case StoreError.validation(let failures) = error else { return false }
        return failures.map(\.entity) == [property] && failures[0].property == "songs"
          && failures[0].reason.contains("RAISE(IGNORE)")
      }
      try connection.execute(sql: "DROP TRIGGER silence")
      context.rollback()
    }
    #expect(list.songs.map(\.key) == [1, 2, 3] && album.songs.map(\.key) == [1, 2, 3])
  }
}
