// Rows that are deleted and restored with their ids, as when a deletion is undone. A context that noticed
// the deletion finds the former object again, with the values of the restored row.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ReturnedRows {
  enum Way: CaseIterable { case fetch, existing, load, toOne, heldToOne, prefetch, refresh }

  /// A context that noticed the deletion of a row, and restores the row by the inverse change set.
  struct Gap {
    let temporary: TemporaryStore
    let context: ObjectContext
    let ann: Author
    let one: Book

    init() async throws {
      temporary = try await TemporaryStore(library)
      let store = temporary.store
      context = store.makeContext()
      ann = context.insert(Author.self) { $0.name = "Ann" }
      one = context.insert(Book.self) { $0.title = "One" }
      one.author = ann
      try context.save()
      #expect(one.author === ann)
      var changes = store.changes().makeAsyncIterator()
      let id = ann.id
      try await store.write { other in if let ann = try other.existing(id) { other.delete(ann) } }
      guard case .committed(let set)? = await changes.next() else {
        Issue.record("the deletion was not delivered")
        return
      }
      #expect(set.deleted.count == 2)
      context.refresh(ann)
      #expect(ann.name == "Ann" && ann.state == .invalid)
      #expect(throws: StoreError.objectGone(entity: "Author", rowID: id.rowID)) { try context.save() }
      #expect(try context.existing(id) == nil && ann.books.isEmpty)
      #expect(throws: StoreError.self) { try ann.load() }
      try await store.apply(set.inverse)
    }
  }

  @Test func `a cascade deletes a row that was deleted and restored, without a conflict`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let context = store.makeContext()
    let ann = context.insert(Author.self) { $0.name = "Ann" }
    let book = context.insert(Book.self) { ($0.title, $0.author) = ("One", ann) }
    try context.save()
    var changes = store.changes().makeAsyncIterator()
    let id = book.id
    try await store.write { other in if let book = try other.existing(id) { other.delete(book) } }
    guard case .committed(let set)? = await changes.next() else {
      Issue.record("the deletion was not delivered")
      return
    }
    context.refresh(book)
    #expect(book.title == "One" && book.state == .invalid)
    #expect(throws: StoreError.objectGone(entity: "Book", rowID: id.rowID)) { try context.save() }
    try await store.apply(set.inverse)
    context.delete(ann)
    try context.save()
    #expect(try store.makeContext().fetch(Book.self).count() == 0)
  }

  @Test(arguments: Way.allCases)
  func `a restored row is read into its former object, however it is found`(_ way: Way) async throws {
    let gap = try await Gap()
    let (context, ann) = (gap.context, gap.ann)
    let found: Author?
    switch way {
    case .fetch: found = try context.fetch(Author.self).where("name == 'Ann'").one()
    case .existing: found = try context.existing(ann.id)
    case .load:
      try ann.load()
      found = ann
    case .toOne: found = try context.fetch(Book.self).one().author
    case .heldToOne: found = gap.one.author
    case .prefetch: found = try context.fetch(Book.self).prefetch(\.author).one().author
    case .refresh:
      context.refresh(ann)
      found = ann
    }
    #expect(found === ann && found?.name == "Ann" && ann.state == .loaded && context.faultErrors.isEmpty)
    ann.age = 41
    try context.save()
    #expect(try gap.temporary.store.makeContext().fetch(Author.self).one().age == 41)
  }

  @Test func `the members of a restored object are those in the file`() async throws {
    let gap = try await Gap()
    try await gap.temporary.store.write { context in
      let two = context.insert(Book.self) { $0.title = "Two" }
      two.author = try context.fetch(Author.self).one()
    }
    let found = try gap.context.fetch(Author.self).one()
    #expect(found === gap.ann && found.books.map(\.title).sorted() == ["One", "Two"])
  }

  @Test func `a missing row is reported once, however often it is read`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let context = store.makeContext()
    let ann = context.insert(Author.self) { $0.name = "Ann" }
    let one = context.insert(Book.self) { $0.title = "One" }
    one.author = ann
    try context.save()
    let id = ann.id
    try await store.write { other in
      if let ann = try other.existing(id) {
        ann.books = []
        other.delete(ann)
      }
    }
    context.refresh(ann)
    for _ in 0..<5 { #expect(one.author?.name == "Ann") }
    #expect(context.faultErrors.count == 1)
  }

  @Test func `a restored row of a hierarchy gives an object of its present entity`() async throws {
    let temporary = try await TemporaryStore(company)
    let store = temporary.store
    let context = store.makeContext()
    let eve = context.insert(Employee.self) { $0.name = "Eve" }
    let pupil = context.insert(Person.self) { $0.name = "Pip" }
    pupil.mentor = eve
    try context.save()
    let id = eve.id.rowID
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    try connection.execute("CREATE TEMP TABLE kept AS SELECT * FROM Person WHERE id = \(id)")
    try connection.execute("PRAGMA foreign_keys = OFF")
    try connection.execute("DELETE FROM Person WHERE id = \(id)")
    context.refresh(eve)
    #expect(eve.name == "Eve" && eve.state == .invalid)
    #expect(throws: StoreError.self) { try context.save() }
    try connection.execute("INSERT INTO Person SELECT * FROM kept")
    #expect(try context.existing(ObjectID<Person>(rowID: id)) === eve && eve.name == "Eve")
    try connection.execute("DELETE FROM Person WHERE id = \(id)")
    context.refresh(eve)
    #expect(eve.name == "Eve" && isRefused(context))
    try connection.execute(
      "INSERT INTO Person (id, _version, _entity, key, name) VALUES (\(id), 9, 'Person', 1, 'Eve')")
    let person = pupil.mentor
    #expect(person?.name == "Eve" && person.map { type(of: $0) == Person.self } == true)
    #expect(eve.state == .invalid)
  }

  /// Whether a save throws.
  private func isRefused(_ context: ObjectContext) -> Bool { (try? context.save()) == nil }
}
