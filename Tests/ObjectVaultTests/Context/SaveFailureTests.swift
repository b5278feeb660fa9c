// The state of objects, file and feed after failed saves.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

// Safe to share: each test uses its own, in one task at a time.
private final class Escape: @unchecked Sendable {
  var genre: Genre?
  var author: Author?
}

@Suite struct SaveFailures {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  @discardableResult
  private func author(_ name: String) -> Author { context.insert(Author.self) { $0.name = name } }
  private func book(_ title: String) -> Book { context.insert(Book.self) { $0.title = title } }

  @Test func `a new object that a cascade deletes is pending again after the save fails`() throws {
    let ann = author("Ann")
    let club = context.insert(Club.self) { $0.name = "C" }
    ann.club = club
    try context.save()
    let new = book("New")
    new.author = ann
    let bob = author("Bob")
    bob.club = club
    context.delete(ann)
    context.delete(club)
    let bad = context.insert(Genre.self)
    #expect(throws: StoreError.self) { try context.save() }
    #expect(new.state == .inserted && new.title == "New" && new.author == nil && ann.isDeleted)
    #expect(bob.hasChanges && bob.state == .inserted)
    context.delete(bad)
    context.delete(new)
    #expect(new.state == .invalid)
    try context.save()
    #expect(bob.club == nil && bob.state == .loaded)
    #expect(try store.makeContext().fetch(Book.self).count() == 0)
  }

  @Test func `a member of a deleted owner can be moved to another owner after a failed save`() throws {
    let ann = author("Ann")
    let bob = author("Bob")
    let one = book("One")
    one.author = ann
    try context.save()
    context.delete(ann)
    let bad = context.insert(Genre.self)
    #expect(throws: StoreError.self) { try context.save() }
    #expect(one.state == .loaded && !one.hasChanges)
    one.author = bob
    context.delete(bad)
    try context.save()
    #expect(one.author === bob)
    let other = store.makeContext()
    #expect(try other.fetch(Book.self).one().author?.name == "Bob")
  }

  @Test func `objects of a rolled-back write lose their values, and those of a committed one keep them`()
    async throws
  {
    struct Stop: Error {}
    let escape = Escape()
    await #expect(throws: Stop.self) {
      try await store.write { context in
        escape.genre = context.insert(Genre.self) { $0.name = "x" }
        try context.save()
        throw Stop()
      }
    }
    #expect(escape.genre?.state == .invalid && escape.genre?.name == "")
    try await store.write { context in
      escape.genre = context.insert(Genre.self) { $0.name = "y" }
    }
    #expect(escape.genre?.state == .invalid && escape.genre?.name == "y")
    #expect(throws: StoreError.self) { try escape.genre?.load() }
  }

  @Test func `reading a relationship of an object whose context is gone reports an error`() throws {
    let told = Told()
    var ann: Author?
    do {
      let short = store.makeContext()
      ann = short.insert(Author.self) { $0.name = "Ann" }
      ann?.books = [short.insert(Book.self) { $0.title = "One" }]
      try short.save()
    }
    told.hearStrayErrors()
    defer { told.endHearing() }
    #expect(ann?.state == .invalid && ann?.name == "Ann" && ann?.books.isEmpty == true)
    #expect(told.texts.contains { $0.contains("Author.books") && $0.contains("no context") })
  }

  @Test func `a rollback after a conflict shows the stored values, and the change can be repeated`() throws {
    let ann = author("Ann")
    try context.save()
    let other = store.makeContext()
    let same = try #require(try other.existing(ann.id))
    same.age = 44
    try other.save()
    ann.age = 55
    #expect(throws: StoreError.self) { try context.save() }
    context.rollback()
    #expect(ann.age == 44)
    ann.age = 55
    try context.save()
    other.delete(same)
    #expect(throws: StoreError.self) { try other.save() }
    other.rollback()
    other.delete(same)
    try other.save()
    context.delete(ann)
    try context.save()
    #expect(ann.state == .invalid)
  }

  @Test func `an object that was refreshed and changed again is saved`() throws {
    let ann = author("Ann")
    try context.save()
    ann.age = 40
    context.refresh(ann)
    #expect(!context.hasChanges && ann.age == 30)
    ann.age = 50
    try context.save()
    ann.age = 60
    try context.save()
    #expect(try store.makeContext().fetch(Author.self).one().age == 60)
  }

  @Test func `the error about a link to a row deleted elsewhere names the object and the property`()
    async throws
  {
    let (ann, one) = (author("Ann"), book("One"))
    let genre = context.insert(Genre.self) { $0.name = "g" }
    try context.save()
    let (annID, genreID) = (ann.id, genre.id)
    try await store.write { other in
      if let ann = try other.existing(annID) { other.delete(ann) }
      if let genre = try other.existing(genreID) { other.delete(genre) }
    }
    one.author = ann
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map(\.property) == ["author"] && failures[0].reason.contains("Author 1")
        && failures[0].rowID == 1
    }
    one.author = nil
    one.genres = [genre]
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map(\.property) == ["genres"]
    }
  }

  @Test func `an incomplete object does not prevent a fetch inside a write`() async throws {
    try await store.write { context in
      let one = context.insert(Book.self)
      let loan = context.insert(Loan.self) {
        $0.reader = "R"
        $0.book = one
      }
      let genre = context.insert(Genre.self) { $0.name = "g" }
      one.genres = [genre]
      #expect(try context.fetch(Genre.self).where("name == 'g'").first() === genre)
      #expect(try context.fetch(Book.self).all() == [one] && one.isInserted && loan.isInserted)
      one.author = try context.fetch(Author.self).first() ?? context.insert(Author.self) { $0.name = "Ann" }
      #expect(try context.fetch(Author.self).count() == 1)
      one.title = "One"
      #expect(try context.fetch(Loan.self).where("book.title == 'One'").count() == 1)
    }
    let other = store.makeContext()
    let one = try other.fetch(Book.self).one()
    #expect(one.author?.name == "Ann" && one.genres.map(\.name) == ["g"] && one.loans.count == 1)
    await #expect(throws: StoreError.self) {
      try await store.write { context in
        context.insert(Book.self)
        _ = try context.fetch(Book.self).all()
      }
    }
  }

  @Test func `a commit that fails on a full disk leaves everything pending, and the next save works`()
    throws
  {
    let lines = try runChild("full-disk-objects", store.url.path + ".full")
    #expect(lines.count == 12)
    #expect(Set(lines) == ["done", "full"])
  }

  /// Adds a trigger that rolls back the whole transaction, as the engine does after some disk errors.
  private func refuse(_ name: String) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try connection.executeScript(
      """
      CREATE TRIGGER refusal AFTER INSERT ON Genre WHEN NEW.name = '\(name)'
      BEGIN SELECT RAISE(ROLLBACK, 'refused'); END
      """)
  }

  @Test func `a transaction that the engine rolls back by itself leaves everything pending`() async throws {
    try refuse("bad")
    let ann = author("Ann")
    let genre = context.insert(Genre.self) { $0.name = "bad" }
    let one = book("One")
    one.author = ann
    one.add(genre, to: \.genres)
    let changes = store.changes()
    #expect { try context.save() } throws: { "\($0)".contains("refused") }
    #expect([ann.state, genre.state, one.state].allSatisfy { $0 == .inserted } && context.hasChanges)
    #expect(try store.makeContext().fetch(Author.self).count() == 0)
    genre.name = "good"
    try context.save()
    let other = store.makeContext()
    let found = try other.fetch(Book.self).one()
    #expect(found.author?.name == "Ann" && found.genres.map(\.name) == ["good"])

    await #expect {
      try await store.write { context in
        context.insert(Author.self) { $0.name = "Bob" }
        _ = try context.fetch(Author.self).count()
        context.insert(Genre.self) { $0.name = "bad" }
      }
    } throws: {
      "\($0)".contains("refused")
    }
    try await store.write { context in _ = context.insert(Author.self) { $0.name = "Carl" } }
    #expect(
      try store.makeContext().fetch(Author.self).sorted(by: \.name).all().map(\.name) == ["Ann", "Carl"])
    store.close()
    var told: [[String]] = []
    for await case .committed(let set) in changes { told.append(set.inserted.map(\.entity).sorted()) }
    #expect(told == [["Author", "Book", "Genre"], ["Author"]])
  }
}

// Safe to share: guarded by its lock.
final class Told: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []
  var texts: [String] { lock.withLock { lines } }
  func add(_ text: String) { lock.withLock { lines.append(text) } }

  // The process has one error handler, and tests run side by side.
  private static let hearing = NSLock()

  /// Records the errors of objects without a context, excluding other tests, until ``endHearing()``. Must
  /// not be called before an await.
  func hearStrayErrors() {
    Self.hearing.lock()
    ObjectContext.onStrayError = { self.add("\($0)") }
  }

  func endHearing() {
    ObjectContext.onStrayError = nil
    Self.hearing.unlock()
  }
}
