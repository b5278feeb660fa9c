// SQL that a program writes: what it reads, what it may change, and what the store does about the change.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private struct BooksOfYear: Decodable, Equatable {
  var year: Int
  var n: Int
  var best: Double?
}

@Suite struct QueriesInSQL {
  private static func filled() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      for number in 0..<6 {
        context.insert(Book.self) {
          ($0.title, $0.year, $0.author) = ("t\(number)", 2000 + number % 3, ann)
          $0.rating = number == 4 ? nil : Double(number)
        }
      }
    }
    return temporary
  }

  @Test func `rows are read by the names and the indexes of their columns, and are decoded`() async throws {
    let temporary = try await Self.filled()
    try await temporary.store.read { context in
      let rows = try context.rows(
        "SELECT year, count(*) AS n FROM Book WHERE year > \(2000) GROUP BY year ORDER BY year")
      #expect(
        try rows.map { (try $0["year"] as Int, try $0[1] as Int) }.map { [$0.0, $0.1] } == [
          [2001, 2], [2002, 2],
        ])
      let years = try context.rows(
        as: BooksOfYear.self,
        "SELECT year, count(*) AS n, max(rating) AS best FROM Book GROUP BY year HAVING year <> 2002 ORDER BY 1"
      )
      #expect(years == [BooksOfYear(year: 2000, n: 2, best: 3), BooksOfYear(year: 2001, n: 2, best: 1)])
      #expect(try context.rows(as: Int.self, "SELECT count(*) FROM Book") == [6])
      // A column may have the name of a keyword.
      let named: SQL = "SELECT count(*) FROM (SELECT 1 AS rollback) WHERE 0 OR rollback"
      #expect(try context.rows(as: Int.self, named) == [1])
      let deep = try context.rows(
        as: Int.self,
        "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k LIMIT \(3)) SELECT i FROM k")
      #expect(deep == [1, 2, 3])
      #expect(context.statistics.queries == 5)
      #expect(throws: SQLError.self) { try rows[0]["yaer"] as Int }
    }
  }

  @Test func `dates, ids and decimals are bound and read as attributes store them`() async throws {
    let temporary = try await TemporaryStore(Schema { Entity(DatedPrice.self) })
    let (date, price) = (Date(timeIntervalSinceReferenceDate: 1234.5), Decimal(string: "12.30"))
    let id = try await temporary.store.write { context in
      context.insert(DatedPrice.self) { ($0.date, $0.price) = (date, price) }.id
    }
    let context = temporary.store.makeContext()
    let rows = try context.rows(
      "SELECT date, price, id FROM DatedPrice WHERE date = \(date) AND price = \(price) AND id = \(id)")
    let row = try #require(rows.first)
    #expect(try row["date"] as Date == date)
    #expect(try row["price"] as Decimal? == price)
    #expect(try row["id"] as ObjectID<DatedPrice> == id)
  }

  @Test func `a view of the schema is read, and a value is never part of the text`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(User.self)
        RawObject.view("Named", sql: "SELECT $User.id, $User.name FROM $User WHERE $User.name <> ''")
      })
    let name = "x'); DROP TABLE User;--"
    try await temporary.store.write { context in _ = context.insert(User.self) { $0.name = name } }
    let context = temporary.store.makeContext()
    #expect(try context.rows("SELECT 1 FROM Named WHERE name = \(name)").count == 1)
    #expect(try context.rows("SELECT 1 FROM Named WHERE name = \("' OR 1 --")").isEmpty)
    #expect(try context.fetch(User.self).count() == 1)
  }

  static let refused: [(sql: SQL, reason: String)] = [
    ("UPDATE Book SET year = 1", "use execute(_:)"),
    ("WITH a AS (SELECT 1) DELETE FROM Book", "use execute(_:)"),
    ("INSERT INTO Book(title) VALUES ('x')", "use execute(_:)"),
    ("SELECT 1; SELECT 2", "not one statement"),
    ("-- nothing", "not one statement"),
    ("PRAGMA user_version", "PRAGMA"),
    ("PRAGMA user_version = 7", "PRAGMA"),
    ("BEGIN", "transaction"),
    ("VACUUM", "no query"),
    ("ATTACH 'x' AS y", "other file"),
    ("CREATE TABLE x(a)", "migration step"),
    ("SELECT sqlcipher_export('main')", "sqlcipher_export"),
  ]

  @Test(arguments: refused.indices)
  func `anything but one query is refused with what to do instead`(_ index: Int) async throws {
    let temporary = try await Self.filled()
    let (sql, reason) = Self.refused[index]
    try await temporary.store.write { context in
      try context.save()
      let error = #expect(throws: StoreError.self) { try context.rows(sql) }
      #expect("\(error.map { "\($0)" } ?? "")".contains(reason))
      #expect(try context.rows(as: Int.self, "SELECT count(*) FROM Book") == [6])
    }
  }

  @Test func `pending changes are an error unless they are saved or excluded`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    context.insert(Book.self) { $0.title = "new" }
    #expect(throws: StoreError.unsavedChanges) { try context.rows("SELECT 1 FROM Book") }
    #expect(try context.rows("SELECT 1 FROM Book", includingPending: false).count == 6)
    try context.save()
    #expect(try context.rows("SELECT 1 FROM Book").count == 7)
    try await temporary.store.write { context in
      context.insert(Book.self) { $0.title = "newer" }
      #expect(throws: StoreError.unsavedChanges) { try context.rows("SELECT 1 FROM Book") }
      try context.save()
      #expect(try context.rows("SELECT 1 FROM Book").count == 8)
    }
  }

  @Test func `a read sees its snapshot`() async throws {
    let temporary = try await Self.filled()
    let store = temporary.store
    try await store.read { context in
      #expect(try context.rows("SELECT 1 FROM Book").count == 6)
      let other = store.makeContext()
      other.insert(Book.self) { $0.title = "later" }
      try other.save()
      #expect(try context.rows("SELECT 1 FROM Book").count == 6)
    }
    #expect(try store.makeContext().rows("SELECT 1 FROM Book").count == 7)
  }
}

@Suite struct ChangesInSQL {
  private static func filled(_ schema: Schema = library) async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(schema)
    try await temporary.store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      let crime = context.insert(Genre.self) { $0.name = "crime" }
      for number in 0..<4 {
        context.insert(Book.self) {
          ($0.title, $0.author, $0.genres) = ("t\(number)", ann, [crime])
        }
      }
    }
    return temporary
  }

  private static func stored(_ sql: SQL, _ store: Store) throws -> [SQLValue] {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    return try connection.rows(sql).map { $0[0] }
  }

  @Test func `changed rows get new versions, which other contexts notice`() async throws {
    let temporary = try await Self.filled()
    let (mine, other) = (temporary.store.makeContext(), temporary.store.makeContext())
    let seen = try other.fetch(Book.self).sorted(by: \.title).all()
    let own = try mine.fetch(Book.self).sorted(by: \.title).all()
    let before = try Self.stored("SELECT _version FROM Book ORDER BY title", temporary.store)
    #expect(try mine.execute("UPDATE Book SET year = \(1950) WHERE title <= 't1'") == 2)
    let after = try Self.stored("SELECT _version FROM Book ORDER BY title", temporary.store)
    #expect(zip(before, after).map { $0 != $1 } == [true, true, false, false])
    #expect(own.map(\.year) == [1950, 1950, 2000, 2000])
    seen[0].year = 7
    let error = #expect(throws: StoreError.self) { try other.save() }
    guard case .conflicts = error else { throw try #require(error) }
    other.rollback()
    #expect(seen[0].year == 1950)
    own[1].year = 1
    try mine.save()
    #expect(try Self.stored("SELECT year FROM Book WHERE title = 't1'", temporary.store) == [1])
  }

  @Test func `deleted rows make objects invalid, and members are read again`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let ann = try context.fetch(Author.self).one()
    let books = try context.fetch(Book.self).sorted(by: \.title).all()
    #expect(ann.books.count == 4)
    // Without a condition the engine would not report the rows.
    try context.execute("DELETE FROM Book_genres")
    #expect(books[0].genres.isEmpty)
    try context.execute("DELETE FROM Book")
    #expect(books.allSatisfy { $0.state == .invalid } && books[0].title == "t0")
    #expect(ann.books.isEmpty)
    let other = temporary.store.makeContext()
    #expect(try other.fetch(Book.self).count() == 0)
    try context.execute("INSERT INTO Book(title, author_id) SELECT 'x', id FROM Author")
    #expect(ann.books.map(\.title) == ["x"])
  }

  @Test func `the feed names the entities that SQL has changed`() async throws {
    let temporary = try await Self.filled()
    let store = temporary.store
    let changes = store.changes()
    let context = store.makeContext()
    try context.execute("UPDATE Book SET year = 1")
    try context.execute("UPDATE Book SET year = 2 WHERE title = 'none'")
    try context.execute("DELETE FROM Book_genres WHERE Book_id = 99")
    try await store.write { context in
      context.author = "me"
      context.insert(Author.self) { $0.name = "Bo" }
      try context.save()
      #expect(!context.pendingChanges.isEmpty)
      try context.execute("DELETE FROM Book_genres")
      #expect(context.pendingChanges.changedBySQL == ["Book", "Genre"] && context.hasChanges)
    }
    let sets = changes.takeUndelivered().compactMap { if case .committed(let set) = $0 { set } else { nil } }
    #expect(sets.map(\.changedBySQL) == [["Book"], ["Book", "Genre"]])
    #expect(sets.map(\.inserted.count) == [0, 1] && sets[1].author == "me")
    let coded = try JSONDecoder().decode(ChangeSet.self, from: JSONEncoder().encode(sets[1]))
    #expect(coded == sets[1] && coded.inverse.changedBySQL == ["Book", "Genre"])
    #expect("\(coded)".contains("changed by SQL: Genre"))
    #expect(ChangeSet(merging: sets).changedBySQL == ["Book", "Genre"])
    await #expect(throws: StoreError.changesNotRecorded(entities: ["Book"])) {
      try await store.apply(sets[0])
    }
  }

  @Test func `rows that a delete rule changes are noticed, too`() async throws {
    let temporary = try await Self.filled()
    let (mine, other) = (temporary.store.makeContext(), temporary.store.makeContext())
    try mine.execute("INSERT INTO Club(name) VALUES ('c')")
    try mine.execute("UPDATE Author SET club_id = (SELECT id FROM Club)")
    let (ann, books) = (try mine.fetch(Author.self).one(), try mine.fetch(Book.self).all())
    let seen = try other.fetch(Author.self).one()
    #expect(ann.club?.name == "c")
    let changes = temporary.store.changes()
    try mine.execute("DELETE FROM Club")
    #expect(ann.club == nil && ann.state == .loaded)
    seen.age = 3
    #expect(throws: StoreError.self) { try other.save() }
    try mine.execute("DELETE FROM Author")
    #expect(ann.state == .invalid && books.allSatisfy { $0.state == .invalid })
    let sets = changes.takeUndelivered().compactMap { if case .committed(let set) = $0 { set } else { nil } }
    #expect(sets.map(\.changedBySQL) == [["Author", "Club"], ["Author", "Book", "Genre"]])
  }

  @Test func `rows of a hierarchy are changed in the table of its root`() async throws {
    let temporary = try await TemporaryStore(company)
    try await temporary.store.write { context in
      context.insert(Employee.self) { $0.name = "Ann" }
      context.insert(Person.self) { $0.name = "Bo" }
    }
    let store = temporary.store
    let (context, changes) = (store.makeContext(), store.changes())
    let ann = try context.fetch(Employee.self).one()
    #expect(try context.execute("UPDATE Person SET salary = 7 WHERE _entity = \("Employee")") == 1)
    #expect(ann.salary == 7)
    #expect(throws: StoreError.self) { try context.execute("UPDATE Person SET _entity = 'Manager'") }
    let sets = changes.takeUndelivered().compactMap { if case .committed(let set) = $0 { set } else { nil } }
    #expect(sets.map(\.changedBySQL) == [["Person"]])
    #expect(try await store.verify().isEmpty)
  }

  @Test func `an object of an unknown entity is refused`() async throws {
    let temporary = try await TemporaryStore(company)
    let context = temporary.store.makeContext()
    let error = #expect(throws: StoreError.self) {
      try context.execute("INSERT INTO Person(name, _entity) VALUES ('Ann', 'Zork')")
    }
    #expect("\(error.map { "\($0)" } ?? "")".contains("the entity \"Zork\""))
    #expect(throws: StoreError.self) {
      try context.execute("INSERT INTO Person(name, _entity) VALUES ('Ann', x'41')")
    }
    try context.execute("INSERT INTO Person(name, key, _entity) VALUES ('Ann', 1, 'Manager')")
    #expect(try context.fetch(Manager.self).one().name == "Ann")
  }

  @Test func `an object whose row was replaced by another row becomes invalid`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let ann = try context.fetch(Author.self).one()
    let books = try context.fetch(Book.self).sorted(by: \.id).all()
    try context.execute("DELETE FROM Book WHERE id > 2")
    try context.execute("UPDATE Book SET author_id = NULL")
    // The name is unique, so that the row of the new id replaces the other.
    try context.execute("INSERT OR REPLACE INTO Author(id, name) VALUES (70, 'Ann')")
    #expect(ann.state == .invalid && books[0].state != .invalid)
    #expect(try context.fetch(Author.self).one().id.rowID == 70)
    try context.execute("INSERT INTO Author(id, name) VALUES (80, 'Bea')")
    let bea = try context.fetch(Author.self).where("name == 'Bea'").one()
    try context.execute("UPDATE OR REPLACE Author SET name = 'Bea' WHERE id = 70")
    #expect(bea.state == .invalid)
  }

  @Test(.enabled(if: Engine.current.cipherMajor > 3, "the older engine has no UPDATE … FROM"))
  func `an update with several tables gives its rows new versions`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    let versions = try Self.stored("SELECT _version + 1 FROM Book ORDER BY id", temporary.store)
    try context.execute("UPDATE Book SET year = a.age FROM Author a WHERE a.id = Book.author_id")
    #expect(try Self.stored("SELECT _version FROM Book ORDER BY id", temporary.store) == versions)
    #expect(try Self.stored("SELECT DISTINCT year FROM Book", temporary.store) == [30])
  }

  @Test func `an error about a reference, which the commit finds, names the statement`() async throws {
    let temporary = try await Self.filled()
    let statement: SQL = "UPDATE Book SET author_id = 99"
    let error = #expect(throws: SQLError.self) { try temporary.store.makeContext().execute(statement) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("run the statement again: UPDATE Book"))
    let other = await #expect(throws: SQLError.self) {
      try await temporary.store.write { _ = try $0.execute(statement) }
    }
    #expect("\(other.map { "\($0)" } ?? "")".contains("at the end of the transaction"))
  }

  @Test func `a write that throws undoes the statement`() async throws {
    struct Stop: Error {}
    let temporary = try await Self.filled()
    await #expect(throws: Stop.self) {
      try await temporary.store.write { context in
        try context.execute("DELETE FROM Book")
        throw Stop()
      }
    }
    #expect(try Self.stored("SELECT count(*) FROM Book", temporary.store) == [4])
  }

  @Test func `new objects never get the id of a row that SQL inserted`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    try context.execute("INSERT INTO Club(name) VALUES ('a'), ('b')")
    try context.execute("DELETE FROM Club")
    let club = context.insert(Club.self) { $0.name = "c" }
    try context.save()
    #expect(club.id.rowID == 3)
    try context.execute("INSERT INTO Club(id, name) VALUES (50, 'd')")
    let next = context.insert(Club.self) { $0.name = "e" }
    try context.save()
    #expect(next.id.rowID == 51)
    #expect(try await temporary.store.verify().isEmpty)
  }

  @Test func `a row that replaces another one under its id is a conflict for who has read it`() async throws {
    let temporary = try await Self.filled()
    let (mine, other) = (temporary.store.makeContext(), temporary.store.makeContext())
    try mine.execute("INSERT INTO Club(id, name) VALUES (1, 'a')")
    let seen = try other.fetch(Club.self).one()
    try mine.execute("INSERT OR REPLACE INTO Club(id, name) VALUES (1, 'b')")
    seen.name = "c"
    #expect(throws: StoreError.self) { try other.save() }
  }

  @Test func `an update runs a trigger once for each row`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(User.self)
        Entity(Tally.self)
        RawObject.trigger(
          "tallied", sql: "AFTER UPDATE ON $User BEGIN UPDATE $Tally SET $Tally.count = $Tally.count + 1; END"
        )
      })
    let context = temporary.store.makeContext()
    for name in ["Ann", "Bo", "Cy"] { context.insert(User.self) { $0.name = name } }
    context.insert(Tally.self) { $0.count = 0 }
    try context.save()
    try context.execute("UPDATE User SET name = name || 'x' WHERE name > 'Ann'")
    #expect(try context.rows(as: Int.self, "SELECT count FROM Tally") == [2])
    let update: SQL =
      "WITH a AS (SELECT 'Ann' AS n) UPDATE User SET \"name\" = 'set' WHERE name IN (SELECT n FROM a)"
    #expect(try context.execute(update) == 1)
    #expect(try context.rows(as: Int.self, "SELECT count FROM Tally") == [3])
    #expect(try context.rows(as: Int.self, "SELECT _version FROM User ORDER BY id") == [3, 3, 3])
  }

  static let refused: [(sql: SQL, reason: String)] = [
    ("SELECT 1 FROM Book", "use rows(_:)"),
    ("UPDATE Book SET year = 1; DELETE FROM Book", "not one statement"),
    ("UPDATE vault_meta SET value = 1", "store itself"),
    ("DELETE FROM vault_ids", "store itself"),
    ("UPDATE Book SET id = 7", "never changes"),
    ("UPDATE Book SET _version = 7", "never changes"),
    ("CREATE TABLE x(a)", "migration step"),
    ("DROP TABLE Book", "migration step"),
    ("ALTER TABLE Book ADD COLUMN x", "migration step"),
    ("CREATE INDEX x ON Book(year)", "migration step"),
    ("ANALYZE", "migration step"),
    ("PRAGMA user_version = 7", "PRAGMA"),
    ("COMMIT", "Store.write"),
    ("SAVEPOINT a", "Store.write"),
    ("ATTACH 'x' AS y", "other file"),
    ("INSERT INTO Book(title) SELECT sqlcipher_export('main')", "sqlcipher_export"),
    ("UPDATE Book SET rowid = 70", "never changes"),
    ("UPDATE Book SET _rowid_ = 70 WHERE oid = 1", "never changes"),
    ("INSERT INTO Book(id, title) VALUES (-2, 'x')", "1 or greater"),
    ("INSERT INTO Book(id, title) VALUES (5, 'x'), (0, 'y')", "the id 0"),
    ("UPDATE OR ROLLBACK Book SET year = 1", "OR ROLLBACK"),
    ("EXPLAIN DELETE FROM Book", "remove EXPLAIN"),
    ("EXPLAIN QUERY PLAN DELETE FROM Book", "remove EXPLAIN"),
  ]

  @Test(arguments: refused.indices)
  func `what would damage the store is refused`(_ index: Int) async throws {
    let temporary = try await Self.filled()
    let (sql, reason) = Self.refused[index]
    let context = temporary.store.makeContext()
    let error = #expect(throws: StoreError.self) { try context.execute(sql) }
    #expect("\(error.map { "\($0)" } ?? "")".contains(reason))
    try await temporary.store.write { context in
      let error = #expect(throws: StoreError.self) { try context.execute(sql) }
      #expect("\(error.map { "\($0)" } ?? "")".contains(reason))
    }
    #expect(try await temporary.store.verify().isEmpty)
  }

  @Test func `unsaved changes and reads are refused, and errors change nothing`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    context.insert(Book.self) { $0.title = "new" }
    #expect(throws: StoreError.unsavedChanges) { try context.execute("DELETE FROM Book") }
    context.rollback()
    #expect(throws: SQLError.self) { try context.execute("INSERT INTO Author(name) VALUES ('x'), ('Ann')") }
    #expect(throws: SQLError.self) { try context.execute("UPDATE Book SET author_id = 99") }
    let broken: SQL = "UPDATE Book SET title = NULL"
    let error = #expect(throws: SQLError.self) { try context.execute(broken) }
    guard case .constraint(_, _, broken.text) = error else { throw try #require(error) }
    #expect(throws: SQLError.self) { try context.execute("DELETE FROM Bok") }
    #expect(try Self.stored("SELECT count(*) FROM Author", temporary.store) == [1])
    try await temporary.store.read { context in
      #expect(throws: StoreError.readOnlyContext) { try context.execute("DELETE FROM Book") }
      return
    }
  }
}

private final class User: ManagedObject {
  @Attribute var name: String
}

private final class Tally: ManagedObject {
  @Attribute var count: Int
}

private final class DatedPrice: ManagedObject {
  @Attribute var date: Date
  @Attribute var price: Decimal?
}
