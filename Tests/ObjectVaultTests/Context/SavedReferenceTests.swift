// Both ends of relationships after deletions, replacements and saves, in memory and in the file.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct SavedReferences {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  private func author(_ name: String) -> Author { context.insert(Author.self) { $0.name = name } }
  private func book(_ title: String) -> Book { context.insert(Book.self) { $0.title = title } }

  @Test func `a deleted object leaves member sets in memory at once, and a rollback restores it`() throws {
    let (one, genre) = (book("One"), context.insert(Genre.self) { $0.name = "g" })
    one.genres = [genre]
    try context.save()
    let other = store.makeContext()
    let same = try #require(try other.existing(one.id))
    #expect(same.genres.count == 1)
    other.delete(try #require(try other.existing(genre.id)))
    #expect(same.genres.isEmpty)
    other.rollback()
    #expect(same.genres.count == 1)
    other.delete(try #require(try other.existing(genre.id)))
    try other.save()
    #expect(same.genres.isEmpty)
  }

  @Test func `a cascade follows the present references, not the stored ones`() throws {
    let ann = author("Ann")
    let (first, second) = (
      context.insert(Passport.self) { $0.number = "1" }, context.insert(Passport.self) { $0.number = "2" }
    )
    ann.passport = first
    try context.save()
    ann.passport = second
    context.delete(ann)
    try context.save()
    #expect(try store.makeContext().fetch(Passport.self).all().map(\.number) == ["1"])
  }

  @Test func `the last of two changes of a link counts, whether or not the members were read`() throws {
    let (one, two) = (book("One"), book("Two"))
    let genre = context.insert(Genre.self) { $0.name = "g" }
    two.genres = [genre]
    try context.save()
    let other = store.makeContext()
    let (first, second) = (try #require(try other.existing(one.id)), try #require(try other.existing(two.id)))
    let same = try #require(try other.existing(genre.id))
    first.remove(same, from: \.genres)
    first.add(same, to: \.genres)
    second.add(same, to: \.genres)
    second.remove(same, from: \.genres)
    try other.save()
    #expect(first.genres == [same] && second.genres.isEmpty && same.books == [first])
    let third = store.makeContext()
    #expect(try third.fetch(Genre.self).one().books.map(\.title) == ["One"])
    first.genres.remove(same)
    first.genres.insert(same)
    #expect(!other.hasChanges)
    let fresh = other.insert(Book.self) {
      $0.title = "Fresh"
      $0.genres = [same]
    }
    same.add(fresh, to: \.books)
    fresh.genres = []
    fresh.add(same, to: \.genres)
    try other.save()
    #expect(try store.makeContext().fetch(Book.self).where("genres.@count == 1").count() == 2)
    let new = other.insert(Genre.self) { $0.name = "new" }
    new.remove(first, from: \.books)
    new.books.insert(first)
    try other.save()
    #expect(try store.makeContext().fetch(Book.self).where("ANY genres.name == 'new'").count() == 1)
  }

  @Test func `removing an object of another store from a member set is an error`() async throws {
    let elsewhere = try await TemporaryStore(library)
    let (one, genre) = (book("One"), context.insert(Genre.self) { $0.name = "g" })
    one.genres = [genre]
    try context.save()
    let strange = elsewhere.store.makeContext()
    let other = strange.insert(Genre.self) { $0.name = "g" }
    try strange.save()
    one.remove(other, from: \.genres)
    #expect(context.faultErrors.count == 1 && one.genres == [genre] && other.id.rowID == genre.id.rowID)
    context.rollback()
    #expect(try store.makeContext().fetch(Book.self).where("genres.@count == 1").count() == 1)
  }

  @Test func `a partner that was replaced is not deleted with its former owner`() throws {
    let ann = author("Ann")
    ann.passport = context.insert(Passport.self) { $0.number = "8" }
    try context.save()
    ann.passport = context.insert(Passport.self) { $0.number = "9" }
    context.delete(ann)
    try context.save()
    #expect(try store.makeContext().fetch(Passport.self).all().map(\.number) == ["8"])
  }

  @Test func `a partner can be deleted and replaced in one save, and both ends agree`() throws {
    let ann = author("Ann")
    ann.passport = context.insert(Passport.self) { $0.number = "1" }
    try context.save()
    for number in 2...4 {
      context.delete(try #require(ann.passport))
      let next = context.insert(Passport.self) { $0.number = "\(number)" }
      if number == 2 { ann.passport = next } else { next.owner = ann }
      if number == 4 { ann.passport = nil }
      try context.save()
      let other = store.makeContext()
      let (owner, pass) = (try other.fetch(Author.self).one(), try other.fetch(Passport.self).one())
      #expect(pass.number == "\(number)")
      #expect(owner.passport === (number == 4 ? nil : pass) && pass.owner === (number == 4 ? nil : owner))
    }
  }

  @Test func `both ends of a required reference without an inverse can be deleted together`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Genre.self)
        Entity(Book.self)
        Entity(Author.self)
        Entity(Passport.self)
        Entity(Club.self)
        Entity(Loan.self)
        Entity(Review.self)
      })
    let context = temporary.store.makeContext()
    let one = context.insert(Book.self) { $0.title = "One" }
    let reviews = (1...3).map { _ in context.insert(Review.self) { $0.book = one } }
    try context.save()
    for review in reviews { context.delete(review) }
    context.delete(one)
    try context.save()
    #expect(try context.fetch(Book.self).count() == 0)
    #expect(try context.fetch(Review.self).count() == 0)
  }
}

final class Review: ManagedObject {
  @ToOne(.required) var book: Book?
}
