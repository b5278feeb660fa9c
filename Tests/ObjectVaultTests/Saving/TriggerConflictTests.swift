// Triggers of other programs keep their own conflict policies, whichever statement of a save fires them.
// SQLite lets the policy of the outer statement override that of a trigger (lang_createtrigger.html).

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct TriggerConflicts {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    // `latest` has the last event of each row, and `kinds` has each kind of event once.
    try connection.executeScript(
      """
      CREATE TABLE latest(row INTEGER PRIMARY KEY, what TEXT NOT NULL);
      CREATE TABLE kinds(what TEXT PRIMARY KEY);
      CREATE TRIGGER inserted AFTER INSERT ON Author BEGIN
        INSERT OR REPLACE INTO latest VALUES (new.id, 'inserted');
        INSERT OR IGNORE INTO kinds VALUES ('inserted');
      END;
      CREATE TRIGGER updated AFTER UPDATE ON Author BEGIN
        INSERT OR REPLACE INTO latest VALUES (new.id, 'age ' || new.age || ' club ' || ifnull(new.club_id, 'none'));
        INSERT OR IGNORE INTO kinds VALUES ('updated');
      END;
      CREATE TRIGGER deleted AFTER DELETE ON Author BEGIN
        INSERT OR REPLACE INTO latest VALUES (old.id, 'deleted');
        INSERT OR IGNORE INTO kinds VALUES ('deleted');
      END;
      CREATE TRIGGER linked AFTER INSERT ON Book_genres BEGIN
        INSERT OR REPLACE INTO latest VALUES (-new.Book_id, 'genre ' || new.Genre_id);
        INSERT OR IGNORE INTO kinds VALUES ('linked');
      END;
      """)
  }

  private func rows(_ sql: String) throws -> [String] {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    return try connection.rows(sql: sql).map { $0[0].string ?? "\($0[0])" }
  }

  @Test(arguments: [1, 4, 10, 100, 600])
  func `triggers keep their conflict policies when rows are inserted, changed and deleted`(_ count: Int)
    throws
  {
    let club = context.insert(Club.self) { $0.name = "club" }
    let authors = (0..<count).map { number in
      context.insert(Author.self) {
        $0.name = "author \(number)"
        $0.club = club
      }
    }
    try context.save()
    for age in [40, 41] {
      for author in authors { author.age = age }
      try context.save()
      #expect(try rows("SELECT DISTINCT what FROM latest") == ["age \(age) club 1"])
    }
    context.delete(club)
    try context.save()
    #expect(try rows("SELECT DISTINCT what FROM latest") == ["age 41 club none"])
    for author in authors { context.delete(author) }
    try context.save()
    #expect(try rows("SELECT DISTINCT what FROM latest") == ["deleted"])
    #expect(try rows("SELECT what FROM kinds ORDER BY what") == ["deleted", "inserted", "updated"])
    #expect(try rows("SELECT count(*) FROM latest") == [SQLValue.integer(Int64(count))].map { "\($0)" })
  }

  enum Way: String, CaseIterable { case saved, heard, inWrite }

  @Test(arguments: Way.allCases, [1, 10, 100])
  func `triggers keep their conflict policies when links are inserted, one of which exists`(
    _ way: Way, _ count: Int
  ) async throws {
    let genres = (0..<2).map { number in context.insert(Genre.self) { $0.name = "genre \(number)" } }
    let books = (0..<count).map { number in context.insert(Book.self) { $0.title = "book \(number)" } }
    try context.save()
    let listener = way == .heard ? store.changes() : nil
    try execute("INSERT INTO Book_genres(Book_id, Genre_id) VALUES (1, 1); DELETE FROM latest")
    for number in 0..<2 {
      if way == .inWrite {
        let (bookIDs, genreID) = (books.map(\.id), genres[number].id)
        try await store.write { context in
          for id in bookIDs {
            let (book, genre) = (
              try #require(try context.existing(id)), try #require(try context.existing(genreID))
            )
            book.genres.insert(genre)
            _ = try context.fetch(Book.self).where("title == 'none'").count()
          }
        }
      } else {
        for book in books { book.genres.insert(genres[number]) }
        try context.save()
      }
      // A link that exists already fires no trigger.
      #expect(
        try rows("SELECT count(*) FROM latest") == [
          "\(SQLValue.integer(Int64(number == 0 ? count - 1 : count)))"
        ])
      #expect(
        try rows("SELECT DISTINCT what FROM latest")
          == (number == 0 && count == 1 ? [] : ["genre \(number + 1)"]))
      #expect(
        try rows("SELECT count(*) FROM Book_genres") == ["\(SQLValue.integer(Int64(count * (number + 1))))"])
    }
    #expect(try rows("SELECT what FROM kinds") == ["linked"])
    withExtendedLifetime(listener) {}
  }

  private func execute(_ script: String) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try connection.executeScript(script)
  }

  @Test(
    arguments: [
      "CREATE TABLE strict(row INTEGER NOT NULL CHECK (row < 0)); CREATE TRIGGER guarded AFTER INSERT ON Book_genres BEGIN INSERT INTO strict VALUES (new.Book_id); END",
      "CREATE TRIGGER guarded AFTER INSERT ON Book_genres BEGIN SELECT RAISE(ABORT, 'strict'); END",
      "DROP TRIGGER linked; CREATE UNIQUE INDEX strict ON Book_genres(Genre_id)",
      "CREATE UNIQUE INDEX strict ON Book_genres(Genre_id)",
    ], [2, 60])
  func `a link that the file refuses is named by its two ends`(_ script: String, _ count: Int) throws {
    try execute(script)
    let genre = context.insert(Genre.self) { $0.name = "genre" }
    for number in 0..<count {
      context.insert(Book.self) {
        $0.title = "book \(number)"
        $0.genres = [genre]
      }
    }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      // A unique index accepts the first link, and refuses one of the others.
      let isIndex = script.contains("UNIQUE")
      return failures.count == 1 && failures[0].entity == "Book" && failures[0].property == "genres"
        && (isIndex ? failures[0].rowID > 1 : failures[0].rowID >= 1)
        && failures[0].reason.contains("is rejected by the file, linked to Genre 1: ")
    }
    #expect(try rows("SELECT count(*) FROM Book_genres") == ["\(SQLValue.integer(0))"])
  }
}
