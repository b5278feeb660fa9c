// Somebody's triggers beside the store: what they do about conflicts is theirs, whatever statement of a save fires them. SQLite
// lets the policy of the outer statement override that of a trigger (lang_createtrigger.html).

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct TriggerConflicts {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    // The last event of each row, and all events of a kind counted once.
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
  func `of rows that are inserted, changed, let go and deleted`(_ count: Int) throws {
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

  @Test(arguments: [1, 10, 100])
  func `of links`(_ count: Int) throws {
    let genres = (0..<2).map { number in context.insert(Genre.self) { $0.name = "genre \(number)" } }
    let books = (0..<count).map { number in context.insert(Book.self) { $0.title = "book \(number)" } }
    for (number, genre) in genres.enumerated() {
      for book in books { book.genres.insert(genre) }
      try context.save()
      #expect(try rows("SELECT DISTINCT what FROM latest") == ["genre \(number + 1)"])
    }
    #expect(try rows("SELECT what FROM kinds") == ["linked"])
  }

  @Test func `a constraint that a trigger breaks is no silence`() throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.executeScript(
      """
      CREATE TABLE strict(row INTEGER NOT NULL CHECK (row < 0));
      CREATE TRIGGER guarded AFTER INSERT ON Book_genres BEGIN INSERT INTO strict VALUES (new.Book_id); END;
      """)
    connection.close()
    let genre = context.insert(Genre.self) { $0.name = "genre" }
    context.insert(Book.self) {
      $0.title = "book"
      $0.genres = [genre]
    }
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try rows("SELECT count(*) FROM Book_genres") == ["\(SQLValue.integer(0))"])
  }
}
