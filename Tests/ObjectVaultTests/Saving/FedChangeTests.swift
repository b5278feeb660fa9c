// Changes of many rows, which one statement reads from memory. Each is written to its own row, and an
// error names the row that cannot be written.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FedChanges {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  private func makeAuthors(_ count: Int, in context: ObjectContext? = nil) throws -> [Author] {
    let context = context ?? self.context
    let authors = (0..<count).map { number in
      context.insert(Author.self) {
        $0.name = "author \(number)"
        $0.nick = number % 2 == 0 ? nil : "nick \(number)"
      }
    }
    try context.save()
    return authors
  }

  private func rows(_ sql: String) throws -> [[SQLValue]] {
    try Connection.open(store.url.path, key: testKey).rows(sql: sql)
  }

  @Test(arguments: [1, 2, 3, 4, 7, 50])
  func `each change is written to its own row, however far apart the rows are`(_ step: Int) throws {
    let authors = try makeAuthors(60 * step)
    // Not in the order of the ids, and some rows in between are deleted.
    let gone = try Connection.open(store.url.path, key: testKey)
    try gone.execute("DELETE FROM Author WHERE id % 7 = 3 AND (id - 1) % \(step) <> 0")
    let changed = authors.indices.filter { $0 % step == 0 }
    for index in changed.reversed() { authors[index].age = 40 + index % 100 }
    try context.save()
    let written = try rows("SELECT id, age, _version FROM Author WHERE age <> 30 ORDER BY id")
    let expected: [[SQLValue]] = changed.map { index in
      [.integer(Int64(index + 1)), .integer(Int64(40 + index % 100)), .integer(3)]
    }
    #expect(written == expected)
    // Memory has the new version, too, so that the next save finds no conflict.
    for index in changed { authors[index].age = index % 30 }
    try context.save()
    #expect(try rows("SELECT DISTINCT _version FROM Author WHERE age <> 30") == [[.integer(4)]])
    #expect(changed.allSatisfy { authors[$0].age == $0 % 30 && authors[$0].name == "author \($0)" })
  }

  @Test func `texts become longer, shorter and nil, in memory and in the file`() throws {
    let authors = try makeAuthors(100)
    let long = String(repeating: "Grüße 🎈", count: 500)
    for round in 0..<3 {
      for (number, author) in authors.enumerated() {
        // Age and nick together are unique.
        author.age = number
        author.nick = [long + "\(number)", "x\(round)", nil, "", "a\0b"][(number + round) % 5]
        if number % 3 == 0 { author.name = "\(round) of \(number)" }
      }
      let expected = authors.map { [$0.nick, $0.name] }
      try context.save()
      #expect(authors.map { [$0.nick, $0.name] } == expected)
      let fetched = try store.makeContext().fetch(Author.self).sorted(by: \.id).all()
      #expect(fetched.map { [$0.nick, $0.name] } == expected)
    }
  }

  @Test func `a write that fetches while a unique value is taken commits all its changes`() async throws {
    _ = try makeAuthors(100)
    let changes = store.changes(bufferingUpTo: 8)
    try await store.write { context in
      let authors = try context.fetch(Author.self).sorted(by: \.id).all()
      for author in authors.prefix(80) { (author.age, author.name) = (41, author.name + "x") }
      // Another author, which is not changed, has this name.
      authors[0].name = "author 90"
      // A fetch inside the write finds all changed authors.
      #expect(try context.fetch(Author.self).where("age == 41").count() == 80)
      authors[0].name = "author 0"
    }
    let told = try #require(changes.takeUndelivered().first)
    guard case .committed(let set) = told else { return }
    #expect(set.updated.count == 80 && Set(set.updated.map(\.rowID)).count == 80)
    let first = try #require(set.updated.first { $0.rowID == 1 })
    #expect(first.new == ["age": 41] && first.old == ["age": 30], "\(first)")
  }

  @Test func `a row that another context changed or deleted is a conflict, and nothing is written`() throws {
    let authors = try makeAuthors(1000)
    for author in authors { author.age = 40 }
    let other = store.makeContext()
    try #require(try other.existing(authors[700].id)).age = 50
    try other.save()
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.conflicts(let all) = error, let conflict = all.first else { return false }
      return conflict.entity == "Author" && conflict.rowID == authors[700].id.rowID
        && conflict.fetchedVersion == 2 && conflict.storedVersion == 3 && conflict.properties == ["age"]
    }
    try #require(try other.existing(authors[300].id)).age = 60
    for author in [authors[3], authors[700]] { other.delete(try #require(try other.existing(author.id))) }
    try other.save()
    #expect {
      try context.save()
    } throws: { error in
      // The first conflict is reported, and a row that is gone has no version.
      guard case StoreError.conflicts(let all) = error, let conflict = all.first else { return false }
      return conflict.rowID == authors[3].id.rowID && conflict.storedVersion == nil
    }
    #expect(authors.allSatisfy { $0.hasChanges && $0.age == 40 })
    #expect(try rows("SELECT count(*) FROM Author WHERE age = 40") == [[.integer(0)]])
  }

  @Test func `a conflict in the first and in the last of all rows is detected`() throws {
    for missed in [0, 99] {
      let context = store.makeContext()
      try Connection.open(store.url.path, key: testKey).execute("DELETE FROM Author")
      let authors = try makeAuthors(100, in: context)
      let connection = try Connection.open(store.url.path, key: testKey)
      try connection.execute("UPDATE Author SET _version = 9 WHERE id = \(authors[missed].id.rowID)")
      for author in authors { author.age = 40 }
      #expect {
        try context.save()
      } throws: { error in
        guard case StoreError.conflicts(let all) = error, let conflict = all.first else { return false }
        return conflict.rowID == authors[missed].id.rowID && conflict.storedVersion == 9
      }
    }
  }

  @Test func `a taken value is reported for its object, and values can be exchanged`() throws {
    let authors = try makeAuthors(1000)
    for (number, author) in authors.enumerated() where number < 900 { author.name = "new \(number)" }
    authors[500].name = "author 950"
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error, failures.count == 1 else { return false }
      return failures[0].entity == "Author" && failures[0].property == "name"
        && failures[0].rowID == authors[500].id.rowID && failures[0].reason.contains("unique")
    }
    #expect(try rows("SELECT count(*) FROM Author WHERE name LIKE 'new%'") == [[.integer(0)]])
    // Each gets the name of the next one, and the last that of the first.
    for (number, author) in authors.enumerated() { author.name = "author \((number + 1) % 1000)" }
    try context.save()
    let fetched = try store.makeContext().fetch(Author.self).sorted(by: \.id).all()
    #expect(fetched.map(\.name) == (0..<1000).map { "author \(($0 + 1) % 1000)" })
  }

  @Test func `objects whose values collide in a write can be corrected before its end`() async throws {
    _ = try makeAuthors(300)
    try await store.write { context in
      let authors = try context.fetch(Author.self).sorted(by: \.id).all()
      for (number, author) in authors.enumerated() {
        (author.name, author.age) = (number % 100 == 99 ? "same" : "new \(number)", number % 150)
      }
      #expect(try context.fetch(Author.self).where(#Predicate { $0.name.starts(with: "new") }).count() == 297)
      for (number, author) in authors.enumerated() where number % 100 == 99 { author.name = "late \(number)" }
    }
    let fetched = try store.makeContext().fetch(Author.self).sorted(by: \.id).all()
    #expect(fetched.map(\.name) == (0..<300).map { $0 % 100 == 99 ? "late \($0)" : "new \($0)" })
    #expect(fetched.map(\.age) == (0..<300).map { $0 % 150 })
  }

  @Test func `consecutive and single rows are saved together, and a taken value is reported for both`()
    async throws
  {
    let authors = try makeAuthors(2000)
    @Sendable func isChanged(_ number: Int) -> Bool { number < 100 || number % 10 == 0 }
    for (number, author) in authors.enumerated() where isChanged(number) { author.age = 100 + number % 3 }
    try context.save()
    let expected = authors.indices.map { isChanged($0) ? 100 + $0 % 3 : 30 }
    #expect(try rows("SELECT age FROM Author ORDER BY id") == expected.map { [.integer(Int64($0))] })

    for taken in [50, 1510] {
      for (number, author) in authors.enumerated() where isChanged(number) { author.name = "new \(number)" }
      authors[taken].name = "author 1999"
      #expect {
        try context.save()
      } throws: { error in
        guard case StoreError.validation(let failures) = error, failures.count == 1 else { return false }
        return failures[0].rowID == authors[taken].id.rowID && failures[0].property == "name"
      }
      #expect(try rows("SELECT count(*) FROM Author WHERE name LIKE 'new%'") == [[.integer(0)]])
    }
    context.rollback()
    try await store.write { context in
      let authors = try context.fetch(Author.self).sorted(by: \.id).all()
      for (number, author) in authors.enumerated() where isChanged(number) { author.name = "new \(number)" }
      (authors[60].name, authors[1500].name) = ("author 1999", "author 1999")
      // A fetch inside the write finds all but these two.
      #expect(try context.fetch(Author.self).where(#Predicate { $0.name.starts(with: "new") }).count() == 288)
      (authors[60].name, authors[1500].name) = ("late 60", "late 1500")
    }
    #expect(
      try rows("SELECT name FROM Author WHERE name LIKE 'late%' ORDER BY id") == [
        [.text("late 60")], [.text("late 1500")],
      ])
    #expect(try rows("SELECT count(*) FROM Author WHERE name LIKE 'new%'") == [[.integer(288)]])
  }

  @Test func `changed references to new objects and to nil are saved`() throws {
    let books = (0..<200).map { number in context.insert(Book.self) { $0.title = "\(number)" } }
    try context.save()
    let authors = (0..<10).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    for (number, book) in books.enumerated() { book.author = authors[number % 10] }
    try context.save()
    #expect(books[13].author === authors[3])
    for (number, book) in books.enumerated() where number % 2 == 0 { book.author = nil }
    try context.save()
    let written = try rows(
      "SELECT b.title, a.name FROM Book b LEFT JOIN Author a ON a.id = b.author_id ORDER BY b.id")
    let expected: [[SQLValue]] = (0..<200).map { number in
      [.text("\(number)"), number % 2 == 0 ? .null : .text("\(number % 10)")]
    }
    #expect(written == expected)
    #expect(books[12].author == nil && books[13].author === authors[3])
  }

  @Test func `the error names the row whose update a trigger ignores`() throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute(
      "CREATE TRIGGER kept BEFORE UPDATE ON Author WHEN old.id = 70 BEGIN SELECT RAISE(IGNORE); END")
    connection.close()
    let authors = try makeAuthors(100)
    for author in authors { author.age = 40 }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.first?.rowID == 70 && failures.first?.reason.contains("RAISE(IGNORE)") == true
    }
  }

  @Test func `a listener gets each changed row with the values before and after`() async throws {
    let authors = try makeAuthors(500)
    var changes = store.changes().makeAsyncIterator()
    for (number, author) in authors.enumerated() { author.age = 40 + number % 100 }
    try context.save()
    guard case .committed(let told)? = await changes.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(told.updated.map(\.rowID) == authors.map(\.id.rowID))
    #expect(told.updated.allSatisfy { $0.old["age"] == .integer(30) && $0.properties == ["age"] })
    let ages: [SQLValue?] = (0..<500).map { .integer(Int64(40 + $0 % 100)) }
    #expect(told.updated.map { $0.new["age"] } == ages)
  }
}
