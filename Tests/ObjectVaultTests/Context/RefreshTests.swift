// How refreshing one object affects the objects at the other ends of its relationships.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Refreshes {
  let temporary: TemporaryStore
  let context: ObjectContext
  let ann: Author
  let bob: Author
  let one: Passport
  let two: Passport

  /// Ann has the first passport and is in a club. Bob has the second passport.
  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    ann = context.insert(Author.self) { $0.name = "Ann" }
    bob = context.insert(Author.self) { $0.name = "Bob" }
    (one, two) = (
      context.insert(Passport.self) { $0.number = "1" }, context.insert(Passport.self) { $0.number = "2" }
    )
    (ann.passport, bob.passport) = (one, two)
    context.insert(Club.self) { $0.name = "C" }.members = [ann]
    try context.save()
  }

  /// Saves, and expects the original partners in the file and in memory.
  private func expectUnchanged() async throws {
    try checkPending(context)
    try context.save()
    #expect(try await temporary.store.verify().isEmpty)
    let reader = temporary.store.makeContext()
    let owners = try reader.fetch(Passport.self).sorted(by: \.number).all().map { $0.owner?.name }
    #expect(owners == ["Ann", "Bob"])
    #expect(ann.passport === one && one.owner === ann && bob.passport === two && two.owner === bob)
  }

  @Test func `refreshing an owner keeps its new partner, because the partner has the change`() async throws {
    let three = context.insert(Passport.self) { $0.number = "3" }
    ann.passport = three
    context.refresh(ann)
    #expect(three.owner === ann && ann.passport === three && one.owner == nil)
    context.delete(three)
    context.refresh(one)
    #expect(!context.hasChanges)
    try await expectUnchanged()
  }

  @Test func `refreshing the end with the column gives the partner back to its former owner`() async throws {
    ann.passport = two
    #expect(bob.passport == nil && one.owner == nil)
    context.refresh(two)
    #expect(bob.passport === two && ann.passport == nil && one.owner == nil)
    context.refresh(one)
    #expect(!context.hasChanges)
    try await expectUnchanged()
  }

  @Test func `refreshing an object also reverts the object that took its place`() async throws {
    ann.passport = two
    context.refresh(one)
    try await expectUnchanged()
    ann.passport = nil
    context.refresh(one)
    try await expectUnchanged()
  }

  @Test func `refreshing a member moves it back from its new member set to the former one`() async throws {
    let former = try #require(ann.club)
    #expect(former.members == [ann])
    let club = context.insert(Club.self) { $0.name = "D" }
    (ann.club, bob.club) = (club, club)
    #expect(club.members == [ann, bob] && former.members.isEmpty)
    context.refresh(ann)
    #expect(club.members == [bob] && former.members == [ann] && ann.club === former)
    try await expectUnchanged()
    #expect(club.members == [bob] && former.members == [ann])
  }

  @Test func `refreshing an object whose row is gone keeps its values and reports it once`() throws {
    let other = temporary.store.makeContext()
    let gone = try #require(try other.existing(bob.id))
    gone.passport = nil
    other.delete(gone)
    try other.save()
    bob.nick = "changed here"
    context.refresh(bob)
    #expect(bob.name == "Bob" && bob.state == .invalid && !bob.hasChanges)
    #expect(bob.nick == nil && bob.age == 30 && bob.passport == nil && bob.books.isEmpty)
    #expect(context.faultErrors.map { "\($0)" } == ["\(StoreError.objectGone(entity: "Author", rowID: 2))"])
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: 2)) { try bob.load() }
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: 2)) { try context.save() }
    // A second refresh has the same result.
    context.refresh(bob)
    #expect(bob.name == "Bob" && bob.state == .invalid)
    let id = bob.id
    #expect(try context.existing(id) == nil && bob.name == "Bob")
  }

  @Test func `refreshing an object keeps other changes of its partner`() async throws {
    ann.passport = nil
    one.number = "0"
    context.refresh(ann)
    #expect(one.changedValues.keys.sorted() == ["number", "owner"])
    try context.save()
    #expect(one.owner == nil && ann.passport == nil && one.number == "0")
  }

  @Test func `the conflict about a deleted row says how to insert it again`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let genre = context.insert(Genre.self) { $0.name = "a" }
    try context.save()
    try await temporary.store.write { other in
      if let genre = try other.fetch(Genre.self).first() { other.delete(genre) }
    }
    genre.name = "b"
    let error = #expect(throws: StoreError.self) { try context.save() }
    #expect(
      error.map { "\($0)" }?.hasSuffix(
        "If the object is still needed, resolve the conflict keeping .mine: it is inserted again.")
        == true)
    for conflict in try context.conflicts() { try context.resolve(conflict, keeping: .mine) }
    try context.save()
    #expect(try temporary.store.makeContext().fetch(Genre.self).one().name == "b")
  }
}
