// The messages of predicate errors: their text, the position of the caret, and their length.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PredicateMessages {
  let temporary: TemporaryStore

  init() async throws { temporary = try await TemporaryStore(library) }

  private func message(_ format: String, _ arguments: Any?...) throws -> ObjectVault.PredicateError? {
    do {
      let fetch = temporary.store.makeContext().fetch(Book.self)
      // Not through a node, which has no text for the position.
      _ = try arguments.isEmpty ? fetch.where(format).ids() : fetch.where(format, arguments[0]).ids()
      Issue.record("no error: \(format.prefix(100))")
      return nil
    } catch StoreError.predicate(let error) { return error }
  }

  @Test(arguments: [
    ("NOT (SUBQUERY(genres, $x, $x.name == 'a') > 0)", 5, "several values"),
    ("year CONATINS 0", 5, "; did you mean \"CONTAINS\"?"),
    ("(year CONATINS 0)", 6, "; did you mean \"CONTAINS\"?"),
    ("year == now()", 8, "cannot be compared"), ("title MATCHES 'a('", 14, "not a regular expression"),
    ("year == 1 AND SUBQUERY(genres, $g, $g.nam == 'x').@count > 1", 35, "did you mean \"name\"?"),
    ("year == TERNARY(titel == 'x', 1, 2)", 16, "did you mean \"title\"?"),
    ("author == 'x'", 10, "where(_:equals:)"), ("year == 1 title == 'x'", 10, "AND or OR is missing"),
    ("LIKE == 3", 0, "#LIKE"), ("year == (1 == 2)", 8, "condition"), ("{1} == 2", 0, "list"),
    ("year == # 3", 8, "name of a property"),
    ("year == 1 AND titel == 'x'", 14, "did you mean \"title\"?"),
    ("NOT (year > 1 OR author.nam == 'x')", 17, "did you mean \"name\"?"),
    ("year == 1 AND year == 'x'", 22, "cannot be compared"), ("year > 1 AND genres == 3", 13, "ANY"),
    ("ANY genres.nam == 'x'", 4, "did you mean \"name\"?"),
    ("year + 1 == 2 AND title + 1 == 2", 18, "not a number"),
    ("title == 'x' AND year", 17, "comparison is missing"), ("NOT year", 4, "comparison is missing"),
    ("year == 1 AND year CONTAINS 'x'", 14, "not a string"),
    ("genres.@count > 1 AND title.@count > 1", 22, "no to-many"), ("year == 1e999", 8, "outside the range"),
  ])
  func `a predicate error states the reason and the position`(
    _ format: String, _ position: Int, _ reason: String
  ) throws {
    let error = try #require(try message(format))
    #expect(error.reason.contains(reason), "\(error)")
    #expect(error.position == position, "\(error)")
    #expect(error.format == format)
    let lines = error.description.split(separator: "\n")
    #expect(lines.last?.firstIndex(of: "^") == lines.last?.indices.last)
    #expect(lines.last?.count == position + 3)
  }

  @Test func `the caret marks the position in a text of several lines`() throws {
    let error = try #require(try message("year == 1\n  AND titel == 'x'\n\tOR year == 3"))
    #expect(error.position == 16)
    #expect(error.description.hasSuffix("Line 2:\n    AND titel == 'x'\n        ^"), "\(error)")
    let tabs = try #require(try message("year == 1 OR\n\t\ttitel == 3"))
    #expect(tabs.description.hasSuffix("\n  \t\ttitel == 3\n  \t\t^"), "\(tabs)")
    let marks = try #require(try message("title == 'e\u{301}e\u{301}' AND titel == 3"))
    #expect(marks.position == 18, "\(marks)")
  }

  @Test func `a message quotes only a small part of a long text`() throws {
    let long = String(repeating: "x", count: 60_000)
    for format in [
      "year == 1 AND \(long) == 3", "year == '\(long)'", "\(long)() == 3", "year ==[\(long)] 1",
      "\(String(repeating: " ", count: 60_000)) year == ",
      "title.\(long) == 1", "year == 1 \(long)",
      "\(String(repeating: "title == 'x' AND ", count: 800)) titel == 3", "@\(long) > 1",
      "genres.@\(long) > 1", "author.\(long).@count == 1", "ANY \(long) == 1", "year \(long) 1",
    ] {
      let error = try #require(try message(format))
      #expect(error.description.count < 800, "\(error)")
    }
    let error = try #require(try message("%K == 1", long))
    #expect(error.description.count < 800)
    #expect(try #require(try message("uuid == %@", long)).description.count < 800)
  }

  @Test func `an argument that is no value is reported by its number`() throws {
    #expect(try #require(try message("year == %@", ["key": 1])).reason.contains("argument 1"))
  }
}
