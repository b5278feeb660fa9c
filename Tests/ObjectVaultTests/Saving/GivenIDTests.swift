// Inside a write a new object has its final id at once, and the object is found by that id.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct AssignedIDs {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  @Test func `an id that a write returns finds the object afterwards`() async throws {
    let id = try await store.write { context in context.insert(Genre.self) { $0.name = "Crime" }.id }
    #expect(!id.isTemporary)
    let found = try store.makeContext().existing(id)
    #expect(found?.name == "Crime")
    let dynamic = try await Store.open(at: store.url, key: testKey)
    let other = try await dynamic.write { context in
      try context.insert(entity: "Genre") { $0["name"] = "Drama" }.id
    }
    #expect(try dynamic.makeContext().existing(other)?["name"] == "Drama")
    dynamic.close()
  }

  @Test func `the id of a new object in a write is not changed by fetches and saves`() async throws {
    let ids = try await store.write { context in
      let genres = (0..<40).map { number in context.insert(Genre.self) { $0.name = "\(number)" } }
      // The id of the last one is read first: ids ascend in the order in which objects were made.
      let last = genres[39].id
      let ids = genres.map(\.id)
      #expect(ids[39] == last && ids.map(\.rowID) == (1...40).map(Int64.init))
      #expect(try genres.allSatisfy { try context.existing($0.id) === $0 })
      let half = context.insert(Book.self)
      let halfID = half.id
      #expect(try context.fetch(Genre.self).where("SELF == %@", last).one() === genres[39])
      #expect(try context.fetch(Book.self).all() == [half])
      #expect(half.id == halfID && half.state == .inserted && genres.map(\.id) == ids)
      #expect(try context.existing(halfID) === half)
      half.title = "One"
      half.genres = [genres[3]]
      try context.save()
      #expect(half.id == halfID && genres.map(\.id) == ids)
      return ids
    }
    let context = store.makeContext()
    #expect(try ids.map { try context.existing($0)?.name } == (0..<40).map { "\($0)" })
    #expect(try context.fetch(Book.self).one().genres.map(\.name) == ["3"])
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a fetch by the id of a new object finds the object and references to it`() async throws {
    try await store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      let one = context.insert(Book.self) { $0.title = "One" }
      one.author = ann
      let (id, book) = (ann.id, one.id)
      let found = try context.fetch(Author.self).where("id == %@", id).one()
      #expect(found === ann)
      context.insert(Book.self) { $0.title = "Two" }
      #expect(try context.fetch(Book.self).where("author == %@", id).all() == [one])
      #expect(try context.fetch(Book.self).where(#Predicate { $0.id == book }).one() === one)
    }
  }

  @Test func `an id that was read in a write is not issued to another object`() async throws {
    let told = try await store.write { context in
      let gone = context.insert(Genre.self) { $0.name = "gone" }
      let id = gone.id
      context.delete(gone)
      return id
    }
    let next = try await store.write { context in
      let back = context.insert(Genre.self) { $0.name = "taken back" }
      let id = back.id
      context.rollback()
      let kept = context.insert(Genre.self) { $0.name = "kept" }
      #expect(kept.id != id)
      return [id, kept.id]
    }
    let last = try await store.write { context in
      let back = context.insert(Genre.self) { $0.name = "again" }
      let id = back.id
      context.rollback()
      return id
    }
    let end = try await store.write { context in context.insert(Genre.self) { $0.name = "end" }.id }
    #expect(Set([told, last, end] + next).count == 5)
    #expect(try store.makeContext().fetch(Genre.self).sorted(by: \.id).ids() == [next[1], end])
    #expect(try await store.verify().isEmpty)
  }

  @Test func `ids of entities that share a table are each issued once`() async throws {
    let temporary = try await TemporaryStore(company)
    let ids = try await temporary.store.write { context in
      let eve = context.insert(Employee.self) { $0.name = "Eve" }
      let pip = context.insert(Person.self) { $0.name = "Pip" }
      let (second, first) = (pip.id.rowID, eve.id.rowID)
      _ = try context.fetch(Person.self).count()
      let max = context.insert(Manager.self) { ($0.name, $0.level) = ("Max", 1) }
      #expect(try context.existing(ObjectID<Person>(rowID: max.id.rowID)) === max)
      return [first, second, max.id.rowID]
    }
    #expect(ids == [1, 2, 3])
    let context = temporary.store.makeContext()
    #expect(try context.fetch(Person.self).sorted(by: \.id).all().map(\.name) == ["Eve", "Pip", "Max"])
  }

  @Test func `outside of a write the id of a new object is temporary`() throws {
    let context = store.makeContext()
    let genre = context.insert(Genre.self) { $0.name = "x" }
    #expect(genre.id.isTemporary)
    try context.save()
    #expect(!genre.id.isTemporary)
  }
}
