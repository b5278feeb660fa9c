// One-to-ones whose partner in memory is older than its row, because somebody else has written it.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct StalePartners {
  let temporary: TemporaryStore
  let context: ObjectContext
  let ann: Author
  let bob: Author
  let passport: Passport

  /// Ann has a passport here; in the file Bob has it. Both authors were fetched again, and the passport was not.
  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    ann = context.insert(Author.self) { $0.name = "Ann" }
    bob = context.insert(Author.self) { $0.name = "Bob" }
    passport = context.insert(Passport.self) { $0.number = "1" }
    ann.passport = passport
    try context.save()
    try await temporary.store.write { other in
      let theirs = try other.fetch(Passport.self).one()
      theirs.owner = try other.fetch(Author.self).where("name == 'Bob'").one()
    }
    _ = try context.fetch(Author.self).all()
  }

  /// A conflict or a file in which both ends say the same, and never half of a change.
  private func save() async throws -> Bool {
    do {
      try context.save()
      #expect(try await temporary.store.verify().isEmpty)
      return true
    } catch StoreError.conflict(let conflict) {
      #expect(conflict.entity == "Passport")
      #expect(try await temporary.store.verify().isEmpty)
      return false
    }
  }

  @Test func `giving it to whom memory believes its owner is a conflict`() async throws {
    #expect(ann.passport == nil && bob.passport === passport && passport.owner === ann)
    ann.passport = passport
    #expect(try await !save())
    context.rollback()
    ann.passport = passport
    #expect(try await save())
    #expect(ann.passport === passport && bob.passport == nil && passport.owner === ann)
  }

  @Test func `taking it from whom memory does not believe its owner is a conflict`() async throws {
    bob.passport = nil
    #expect(try await !save())
    context.rollback()
    bob.passport = nil
    #expect(try await save())
    #expect(passport.owner == nil)
  }

  @Test func `a partner that lost its owner elsewhere is compared, too`() async throws {
    let reader = temporary.store.makeContext()
    let (theirs, bobThere) = (
      try reader.fetch(Passport.self).one(), try reader.fetch(Author.self).where("name == 'Bob'").one()
    )
    try await temporary.store.write { try $0.fetch(Passport.self).one().owner = nil }
    _ = try reader.fetch(Passport.self).all()
    #expect(theirs.owner == nil && bobThere.passport === theirs)
    bobThere.passport = nil
    #expect(throws: StoreError.self) { try reader.save() }
    #expect(try await temporary.store.verify().isEmpty)
  }
}
