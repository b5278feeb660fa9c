// New rows, which one statement reads from memory. Each is inserted, and an error names the row that
// cannot be.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FedRows {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  @Test func `a taken value among 10,000 is reported for its object, and everything stays pending`() throws {
    context.insert(Author.self) { $0.name = "taken" }
    try context.save()
    let authors = (0..<10_000).map { number in
      context.insert(Author.self) { $0.name = number == 6000 ? "taken" : "author \(number)" }
    }
    let bad = authors[6000]
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error, failures.count == 1 else { return false }
      return failures[0].entity == "Author" && failures[0].property == "name"
        && failures[0].rowID == bad.id.rowID
        && failures[0].reason.contains("unique")
    }
    #expect(authors.allSatisfy { $0.state == .inserted && $0.id.rowID < 0 && $0.hasChanges })
    #expect(try store.makeContext().fetch(Author.self).count() == 1)
    bad.name = "free"
    try context.save()
    #expect(authors.allSatisfy { $0.state == .loaded && !$0.hasChanges })
    #expect(bad.name == "free" && authors[9999].name == "author 9999")
    let saved = try store.makeContext().fetch(Author.self).sorted(by: \.id).all()
    #expect(saved.count == 10_001 && saved[6001].name == "free")
  }

  @Test func `with another program's trigger, values move between rows, and a collision names its object`()
    throws
  {
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute("CREATE TABLE log (name TEXT UNIQUE)")
    try connection.execute(
      "CREATE TRIGGER noted AFTER INSERT ON Author BEGIN INSERT OR IGNORE INTO log VALUES (new.name); END")
    connection.close()
    let former = (0..<10).map { number in context.insert(Author.self) { $0.name = "author \(number)" } }
    try context.save()
    for author in former { context.delete(author) }
    let authors = (0..<10).map { number in context.insert(Author.self) { $0.name = "author \(number)" } }
    try context.save()
    #expect(authors.allSatisfy { $0.state == .loaded })
    let others = (0..<10).map { number in
      context.insert(Author.self) { $0.name = number == 6 ? "author 3" : "b\(number)" }
    }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.first?.rowID == others[6].id.rowID
    }
  }

  /// A row that the engine refuses as a whole is reported for its object, by the one statement for many
  /// rows and by that for a few.
  @Test(arguments: [2, 500])
  func `a row that a constraint of the file refuses is reported with its object`(_ count: Int) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    // As an imported file may have it. The engine has no other way to add a constraint to an existing
    // table.
    try connection.executeScript(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = substr(sql, 1, length(sql) - 1) || ', CONSTRAINT sane CHECK (age < 100))'
        WHERE name = 'Author';
      PRAGMA schema_version = 4711;
      """)
    connection.close()
    let authors = (0..<count).map { number in
      context.insert(Author.self) {
        $0.name = "author \(number)"
        if number == count / 2 { $0.age = 120 }
      }
    }
    let bad = authors[count / 2]
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error, failures.count == 1 else { return false }
      return failures[0].entity == "Author" && failures[0].rowID == bad.id.rowID
        && failures[0].reason.contains("is rejected by the file: ") && "\(error)".contains("sane")
    }
    bad.age = 30
    try context.save()
    for author in authors { author.age = 40 }
    authors[count - 1].age = 120
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map(\.rowID) == [authors[count - 1].id.rowID]
    }
    let other = try Connection.open(store.url.path, key: testKey)
    #expect(try other.rows(sql: "SELECT count(*) FROM Author WHERE age >= 40") == [[.integer(0)]])
  }

  @Test func `colliding new objects in a write are named, and all are saved once they are corrected`()
    async throws
  {
    try await store.write { context in
      let authors = (0..<300).map { number in
        context.insert(Author.self) { $0.name = number % 100 == 99 ? "same" : "author \(number)" }
      }
      let collided = [authors[199], authors[299]].map(\.id.rowID)
      var met: [Int64] = []
      do { try context.save() } catch StoreError.validation(let failures) { met = failures.map(\.rowID) }
      #expect(met == collided)
      let new = authors.filter { $0.isInserted }
      #expect(new.count == 300)
      for number in [199, 299] { authors[number].name = "late \(number)" }
    }
    let names = try store.makeContext().fetch(Author.self).sorted(by: \.id).all().map(\.name)
    #expect(names.count == 300 && names[99] == "same" && names[199] == "late 199" && names[299] == "late 299")
  }

  @Test func `saved objects have the same values in memory as in the file`() throws {
    let long = String(repeating: "Grüße 🎈", count: 20_000)
    let samples = (0..<50).map { number in
      context.insert(Sample.self) {
        ($0.flag, $0.int, $0.int8, $0.int16) = (number % 2 == 0, number - 25, 1, -1)
        ($0.int32, $0.int64, $0.uint8, $0.uint16, $0.uint32) = (7, .min, 255, 0, 9)
        ($0.float, $0.date, $0.uuid, $0.mood) = (0.5, Date(timeIntervalSince1970: 0.25), UUID(), .cross)
        $0.double = number % 2 == 0 ? 3 : -0.5
        $0.string = ["", "a\0b", "7", long, "short"][number % 5]
        $0.data = [Data(), Data([0, 255]), Data(repeating: 7, count: 100_000)][number % 3]
        $0.maybeString = number % 4 == 0 ? nil : "x\(number)"
        $0.maybeInt = number % 3 == 0 ? nil : number
        $0.decimal = Decimal(number) / 8
        $0.url = URL(fileURLWithPath: "/\(number)")
      }
    }
    try context.save()
    let fetched = try store.makeContext().fetch(Sample.self).sorted(by: \.id).all()
    #expect(fetched.count == 50)
    let texts: (Sample) -> [String?] = {
      [
        $0.string, $0.maybeString,
        "\($0.uuid) \($0.decimal) \($0.url) \($0.mood) \($0.date.timeIntervalSince1970)",
      ]
    }
    let numbers: (Sample) -> [Double?] = {
      [
        $0.flag ? 1 : 0, Double($0.int), Double($0.int8), Double($0.int16), Double($0.int32),
        Double($0.int64),
        Double($0.uint8), Double($0.uint16), Double($0.uint32), Double($0.float), $0.double,
        $0.maybeInt.map { Double($0) },
      ]
    }
    for (saved, read) in zip(samples, fetched) {
      #expect(saved.id == read.id)
      #expect(texts(saved) == texts(read) && numbers(saved) == numbers(read) && saved.data == read.data)
    }
    #expect(fetched[3].string == long && fetched[2].data.count == 100_000)
  }

  @Test func `references to other new objects refer to their rows`() throws {
    let authors = (0..<100).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    let books = (0..<1000).map { number in
      context.insert(Book.self) {
        $0.title = "\(number)"
        $0.author = number % 10 == 0 ? nil : authors[number % 100]
      }
    }
    try context.save()
    #expect(books[3].author === authors[3] && books[10].author == nil)
    let rows = try Connection.open(store.url.path, key: testKey).rows(
      "SELECT b.title, a.name FROM Book b JOIN Author a ON a.id = b.author_id ORDER BY b.id")
    #expect(
      rows.count == 900
        && rows.allSatisfy { row in
          guard let title = row[0].string.flatMap({ Int($0) }), let name = row[1].string.flatMap({ Int($0) })
          else { return false }
          return title % 100 == name
        })
  }

  @Test func `a listener gets each inserted row`() async throws {
    var changes = store.changes().makeAsyncIterator()
    for number in 0..<1000 { context.insert(Author.self) { $0.name = "\(number)" } }
    try context.save()
    guard case .committed(let told)? = await changes.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(told.inserted.count == 1000)
    #expect(told.inserted.map(\.rowID) == (1...1000).map { Int64($0) })
    #expect(told.inserted[999].values["name"] == .text("999"))
  }
}
