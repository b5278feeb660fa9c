// MATCHES: whole strings, options, the bound of a match, and errors of expressions.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PredicateMatches {
  static let titles = [
    "Ann", "ann", "Änn", "e\u{301}", "é", "a\nb", "The Watch", "x", "Straße", "STRASSE", "a)c", "a.c", "abc",
  ]

  private func store() async throws -> TemporaryStore {
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for title in Self.titles { context.insert(Book.self) { $0.title = title } }
    }
    return temporary
  }

  @Test(arguments: [
    ("Ann", ["Ann"]), ("A", []), ("A|Ann", ["Ann"]), ("Ann|A", ["Ann"]),
    (".{3}", ["Ann", "ann", "Änn", "a\nb", "a)c", "a.c", "abc"]),
    ("a.b", ["a\nb"]), ("^Ann$", ["Ann"]), ("[[:alpha:] ]+h", ["The Watch"]),
    ("\\w+", ["Ann", "ann", "Änn", "e\u{301}", "é", "x", "Straße", "STRASSE", "abc"]),
    ("a\\)c", ["a)c"]), ("\\Qa.c", ["a.c"]), ("(?x) a b c # the end", ["abc"]), ("(.)\\1", []),
    ("(?i)ANN", ["Ann", "ann"]),
    ("", []), ("The (?=W).*", ["The Watch"]),
  ])
  func `MATCHES compares the whole string`(_ pattern: String, _ expected: [String]) async throws {
    let temporary = try await store()
    let context = temporary.store.makeContext()
    #expect(try context.fetch(Book.self).where("title MATCHES %@", pattern).all().map(\.title) == expected)
    #expect(
      try context.fetch(Book.self).where("NOT title MATCHES %@", pattern).count()
        == Self.titles.count - expected.count)
  }

  @Test func `[c] ignores case and [d] drops marks in MATCHES`() async throws {
    let temporary = try await store()
    let context = temporary.store.makeContext()
    func titles(_ format: String) throws -> [String] {
      try context.fetch(Book.self).where(format).all().map(\.title)
    }
    #expect(try titles("title MATCHES[c] 'ann'") == ["Ann", "ann"])
    #expect(try titles("title MATCHES[d] 'Ann'") == ["Ann", "Änn"])
    #expect(try titles("title MATCHES[cd] 'äNN'") == ["Ann", "ann", "Änn"])
    #expect(try titles("title MATCHES[d] 'e'") == ["e\u{301}", "é"])
    #expect(try titles("title MATCHES[c] 'strasse'") == ["Straße", "STRASSE"])
    // An escape keeps its case.
    #expect(try titles("title MATCHES[c] '\\W'") == [])
  }

  @Test func `a match that takes too long is stopped with a typed error, and the store stays usable`()
    async throws
  {
    let temporary = try await store()
    var configuration = Store.Configuration()
    configuration.matchLimit = 0.05
    let store = try await Store.open(
      at: temporary.store.url, key: testKey, schema: library, migrations: .creatingSchema,
      configuration: configuration)
    defer { store.close() }
    let context = store.makeContext()
    let slow = String(repeating: "a", count: 40) + "b"
    let book = context.insert(Book.self) { $0.title = slow }
    let fetch = try context.fetch(Book.self).where("title MATCHES %@", "(a+)+")
    let seconds = threadTime {
      // In memory, and then by SQL.
      #expect(throws: StoreError.matchTooSlow(seconds: 0.05)) { try fetch.all() }
      #expect(throws: Never.self) { try context.save() }
      #expect(throws: StoreError.matchTooSlow(seconds: 0.05)) { try fetch.all() }
      #expect(throws: StoreError.matchTooSlow(seconds: 0.05)) { try fetch.count() }
      #expect(throws: StoreError.matchTooSlow(seconds: 0.05)) { try fetch.sorted(by: \.title).ids() }
    }
    #expect(seconds < 5)
    #expect(try context.fetch(Book.self).where("title MATCHES 'a+b'").one() === book)
    await #expect(throws: StoreError.matchTooSlow(seconds: 0.05)) {
      try await store.write { try $0.fetch(Book.self).where("title MATCHES '(a+)+'").count() }
    }
    let text = "\(StoreError.matchTooSlow(seconds: 0.05))"
    #expect(text.contains("0.05 s") && text.contains("matchLimit"))
  }

  @Test func `an expression from a property may be invalid, which is an error of the fetch`() async throws {
    let temporary = try await store()
    let context = temporary.store.makeContext()
    for isPending in [false, true] {
      if isPending { for book in try context.fetch(Book.self).all() { (book.year, book.year) = (1, 2000) } }
      #expect {
        _ = try context.fetch(Book.self).where("'x' MATCHES title").all()
      } throws: { error in
        guard case StoreError.predicate(let error) = error else { return false }
        return error.reason.contains("not a regular expression")
      }
    }
    context.rollback()
    try context.fetch(Book.self).where("title CONTAINS ')'").one().title = "y"
    try context.save()
    #expect(try context.fetch(Book.self).where("'x' MATCHES title").all().map(\.title) == ["x"])
  }

  @Test func `a match that needs too much memory is an error and not a difference`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let sample = context.insert(Sample.self)
    EvaluatedForms.fill(sample, 0)
    sample.string = String(repeating: "ab", count: 3_000_000)
    try context.save()
    #expect {
      _ = try context.fetch(Sample.self).where("string MATCHES '(a|b)*'").count()
    } throws: { error in
      "\(error)".contains("too much memory") || error as? StoreError == .matchTooSlow(seconds: 0.5)
    }
  }
}
