// Predicates of one shape share their SQL: with other captured values it has to be what compiling them afresh
// gives.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PredicateShapes {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  /// Each value of a form in turn, twice: the first makes what the others use.
  private func check<Value>(
    _ values: [Value], _ location: SourceLocation = #_sourceLocation, _ make: (Value) -> Predicate<Book>
  ) throws {
    for value in values + values {
      let predicate = make(value)
      let afresh = try PredicateNode(predicate)
      let fetches = [
        (try context.fetch(Book.self).where(predicate), context.fetch(Book.self).where(afresh)),
        (
          try context.fetch(Book.self).where(predicate).sorted(by: \.author?.name, .reverse).limit(7),
          context.fetch(Book.self).where(afresh).sorted(by: \.author?.name, .reverse).limit(7)
        ),
        (
          try context.fetch(Book.self).where(predicate).where(predicate).offset(3),
          context.fetch(Book.self).where(afresh).where(afresh).offset(3)
        ),
        (
          try context.fetch(Book.self).where("year > 3").where(predicate),
          try context.fetch(Book.self).where("year > 3").where(afresh)
        ),
        (
          try context.fetch(Book.self).where(afresh).where(predicate),
          context.fetch(Book.self).where(afresh).where(afresh)
        ),
      ]
      for (kept, plain) in fetches {
        let (found, expected) = (try kept.sql, try plain.sql)
        #expect(found == expected, sourceLocation: location)
        _ = try kept.ids()
      }
    }
  }

  @Test func `comparisons take the values of the call`() throws {
    try check([(1, 2), (3, 4), (-5, .max)]) { (low: Int, high: Int) in
      #Predicate { $0.year > low && !($0.year <= high) || $0.year != low }
    }
    try check(["a", "b", "", "北京"]) { text in #Predicate { $0.title == text || text != $0.title } }
    try check([0.5, 3, -.infinity, 1e300]) { real in #Predicate { ($0.rating ?? real) >= real } }
    try check([Decimal(1), Decimal(string: "0.1")!]) { price in #Predicate { $0.price == price } }
  }

  @Test func `values on the left, and several in an order of their own`() throws {
    try check([(1, "x", 2), (9, "y", 8)]) { (a: Int, text: String, b: Int) in
      #Predicate { a < $0.year && ($0.title.contains(text) || b == $0.year) }
    }
    try check([(1, "x"), (9, "y")]) { (a: Int, text: String) in
      #Predicate { $0.author?.name == text && a < $0.year }
    }
  }

  @Test func `nil and values alternate`() throws {
    try check([1, nil, 2, nil] as [Double?]) { rating in #Predicate { $0.rating == rating } }
    try check([nil, "A", nil, "B"] as [String?]) { name in #Predicate { $0.author?.nick != name } }
    try check([ObjectID<Author>(rowID: 1), ObjectID<Author>(rowID: 2)]) { id in
      #Predicate { $0.author?.id == id }
    }
  }

  @Test func `truth values decide on the condition around them`() throws {
    try check([true, false]) { truth in #Predicate { $0.author?.nick?.contains("1") == truth } }
    try check([true, false]) { truth in #Predicate { $0.author?.nick?.contains("1") ?? truth } }
    try check([true, false]) { truth in #Predicate { truth == ($0.title.contains("x") == truth) } }
  }

  @Test func `strings that begin with nothing, with something, with the last code point`() throws {
    try check(["", "The", "\u{10FFFF}", "a"]) { start in #Predicate { $0.title.starts(with: start) } }
    try check(["", "x"]) { part in #Predicate { !$0.title.contains(part) } }
  }

  @Test func `lists and ranges of any length`() throws {
    try check([[1], [], [1, 2, 3], [4]]) { years in #Predicate { years.contains($0.year) } }
    try check([["a"], ["b", "c"]]) { titles in #Predicate { titles.contains($0.title) } }
    try check([1...2, 3...4]) { years in #Predicate { years.contains($0.year) } }
    try check([(1, 2), (3, 4)]) { low, high in #Predicate { (low...high).contains($0.year) } }
    try check([(1, 2), (3, 4)]) { low, high in #Predicate { (low..<high).contains($0.year + high) } }
  }

  @Test func `calculations keep their operators and operands apart`() throws {
    try check([(1, 2), (3, 4)]) { a, b in #Predicate { $0.year * a - b > a % 7 } }
    try check([(1, 2), (3, 4)]) { a, b in #Predicate { $0.year + a - b > a / 7 } }
    try check([(1, 2), (3, 4)]) { a, b in #Predicate { $0.year + a + b > -b } }
    try check([(1.5, 2.0), (3, 4)]) { a, b in #Predicate { ($0.rating ?? a) / b > a } }
  }

  @Test func `members of a to-many, and which variable is meant`() throws {
    try check([("a", 1), ("b", 2)]) { name, year in
      #Predicate { book in
        book.genres.contains { $0.name == name && book.year > year }
          && !book.genres.allSatisfy { $0.name != name } && book.genres.count > year
      }
    }
    // The same types throughout; only the variables differ.
    try check([1, 2]) { (year: Int) in
      #Predicate { book in
        book.genres.contains { genre in genre.books.contains { other in other.year == year } }
      }
    }
    try check([1, 2]) { (year: Int) in
      #Predicate { book in
        book.genres.contains { genre in genre.books.contains { _ in book.year == year } }
      }
    }
  }

  @Test func `the same place with another key path or operator is another shape`() async throws {
    let pairs = try await TemporaryStore(Schema { Entity(Pair.self) })
    let context = pairs.store.makeContext()
    typealias Path = any KeyPath<Pair, Int> & Sendable
    typealias Operator = PredicateExpressions.ComparisonOperator
    func compared(_ path: Path, _ comparison: Operator, _ number: Int) -> Predicate<Pair> {
      Predicate {
        PredicateExpressions.build_Comparison(
          lhs: PredicateExpressions.build_KeyPath(root: $0, keyPath: path),
          rhs: PredicateExpressions.build_Arg(number), op: comparison)
      }
    }
    for (path, name) in [(\Pair.left as Path, "left"), (\Pair.right as Path, "right")] {
      for (comparison, sign) in [(Operator.lessThan, "<"), (.greaterThanOrEqual, ">=")] {
        let sql = try context.fetch(Pair.self).where(compared(path, comparison, 7)).sql
        #expect(sql.text.hasSuffix("WHERE t0.\"\(name)\" \(sign) ?") && sql.bindings == [.integer(7)])
      }
    }
  }

  @Test func `count, existence and ids of one predicate are statements of their own`() throws {
    for number in 0..<5 {
      context.insert(Book.self) {
        $0.title = "b\(number)"
        $0.year = number
      }
    }
    try context.save()
    for year in 0..<5 {
      let fetch = try context.fetch(Book.self).where(#Predicate { $0.year >= year })
      #expect(try fetch.count() == 5 - year)
      #expect(try fetch.limit(2).count() == min(2, 5 - year))
      #expect(try fetch.exists())
      #expect(try fetch.ids().count == 5 - year)
      #expect(try fetch.sorted(by: \.year, .reverse).first()?.year == 4)
      #expect(try fetch.sorted(by: \.year).offset(1).first()?.year == (year < 4 ? year + 1 : nil))
    }
  }

  @Test func `many tasks meet a shape at once`() async throws {
    let store = temporary.store
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        group.addTask {
          let context = store.makeContext()
          let name = "name \(number)"
          let fetch = try context.fetch(Book.self).where(
            #Predicate { $0.author?.name == name && $0.year > number })
          return try fetch.sql.bindings == [.text(name), .integer(Int64(number))]
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
  }
}

final class Pair: ManagedObject {
  @Attribute var left = 0
  @Attribute var right = 0
}
