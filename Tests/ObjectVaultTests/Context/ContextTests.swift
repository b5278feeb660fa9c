// Contexts: identity, changes, conflicts, rollbacks, failed saves, faults, and temporary ids.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Contexts {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  @discardableResult
  func author(_ name: String, in context: ObjectContext? = nil) -> Author {
    (context ?? self.context).insert(Author.self) {
      $0.name = name
      $0.nick = name
    }
  }

  @Test func `a context has one object for each row, however it is reached`() throws {
    let ann = author("Ann")
    ann.books = [context.insert(Book.self) { $0.title = "One" }]
    try context.save()
    #expect(try context.existing(ann.id) === ann)
    #expect(try context.fetch(Author.self).one() === ann)
    #expect(try context.fetch(Book.self).one().author === ann)
  }

  @Test func `changedValues has the properties that differ from the row, and is empty after a save`() throws {
    let ann = author("Ann")
    try context.save()
    let other = store.makeContext()
    let same = try #require(try other.existing(ann.id))
    ann.age = 31
    #expect(ann.changedValues == ["age": .integer(31)])
    ann.age = 30
    ann.nick = "Annie"
    try context.save()
    #expect(!ann.hasChanges && ann.changedValues.isEmpty)
    other.refresh(same)
    #expect(same.nick == "Annie" && same.age == 30)
  }

  @Test func `writing the present value of a property is no change`() throws {
    let ann = author("Ann")
    try context.save()
    ann.age = 30
    #expect(!ann.hasChanges && !context.hasChanges)
  }

  @Test func `saving a row that another context has changed is a conflict with both versions`() throws {
    let ann = author("Ann")
    try context.save()
    let other = store.makeContext()
    let same = try #require(try other.existing(ann.id))
    ann.age = 40
    try context.save()
    same.age = 50
    #expect(
      throws: StoreError.conflicts([
        Conflict(entity: "Author", rowID: 1, fetchedVersion: 2, storedVersion: 3, properties: ["age"])
      ])
    ) { try other.save() }
    #expect(same.age == 50)
    other.refresh(same)
    same.age = 50
    try other.save()
    #expect(try store.makeContext().existing(ann.id)?.age == 50)
  }

  @Test func `changing a row that is gone is a conflict, and deleting it is none`() throws {
    let ann = author("Ann")
    try context.save()
    let other = store.makeContext()
    let same = try #require(try other.existing(ann.id))
    context.delete(ann)
    try context.save()
    same.age = 50
    let gone = Conflict(
      entity: "Author", rowID: 1, fetchedVersion: 2, storedVersion: nil, properties: ["age"])
    #expect(throws: StoreError.conflicts([gone])) { try other.save() }
    other.rollback()
    #expect(same.state == .invalid)
    // The row is gone, so the deletion has no effect.
    other.delete(same)
    try other.save()
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: 1)) { try same.load() }
  }

  @Test func `a rollback discards all pending changes`() throws {
    let ann = author("Ann")
    let one = context.insert(Book.self) { $0.title = "One" }
    ann.books = [one]
    try context.save()
    ann.age = 99
    ann.books = []
    let bob = author("Bob")
    context.delete(one)
    context.rollback()
    #expect(!context.hasChanges && ann.age == 30 && bob.state == .invalid && !one.isDeleted)
    #expect(ann.books == [one] && one.author === ann)
    try context.save()
    #expect(try context.fetch(Author.self).count() == 1)
  }

  @Test func `a failed save writes nothing and keeps everything pending`() throws {
    author("Ann")
    try context.save()
    author("Bob")
    author("Ann")
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.allSatisfy { $0.entity == "Author" }
        && failures.map(\.property) == ["name", "nick, age"]
    }
    #expect(try store.makeContext().fetch(Author.self).count() == 1)
    #expect(context.hasChanges)
  }

  @Test func `a save reports all broken rules at once`() throws {
    context.insert(Author.self) {
      $0.name = "  "
      $0.age = 200
    }
    context.insert(Book.self) { $0.title = String(repeating: "x", count: 81) }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return Set(failures.map { "\($0.entity).\($0.property)" }) == [
        "Author.name", "Author.age", "Book.title",
      ]
    }
  }

  @Test func `the id of a deleted object is not issued again`() throws {
    let ids = try (0..<3).map { _ -> Int64 in
      let ann = author("Ann")
      try context.save()
      context.delete(ann)
      let id = ann.id.rowID
      try context.save()
      return id
    }
    #expect(ids == [1, 2, 3])
  }

  @Test func `a fault whose row is gone gives placeholders, and the next save throws`() throws {
    let ann = author("Ann")
    ann.books = [context.insert(Book.self) { $0.title = "One" }]
    try context.save()
    let other = store.makeContext()
    let fault = try #require(try other.fetch(Book.self).one().author)
    #expect(fault.isFault)
    context.delete(ann)
    try context.save()
    var noted = 0
    other.onFaultError = { _ in noted += 1 }
    #expect(fault.name == "" && fault.age == 0)
    #expect(fault.state == .invalid && noted == 1)
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: 1)) { try other.save() }
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: 1)) { try fault.load() }
    try other.save()
  }

  @Test func `an object that outlives its context keeps its values and ignores writes`() throws {
    var author: Author?
    do {
      let short = store.makeContext()
      author = self.author("Ann", in: short)
      try short.save()
    }
    #expect(author?.name == "Ann")
    author?.name = "Bob"
    #expect(author?.name == "Ann")
  }

  @Test func `objects that refer to each other are released with their context`() throws {
    weak var released: Author?
    do {
      let short = store.makeContext()
      let ann = author("Ann", in: short)
      ann.books = [short.insert(Book.self) { $0.title = "One" }]
      let genre = short.insert(Genre.self) { $0.name = "g" }
      genre.books = ann.books
      try short.save()
      released = ann
    }
    #expect(released == nil)
  }

  @Test func `a detached object has no row`() {
    let loose = Author()
    loose.name = "Nobody"
    loose.books = []
    loose.passport = nil
    #expect(loose.name == "Nobody" && loose.books.isEmpty && loose.passport == nil)
    #expect(loose.state == .detached && !loose.hasChanges)
    #expect(throws: (any Error).self) { try loose.load() }
  }

  @Test func `random operations leave the same graph as in plain dictionaries`() async throws {
    var random = SeededGenerator(seed: 20)
    var model: [String: (age: Int, books: Set<String>)] = [:]
    var owner: [String: String] = [:]
    for step in 0..<600 {
      let name = "A\(Int.random(in: 0..<12, using: &random))"
      let title = "B\(Int.random(in: 0..<30, using: &random))"
      let author = try context.fetch(Author.self).where("name = %@", name).first()
      let book = try context.fetch(Book.self).where("title = %@", title).first()
      switch Int.random(in: 0..<6, using: &random) {
      case 0 where author == nil:
        self.author(name)
        model[name] = (30, [])
      case 1:
        author?.age = step % 150
        if author != nil { model[name]?.age = step % 150 }
      case 2 where book == nil && author != nil:
        context.insert(Book.self) {
          $0.title = title
          $0.author = author
        }
        model[name]?.books.insert(title)
        owner[title] = name
      case 3 where book != nil:
        book?.author = author
        if let former = owner[title] { model[former]?.books.remove(title) }
        owner[title] = author == nil ? nil : name
        if author != nil { model[name]?.books.insert(title) }
      case 4 where author != nil:
        if let author { context.delete(author) }
        for title in model[name]?.books ?? [] { owner[title] = nil }
        model[name] = nil
      case 5 where book != nil:
        if let book { context.delete(book) }
        if let former = owner.removeValue(forKey: title) { model[former]?.books.remove(title) }
      default: break
      }
      try context.save()
      guard step % 20 == 0 else { continue }
      let fresh = store.makeContext()
      let found = try fresh.fetch(Author.self).prefetch(\.books).all()
      #expect(found.count == model.count)
      for author in found {
        #expect(model[author.name]?.age == author.age)
        #expect(model[author.name]?.books == Set(author.books.map(\.title)))
      }
      for author in try context.fetch(Author.self).all() {
        #expect(
          model[author.name]?.books == Set(author.books.map(\.title)), "in the working context, step \(step)")
      }
    }
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a temporary id finds its object only in its own context`() async throws {
    let temporary = try await TemporaryStore(library)
    let (one, two) = (temporary.store.makeContext(), temporary.store.makeContext())
    let (a, b) = (one.insert(Genre.self) { $0.name = "a" }, two.insert(Genre.self) { $0.name = "b" })
    let id = a.id
    #expect(id == b.id && id.isTemporary)
    #expect(try one.existing(id) === a && two.existing(b.id) === b)
    #expect(throws: StoreError.temporaryID(entity: "Genre")) { _ = try one.existing(b.id) }
    #expect(throws: StoreError.temporaryID(entity: "Genre")) { _ = try two.existing(id) }
    #expect(try one.existing(ObjectID<Genre>(rowID: id.rowID)) == nil)
    #expect(try one.fetch(Genre.self).ids().map { try one.existing($0) === a } == [true])
    #expect(throws: StoreError.self) { try two.fetch(Genre.self).where("id == %@", id).count() }
    try one.save()
    #expect(try one.existing(id) === a && two.existing(a.id)?.name == "a")
    #expect(throws: EncodingError.self) { _ = try JSONEncoder().encode(b.id) }
  }
}
