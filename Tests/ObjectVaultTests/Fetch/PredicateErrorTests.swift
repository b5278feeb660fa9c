// Errors of predicates in the format language: positions, hints, and limits of depth and length.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PredicateErrors {
  @Test(arguments: [
    ("", 0, "empty"), ("title ==", 8, "missing"), ("title = 'x", 8, "closing"),
    ("title == 'x' year", 13, "this is unexpected"),
    ("(title == 'x'", 13, ") is missing"), ("title LIKE[l] 'a'", 11, "language"),
    ("title LIKE[cn] 'a'", 11, "cannot be combined"), ("year == 0x1G", 8, "base 16"),
    ("year == 0xFFFFFFFFFFFFFFFF", 8, "63 bits"), ("year % 2 == 0", 5, "%% is the remainder"),
    ("chapters[x] == 3", 9, "FIRST, LAST, SIZE"), ("chapters[1 == 3", 11, "] is missing"),
    ("title[0][one] == 3", 9, "a key in quotes"), ("random() == 3", 0, "another result"),
    ("FUNCTION(title, 'length') == 3", 0, "method"), ("add:to: == 3", 0, "( is missing"),
    ("add:to:(1) == 3", 0, "takes 2 operands"), ("now(3) == at", 4, "no operands"),
    ("CAST(year) == 3", 9, ", is missing"), ("CAST(year, Int) == 3", 11, "in quotes"),
    ("CAST(year, 'Inte ger') == 3", 11, "no type"), ("TERNARY(year, 1) == 3", 15, ", is missing"),
    ("TERNARY(1, 2, 3) == 3", 8, "comparison is missing"),
    ("genres.@unionOfArrays.name == 'x'", 7, "already"),
    ("genres.@sum.@avg.year == 1", 12, "cannot follow"),
    ("ANY SUBQUERY(genres, $g, $g.name = 'x').name = 'x'", 0, "put the condition"),
    ("SUBQUERY(genres, $g, $g.name == 'x') == 1", 0, "several values"),
    ("title == %q", 9, "% must be followed"),
    ("title IN {1, 2", 14, "}"), ("title ==[x] 'a'", 9, "[cd]"), ("title & 'x'", 6, "no meaning"),
    ("year BETWEEN 3", 5, "two bounds"), ("@count > 3", 0, "must follow"),
    ("genres.@middle > 3", 7, "@middle"),
    ("SUBQUERY(x, y, z)", 12, "a variable"), ("SUBQUERY(3, $y, z)", 9, "to-many"), ("$1 == 3", 0, "variable"),
    ("year == $", 8, "variable"),
    ("title", 5, ""),
    ("NOT", 3, "missing"), ("title == 99999999999999999999999x", 32, "this is unexpected"),
    ("ANY 3 == 4", 0, "path of a to-many"),
    ("trim(title) == 'x'", 0, "not a predicate function"), ("length(title, year) > 2", 0, "takes 1 operand"),
    ("length(title > 2", 13, ") is missing"), ("length() > 2", 7, "missing"),
    ("length(length(length(length(length(title))))) > 2", 0, "nested deeper"),
  ])
  func `a text that is no predicate is an error with a position`(
    _ format: String, _ position: Int, _ reason: String
  ) {
    do {
      _ = try PredicateNode(format: format)
      // A name alone is parsed as a Bool. Only the compilation detects that it is none.
      #expect(format == "title")
    } catch StoreError.predicate(let error) {
      if position > 0 { #expect(error.position == position, "\(error)") }
      #expect(error.reason.contains(reason), "\(error)")
    } catch { Issue.record(error) }
  }

  @Test(arguments: [
    ("title[0][1] == 3", "not an ordered to-many"), ("title['a b'] == 3", "attribute"),
    ("titel == 'x'", "title"), ("author.nam == 'x'", "name"), ("title.x == 3", "attribute"),
    ("genres == 3", "ANY"),
    ("title == 3", "string"), ("year == 'x'", "int"), ("ANY title == 'x'", "to-many"),
    ("year CONTAINS 'x'", "not a string"),
    ("title.@count > 3", "to-many"), ("year ==[c] 3", "not a string"), ("author == 'Ann'", "id"),
    ("title + 1 > 2", "not a number"),
    ("length(year) > 2", "not a string"), ("abs(title) > 2", "not a number"),
    ("lowercase(title) + 1 > 2", "not a number"),
    ("length(author) > 2", "not a string"), ("uppercase(title) == 3", "string"),
    ("length(length(title)) > 2", "not a string"), ("title MATCHES '(a'", "not a regular expression"),
    ("year MATCHES '1'", "not a string"), ("genres.@sum > 3", "name the attribute"),
    ("genres.@sum.name > 3", "needs numbers"), ("genres.@max.books == 3", "ANY"),
    ("sum(year) > 3", "no to-many"), ("sum({title}) > 3", "not a number"),
    ("CAST(genres.@count, 'Date') == 3", "cannot be compared"),
    ("CAST(author, 'Int') == 3", "cannot convert"),
    ("CAST(SELF, 'Author') != nil", "no child entity"), ("genres[0].name == 'x'", "not an ordered to-many"),
    ("nothing[0].name == 'x'", "no property"),
    ("SUBQUERY(genres, $g, $g.title == 'x').@count > 0", "no property"),
    ("TERNARY(year > 1, title, author) == 'x'", "cannot be compared"),
    ("TERNARY(year > 1, 2, 3)", "not a condition"),
    ("genres.name.@count > 1", "does not end with one"), ("title ** 2 > 1", "not a number"),
  ])
  func `a predicate that does not fit the model is an error with a hint`(_ format: String, _ hint: String)
    async throws
  {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    #expect {
      _ = try context.fetch(Book.self).where(format).sql
    } throws: { error in
      guard case StoreError.predicate(let error) = error else { return false }
      return error.reason.contains(hint) && error.entity == "Book"
    }
  }

  @Test func `the error of a sort by members names what can be sorted by`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    func reason(_ body: () throws -> Void) -> String {
      do { try body() } catch StoreError.predicate(let error) { return error.reason } catch {
        return "\(error)"
      }
      return ""
    }
    for found in [
      reason { _ = try context.fetch(Author.self).sorted(by: \.books).all() },
      reason { _ = try context.fetch(Book.self).sorted(by: \.author?.books, .reverse).first() },
    ] {
      #expect(found.contains("Author.books is a to-many") && found.contains("books.count"), "\(found)")
      #expect(!found.contains("ANY"), "\(found)")
    }
  }

  @Test func `too few, too many and wrong arguments are errors`() {
    #expect(throws: (any Error).self) { try PredicateNode(format: "a == %@ AND b == %@", 1) }
    #expect(throws: (any Error).self) { try PredicateNode(format: "a == %@", 1, 2) }
    #expect(throws: (any Error).self) { try PredicateNode(format: "a == %d", "x") }
    #expect(throws: (any Error).self) { try PredicateNode(format: "%K == 1", "a; DROP TABLE") }
    #expect(throws: (any Error).self) { try PredicateNode(format: "%K == 1", 3) }
    #expect(throws: (any Error).self) { try PredicateNode(format: "a == %@", ["k": 1]) }
  }

  @Test func `formats that are too deep or too long are errors`() throws {
    let deep = String(repeating: "(", count: 300) + "a == 1" + String(repeating: ")", count: 300)
    #expect(throws: (any Error).self) { try PredicateNode(format: deep) }
    #expect(throws: (any Error).self) {
      try PredicateNode(format: String(repeating: "NOT ", count: 5000) + "a == 1")
    }
    #expect(throws: (any Error).self) { try PredicateNode(format: String(repeating: "x", count: 70_000)) }
  }

  @Test func `any bytes as a format are an error or a predicate, never a crash`() {
    var random = SeededGenerator(seed: 7)
    let seeds = PredicateSQL.formats.map(\.format)
    for _ in 0..<2000 {
      var bytes = Array((seeds.randomElement(using: &random) ?? "").utf8)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        if Bool.random(using: &random) || place == bytes.count {
          bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
        } else {
          bytes.remove(at: place)
        }
      }
      _ = try? PredicateNode(format: String(decoding: bytes, as: UTF8.self), "x", 3)
    }
  }
}
