// Deletions where memory, file and pending changes differ about a relationship.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

final class Bearer: ManagedObject {
  @Attribute var name: String
  @ToOne(inverse: \Card.holder, onDelete: .cascade) var card: Card?
  @ToOne(inverse: \Seal.holder, onDelete: .cascade) var seal: Seal?
}

final class Card: ManagedObject {
  @Attribute var text: String
  @ToOne var holder: Bearer?
}

final class Seal: ManagedObject {
  @Attribute var text: String
  @ToOne(.required) var holder: Bearer?
}

@Suite struct Deletions {
  private static let holders = Schema {
    Entity(Bearer.self)
    Entity(Card.self)
    Entity(Seal.self)
  }

  @Test func `a deny rule checks the file, not outdated objects in memory`() async throws {
    let temporary = try await TemporaryStore(library)
    let (context, other) = (temporary.store.makeContext(), temporary.store.makeContext())
    let one = context.insert(Book.self) { $0.title = "One" }
    let loan = context.insert(Loan.self) {
      $0.reader = "R"
      $0.book = one
    }
    try context.save()
    other.delete(try other.fetch(Loan.self).one())
    try other.save()
    context.delete(one)
    try context.save()
    #expect(try other.fetch(Book.self).count() == 0)
    withExtendedLifetime(loan) {}
  }

  @Test func `a member that another context moved to a new owner is not deleted with the former one`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let (context, other) = (temporary.store.makeContext(), temporary.store.makeContext())
    let ann = context.insert(Author.self) { $0.name = "Ann" }
    let one = context.insert(Book.self) {
      $0.title = "One"
      $0.author = ann
    }
    try context.save()
    let bob = other.insert(Author.self) { $0.name = "Bob" }
    try other.fetch(Book.self).one().author = bob
    try other.save()
    context.delete(ann)
    try context.save()
    let reader = temporary.store.makeContext()
    #expect(try reader.fetch(Book.self).one().author?.name == "Bob")
    withExtendedLifetime(one) {}
  }

  @Test func `a new partner protects an object from the cascade of its unfetched former partner`()
    async throws
  {
    let temporary = try await TemporaryStore(Self.holders)
    try await temporary.store.write { context in
      let card = context.insert(Card.self) { $0.text = "c" }
      context.insert(Bearer.self) {
        $0.name = "former"
        $0.card = card
      }
    }
    let context = temporary.store.makeContext()
    let card = try context.fetch(Card.self).one()
    let former = try #require(card.holder)
    #expect(former.isFault)
    context.delete(former)
    card.holder = context.insert(Bearer.self) { $0.name = "new" }
    try context.save()
    #expect(card.state == .loaded && card.holder?.name == "new")
    let reader = temporary.store.makeContext()
    #expect(try reader.fetch(Card.self).one().holder?.name == "new")
    #expect(try await temporary.store.verify().isEmpty)
  }

  @Test func `a member that was moved to another owner is not deleted with its former owner`() async throws {
    let temporary = try await TemporaryStore(Self.holders)
    try await temporary.store.write { context in
      let seal = context.insert(Seal.self) { $0.text = "s" }
      context.insert(Bearer.self) {
        $0.name = "a"
        $0.seal = seal
      }
      context.insert(Bearer.self) { $0.name = "b" }
    }
    try await temporary.store.write { context in
      let seal = try context.fetch(Seal.self).one()
      let (a, b) = (seal.holder, try context.fetch(Bearer.self).where("name == 'b'").one())
      seal.holder = nil
      #expect(try context.fetch(Seal.self).count() == 1)
      if let a { context.delete(a) }
      #expect(try context.fetch(Bearer.self).count() == 1)
      #expect(try context.fetch(Seal.self).count() == 1)
      seal.holder = b
    }
    let reader = temporary.store.makeContext()
    #expect(try reader.fetch(Seal.self).one().holder?.name == "b")
  }

  @Test func `the next save reports a write to an object that an earlier save deleted`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let (ann, one) = (
      context.insert(Author.self) { $0.name = "Ann" }, context.insert(Book.self) { $0.title = "One" }
    )
    try context.save()
    context.delete(one)
    try context.save()
    one.title = "Two"
    #expect { try context.save() } throws: { error in
      if case StoreError.objectGone("Book", _) = error { true } else { false }
    }
    one.author = ann
    #expect(throws: StoreError.self) { try context.save() }
    try context.save()
  }

  @Test func `an object removed from its owner before a deletion survives the owner's cascade`() async throws
  {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      ann.books = [context.insert(Book.self) { $0.title = "One" }]
      ann.passport = context.insert(Passport.self) { $0.number = "1" }
    }
    try await temporary.store.write { context in
      let ann = try context.fetch(Author.self).one()
      ann.passport = nil
      context.delete(ann)
      let open = context.insert(Genre.self)
      #expect(try context.fetch(Book.self).count() == 0)
      #expect(try context.fetch(Passport.self).count() == 1)
      open.name = "g"
    }
  }

  @Test func `a deletion removes the object from member sets, and deletes members that are faults`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let ann = context.insert(Author.self) { $0.name = "Ann" }
    let one = context.insert(Book.self) {
      $0.title = "One"
      $0.author = ann
    }
    try context.save()
    #expect(ann.books == [one])
    let club = context.insert(Club.self) { $0.name = "C" }
    ann.club = club
    #expect(club.members == [ann])
    // As a fault, the book does not have its author in memory.
    context.refresh(one)
    let books = ann.books
    context.delete(ann)
    try context.save()
    #expect(club.members.isEmpty && one.state == .invalid && books == [one])
  }

  @Test func `objects with ids near the highest integer can be fetched and linked`() async throws {
    let temporary = try await TemporaryStore(library)
    // Another program inserts the row: a change set with such an id is refused, because it leaves no id
    // for new rows.
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try connection.execute("INSERT INTO Genre(id, name) VALUES (\(Int64.max - 1), 'last')")
    connection.close()
    let context = temporary.store.makeContext()
    for title in ["One", "Two", "Three"] { context.insert(Book.self) { $0.title = title } }
    try context.save()
    let genre = try context.fetch(Genre.self).one()
    let four = context.insert(Book.self) {
      $0.title = "Four"
      $0.genres = [genre]
    }
    try context.save()
    #expect(four.genres == [genre] && genre.id.rowID == Int64.max - 1)
  }
}
