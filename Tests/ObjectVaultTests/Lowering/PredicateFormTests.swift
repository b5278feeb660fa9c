// A predicate whose type and shape occurred before is recognized in memory. Its SQL must equal that of
// PredicateNode(_:), which always walks the predicate.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PredicateForms {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(formLibrary)
    context = temporary.store.makeContext()
  }

  /// Compares the SQL of a predicate with the SQL of its newly made tree.
  private func check<Object: ManagedObject>(
    _ predicate: Predicate<Object>, in context: ObjectContext? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let context = context ?? self.context
    let found = try context.fetch(Object.self).where(predicate).sql
    let expected = try context.fetch(Object.self).where(try PredicateNode(predicate)).sql
    #expect(found == expected, sourceLocation: location)
    // Strings can be equal while their bytes differ.
    #expect(Array(found.description.utf8) == Array(expected.description.utf8), sourceLocation: location)
  }

  @Test(arguments: 0..<8)
  func `random predicates of few types give the SQL of their newly made trees`(_ seed: Int) throws {
    var random = SeededNumbers(seed: UInt64(seed))
    for _ in 0..<300 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: try check(TriplePredicates.twoComparisons(.random(&random), .random(&random)))
      case 1:
        try check(
          TriplePredicates.calculation(.random(&random), number: .random(&random), adds: .random(&random)))
      case 2:
        try check(
          BookPredicates.optionals(name: .random(&random), rating: .random(&random), truth: .random(&random)))
      case 3:
        try check(
          BookPredicates.nested(isOuter: .random(&random), year: .random(&random), name: .random(&random)))
      case 4: try check(BookPredicates.list(.random(&random), .random(&random)))
      default: try check(BookPredicates.manyTypes(.random(&random), .random(&random)))
      }
    }
  }

  @Test func `nil, values, NaN and infinity in turn give the SQL of newly made trees`() throws {
    let ratings: [Double?] = [1, nil, .nan, -.infinity, 0.5, nil, -0.0, 2]
    for rating in ratings + ratings + ratings {
      try check(#Predicate<Book> { $0.rating == rating })
      try check(#Predicate<Book> { $0.rating != rating && ($0.rating ?? 1) > 0.5 })
    }
    let names: [String?] = [
      "a", nil, "", "a\0b", "\u{e9}", "e\u{301}", nil, String(repeating: "ü", count: 99),
    ]
    for name in names + names + names {
      try check(#Predicate<Book> { $0.author?.nick == name })
      let isNamed = name != nil
      try check(#Predicate<Book> { $0.author?.nick?.contains("x") == isNamed })
    }
  }

  @Test func `each fetch uses the object ids of its own predicate and checks them every time`() async throws {
    let authors = (0..<3).map { number in context.insert(Author.self) { $0.name = "a\(number)" } }
    for author in authors {
      context.insert(Book.self) {
        $0.title = "of \(author.name)"
        $0.author = author
      }
    }
    try context.save()
    let new = context.insert(Author.self) { $0.name = "new" }
    let other = try await TemporaryStore(formLibrary)
    let elsewhere = other.store.makeContext()
    let stranger = elsewhere.insert(Author.self) { $0.name = "stranger" }
    try elsewhere.save()
    func titles(_ id: ObjectID<Author>) throws -> [String] {
      try context.fetch(Book.self).where(#Predicate { $0.author?.id == id }).all().map(\.title)
    }
    for _ in 0..<4 {
      for author in authors { #expect(try titles(author.id) == ["of \(author.name)"]) }
      #expect(throws: StoreError.self) { try titles(stranger.id) }
      let id = new.id
      let found = Result { try context.fetch(Book.self).where(#Predicate { $0.author?.id == id }).sql }
      let tree = Result {
        try context.fetch(Book.self).where(try PredicateNode(#Predicate<Book> { $0.author?.id == id })).sql
      }
      #expect((try? found.get()) == (try? tree.get()))
    }
  }

  @Test func `one predicate type serves stores of several schemas at once`() async throws {
    let narrow = try await TemporaryStore(Schema { Entity(Triple.self) })
    let contexts = [context, narrow.store.makeContext()]
    for (index, context) in contexts.enumerated() {
      for number in 0..<10 {
        context.insert(Triple.self) {
          $0.left = number
          $0.middle = index
        }
      }
      try context.save()
    }
    for round in 0..<12 {
      let comparison = Comparison(path: round % 3 == 0 ? \.middle : \.left, sign: .lessThan, number: round)
      let predicate = TriplePredicates.twoComparisons(comparison, comparison)
      for (index, context) in contexts.enumerated() {
        try check(predicate, in: context)
        let count = round % 3 == 0 ? (index < round ? 10 : 0) : min(10, round)
        #expect(try context.fetch(Triple.self).where(predicate).count() == count)
      }
    }
  }

  @Test func `many threads use the shapes of one predicate type at once`() async throws {
    let store = temporary.store
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for seed in 0..<8 {
        group.addTask {
          try await onThread {
            let context = store.makeContext()
            var random = SeededNumbers(seed: UInt64(100 + seed))
            return try (0..<200).allSatisfy { _ in
              let predicate = TriplePredicates.twoComparisons(.random(&random), .random(&random))
              let found = try context.fetch(Triple.self).where(predicate).sql
              return try found == context.fetch(Triple.self).where(try PredicateNode(predicate)).sql
            }
          }
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
  }
}

/// The model of most tests without Sample, and an entity whose properties have one type.
private let formLibrary = Schema {
  Entity(Triple.self)
  Entity(Author.self)
  Entity(Book.self)
  Entity(Genre.self)
  Entity(Loan.self)
  Entity(Passport.self)
  Entity(Club.self)
}

final class Triple: ManagedObject {
  @Attribute var left = 0
  @Attribute var middle = 0
  @Attribute var right = 0
}

/// A comparison whose key path and operator are values, so that they vary within one predicate type.
private struct Comparison {
  typealias Path = any KeyPath<Triple, Int> & Sendable
  typealias Sign = PredicateExpressions.ComparisonOperator
  let path: Path
  let sign: Sign
  let number: Int

  static func random(_ random: inout SeededNumbers) -> Comparison {
    let paths: [Path] = [\Triple.left, \Triple.middle, \Triple.right]
    let signs: [Sign] = [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual]
    return Comparison(
      path: paths.randomElement(using: &random) ?? \Triple.left,
      sign: signs.randomElement(using: &random) ?? .lessThan, number: .random(&random))
  }
}

extension Int {
  fileprivate static func random(_ random: inout SeededNumbers) -> Int {
    [0, -1, .max, .min, Int.random(in: 0..<100, using: &random)].randomElement(using: &random) ?? 0
  }
}

extension Bool {
  fileprivate static func random(_ random: inout SeededNumbers) -> Bool { Bool.random(using: &random) }
}

extension Double {
  fileprivate static func random(_ random: inout SeededNumbers) -> Double {
    [0.5, -1e300, .nan, .infinity, Double.random(in: 0..<9, using: &random)].randomElement(using: &random)
      ?? 0
  }
}

extension String {
  fileprivate static func random(_ random: inout SeededNumbers) -> String {
    [
      "", "a", "a\0b", "\0", "\u{10FFFF}", "北京", "é", "e\u{301}", "it's \"so\" %_*?\\",
      String(repeating: "x", count: 40),
    ]
    .randomElement(using: &random) ?? ""
  }
}

extension Optional {
  fileprivate static func random(_ random: inout SeededNumbers) -> Wrapped? where Wrapped == String {
    Bool.random(using: &random) ? nil : String.random(&random)
  }
  fileprivate static func random(_ random: inout SeededNumbers) -> Wrapped? where Wrapped == Double {
    Bool.random(using: &random) ? nil : Double.random(&random)
  }
}

private enum TriplePredicates {
  static func twoComparisons(_ first: Comparison, _ second: Comparison) -> Predicate<Triple> {
    Predicate {
      PredicateExpressions.build_Conjunction(
        lhs: PredicateExpressions.build_Comparison(
          lhs: PredicateExpressions.build_KeyPath(root: $0, keyPath: first.path),
          rhs: PredicateExpressions.build_Arg(first.number), op: first.sign),
        rhs: PredicateExpressions.build_Comparison(
          lhs: PredicateExpressions.build_KeyPath(root: $0, keyPath: second.path),
          rhs: PredicateExpressions.build_Arg(second.number), op: second.sign))
    }
  }

  static func calculation(_ comparison: Comparison, number: Int, adds: Bool) -> Predicate<Triple> {
    Predicate {
      PredicateExpressions.build_Comparison(
        lhs: PredicateExpressions.build_Arithmetic(
          lhs: PredicateExpressions.build_KeyPath(root: $0, keyPath: comparison.path),
          rhs: PredicateExpressions.build_Arg(number), op: adds ? .add : .subtract),
        rhs: PredicateExpressions.build_Arg(comparison.number), op: comparison.sign)
    }
  }
}

private enum BookPredicates {
  static func optionals(name: String?, rating: Double?, truth: Bool) -> Predicate<Book> {
    #Predicate {
      ($0.author?.nick == name || $0.rating != rating) && ($0.author?.nick?.contains("n") == truth)
    }
  }

  /// Only the variable determines whose year is compared: that of the outer book or that of the inner
  /// one.
  static func nested(isOuter: Bool, year: Int, name: String) -> Predicate<Book> {
    Predicate { book in
      PredicateExpressions.build_contains(
        PredicateExpressions.build_KeyPath(root: book, keyPath: \.genres)
      ) { genre in
        PredicateExpressions.build_Conjunction(
          lhs: PredicateExpressions.build_Equal(
            lhs: PredicateExpressions.build_KeyPath(root: genre, keyPath: \.name),
            rhs: PredicateExpressions.build_Arg(name)),
          rhs: PredicateExpressions.build_contains(
            PredicateExpressions.build_KeyPath(root: genre, keyPath: \.books)
          ) { other in
            PredicateExpressions.build_Equal(
              lhs: PredicateExpressions.build_KeyPath(root: isOuter ? book : other, keyPath: \.year),
              rhs: PredicateExpressions.build_Arg(year))
          })
      }
    }
  }

  static func list(_ count: Bool, _ number: Int) -> Predicate<Book> {
    let years = count ? [number, 1, 2] : [number]
    let range = count ? 1..<3 : 2..<9
    return #Predicate { years.contains($0.year) || range.contains($0.year) || $0.year == number }
  }

  static func manyTypes(_ number: Int, _ text: String) -> Predicate<Book> {
    let price = Decimal(number % 1000)
    let (owner, start): (String?, Int?) = (text, number > 0 ? number : nil)
    return #Predicate {
      ($0.price == price || $0.title.starts(with: text))
        && ($0.author?.name == owner || $0.author?.age == start || $0.genres.count > number)
    }
  }
}
