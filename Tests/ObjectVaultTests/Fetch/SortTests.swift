// Sorts that say where nil comes and what comparisons ignore, against sorts of the objects in memory.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Sorts {
  private typealias State = FirstsAndPages.State

  /// A text without case or marks, computed without the library. The tests' texts are simple ones.
  private static func folded(_ text: String, _ options: StringOptions) -> [UInt8] {
    var text = text
    if options.contains(.diacriticInsensitive) {
      let kept = text.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
        $0.properties.generalCategory != .nonspacingMark
      }
      text = String(String.UnicodeScalarView(kept))
    }
    return Array((options.contains(.caseInsensitive) ? text.lowercased() : text).utf8)
  }

  /// Sorts books by a value, and then by their places in the array, in the same direction.
  private static func sorted<Value>(
    _ books: [Book], by value: (Book) -> Value?, _ order: SortOrder, nils: NilPlacement?,
    precedes: (Value, Value) -> Bool
  ) -> [Book] {
    let nilsFirst = nils.map { $0 == .first } ?? (order == .forward)
    return books.enumerated().sorted { left, right in
      let places = order == .forward ? left.offset < right.offset : left.offset > right.offset
      switch (value(left.element), value(right.element)) {
      case (nil, nil): return places
      case (nil, _): return nilsFirst
      case (_, nil): return !nilsFirst
      case (let a?, let b?):
        if precedes(a, b) { return order == .forward }
        return precedes(b, a) ? order == .reverse : places
      }
    }.map(\.element)
  }

  @Test func `a sort by the latest member puts new members after all others, in the order of insertion`()
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let names = ["a", "b", "c", "d"]
    let authors = names.map { name in context.insert(Author.self) { $0.name = name } }
    context.insert(Book.self) { ($0.title, $0.author) = ("old", authors[3]) }
    try context.save()
    for place in [1, 0] { context.insert(Book.self) { ($0.title, $0.author) = ("new", authors[place]) } }
    let fetch = context.fetch(Author.self)
    func sorted(_ order: SortOrder) throws -> [String] {
      try fetch.sorted(byMembers: .latest(\.books, by: \.year), order).all().map(\.name)
    }
    let expected = ["c", "d", "b", "a"]
    #expect(try sorted(.forward) == expected && sorted(.reverse) == expected.reversed())
    let all = fetch.sorted(byMembers: .latest(\.books, by: \.year))
    let page = try all.page(size: 3)
    #expect(page.objects.map(\.name) == ["c", "d", "b"])
    #expect(try all.page(size: 3, after: page.next).objects.map(\.name) == ["a"])
    try context.save()
    #expect(try sorted(.forward) == expected)
    #expect(try all.page(size: 3, after: page.next).objects.map(\.name) == ["a"])
  }

  private static let nilPlaces: [NilPlacement?] = [nil, .first, .last]

  @Test(arguments: FirstsAndPages.State.allCases)
  func `nil comes first or last, as the sort says, in both directions`(_ state: FirstsAndPages.State)
    async throws
  {
    try await FirstsAndPages().inState(state) { context in
      let books = try context.fetch(Book.self).sorted(by: \.id).all()
      for order in [SortOrder.forward, .reverse] {
        for nils in Self.nilPlaces {
          let fetch = context.fetch(Book.self)
          #expect(
            try fetch.sorted(by: \.rating, order, nils: nils).all()
              == Self.sorted(books, by: \.rating, order, nils: nils, precedes: <))
          #expect(
            try fetch.sorted(by: \.price, order, nils: nils).values(\.id)
              == Self.sorted(books, by: \.price, order, nils: nils, precedes: <).map(\.id))
          #expect(
            try fetch.sorted(by: \.author?.name, order, nils: nils).all()
              == Self.sorted(books, by: \.author?.name, order, nils: nils) {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
              })
        }
      }
    }
  }

  @Test(arguments: FirstsAndPages.State.allCases)
  func `strings are sorted without case or marks, as the sort says`(_ state: FirstsAndPages.State)
    async throws
  {
    try await FirstsAndPages().inState(state) { context in
      let books = try context.fetch(Book.self).sorted(by: \.id).all()
      for options in [
        [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
      ]
        as [StringOptions]
      {
        for order in [SortOrder.forward, .reverse] {
          let fetch = context.fetch(Book.self).sorted(by: \.title, order, comparing: options)
          let expected = Self.sorted(books, by: { Self.folded($0.title, options) }, order, nils: nil) {
            $0.lexicographicallyPrecedes($1)
          }
          #expect(try fetch.all() == expected)
          #expect(try fetch.limit(7).all() == Array(expected.prefix(7)))
          #expect(try fetch.values(\.title).map { Array($0.utf8) } == expected.map { Array($0.title.utf8) })
          let byPath = context.fetch(Book.self).sorted(byPath: "title", order, comparing: options)
          #expect(try byPath.ids() == expected.map(\.id))
          // Each group once, those that differ only in what is ignored in a fixed order.
          let groups = try fetch.grouped(by: \.title, .count)
          let keys = groups.map { Self.folded($0.key, options) }
          #expect(
            keys
              == (order == .forward
                ? keys.sorted { $0.lexicographicallyPrecedes($1) }
                : keys.sorted { $1.lexicographicallyPrecedes($0) }))
          #expect(Set(groups.map { Array($0.key.utf8) }).count == groups.count)
          #expect(groups.map(\.values).reduce(0, +) == books.count)
          let distinct = try fetch.distinct().values(\.title)
          // Parts neither overlap nor lack a value.
          let parts = try (0..<distinct.count).flatMap {
            try fetch.distinct().limit(1).offset($0).values(\.title)
          }
          #expect(parts.map { Array($0.utf8) } == distinct.map { Array($0.utf8) })
          #expect(distinct.map { Self.folded($0, options) } == keys)
        }
      }
    }
  }

  @Test func `a sort without case of a property that is no string is an error`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    for fetch in [
      context.fetch(Book.self).sorted(by: \.year, comparing: .caseInsensitive),
      context.fetch(Book.self).sorted(by: \.author, comparing: .diacriticInsensitive),
    ] {
      let error = #expect(throws: StoreError.self) { try fetch.all() }
      #expect(error.map { "\($0)" }?.contains("is not a string") == true)
    }
  }

  @Test func `texts that are no valid UTF-8 are folded in SQL as in memory`() async throws {
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    let context = store.makeContext()
    for number in 0..<9 { context.insert(Book.self) { ($0.title, $0.year) = ("t", number) } }
    try context.save()
    let connection = try Connection.open(store.url.path, key: testKey)
    let texts = ["", "C341", "E4", "E44142", "FF41", "E08080", "41C3", "F09F98", "EDA080"]
    for (number, text) in texts.enumerated() {
      try connection.execute(sql: "UPDATE Book SET title = CAST(X'\(text)' AS TEXT) WHERE year = \(number)")
    }
    let clean = store.makeContext()
    let pending = store.makeContext()
    for book in try pending.fetch(Book.self).all() { book.rating = 1 }
    for pattern in ["a", "b", "\u{FFFD}", "A\u{FFFD}"] {
      for options in ["[c]", "[d]", "[cd]"] {
        let format = "title CONTAINS\(options) %@"
        #expect(
          try clean.fetch(Book.self).where(format, pattern).sorted(by: \.id).values(\.year)
            == pending.fetch(Book.self).where(format, pattern).sorted(by: \.id).values(\.year), "\(pattern)")
      }
    }
  }

  @Test func `a request keeps where nil comes and what is ignored`() throws {
    let request = Book.request.sorted(by: \.title, comparing: .caseInsensitive).sorted(
      by: \.rating, nils: .last)
    let coded = try JSONDecoder().decode(ObjectRequest<Book>.self, from: JSONEncoder().encode(request))
    #expect(coded == request)
    #expect(request != Book.request.sorted(by: \.title).sorted(by: \.rating, nils: .last))
    #expect(request != Book.request.sorted(by: \.title, comparing: .caseInsensitive).sorted(by: \.rating))
    // The place that follows from the direction is the same as the one that is named.
    #expect(Book.request.sorted(by: \.rating, nils: .first) == Book.request.sorted(by: \.rating))
    #expect(
      Book.request.sorted(by: \.rating, .reverse, nils: .last) == Book.request.sorted(by: \.rating, .reverse))
  }

  @Test func `an index serves a sort whose nils are where they come by themselves`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    let plan = { (fetch: Fetch<Book>) in
      let sql = try fetch.sql
      return try connection.query(sql: "EXPLAIN QUERY PLAN " + sql.text, sql.bindings) { $0.text(3) ?? "" }
        .joined(separator: "\n")
    }
    #expect(try !plan(context.fetch(Book.self).sorted(by: \.title)).contains("TEMP B-TREE"))
    #expect(try !plan(context.fetch(Book.self).sorted(by: \.title, nils: .first)).contains("TEMP B-TREE"))
    #expect(try plan(context.fetch(Book.self).sorted(by: \.title, nils: .last)).contains("TEMP B-TREE"))
  }

  @Test func `a seed gives one order, in each context and from page to page`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let ids = try await temporary.store.write { context in
      (0..<200).map { number in context.insert(Book.self) { ($0.title, $0.year) = ("t", number % 2) }.id }
    }
    let books = context.fetch(Book.self)
    let first = try books.shuffled(seed: 1).ids()
    let rising: [ObjectID<Book>] = ids
    #expect(Set(first) == Set(rising) && first != rising)
    #expect(try temporary.store.makeContext().fetch(Book.self).shuffled(seed: 1).ids() == first)
    let second = try books.shuffled(seed: -2).ids()
    #expect(Set(second) == Set(rising) && second != first)
    // About half of the ids are followed by a greater one.
    let places: [Int] = first.map { rising.firstIndex(of: $0) ?? 0 }
    let rises = zip(places, places.dropFirst()).count { $0 < $1 }
    #expect((70...130).contains(rises), "\(rises)")
    var (found, cursor): ([Book], PageCursor<Book>?) = ([], nil)
    repeat {
      let page = try books.shuffled(seed: 1).page(size: 33, after: cursor)
      found += page.objects
      cursor = page.next
    } while cursor != nil
    #expect(found.map(\.id) == first)
    let odd = zip(first, places).filter { $0.1 % 2 == 1 }.map(\.0)
    let even = zip(first, places).filter { $0.1 % 2 == 0 }.map(\.0)
    #expect(try books.where("year == 1").shuffled(seed: 1).ids() == odd)
    #expect(try books.sorted(by: \.year).shuffled(seed: 1).ids() == even + odd)
    // With changes that are not saved, those of the file keep their order.
    found[0].title = "changed"
    let new = context.insert(Book.self) { $0.title = "new" }
    let pending = try books.shuffled(seed: 1).all()
    let others = pending.filter { $0 !== new }.map(\.id)
    #expect(others == first && pending.count == 201)
    let request = Book.request.shuffled(seed: 1)
    let coded = try JSONDecoder().decode(ObjectRequest<Book>.self, from: JSONEncoder().encode(request))
    #expect(coded == request)
  }
}
