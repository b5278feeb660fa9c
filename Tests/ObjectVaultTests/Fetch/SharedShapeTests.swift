// Conditions in the format language that differ only in constants share their SQL. A statement that is made
// after another one of its shape is compared with that of a store that has made none.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct SharedShapes {
  private let temporary: TemporaryStore
  private let other: TemporaryStore

  init() async throws {
    temporary = try await TemporaryStore(library)
    other = try await TemporaryStore(library)
    for store in [temporary.store, other.store] {
      let context = store.makeContext()
      let author = context.insert(Author.self) { ($0.name, $0.age) = ("Ann", 40) }
      for number in 0..<20 {
        context.insert(Book.self) {
          ($0.title, $0.year, $0.author) = ("Title \(number)", number, number % 2 == 0 ? author : nil)
        }
      }
      try context.save()
    }
  }

  private static var formats: [(String, [Any?])] {
    [
      (
        "year == %@",
        [1, 2, 2.5, nil, 1e300, Double.infinity, Decimal(string: "1.5"), Decimal(7), Int64.min, true]
      ),
      ("year < %@ AND year != %@", [1, 2.5, nil, Double.nan]),
      ("NOT (year >= %@)", [1, 2.5, -Double.infinity]),
      ("year BETWEEN {%@, %@}", [1, 2, 2.5]), ("year + %@ > 3", [1, 2.5, Decimal(1), nil]),
      ("title == %@", ["Title 1", "", "é", nil]), ("title ==[cd] %@", ["TITLE 1", "ß", "é", ""]),
      ("title BEGINSWITH %@", ["Title 1", "", "T", "\u{10FFFF}"]),
      ("title BEGINSWITH[c] %@", ["title 1", "", "ß"]), ("title ENDSWITH %@", ["1", ""]),
      ("title CONTAINS[cd] %@", ["TLE 1", ""]), ("title LIKE %@", ["T*1", "?", "*"]),
      ("title MATCHES %@", [".*1", "Title .", "("]), ("title == %@ OR author.name == %@", ["Ann", "Bo"]),
      ("author.age > %@", [1, 39.5, nil]), ("author == nil AND year > %@", [1, 3]),
      ("SUBQUERY(author.books, $b, $b.year > %@).@count > %@", [1, 2, 2.5]),
      ("TERNARY(year > %@, %@, 3) > 2", [1, 2, 2.5]), ("CAST(%@, 'Int') == year", ["1", 2, 2.5]),
      ("ANY author.books.title == %@", ["Title 2", "Title 4"]), ("length(%@) == 3", ["abc", "ab"]),
      ("max({year, %@}) > 4", [1, 5, 5.5]),
    ]
  }

  private func outcome(_ context: ObjectContext, _ format: String, _ values: [Any?]) -> String {
    do {
      let node = try PredicateNode(format: format, arguments: values)
      let fetch = context.fetch(Book.self).where(node).sorted(by: \.year)
      return try "\(fetch.sql) \(fetch.values(\.year))"
    } catch { return "\(error)" }
  }

  @Test func `a statement does not depend on the constants of earlier ones`() async throws {
    let context = temporary.store.makeContext()
    for (format, choices) in Self.formats {
      let count = format.split(separator: "%@", omittingEmptySubsequences: false).count - 1
      for first in choices {
        for second in choices {
          let values = count == 1 ? [first] : [first, second]
          // A store that is opened anew has made no statement.
          let fresh = try await other.again()
          #expect(
            outcome(context, format, values) == outcome(fresh.makeContext(), format, values),
            "\(format) \(values)")
          fresh.close()
          if count == 1 { break }
        }
      }
    }
  }

  @Test func `an error has the position in its own text`() throws {
    let context = temporary.store.makeContext()
    for spaces in ["", "   ", ""] {
      let error = #expect(throws: StoreError.self) {
        _ = try context.fetch(Book.self).where("\(spaces)yaer == 1").all()
      }
      #expect("\(error.map { "\($0)" } ?? "")".contains("\(spaces)^"))
    }
    for _ in 0..<2 {
      #expect(throws: StoreError.self) { _ = try context.fetch(Book.self).where("year == $x").all() }
      let node = PredicateNode.comparison(
        .path(PropertyPath(["year"])), .equal, .variable("0"), [])
      #expect(throws: StoreError.self) { _ = try context.fetch(Book.self).where(node).all() }
      #expect(throws: StoreError.self) {
        _ = try context.fetch(Book.self).where(
          .and([node, .comparison(.path(PropertyPath(["year"])), .less, .value(.id(3)), [])])
        ).all()
      }
    }
  }

  @Test func `ids of objects of other entities and stores are errors with each constant`() throws {
    let context = temporary.store.makeContext()
    let author = try context.fetch(Author.self).one()
    let books = try context.fetch(Book.self).where("author == %@", author).count()
    #expect(books == 10)
    let stranger = try other.store.makeContext().fetch(Author.self).one()
    let book = try context.fetch(Book.self).where("year == 1").one()
    for object in [stranger, book] as [ManagedObject] {
      #expect(throws: StoreError.self) {
        _ = try context.fetch(Book.self).where("author == %@", object).all()
      }
    }
    #expect(try context.fetch(Book.self).where("author == %@", author).count() == 10)
    let new = context.insert(Author.self) { $0.name = "new" }
    book.author = new
    #expect(try context.fetch(Book.self).where("author == %@", new).all() == [book])
    #expect(try context.fetch(Book.self).where("author == %@", author).count() == 10)
    try context.save()
    #expect(try context.fetch(Book.self).where("author == %@", new).all() == [book])
  }

  @Test func `the same condition as a text and as a #Predicate has the same statement`() throws {
    let context = temporary.store.makeContext()
    let text = try context.fetch(Book.self).where("year == %@ AND title != %@", 3, "a").sql.text
    let predicate = try context.fetch(Book.self).where(#Predicate { $0.year == 3 && $0.title != "a" }).sql
      .text
    #expect(text == predicate)
  }
}
