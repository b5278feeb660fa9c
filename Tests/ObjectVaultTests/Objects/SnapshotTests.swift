// Objects as values that leave their context.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Snapshots {
  private let temporary: TemporaryStore
  private let context: ObjectContext
  private let ann: Author
  private let club: Club

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    club = context.insert(Club.self) { $0.name = "C" }
    ann = context.insert(Author.self) { ($0.name, $0.nick, $0.age) = ("Ann", nil, 40) }
    ann.club = club
    try context.save()
  }

  @Test func `a snapshot has the values of the object, and leaves its context`() async throws {
    ann.age = 41
    let snapshot = ann.snapshot()
    ann.name = "Other"
    context.rollback()
    let text = await Task.detached { "\(snapshot.name) \(snapshot.age) \(snapshot.nick ?? "-")" }.value
    #expect(
      text == "Ann 41 -" && snapshot.club == club.id && snapshot.id == DynamicID(entity: "Author", rowID: 1))
    #expect(!"\(snapshot)".contains("Ann") && "\(snapshot)".contains("Author 1: age, club"))
    let coded = try JSONDecoder().decode(
      ObjectSnapshot<Author>.self, from: JSONEncoder().encode(snapshot))
    #expect(coded == snapshot && coded.age == 41)
    let sample = context.insert(Sample.self) {
      ($0.mood, $0.shelf, $0.address, $0.decimal) = (.cross, .low, Address(street: "S", number: 2), 7)
    }
    let value = sample.snapshot()
    #expect(value.mood == .cross && value.shelf == .low && value.address.street == "S" && value.decimal == 7)
    #expect(value.maybeMood == nil && value.flag == false)
  }

  @Test func `applying sets what was set in the snapshot, and reports what others had changed`() throws {
    var form = ann.snapshot()
    form.name = "Bea"
    form.club = nil
    form.age = 40
    #expect(form.changedProperties == ["club", "name"] && ann.name == "Ann")
    ann.age = 50
    #expect(try ann.apply(form).isEmpty)
    #expect(ann.name == "Bea" && ann.age == 50 && ann.club == nil && club.members.isEmpty)
    ann.name = "Cid"
    form.name = "Dora"
    #expect(try ann.apply(form) == ["name"])
    #expect(ann.name == "Dora")
    try context.save()
    let before = ann.snapshot()
    (ann.name, ann.age, ann.club) = ("X", 1, club)
    try ann.apply(before)
    #expect(ann.name == "X")
    try ann.apply(before, overwriting: true)
    #expect(ann.name == "Dora" && ann.age == 50 && ann.club == nil)
    form.club = ObjectID(rowID: 999)
    #expect(throws: StoreError.objectGone(entity: "Club", rowID: 999)) { try ann.apply(form) }
  }

  @Test func `an object that is in no context yet has a snapshot of its attributes`() {
    let draft = Author()
    draft.name = "D"
    let snapshot = draft.snapshot()
    #expect(snapshot.name == "D" && snapshot.age == 30 && snapshot.nick == nil)
  }

  @Test func `a snapshot is applied to an object that is in no context yet`() throws {
    let (first, second) = (Author(), Author())
    first.name = "D"
    var form = first.snapshot()
    form.name = "E"
    try second.apply(form)
    #expect(second.name == "E" && second.age == 30)
    let club = context.insert(Club.self)
    ann.club = club
    // Only a context finds the object of an id.
    #expect(throws: StoreError.noContext(entity: "Author", property: "club")) {
      try second.apply(ann.snapshot(), overwriting: true)
    }
  }

  @Test func `a to-one to a new object cannot be encoded`() throws {
    let club = context.insert(Club.self)
    ann.club = club
    var snapshot = ann.snapshot()
    #expect(throws: EncodingError.self) { _ = try JSONEncoder().encode(snapshot) }
    snapshot.club = nil
    let decoded = try JSONDecoder().decode(ObjectSnapshot<Author>.self, from: JSONEncoder().encode(snapshot))
    ann.club = club
    #expect(try ann.apply(decoded, overwriting: true).isEmpty && ann.club == nil)
    ann.club = club
    ann.club = nil
    _ = try JSONEncoder().encode(ann.snapshot())
  }

  @Test func `ids of another store, or of a new object of another context, are refused`() async throws {
    let other = try await TemporaryStore(library)
    let theirs = other.store.makeContext()
    let bob = theirs.insert(Author.self) { $0.name = "Bob" }
    try theirs.save()
    let snapshot = ann.snapshot()
    #expect(throws: StoreError.idOfAnotherStore(entity: "Club", rowID: 1)) {
      try bob.apply(snapshot, overwriting: true)
    }
    let second = temporary.store.makeContext()
    let same = try #require(try second.existing(ann.id))
    ann.club = context.insert(Club.self) { $0.name = "New" }
    #expect(throws: StoreError.self) { try same.apply(ann.snapshot(), overwriting: true) }
    let new = ann.snapshot()
    ann.club = club
    try ann.apply(new, overwriting: true)
    #expect(ann.club?.name == "New")
  }

  @Test func `objects without classes have snapshots`() async throws {
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    defer { store.close() }
    let context = store.makeContext()
    let author = try #require(try context.fetch(entity: "Author").first())
    let snapshot = author.snapshot()
    #expect(snapshot.values["name"] == .text("Ann") && snapshot.values["club"] == .integer(1))
    author["name"] = "Z"
    try author.apply(snapshot, overwriting: true)
    #expect(author["name"] as String == "Ann" && author[toOne: "club"] != nil)
  }
}
