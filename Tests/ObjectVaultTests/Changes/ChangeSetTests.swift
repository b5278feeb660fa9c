// The content of change sets, before a commit and after it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ChangeSets {
  /// Runs a write and returns the change set of its commit.
  private static func told(
    _ store: Store, _ body: @escaping @Sendable (ObjectContext) throws -> Void
  ) async throws -> ChangeSet? {
    var changes = store.changes().makeAsyncIterator()
    try await store.write(body)
    guard case .committed(let set)? = await changes.next() else { return nil }
    return set
  }

  private static func filled() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      let author = context.insert(Author.self) {
        $0.name = "Ann"
        $0.nick = "A"
      }
      context.insert(Book.self) {
        $0.title = "One"
        $0.author = author
      }
      context.insert(Genre.self) { $0.name = "crime" }
    }
    return temporary
  }

  @Test func `an insertion has all values that are not nil, an update the old and the new values`()
    async throws
  {
    let temporary = try await Self.filled()
    let set = try await Self.told(temporary.store) { context in
      (context.author, context.transactionName) = ("tests", "renaming")
      let ann = try context.fetch(Author.self).one()
      (ann.name, ann.nick, ann.age) = ("Bea", nil, 30)
      context.insert(Author.self) { $0.name = "Carl" }
    }
    let changes = try #require(set)
    #expect(
      changes.updated == [
        .init(
          entity: "Author", rowID: 1, old: ["name": "Ann", "nick": "A"], new: ["name": "Bea", "nick": .null])
      ])
    #expect(changes.inserted == [.init(entity: "Author", rowID: 2, values: ["name": "Carl", "age": 30])])
    #expect(changes.deleted.isEmpty && changes.linked.isEmpty && changes.unlinked.isEmpty)
    #expect(changes.author == "tests" && changes.name == "renaming")
    #expect(changes.commit?.store == temporary.store.id?.uuidString && changes.commit?.number == 2)
  }

  @Test func `rows that a cascade deletes unfetched are in the change set with their last values`()
    async throws
  {
    let temporary = try await Self.filled()
    let set = try await Self.told(temporary.store) { context in
      try context.delete(context.fetch(Author.self).one())
    }
    #expect(set?.deleted.map(\.entity) == ["Author", "Book"])
    #expect(set?.deleted.last?.values == ["title": "One", "year": 2000, "author": 1])
    #expect(set?.updated == [])
  }

  @Test func `an object that is made and deleted in one transaction is not in the change set`() async throws {
    let temporary = try await Self.filled()
    let set = try await Self.told(temporary.store) { context in
      let carl = context.insert(Author.self) { $0.name = "Carl" }
      _ = try context.fetch(Author.self).count()
      context.delete(carl)
      try context.fetch(Author.self).where("name == 'Ann'").one().age = 31
    }
    #expect(set?.count == 1)
    #expect(set?.updated.first?.properties == ["age"])
  }

  @Test func `changes that are rolled back and saves without changes are not delivered`() async throws {
    let temporary = try await Self.filled()
    let store = temporary.store
    var changes = store.changes().makeAsyncIterator()
    try await store.write { context in
      context.insert(Author.self) { $0.name = "Carl" }
      _ = try context.fetch(Author.self).count()
      context.rollback()
    }
    try await store.write { _ in }
    struct Stop: Error {}
    await #expect(throws: Stop.self) {
      try await store.write { context in
        context.insert(Author.self) { $0.name = "Dora" }
        try context.save()
        throw Stop()
      }
    }
    try await store.write { context in _ = context.insert(Author.self) { $0.name = "Emil" } }
    guard case .committed(let set)? = await changes.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(set.inserted.map { $0.values["name"] } == ["Emil"])
    #expect(set.commit?.number == 2)
  }

  @Test func `pending changes equal those of the commit, except for the ids of new objects`() async throws {
    let temporary = try await Self.filled()
    let store = temporary.store
    let context = store.makeContext()
    var changes = store.changes().makeAsyncIterator()
    let book = try context.fetch(Book.self).one()
    let genre = try context.fetch(Genre.self).one()
    book.add(genre, to: \.genres)
    book.year = 2001
    context.insert(Author.self) { $0.name = "Carl" }
    let pending = context.pendingChanges
    try context.save()
    guard case .committed(let told)? = await changes.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(pending.updated == told.updated && pending.linked == told.linked)
    #expect(pending.inserted.map(\.values) == told.inserted.map(\.values))
    #expect(pending.inserted.first?.rowID ?? 0 < 0)
    #expect(context.pendingChanges.isEmpty)
  }

  @Test func `pending changes do not refer to objects that the save deletes`() async throws {
    let temporary = try await Self.filled()
    let context = temporary.store.makeContext()
    var changes = temporary.store.changes().makeAsyncIterator()
    let (ann, book) = (try context.fetch(Author.self).one(), try context.fetch(Book.self).one())
    let genre = try context.fetch(Genre.self).one()
    let club = context.insert(Club.self) { $0.name = "c" }
    try context.save()
    _ = await changes.next()
    ann.club = club
    ann.age = 31
    book.add(genre, to: \.genres)
    let carl = context.insert(Author.self) { $0.name = "Carl" }
    carl.club = club
    context.delete(club)
    context.delete(genre)
    let pending = context.pendingChanges
    #expect(pending.updated.map(\.new) == [["age": 31]] && pending.linked.isEmpty)
    #expect(pending.inserted.map(\.values) == [["name": "Carl", "age": 30]])
    try context.save()
    guard case .committed(let told)? = await changes.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(pending.updated == told.updated && pending.linked == told.linked)
    #expect(pending.deleted == told.deleted && pending.inserted.map(\.values) == told.inserted.map(\.values))
  }

  @Test func `the description of a change set names what changed and shows no value`() async throws {
    let changes = ChangeSet(
      inserted: [.init(entity: "Author", rowID: 2, values: ["name": "secret"])],
      updated: [.init(entity: "Author", rowID: 1, old: ["nick": "hidden"], new: ["nick": .null])],
      linked: [.init(entity: "Book", relationship: "genres", source: 1, target: 3)])
    #expect("\(changes)" == "inserted Author 2\nupdated Author 1: nick\nlinked Book 1.genres 3")
    #expect(
      changes.descriptionWithValues
        == "inserted Author 2 name = 'secret'\nupdated Author 1: nick 'hidden' to NULL\nlinked Book 1.genres 3"
    )
  }

  @Test func `deleting a row is refused while the change set does not remove its links`() async throws {
    let temporary = try await Self.filled()
    let store = temporary.store
    try await store.write { context in
      try context.fetch(Book.self).one().add(context.fetch(Genre.self).one(), to: \.genres)
    }
    let genre = ChangeSet.Row(entity: "Genre", rowID: 1, values: ["name": "crime"])
    let link = ChangeSet.Link(entity: "Book", relationship: "genres", source: 1, target: 1)
    await #expect(throws: StoreError.changesDoNotFit(entity: "Book", rowID: 1, properties: ["genres"])) {
      try await store.apply(ChangeSet(deleted: [genre]))
    }
    try await store.apply(ChangeSet(deleted: [genre], unlinked: [link]))
    #expect(try store.makeContext().fetch(Genre.self).count() == 0)
  }

  @Test func `a row restored by an inverse change set conflicts with an object fetched before`() async throws
  {
    let temporary = try await Self.filled()
    let store = temporary.store
    let old = store.makeContext()
    let known = try old.fetch(Genre.self).one()
    let changes = store.changes()
    var iterator = changes.makeAsyncIterator()
    try await store.write { context in try context.fetch(Genre.self).one().name = "novel" }
    try await store.write { context in try context.delete(context.fetch(Genre.self).one()) }
    _ = await iterator.next()
    guard case .committed(let deletion)? = await iterator.next() else {
      Issue.record("the deletion was not delivered")
      return
    }
    try await store.apply(deletion.inverse)
    known.name = "poem"
    #expect {
      try old.save()
    } throws: { error in
      if case StoreError.conflicts = error { true } else { false }
    }
    old.rollback()
    #expect(known.name == "novel")
  }

  @Test func `a deleted row has its stored value in the change set, even if a new row takes it over`()
    async throws
  {
    let temporary = try await TemporaryStore(randomModel)
    let store = temporary.store
    try await store.write { context in
      let group = context.insert(Group.self)
      group.add(context.insert(Label.self) { $0.name = "a" }, to: \.labels)
    }
    let context = store.makeContext()
    let label = try context.fetch(Label.self).one()
    context.delete(try context.fetch(Group.self).one())
    label.name = "b"
    context.insert(Label.self) { $0.name = "a" }
    var iterator = store.changes().makeAsyncIterator()
    try context.save()
    guard case .committed(let set)? = await iterator.next() else {
      Issue.record("no commit was delivered")
      return
    }
    #expect(set.deleted.first { $0.entity == "Label" }?.values["name"] == "a")
    try await store.apply(set.inverse)
    #expect(try store.makeContext().fetch(Label.self).one().name == "a")
  }

  @Test func `a change set with an infinite value survives a JSON round trip`() throws {
    let set = ChangeSet(
      inserted: [.init(entity: "Book", rowID: 1, values: ["rating": .real(-.infinity), "year": 1])])
    #expect(try JSONDecoder().decode(ChangeSet.self, from: JSONEncoder().encode(set)) == set)
  }

  @Test func `a change set that does not fit is refused, and nothing of it is written`() async throws {
    let temporary = try await Self.filled()
    let store = temporary.store
    let fits = ChangeSet.Update(entity: "Author", rowID: 1, old: ["age": 30], new: ["age": 31])
    let wrong: [(ChangeSet, StoreError)] = [
      (
        ChangeSet(updated: [fits, .init(entity: "Book", rowID: 1, old: ["year": 1], new: ["year": 2])]),
        .changesDoNotFit(entity: "Book", rowID: 1, properties: ["year"])
      ),
      (
        ChangeSet(inserted: [.init(entity: "Author", rowID: 1, values: ["name": "x"])], updated: [fits]),
        .changesDoNotFit(entity: "Author", rowID: 1, properties: [])
      ),
      (
        ChangeSet(updated: [fits], deleted: [.init(entity: "Book", rowID: 9, values: [:])]),
        .changesDoNotFit(entity: "Book", rowID: 9, properties: [])
      ),
      (
        ChangeSet(
          updated: [fits], unlinked: [.init(entity: "Book", relationship: "genres", source: 1, target: 1)]),
        .changesDoNotFit(entity: "Book", rowID: 1, properties: ["genres"])
      ),
      (
        ChangeSet(inserted: [.init(entity: "Nobody", rowID: 1, values: [:])], updated: [fits]),
        .unknownEntity(name: "Nobody")
      ),
      (
        ChangeSet(updated: [fits, .init(entity: "Book", rowID: 1, old: ["pages": 1], new: ["pages": 2])]),
        .changesDoNotFit(entity: "Book", rowID: 1, properties: ["pages"])
      ),
    ]
    let ann: ChangeSet.Values = ["name": "Ann", "nick": "A", "age": 30]
    let incomplete: ChangeSet.Values = ["name": "Ann", "age": 30]
    let more: [(ChangeSet, StoreError)] = [
      (
        // The deletion would cascade to a row that is not in the change set.
        ChangeSet(deleted: [.init(entity: "Author", rowID: 1, values: ann)]),
        .changesDoNotFit(entity: "Book", rowID: 1, properties: ["author"])
      ),
      (
        ChangeSet(deleted: [.init(entity: "Author", rowID: 1, values: incomplete)]),
        .changesDoNotFit(entity: "Author", rowID: 1, properties: ["nick"])
      ),
      (
        ChangeSet(updated: [.init(entity: "Author", rowID: 1, old: [:], new: ["age": 1])]),
        .changesDoNotFit(entity: "Author", rowID: 1, properties: ["age"])
      ),
    ]
    for (changes, error) in wrong + more {
      await #expect(throws: error) { try await store.apply(changes) }
      #expect(try store.makeContext().fetch(Author.self).one().age == 30)
    }
    try await store.apply(ChangeSet(updated: [fits]))
    #expect(try store.makeContext().fetch(Author.self).one().age == 31)
  }
}
