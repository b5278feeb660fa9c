// A context has one object for a row while the object is retained. The results are compared with a
// dictionary.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Identities {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  /// Inserts rows with these ids by SQL.
  private func addRows(_ ids: [Int64]) throws {
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try connection.transaction {
      for id in ids { try connection.execute("INSERT INTO Author(id, name) VALUES (\(id), \("\(id)"))") }
    }
    connection.close()
  }

  // Consecutive, a power of two apart, far apart, and at the end of the range of row ids.
  private static let ids: [Int64] =
    (1...600).map { $0 } + (1...300).map { $0 << 20 } + (1...300).map { $0 &* 1_000_003 }
    + (1...100).map { ($0 << 40) | 7 } + (0..<100).map { .max - $0 * 3 }

  @Test func `a row gives the same object while it is retained, and a new one afterwards`() async throws {
    try addRows(Self.ids)
    let context = store.makeContext()
    var held: [Int64: Author] = [:]
    var random = SeededGenerator(seed: 20)
    var (queries, wrong) = (0, 0)
    for step in 0..<30_000 {
      // Most objects are retained or released, in turns: the map grows, empties and fills again.
      let wants = Double.random(in: 0..<1, using: &random) < (step / 3000 % 2 == 0 ? 0.9 : 0.2)
      let id = Self.ids[Int.random(in: 0..<Self.ids.count, using: &random)]
      if !wants {
        held[id] = nil
        continue
      }
      let before = context.statistics.queries
      let existing = try context.existing(ObjectID<Author>(rowID: id))
      let found = try #require(existing)
      // An object in memory is found without a query, and one that was released is read again.
      queries += context.statistics.queries - before
      if let known = held[id] {
        if known !== found || context.statistics.queries != before { wrong += 1 }
      } else {
        if context.statistics.queries != before + 1 || found.name != "\(id)" { wrong += 1 }
        held[id] = found
      }
    }
    #expect(wrong == 0 && queries > 5000)
    let all = try context.fetch(Author.self).all()
    #expect(all.count == Self.ids.count)
    let identical = all.allSatisfy { author in held[author.id.rowID].map { $0 === author } ?? true }
    #expect(identical)
    #expect(Set(all.map(\.id.rowID)) == Set(Self.ids))
  }

  @Test func `objects that were released are read again, and none stays in memory`() async throws {
    try addRows(Self.ids)
    let context = store.makeContext()
    var names = 0
    for _ in 0..<10 {
      for id in Self.ids {
        names += try context.existing(ObjectID<Author>(rowID: id))?.name == "\(id)" ? 1 : 0
      }
    }
    #expect(names == 10 * Self.ids.count)
    #expect(context.statistics.queries == 10 * Self.ids.count)
  }

  @Test func `new objects are found by their temporary ids, and by the final ones after a save`() async throws
  {
    let context = store.makeContext()
    let authors = (0..<2000).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    let temporary = authors.map(\.id)
    #expect(temporary.allSatisfy { $0.isTemporary })
    let found = try temporary.map { try context.existing($0) }
    #expect(zip(authors, found).allSatisfy { $0 === $1 })
    try context.save()
    let queries = context.statistics.queries
    let foundAgain = try authors.map { try context.existing($0.id) }
    #expect(zip(authors, foundAgain).allSatisfy { $0 === $1 })
    #expect(context.statistics.queries == queries)
    let later = try temporary.map { try context.existing($0) }
    #expect(zip(authors, later).allSatisfy { $0 === $1 })
    let all = try context.objects(with: temporary)
    #expect(zip(authors, all).allSatisfy { $0 === $1 })
    #expect(try context.object(with: temporary[7]) === authors[7])
    #expect(context.statistics.queries == queries + 1)
  }

  @Test func `a temporary id is refused by other contexts, and where it is encoded`() throws {
    let context = store.makeContext()
    let author = context.insert(Author.self) { $0.name = "new" }
    let id = author.id
    let other = store.makeContext()
    let refusal = StoreError.temporaryID(entity: "Author")
    #expect(throws: refusal) { _ = try other.existing(id) }
    #expect(throws: refusal) { _ = try other.object(with: id) }
    #expect(throws: refusal) { _ = try other.objects(with: [id]) }
    #expect(throws: EncodingError.self) { _ = try JSONEncoder().encode([id]) }
    let message = #expect(throws: EncodingError.self) {
      _ = try JSONEncoder().encode(DynamicID(entity: "Author", rowID: id.rowID))
    }
    #expect("\(try #require(message))".contains("Save the object first"))
    // A number that no context has given finds nothing.
    #expect(try other.existing(ObjectID<Author>(rowID: -5)) == nil)
    // The snapshot of a new object can be encoded, without its id.
    let snapshot = try JSONDecoder().decode(
      ObjectSnapshot<Author>.self, from: JSONEncoder().encode(author.snapshot()))
    #expect(snapshot.name == "new" && snapshot.id.rowID == 0)
    try context.save()
    #expect(try context.existing(id) === author)
    #expect(throws: refusal) { _ = try other.existing(id) }
    #expect(try JSONEncoder().encode([author.id]) == Data("[\(author.id.rowID)]".utf8))
  }

  @Test func `ids are in the order of creation`() throws {
    let context = store.makeContext()
    let saved = (0..<3).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    try context.save()
    let new = (3..<6).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    let names = (saved + new).shuffled().sorted { $0.id < $1.id }.map(\.name)
    #expect(names == ["0", "1", "2", "3", "4", "5"])
    #expect(DynamicID(entity: "A", rowID: 9) < DynamicID(entity: "B", rowID: 1))
    #expect(DynamicID(entity: "A", rowID: 9) < DynamicID(entity: "A", rowID: -1))
  }

  @Test func `objects of any class are found by ids that name the entity`() throws {
    let context = store.makeContext()
    let author = context.insert(Author.self) { $0.name = "Ann" }
    let book = context.insert(Book.self) { ($0.title, $0.author) = ("x", author) }
    let temporary = DynamicID(entity: "Author", rowID: author.id.rowID)
    // Without the mark of the context it is a number.
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: author.id.rowID)) {
      _ = try context.object(with: temporary)
    }
    try context.save()
    let other = store.makeContext()
    let ids = [
      DynamicID(entity: "Book", rowID: book.id.rowID), DynamicID(entity: "Author", rowID: author.id.rowID),
      DynamicID(entity: "Book", rowID: 77), DynamicID(entity: "Book", rowID: book.id.rowID),
    ]
    let found = try other.objects(with: ids)
    #expect(found.map { "\(type(of: $0))" } == ["Book", "Author", "Book"])
    #expect(found[0] === found[2] && (found[1] as? Author)?.name == "Ann")
    #expect(other.statistics.queries == 2)
    #expect(try other.object(with: ids[0]) === found[0])
    #expect(throws: StoreError.self) { _ = try other.objects(with: [DynamicID(entity: "Boook", rowID: 1)]) }
  }

  @Test func `a fault without a row becomes invalid when a new object gets its id`() async throws {
    // Written by SQL, because the store would refuse a reference without a target.
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    try connection.executeScript(
      "PRAGMA foreign_keys = OFF; INSERT INTO Book(title, author_id) VALUES ('x', 1)")
    connection.close()
    var ghost: Author?
    do {
      let context = store.makeContext()
      let fetched = try context.fetch(Book.self).first()
      let book = try #require(fetched)
      ghost = book.author
      #expect(ghost?.isFault == true)
      let author = context.insert(Author.self) { $0.name = "late" }
      try context.save()
      #expect(author.id.rowID == 1 && author !== ghost)
      #expect(ghost?.state == .invalid)
      let known = try context.existing(author.id)
      #expect(known === author)
    }
    ghost = nil
  }
}

@Suite struct ClassesOfObjects {
  @Test func `an object that is made by a class known at run time is of that class`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    // Like a program that reads the names of its entities from a file.
    let type: ManagedObject.Type = Author.self
    let made = context.insert(type)
    #expect(made is Author)
    (made as? Author)?.name = "Ann"
    try context.save()
    let found = try context.fetch(Author.self).all()
    #expect(found.map(\.name) == ["Ann"])
    #expect(found.first === made)
  }

  @Test func `the results of a fetch, new objects among them, are of the fetched class`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    for index in 0..<50 { context.insert(Author.self) { $0.name = "a\(index)" } }
    try context.save()
    context.insert(Author.self) { $0.name = "new" }
    let all = try context.fetch(Author.self).prefetch(\.books).all()
    #expect(all.count == 51 && all.allSatisfy { type(of: $0 as ManagedObject) == Author.self })
    #expect(throws: StoreError.unknownEntity(name: "ManagedObject")) {
      try context.fetch(ManagedObject.self).all()
    }
  }
}
