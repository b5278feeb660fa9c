// Changes of objects without classes: throwing methods throw the error that prevents a change, and note
// it nowhere.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

@Suite struct DynamicChanges {
  let dynamic: DynamicStore
  var context: ObjectContext { dynamic.context }

  init() async throws { dynamic = try await DynamicStore() }

  private func author(_ name: String) throws -> DynamicObject {
    try context.insert(entity: "Author") { $0["name"] = name }
  }

  /// The throwing methods, each applied to an author and, if it takes one, to a book of the same context.
  private static let changes:
    [(name: String, change: @Sendable (DynamicObject, DynamicObject) throws -> Void)] = [
      ("set", { author, _ in try author.set("age", to: 31) }),
      ("set stored", { author, _ in try author.set("age", toStored: .integer(31)) }),
      ("set to-one", { author, _ in try author.set("club", toOne: nil) }),
      ("add", { author, book in try author.add(book, to: "books") }),
      ("remove", { author, book in try author.remove(book, from: "books") }),
    ]

  @Test(arguments: changes.indices)
  func `a throwing method throws the error that prevents a change, and notes nothing`(_ index: Int)
    async throws
  {
    let (name, change) = Self.changes[index]
    let gone = StoreError.objectGone(entity: "Author", rowID: 1)
    // The deletion of the object is pending.
    let (ann, book) = (try author("Ann"), try context.insert(entity: "Book") { $0["title"] = "Dune" })
    try context.save()
    context.delete(ann)
    #expect(throws: gone, "\(name)") { try change(ann, book) }
    context.rollback()
    // A new object that was rolled back.
    let new = try author("New")
    let id = new.id.rowID
    context.rollback()
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: id), "\(name)") { try change(new, book) }
    // Another context deletes the row of a fault.
    let other = dynamic.store.makeContext()
    let (fault, title) = (
      try other.fetch(entity: "Author").one(), try other.fetch(entity: "Book").one()
    )
    other.refresh(fault)
    context.delete(ann)
    try context.save()
    #expect(throws: gone, "\(name)") { try change(ann, book) }
    #expect(throws: gone, "\(name)") { try change(fault, title) }
    #expect("\(gone)".contains("Author 1") && fault.entityName == "Author")
    #expect(throws: gone) { try fault.load() }
    #expect(throws: gone) { _ = try fault.value("nick") }
    for context in [context, other] {
      #expect(context.faultErrors.isEmpty && !context.hasChanges, "\(name): \(context.faultErrors)")
    }
  }

  @Test(arguments: changes.indices)
  func `changing an object throws after its context was released, and in a read`(_ index: Int) async throws {
    let (name, change) = Self.changes[index]
    _ = (try author("Ann"), try context.insert(entity: "Book") { $0["title"] = "Dune" })
    try context.save()
    let pair: (DynamicObject, DynamicObject)
    do {
      let context = dynamic.store.makeContext()
      pair = (try context.fetch(entity: "Author").one(), try context.fetch(entity: "Book").one())
    }
    #expect("\(name)") {
      try change(pair.0, pair.1)
    } throws: { error in
      if case StoreError.noContext("Author", _) = error { true } else { false }
    }
    try await dynamic.store.read { context in
      let (author, book) = (
        try context.fetch(entity: "Author").one(), try context.fetch(entity: "Book").one()
      )
      #expect(throws: StoreError.readOnlyContext, "\(name)") { try change(author, book) }
      #expect(context.faultErrors.isEmpty)
    }
  }

  @Test func `methods refuse objects of other contexts, deleted objects, and objects that are gone`()
    async throws
  {
    let (ann, book) = (try author("Ann"), try context.insert(entity: "Book") { $0["title"] = "Dune" })
    let passport = try context.insert(entity: "Passport") { $0["number"] = "1" }
    try context.save()
    let other = dynamic.store.makeContext()
    let (foreignBook, foreignPassport) = (
      try other.fetch(entity: "Book").one(), try other.fetch(entity: "Passport").one()
    )
    func refused(_ property: String, _ change: () throws -> Void) {
      #expect(throws: StoreError.foreignObject(entity: "Author", property: property)) { try change() }
    }
    refused("books") { try ann.add(foreignBook, to: "books") }
    refused("books") { try ann.remove(foreignBook, from: "books") }
    refused("passport") { try ann.set("passport", toOne: foreignPassport) }
    context.delete(book)
    context.delete(passport)
    refused("books") { try ann.add(book, to: "books") }
    refused("passport") { try ann.set("passport", toOne: passport) }
    try context.save()
    refused("books") { try ann.add(book, to: "books") }
    // Its column would have the reference, but its row is gone.
    other.refresh(foreignBook)
    let same = try other.fetch(entity: "Author").one()
    #expect(throws: StoreError.objectGone(entity: "Book", rowID: 1)) {
      try same.add(foreignBook, to: "books")
    }
    #expect(context.faultErrors.isEmpty && other.faultErrors.isEmpty)
    // The subscript notes the same error, as setters do.
    ann[toOne: "passport"] = foreignPassport
    let errors = context.faultErrors.map { $0 as? StoreError }
    #expect(errors == [.foreignObject(entity: "Author", property: "passport")])
    context.rollback()
    context.delete(book)
    #expect(context.faultErrors.map { $0 as? StoreError } == [.objectGone(entity: "Book", rowID: 1)])
  }
}
