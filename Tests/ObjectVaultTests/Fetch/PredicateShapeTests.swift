// Predicates of one shape share their SQL. With other captured values it must equal the SQL of a new
// compilation.

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

  /// Checks each value of a form twice. The first one compiles the SQL that the others use.
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

  @Test func `comparisons of one shape use the values of each predicate`() throws {
    try check([(1, 2), (3, 4), (-5, .max)]) { (low: Int, high: Int) in
      #Predicate { $0.year > low && !($0.year <= high) || $0.year != low }
    }
    try check(["a", "b", "", "北京"]) { text in #Predicate { $0.title == text || text != $0.title } }
    try check([0.5, 3, -.infinity, 1e300]) { real in #Predicate { ($0.rating ?? real) >= real } }
    try check([Decimal(1), Decimal(string: "0.1")!]) { price in #Predicate { $0.price == price } }
  }

  @Test func `values of one shape keep their order, also on the left side of a comparison`() throws {
    try check([(1, "x", 2), (9, "y", 8)]) { (a: Int, text: String, b: Int) in
      #Predicate { a < $0.year && ($0.title.contains(text) || b == $0.year) }
    }
    try check([(1, "x"), (9, "y")]) { (a: Int, text: String) in
      #Predicate { $0.author?.name == text && a < $0.year }
    }
  }

  @Test func `predicates of one shape may have nil and values in turn`() throws {
    try check([1, nil, 2, nil] as [Double?]) { rating in #Predicate { $0.rating == rating } }
    try check([nil, "A", nil, "B"] as [String?]) { name in #Predicate { $0.author?.nick != name } }
    try check([ObjectID<Author>(rowID: 1), ObjectID<Author>(rowID: 2)]) { id in
      #Predicate { $0.author?.id == id }
    }
  }

  @Test func `captured Bools of one shape change the condition around them`() throws {
    try check([true, false]) { truth in #Predicate { $0.author?.nick?.contains("1") == truth } }
    try check([true, false]) { truth in #Predicate { $0.author?.nick?.contains("1") ?? truth } }
    try check([true, false]) { truth in #Predicate { truth == ($0.title.contains("x") == truth) } }
  }

  @Test func `prefixes of one shape may be empty, ordinary, or the last code point`() throws {
    try check(["", "The", "\u{10FFFF}", "a"]) { start in #Predicate { $0.title.starts(with: start) } }
    try check(["", "x"]) { part in #Predicate { !$0.title.contains(part) } }
  }

  @Test func `lists and ranges of one shape may have any length`() throws {
    try check([[1], [], [1, 2, 3], [4]]) { years in #Predicate { years.contains($0.year) } }
    try check([["a"], ["b", "c"]]) { titles in #Predicate { titles.contains($0.title) } }
    try check([1...2, 3...4]) { years in #Predicate { years.contains($0.year) } }
    try check([(1, 2), (3, 4)]) { low, high in #Predicate { (low...high).contains($0.year) } }
    try check([(1, 2), (3, 4)]) { low, high in #Predicate { (low..<high).contains($0.year + high) } }
  }

  @Test func `calculations of one shape keep their operators and operands`() throws {
    try check([(1, 2), (3, 4)]) { a, b in #Predicate { $0.year * a - b > a % 7 } }
    try check([(1, 2), (3, 4)]) { a, b in #Predicate { $0.year + a - b > a / 7 } }
    try check([(1, 2), (3, 4)]) { a, b in #Predicate { $0.year + a + b > -b } }
    try check([(1.5, 2.0), (3, 4)]) { a, b in #Predicate { ($0.rating ?? a) / b > a } }
  }

  @Test func `conditions on members of one shape keep the variable that they refer to`() throws {
    try check([("a", 1), ("b", 2)]) { name, year in
      #Predicate { book in
        book.genres.contains { $0.name == name && book.year > year }
          && !book.genres.allSatisfy { $0.name != name } && book.genres.count > year
      }
    }
    // The types are the same, and only the variables differ.
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

  @Test func `another key path or operator in the same place is another shape`() async throws {
    let pairs = try await TemporaryStore(Schema { Entity(Pair.self) })
    let context = pairs.store.makeContext()
    typealias Path = any KeyPath<Pair, Int> & Sendable
    typealias Operator = PredicateExpressions.ComparisonOperator
    func compared(_ path: Path, _ comparison: Operator, to number: Int) -> Predicate<Pair> {
      Predicate {
        PredicateExpressions.build_Comparison(
          lhs: PredicateExpressions.build_KeyPath(root: $0, keyPath: path),
          rhs: PredicateExpressions.build_Arg(number), op: comparison)
      }
    }
    for (path, name) in [(\Pair.left as Path, "left"), (\Pair.right as Path, "right")] {
      for (comparison, sign) in [(Operator.lessThan, "<"), (.greaterThanOrEqual, ">=")] {
        let sql = try context.fetch(Pair.self).where(compared(path, comparison, to: 7)).sql
        #expect(sql.text.hasSuffix("WHERE t0.\"\(name)\" \(sign) ?") && sql.bindings == [.integer(7)])
      }
    }
  }

  @Test func `count, existence, ids and first of one predicate have their own statements`() throws {
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

  @Test func `many tasks can use one shape at once`() async throws {
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
