// Deletions of many rows, which one statement reads from memory. Exactly these rows are deleted, and an
// error names the row that cannot be.

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

  /// Inserts authors with a book each.
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

  /// Whether an error names one author only, with a reason.
  private func names(_ id: Int64, reason: String, in error: any Error) -> Bool {
    guard case StoreError.validation(let failures) = error else { return false }
    return failures.map(\.rowID) == [id] && failures[0].entity == "Author"
      && failures[0].reason.contains(reason)
  }

  /// Saves, and expects that the save is refused for one author and deletes none.
  private func expectRefusal(
    of id: Int64, _ reason: String = "is rejected by the file: ", among count: Int
  ) throws {
    #expect {
      try context.save()
    } throws: {
      names(id, reason: reason, in: $0)
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
  func `a save deletes the rows with their cascades, and no others`(_ count: Int) throws {
    let authors = try makeAuthors(count * 2)
    // Every other author, not in the order of the ids.
    for index in (0..<count).reversed() { context.delete(authors[index * 2]) }
    try context.save()
    let left = (0..<count).map { Int64($0 * 2 + 2) }
    #expect(try rows("SELECT id FROM Author ORDER BY id") == left.map { [.integer($0)] })
    #expect(try rows("SELECT author_id FROM Book ORDER BY author_id") == left.map { [.integer($0)] })
  }

  @Test func `rows that are already gone from the file do not prevent a deletion`() throws {
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
  func `the error names the row that a trigger refuses to delete, and nothing is deleted`(
    _ count: Int, _ held: [Int]
  ) throws {
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
        names(Int64(held[0]), reason: "is rejected by the file: is a founder", in: $0)
      }
      #expect(try rows("SELECT count(*) FROM Author") == [[.integer(Int64(count))]])
      #expect(try rows("SELECT count(*) FROM Book") == [[.integer(Int64(count))]])
      try execute("DROP TRIGGER held")
    }
    // Without the trigger the same save succeeds.
    try context.save()
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(0)]])
  }

  @Test func `a trigger that fails after a row's deletion leaves no partial change, and names the row`()
    throws
  {
    let authors = try makeAuthors(1200)
    try execute(
      "CREATE TRIGGER held AFTER DELETE ON Author WHEN old.id = 601 BEGIN SELECT RAISE(FAIL, 'is a founder'); END"
    )
    for author in authors { context.delete(author) }
    try expectRefusal(of: 601, among: 1200)
  }

  @Test func `a refused row among more than one statement deletes is named, and nothing is delivered`()
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
      names(20_400, reason: "is rejected by the file: ", in: $0)
    }
    try execute("DROP TRIGGER held")
    try context.save()
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(0)]])
    var heard = listener.makeAsyncIterator()
    // The trigger was made by another connection.
    #expect(await heard.next() == .changedElsewhere)
    guard case .committed(let told)? = await heard.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(told.deleted.count { $0.entity == "Author" } == count)
  }

  @Test func `a fetch works while the file refuses a deletion, and the save names the row`() async throws {
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
      names(600, reason: "is rejected by the file: ", in: $0)
    }
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(700)]])
  }

  @Test func `the error names the one row of many whose deletion a trigger ignores`() throws {
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
  func `a broken rule of another table is reported for the row whose deletion broke it`(_ script: String)
    throws
  {
    let authors = try makeAuthors(1200)
    try execute("CREATE TABLE own(x NOT NULL UNIQUE); \(script)")
    for author in authors { context.delete(author) }
    try expectRefusal(of: 601, among: 1200)
  }

  @Test(arguments: [3, 1200])
  func `the error names a row that another program's table refers to`(_ count: Int) throws {
    let authors = try makeAuthors(count)
    try execute(
      """
      CREATE TABLE prizes(winner INTEGER NOT NULL REFERENCES Author(id));
      INSERT INTO prizes VALUES (\(count - 1))
      """)
    for author in authors { context.delete(author) }
    try expectRefusal(of: Int64(count - 1), among: count)
  }

  @Test func `a trigger that rolls the transaction back is reported without naming a row`() async throws {
    _ = try makeAuthors(1200)
    try execute(
      "CREATE TRIGGER held BEFORE DELETE ON Author WHEN old.id = 700 BEGIN SELECT RAISE(ROLLBACK, 'is a founder'); END"
    )
    await #expect {
      try await store.write { context in
        for author in try context.fetch(Author.self).all() { context.delete(author) }
      }
    } throws: { error in
      // No object is named by a guess, because the rows can no longer be checked.
      if case StoreError.validation = error { return false }
      return "\(error)".contains("is a founder")
    }
    #expect(try rows("SELECT count(*) FROM Author") == [[.integer(1200)]])
  }

  @Test func `the error names a member whose reference cannot be cleared`() throws {
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
      names(600, reason: "is a founder", in: $0)
    }
    #expect(try rows("SELECT count(club_id) FROM Author") == [[.integer(700)]])
  }

  @Test func `deleting an owner clears the references of all its members`() throws {
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
