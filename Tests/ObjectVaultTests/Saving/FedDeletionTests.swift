// Deletions of many rows, which one statement takes out of memory: all of them go and nothing else does, and what cannot go is named.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FedDeletions {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  /// Authors with a book each.
  private func makeAuthors(_ count: Int) throws -> [Author] {
    let authors = (0..<count).map { number in context.insert(Author.self) { $0.name = "author \(number)" } }
    for (number, author) in authors.enumerated() {
      context.insert(Book.self) {
        $0.title = "book \(number)"
        $0.author = author
      }
    }
    try context.save()
    return authors
  }

  /// Whether an error says of one author, and nobody else, that something stands against its deletion.
  private func names(_ id: Int64, _ reason: String, _ error: any Error) -> Bool {
    guard case StoreError.validation(let failures) = error else { return false }
    return failures.map(\.rowID) == [id] && failures[0].entity == "Author"
      && failures[0].reason.contains(reason)
  }

  /// Saves, which is refused for one author, and leaves all of them.
  private func expectRefusal(
    of id: Int64, _ reason: String = "is rejected by the file: ", among count: Int
  ) throws {
    #expect {
      try context.save()
    } throws: {
      names(id, reason, $0)
    }
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(Int64(count))]])
  }

  private func execute(_ sql: String) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try connection.executeScript(sql)
  }

  private func rows(_ sql: String) throws -> [[SQLValue]] {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    return try connection.rows(sql: sql)
  }

  @Test(arguments: [1, 499, 500, 501, 1700])
  func `what is deleted goes with what hangs on it, and the rest stays`(_ count: Int) throws {
    let authors = try makeAuthors(count * 2)
    // Every other, in no order of ids.
    for index in (0..<count).reversed() { context.delete(authors[index * 2]) }
    try context.save()
    let left = (0..<count).map { Int64($0 * 2 + 2) }
    #expect(try rows("SELECT id FROM Author ORDER BY id") == left.map { [.integer($0)] })
    #expect(try rows("SELECT author_id FROM Book ORDER BY author_id") == left.map { [.integer($0)] })
  }

  @Test func `rows that are gone from the file already do not stand in the way`() throws {
    let authors = try makeAuthors(1200)
    try execute("DELETE FROM Author WHERE id % 3 = 0")
    for author in authors { context.delete(author) }
    try context.save()
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(0)]])
  }

  @Test(arguments: [
    (1, [1]), (3, [1]), (3, [3]), (501, [1]), (501, [251]), (1200, [1200]), (1201, [600]),
    (1201, [601, 900]),
  ])
  func `a row that a trigger refuses to give up is named, and nothing is deleted`(_ count: Int, _ held: [Int])
    throws
  {
    let authors = try makeAuthors(count)
    let list = held.map { "\($0)" }.joined(separator: ", ")
    for answer in ["ABORT", "FAIL"] {
      try execute(
        """
        CREATE TRIGGER held BEFORE DELETE ON Author WHEN old.id IN (\(list))
        BEGIN SELECT RAISE(\(answer), 'is a founder'); END
        """)
      for author in authors { context.delete(author) }
      #expect {
        try context.save()
      } throws: {
        names(Int64(held[0]), "is rejected by the file: is a founder", $0)
      }
      #expect(try rows("SELECT count(*) FROM Author") == [[.integer(Int64(count))]])
      #expect(try rows("SELECT count(*) FROM Book") == [[.integer(Int64(count))]])
      try execute("DROP TRIGGER held")
    }
    // Without the trigger the same save goes through.
    try context.save()
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(0)]])
  }

  @Test func `a trigger that fails behind a row leaves nothing half done, and the row is named`() throws {
    let authors = try makeAuthors(1200)
    try execute(
      "CREATE TRIGGER held AFTER DELETE ON Author WHEN old.id = 601 BEGIN SELECT RAISE(FAIL, 'is a founder'); END"
    )
    for author in authors { context.delete(author) }
    try expectRefusal(of: 601, among: 1200)
  }

  @Test
  func `of more rows than one statement deletes, one that is refused is named, and listeners hear nothing`()
    async throws
  {
    let count = 20_500
    let authors = try makeAuthors(count)
    try execute(
      "CREATE TRIGGER held BEFORE DELETE ON Author WHEN old.id = 20400 BEGIN SELECT RAISE(ABORT, 'is a founder'); END"
    )
    let listener = store.changes()
    for author in authors { context.delete(author) }
    #expect {
      try context.save()
    } throws: {
      names(20_400, "is rejected by the file: ", $0)
    }
    try execute("DROP TRIGGER held")
    try context.save()
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(0)]])
    var heard = listener.makeAsyncIterator()
    guard case .committed(let told)? = await heard.next() else {
      Issue.record("no commit was told")
      return
    }
    #expect(told.deleted.count { $0.entity == "Author" } == count)
  }

  @Test func `a fetch goes on beside a deletion that the file refuses, which the save then names`()
    async throws
  {
    _ = try makeAuthors(700)
    try execute(
      "CREATE TRIGGER held BEFORE DELETE ON Author WHEN old.id = 600 BEGIN SELECT RAISE(ABORT, 'is a founder'); END"
    )
    await #expect {
      try await store.write { context in
        for author in try context.fetch(Author.self).all() { context.delete(author) }
        context.insert(Club.self) { $0.name = "club" }
        #expect(try context.fetch(Club.self).where("name == 'club'").count() == 1)
        #expect(try context.fetch(Author.self).count() == 0)
      }
    } throws: {
      names(600, "is rejected by the file: ", $0)
    }
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(700)]])
  }

  @Test func `one of many that a trigger silently keeps is named`() throws {
    let authors = try makeAuthors(1200)
    try execute(
      "CREATE TRIGGER held BEFORE DELETE ON Author WHEN old.id = 601 BEGIN SELECT RAISE(IGNORE); END")
    for author in authors { context.delete(author) }
    try expectRefusal(of: 601, "RAISE(IGNORE)", among: 1200)
  }

  @Test(arguments: [
    "CREATE TRIGGER t AFTER DELETE ON Author BEGIN INSERT INTO own VALUES (CASE old.id WHEN 601 THEN NULL ELSE old.id END); END",
    "CREATE TRIGGER t AFTER DELETE ON Author BEGIN INSERT INTO own VALUES (CASE old.id WHEN 601 THEN 1 ELSE old.id END); END",
    "CREATE TABLE hers(w NOT NULL REFERENCES Author(id) ON DELETE SET NULL); INSERT INTO hers VALUES (601)",
  ])
  func `what goes against a rule of somebody's own table is laid to the row that was deleted`(
    _ script: String
  )
    throws
  {
    let authors = try makeAuthors(1200)
    try execute("CREATE TABLE own(x NOT NULL UNIQUE); \(script)")
    for author in authors { context.delete(author) }
    try expectRefusal(of: 601, among: 1200)
  }

  @Test(arguments: [3, 1200])
  func `a row that a table of somebody's own refers to is named`(_ count: Int) throws {
    let authors = try makeAuthors(count)
    try execute(
      """
      CREATE TABLE prizes(winner INTEGER NOT NULL REFERENCES Author(id));
      INSERT INTO prizes VALUES (\(count - 1))
      """)
    for author in authors { context.delete(author) }
    try expectRefusal(of: Int64(count - 1), among: count)
  }

  @Test func `a trigger that takes the whole transaction back is told as what it was`() async throws {
    _ = try makeAuthors(1200)
    try execute(
      "CREATE TRIGGER held BEFORE DELETE ON Author WHEN old.id = 700 BEGIN SELECT RAISE(ROLLBACK, 'is a founder'); END"
    )
    await #expect {
      try await store.write { context in
        for author in try context.fetch(Author.self).all() { context.delete(author) }
      }
    } throws: { error in
      // No object is named by guess: which one it was nobody can look for.
      if case StoreError.validation = error { return false }
      return "\(error)".contains("is a founder")
    }
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(1200)]])
  }

  @Test func `one that may not be let go by its owner is named`() throws {
    let club = context.insert(Club.self) { $0.name = "club" }
    let authors = try makeAuthors(700)
    for author in authors { author.club = club }
    try context.save()
    try execute(
      "CREATE TRIGGER held BEFORE UPDATE ON Author WHEN old.id = 600 BEGIN SELECT RAISE(ABORT, 'is a founder'); END"
    )
    context.delete(club)
    #expect {
      try context.save()
    } throws: {
      names(600, "is a founder", $0)
    }
    #expect(try rows("SELECT count(club_id) FROM Author") == [[.integer(700)]])
  }

  @Test func `members of many are let go with their owner`() throws {
    let club = context.insert(Club.self) { $0.name = "club" }
    let authors = try makeAuthors(1700)
    for author in authors { author.club = club }
    try context.save()
    context.delete(club)
    try context.save()
    #expect(
      try rows("SELECT count(*), count(club_id), max(_version) FROM Author") == [
        [.integer(1700), .integer(0), .integer(4)]
      ])
    #expect(authors.allSatisfy { $0.club == nil })
  }
}
