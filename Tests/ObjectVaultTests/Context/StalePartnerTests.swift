// One-to-ones whose partner in memory is outdated, because another context has changed its row.

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

  /// Ann has a passport in this context, and Bob has it in the file. Both authors were fetched again, and
  /// the passport was not.
  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    ann = context.insert(Author.self) { $0.name = "Ann" }
    bob = context.insert(Author.self) { $0.name = "Bob" }
    passport = context.insert(Passport.self) { $0.number = "1" }
    ann.passport = passport
    try context.save()
    #expect(ann.passport === passport && bob.passport == nil)
    try await temporary.store.write { other in
      let theirs = try other.fetch(Passport.self).one()
      theirs.owner = try other.fetch(Author.self).where("name == 'Bob'").one()
    }
    _ = try context.fetch(Author.self).all()
  }

  private func owner() throws -> String? {
    let reader = temporary.store.makeContext()
    return try reader.fetch(Passport.self).one().owner?.name
  }

  @Test func `both ends of a one-to-one reflect the row of the end with the column as last read`() throws {
    #expect(ann.passport === passport && passport.owner === ann && bob.passport == nil)
    context.refresh(passport)
    #expect(passport.owner === bob && ann.passport == nil)
    // Before, Bob was read without a passport.
    context.refresh(bob)
    #expect(bob.passport === passport)
  }

  @Test(arguments: [true, false])
  func `removing or reassigning an outdated partner is a conflict of its row`(_ isTaken: Bool) throws {
    if isTaken { ann.passport = nil } else { passport.owner = bob }
    let error = #expect(throws: StoreError.self) { try context.save() }
    guard case .conflicts(let all)? = error, let conflict = all.first else { throw try #require(error) }
    #expect(conflict.entity == "Passport")
    #expect(try owner() == "Bob")
  }

  @Test func `a partner can be reassigned after a refresh`() throws {
    context.refresh(passport)
    ann.passport = passport
    #expect(ann.passport === passport && bob.passport == nil && passport.owner === ann)
    try context.save()
    #expect(try owner() == "Ann")
  }
}
