// Change sets that no commit could have made are refused before anything is written. Deep ones are
// applied and undone, even if their references form a ring.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

final class Layer: ManagedObject {
  @Attribute var number: Int
  @ToOne(.required) var above: Layer?
  @ToMany(inverse: \Layer.above, onDelete: .cascade) var below: Set<Layer>
}

@Suite(.tags(.slow)) struct ChangeFits {
  /// A store with one sample and the author Ann with id 1. Ann has passport 1 and a book with a genre and
  /// a loan. Passport 2 has no owner.
  private static func filled() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      ann.passport = context.insert(Passport.self) { $0.number = "1" }
      context.insert(Passport.self) { $0.number = "2" }
      let book = context.insert(Book.self) {
        $0.title = "One"
        $0.author = ann
      }
      book.add(context.insert(Genre.self) { $0.name = "crime" }, to: \.genres)
      context.insert(Loan.self) {
        $0.reader = "Bob"
        $0.book = book
      }
      context.insert(Sample.self) {
        ($0.flag, $0.int, $0.int8, $0.int16, $0.int32, $0.int64) = (false, 0, 0, 0, 0, 0)
        ($0.uint8, $0.uint16, $0.uint32, $0.float, $0.double, $0.decimal) = (0, 0, 0, 0, 0, 0)
        ($0.string, $0.data, $0.date) = ("", Data(), Date(timeIntervalSinceReferenceDate: 0))
        ($0.uuid, $0.url, $0.mood) = (UUID(), URL(fileURLWithPath: "/a"), .calm)
      }
    }
    return temporary
  }

  /// An update of one property, of row 1 by default.
  private static func update(
    _ entity: String, property: String, from old: SQLValue, to new: SQLValue, id: Int64 = 1
  ) -> ChangeSet.Update {
    .init(entity: entity, rowID: id, old: [property: old], new: [property: new])
  }

  private static func misfit(_ entity: String, row rowID: Int64, properties: String...) -> StoreError {
    .changesDoNotFit(entity: entity, rowID: rowID, properties: properties)
  }

  /// Expects that each set is refused with its error, and that the store does not change.
  private static func refuse(_ sets: [(ChangeSet, StoreError)], _ store: Store) async throws {
    let before = try ChangeReplays.content(store)
    for (changes, error) in sets {
      await #expect(throws: error, "\(changes.descriptionWithValues)") { try await store.apply(changes) }
    }
    #expect(try ChangeReplays.content(store) == before)
    #expect(try await store.verify() == [])
  }

  @Test func `values that do not fit the type of their property are refused`() async throws {
    let temporary = try await Self.filled()
    let sample = try #require(try temporary.store.makeContext().fetch(Sample.self).first())
    let wrong: [(String, SQLValue, SQLValue)] = [
      ("int", .integer(0), "many"), ("int", .integer(0), .null), ("int8", .integer(0), 128),
      ("flag", .integer(0), 2), ("string", "", .integer(1)), ("data", .blob(Data()), "text"),
      ("double", .real(0), .integer(1)), ("float", .real(0), .real(0.1)), ("date", .real(0), "2024-05-01"),
      ("uuid", .text(sample.uuid.uuidString), .text(UUID().uuidString.lowercased())),
      ("decimal", "0", "1,5"), ("url", .text(sample.url.absoluteString), "a b"),
      ("address", #"{"number":1,"street":"Main"}"#, "{ }"), ("maybeInt", .null, .real(1)),
    ]
    try await Self.refuse(
      wrong.map { name, old, new in
        (
          ChangeSet(updated: [Self.update("Sample", property: name, from: old, to: new)]),
          Self.misfit("Sample", row: 1, properties: name)
        )
      } + [
        (
          ChangeSet(inserted: [.init(entity: "Author", rowID: 2, values: ["name": 7, "age": 30])]),
          Self.misfit("Author", row: 2, properties: "name")
        ),
        (
          ChangeSet(inserted: [.init(entity: "Author", rowID: 2, values: ["nick": "x"])]),
          Self.misfit("Author", row: 2, properties: "age", "name")
        ),
        (
          ChangeSet(updated: [Self.update("Book", property: "author", from: 1, to: "Ann")]),
          Self.misfit("Book", row: 1, properties: "author")
        ),
      ], temporary.store)
    let fits = Self.update("Sample", property: "float", from: .real(0), to: .real(Double(Float(0.1))))
    try await temporary.store.apply(ChangeSet(updated: [fits]))
  }

  @Test func `an id above the limit is refused, and no id is issued after the highest one`() async throws {
    let temporary = try await Self.filled()
    let genre = { (id: Int64) in
      ChangeSet(inserted: [.init(entity: "Genre", rowID: id, values: ["name": .text("\(id)")])])
    }
    let ids: [Int64] = [.max, .max - 1, 1 << 62, 0, -1]
    try await Self.refuse(ids.map { (genre($0), Self.misfit("Genre", row: $0)) }, temporary.store)
    try await temporary.store.apply(genre((1 << 62) - 2))
    try await temporary.store.write { context in _ = context.insert(Genre.self) { $0.name = "poem" } }
    await #expect(throws: StoreError.idsExhausted(entity: "Genre")) {
      try await temporary.store.write { context in _ = context.insert(Genre.self) { $0.name = "novel" } }
    }
    #expect(try temporary.store.makeContext().fetch(Genre.self).count() == 3)
  }

  @Test func `a change set that names an object twice is refused`() async throws {
    let temporary = try await Self.filled()
    let passport = ChangeSet.Row(entity: "Passport", rowID: 2, values: ["number": "2"])
    let new = ChangeSet.Row(entity: "Passport", rowID: 3, values: ["number": "3"])
    let change = Self.update("Passport", property: "number", from: "2", to: "4", id: 2)
    try await Self.refuse(
      [
        (ChangeSet(inserted: [new, new]), Self.misfit("Passport", row: 3)),
        (ChangeSet(updated: [change, change]), Self.misfit("Passport", row: 2)),
        (ChangeSet(deleted: [passport, passport]), Self.misfit("Passport", row: 2)),
        (ChangeSet(updated: [change], deleted: [passport]), Self.misfit("Passport", row: 2)),
        (ChangeSet(inserted: [passport], deleted: [passport]), Self.misfit("Passport", row: 2)),
      ], temporary.store)
  }

  @Test func `a reference or link without a target is refused with the name of its object`() async throws {
    let temporary = try await Self.filled()
    let crime = ChangeSet.Row(entity: "Genre", rowID: 1, values: ["name": "crime"])
    let link = ChangeSet.Link(entity: "Book", relationship: "genres", source: 1, target: 1)
    let club = ChangeSet.Row(entity: "Club", rowID: 1, values: ["name": "c"])
    try await temporary.store.apply(ChangeSet(inserted: [club]))
    try await Self.refuse(
      [
        (
          ChangeSet(inserted: [.init(entity: "Loan", rowID: 2, values: ["reader": "x", "book": 9])]),
          Self.misfit("Loan", row: 2, properties: "book")
        ),
        (
          ChangeSet(updated: [Self.update("Loan", property: "book", from: 1, to: .null)]),
          Self.misfit("Loan", row: 1, properties: "book")
        ),
        (
          ChangeSet(updated: [Self.update("Author", property: "club", from: .null, to: 1)], deleted: [club]),
          Self.misfit("Author", row: 1, properties: "club")
        ),
        (
          ChangeSet(linked: [.init(entity: "Book", relationship: "genres", source: 1, target: 2)]),
          Self.misfit("Book", row: 1, properties: "genres")
        ),
        (
          ChangeSet(linked: [.init(entity: "Book", relationship: "genres", source: 2, target: 1)]),
          Self.misfit("Book", row: 2, properties: "genres")
        ),
        (
          ChangeSet(deleted: [crime], linked: [link], unlinked: [link]),
          Self.misfit("Book", row: 1, properties: "genres")
        ),
        (
          ChangeSet(linked: [.init(entity: "Book", relationship: "author", source: 1, target: 1)]),
          Self.misfit("Book", row: 1, properties: "author")
        ),
      ], temporary.store)
  }

  @Test func `a second object at one end of a one-to-one is refused, an exchange is not`() async throws {
    let temporary = try await Self.filled()
    let second = Self.update("Passport", property: "owner", from: .null, to: 1, id: 2)
    try await Self.refuse(
      [
        (ChangeSet(updated: [second]), Self.misfit("Passport", row: 2, properties: "owner")),
        (
          ChangeSet(inserted: [.init(entity: "Passport", rowID: 3, values: ["number": "3", "owner": 1])]),
          Self.misfit("Passport", row: 3, properties: "owner")
        ),
        // The end without a column cannot be in a change set.
        (
          ChangeSet(updated: [Self.update("Author", property: "passport", from: 1, to: .null)]),
          Self.misfit("Author", row: 1, properties: "passport")
        ),
      ], temporary.store)
    for updated in [
      [second, Self.update("Passport", property: "owner", from: 1, to: .null)],
      [Self.update("Passport", property: "owner", from: 1, to: .null), second],
    ] {
      let exchange = ChangeSet(updated: updated)
      try await temporary.store.apply(exchange)
      #expect(try await temporary.store.verify() == [])
      try await temporary.store.apply(exchange.inverse)
      #expect(try await temporary.store.verify() == [])
    }
  }

  @Test func `a unique value that is taken is reported for the object that should get it`() async throws {
    let temporary = try await Self.filled()
    let values: ChangeSet.Values = ["name": "Ann", "age": 30]
    try await Self.refuse(
      [
        (
          ChangeSet(inserted: [.init(entity: "Author", rowID: 2, values: values)]),
          Self.misfit("Author", row: 2, properties: "name")
        )
      ], temporary.store)
  }

  @Test func `three thousand levels of required references are undone and applied again`() async throws {
    let temporary = try await TemporaryStore(Schema { Entity(Layer.self) })
    let store = temporary.store
    var changes = store.changes().makeAsyncIterator()
    try await store.write { context in
      var last: Layer?
      for number in 0..<3000 {
        let layer = context.insert(Layer.self) { $0.number = number }
        layer.above = last ?? layer
        last = layer
      }
    }
    guard case .committed(let set)? = await changes.next() else {
      Issue.record("the insertion was not delivered")
      return
    }
    let before = try ChangeReplays.content(store)
    // The top refers to the bottom: in a ring no row is the first one.
    let ring = ChangeSet(updated: [.init(entity: "Layer", rowID: 1, old: ["above": 1], new: ["above": 3000])])
    let whole = ChangeSet(merging: [set, ring])
    try await store.apply(set.inverse)
    #expect(try store.makeContext().fetch(Layer.self).count() == 0)
    try await store.apply(set)
    #expect(try ChangeReplays.content(store) == before)
    try await store.apply(ring)
    try await store.apply(whole.inverse)
    #expect(try store.makeContext().fetch(Layer.self).count() == 0)
    try await store.apply(whole)
    try await store.apply(ring.inverse)
    #expect(try ChangeReplays.content(store) == before)
  }
}
