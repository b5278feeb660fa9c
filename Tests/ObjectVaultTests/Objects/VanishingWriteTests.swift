// Each value written to a property is in the file after the save, byte by byte, or an error states why
// not.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct VanishingWrites {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  @Test func `setting a property or relationship inside a read is an error`() async throws {
    try await store.write { context in
      context.insert(Book.self) { $0.title = "One" }
      context.insert(Genre.self) { $0.name = "g" }
    }
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { try $0.fetch(Book.self).one().title = "Two" }
    }
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { try $0.fetch(Book.self).one().author = nil }
    }
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { try $0.fetch(Book.self).one().genres = [$0.fetch(Genre.self).one()] }
    }
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { try $0.fetch(Book.self).one().rating = .nan }
    }
  }

  @Test func `setting a property of an object without a context reports an error`() throws {
    let told = Told()
    told.hearStrayErrors()
    defer { told.endHearing() }
    var context: ObjectContext? = store.makeContext()
    let loose = try #require(context?.insert(Book.self) { $0.title = "Loose" })
    try context?.save()
    context = nil
    loose.title = "x"
    loose.author = nil
    loose.genres = []
    loose.rating = .nan
    for property in ["Book.title", "Book.author", "Book.genres", "Book.rating"] {
      #expect(told.texts.contains { $0.contains("\(property) was used") }, "\(property)")
    }
  }

  @Test func `NaN over nil is refused for its object, and not for a later one at the same address`() throws {
    let context = store.makeContext()
    let one = context.insert(Book.self) { $0.title = "One" }
    try context.save()
    one.rating = .nan
    #expect(one.hasChanges)
    #expect(throws: StoreError.self) { try context.save() }
    context.refresh(one)
    try context.save()
    for _ in 0..<200 {
      let short = context.insert(Book.self) { $0.rating = .nan }
      context.delete(short)
    }
    for index in 0..<200 { context.insert(Book.self) { $0.title = "\(index)" } }
    try context.save()
  }

  @Test func `a text with another Unicode composition is another value`() throws {
    let context = store.makeContext()
    let one = context.insert(Book.self) { $0.title = "caf\u{E9}" }
    try context.save()
    one.title = "cafe\u{301}"
    #expect(one.hasChanges)
    try context.save()
    let found = try store.makeContext().fetch(Book.self).one().title
    #expect(Array(found.utf8) == Array("cafe\u{301}".utf8))
  }

  @Test func `zero has no sign in memory and in the file, and a URL with a base is refused`() throws {
    let context = store.makeContext()
    let one = context.insert(Book.self) {
      $0.title = "One"
      $0.rating = -0.0
    }
    #expect(one.rating?.sign == .plus)
    try context.save()
    #expect(try store.makeContext().fetch(Book.self).one().rating?.sign == .plus)
    let base = try #require(URL(string: "https://example.org/a/"))
    let sample = context.insert(Sample.self)
    sample.url = try #require(URL(string: "b", relativeTo: base))
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.contains { $0.property == "url" && $0.reason.contains("absoluteURL") }
    }
  }
}
