// Generated predicates: the rows that SQL finds, against an evaluation of the same tree on plain values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// A book as plain values: the second witness knows nothing of the store.
private struct PlainBook {
  var id: Int64
  var values: [String: SQLValue]
  var author: [String: SQLValue]?
  var genres: [[String: SQLValue]]
}

@Suite struct PredicateDifferential {
  private static let names = [
    "Ann", "ann", "Änn", "Strasse", "Straße", "", "The Watch", "x*y", "50%_", "北京", "é", "e\u{301}",
  ]

  @Test func `two thousand random predicates find what a plain evaluation finds`() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 4711)
    var random = SeededGenerator(seed: seed)
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let books = try fill(context, &random)
    let reader = temporary.store.makeContext()
    for round in 0..<2000 {
      let node = Self.node(depth: 3, &random)
      let expected = books.filter { Evaluation(book: $0).holds(node) }.map(\.id)
      let found = try reader.fetch(Book.self).where(node).ids().map(\.rowID).sorted()
      guard found != expected else { continue }
      let sql = try reader.fetch(Book.self).where(node).sql
      Issue.record(
        "seed \(seed), round \(round): \(node)\n\(sql)\nfound \(found.count), expected \(expected.count)")
      if round > 20 { break }
    }
  }

  private func fill(_ context: ObjectContext, _ random: inout SeededGenerator) throws -> [PlainBook] {
    let genres = ["crime", "Crime", "poem", ""].map { name in context.insert(Genre.self) { $0.name = name } }
    let authors = Self.names.enumerated().map { index, name in
      context.insert(Author.self) {
        $0.name = "\(name)!"
        $0.nick = index % 3 == 0 ? nil : name
        $0.age = [0, 1, 30, 150][index % 4]
      }
    }
    var books: [(Book, PlainBook)] = []
    for _ in 0..<200 {
      let title =
        (Self.names.randomElement(using: &random) ?? "") + (Bool.random(using: &random) ? "" : " II")
      let book = context.insert(Book.self) { $0.title = title.isEmpty ? "-" : title }
      book.year = [0, -1, 1999, 2000, 1 << 53, (1 << 53) + 1].randomElement(using: &random) ?? 0
      book.rating = [nil, 0, -0.0, 1.5, 4, 9_007_199_254_740_992].randomElement(using: &random) ?? nil
      book.author = Bool.random(using: &random) ? authors.randomElement(using: &random) : nil
      book.genres = Set(genres.filter { _ in Int.random(in: 0..<3, using: &random) == 0 })
      books.append(
        (
          book,
          PlainBook(
            id: 0,
            values: [
              "title": .text(book.title), "year": .integer(Int64(book.year)),
              "rating": book.rating.map { .real($0) } ?? .null,
            ],
            author: book.author.map {
              [
                "name": .text($0.name), "nick": $0.nick.map { .text($0) } ?? .null,
                "age": .integer(Int64($0.age)),
              ]
            }, genres: book.genres.map { ["name": .text($0.name)] })
        ))
    }
    try context.save()
    return books.map { book, plain in
      var plain = plain
      plain.id = book.id.rowID
      return plain
    }.sorted { $0.id < $1.id }
  }

  // MARK: Generating

  private static func node(depth: Int, _ random: inout SeededGenerator) -> PredicateNode {
    if depth > 0 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: return .and((0..<2).map { _ in node(depth: depth - 1, &random) })
      case 1: return .or((0..<2).map { _ in node(depth: depth - 1, &random) })
      case 2, 3: return .not(node(depth: depth - 1, &random))
      case 4:
        let quantifier = [Quantifier.any, .all, .none].randomElement(using: &random) ?? .any
        let inner = text(.path(PropertyPath(depth: 1, ["name"])), &random)
        return .quantified(
          quantifier, PropertyPath(["genres"]), Bool.random(using: &random) ? inner : .not(inner))
      default: break
      }
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return text(.path(PropertyPath(["title"])), &random)
    case 1:
      return text(
        .path(PropertyPath(["author", ["name", "nick"].randomElement(using: &random) ?? "name"])), &random)
    default: return number(&random)
    }
  }

  private static func number(_ random: inout SeededGenerator) -> PredicateNode {
    let paths: [PredicateOperand] = [
      .path(PropertyPath(["year"])), .path(PropertyPath(["rating"])), .path(PropertyPath(["author", "age"])),
      .count(PropertyPath(["genres"])), .arithmetic(.path(PropertyPath(["year"])), .add, .value(integer(1))),
      .coalesce(.path(PropertyPath(["rating"])), .value(real(1.5))),
    ]
    let path = paths.randomElement(using: &random) ?? paths[0]
    let constants = [
      integer(0), integer(1), integer(2), integer(1999), integer(1 << 53), integer((1 << 53) + 1), real(1.5),
      real(1998.5),
      real(9_007_199_254_740_992), real(-0.0), real(1e300), real(-1e300), .null,
    ]
    let pick = { (random: inout SeededGenerator) in
      PredicateOperand.value(constants.randomElement(using: &random) ?? .null)
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return .between(path, pick(&random), pick(&random))
    case 1: return .isIn(path, (0..<3).map { _ in pick(&random) }, [])
    case 2: return .comparison(pick(&random), comparison(&random), path, [])
    default: return .comparison(path, comparison(&random), pick(&random), [])
    }
  }

  private static func text(_ path: PredicateOperand, _ random: inout SeededGenerator) -> PredicateNode {
    let words = names + ["A", "s", "ß", "SS", "*a*", "?nn!", "\\*", "Watch", " II", "crime"]
    let value = PredicateOperand.value(
      Int.random(in: 0..<12, using: &random) == 0
        ? .null : PredicateValue(type: .string, stored: .text(words.randomElement(using: &random) ?? "")))
    let options = StringOptions(rawValue: [0, 0, 1, 2, 3].randomElement(using: &random) ?? 0)
    let kinds: [ComparisonOperator] = [
      .contains, .beginsWith, .endsWith, .like, .equal, .notEqual, .less, .greaterOrEqual,
    ]
    return .comparison(path, kinds.randomElement(using: &random) ?? .equal, value, options)
  }

  private static func comparison(_ random: inout SeededGenerator) -> ComparisonOperator {
    [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual].randomElement(using: &random)
      ?? .equal
  }

  private static func integer(_ value: Int64) -> PredicateValue {
    PredicateValue(type: .int, stored: .integer(value))
  }
  private static func real(_ value: Double) -> PredicateValue {
    PredicateValue(type: .double, stored: .real(value))
  }
}

/// The meaning of a predicate, written down a second time.
private struct Evaluation {
  let book: PlainBook
  var member: [String: SQLValue]?

  init(book: PlainBook) { self.book = book }

  func holds(_ node: PredicateNode) -> Bool {
    switch node {
    case .constant(let value): return value
    case .and(let parts): return parts.allSatisfy(holds)
    case .or(let parts): return parts.contains(where: holds)
    case .not(let inner): return !holds(inner)
    case .comparison(let left, let comparison, let right, let options):
      return compare(value(left), comparison, value(right), options)
    case .between(let operand, let low, let high):
      return compare(value(operand), .greaterOrEqual, value(low), [])
        && compare(value(operand), .lessOrEqual, value(high), [])
    case .isIn(let operand, let list, let options):
      return list.contains { compare(value(operand), .equal, value($0), options) }
    case .quantified(let quantifier, _, let inner):
      let results = book.genres.map { genre -> Bool in
        var copy = self
        copy.member = genre
        return copy.holds(inner)
      }
      switch quantifier {
      case .any: return results.contains(true)
      case .all: return !results.contains(false)
      case .none: return !results.contains(true)
      }
    }
  }

  private func value(_ operand: PredicateOperand) -> SQLValue {
    switch operand {
    case .value(let value): return value.stored
    case .count: return .integer(Int64(book.genres.count))
    case .path(let path):
      if path.depth == 1 { return member?[path.names[0]] ?? .null }
      if path.names.count == 2 { return book.author?[path.names[1]] ?? .null }
      return book.values[path.names[0]] ?? .null
    case .arithmetic(let left, _, let right):
      guard case .integer(let a) = value(left), case .integer(let b) = value(right) else { return .null }
      let sum = a.addingReportingOverflow(b)
      return sum.overflow ? .null : .integer(sum.partialValue)
    case .coalesce(let first, let second): return value(first).isNull ? value(second) : value(first)
    }
  }

  private func compare(
    _ left: SQLValue, _ comparison: ComparisonOperator, _ right: SQLValue, _ options: StringOptions
  ) -> Bool {
    if comparison == .notEqual { return !compare(left, .equal, right, options) }
    if left.isNull || right.isNull { return comparison == .equal && left.isNull && right.isNull }
    if case .text(let a) = left, case .text(let b) = right {
      return strings(fold(a, options), comparison, fold(b, options))
    }
    let order = numbers(left, right)
    switch comparison {
    case .equal: return order == 0
    case .less: return order < 0
    case .lessOrEqual: return order <= 0
    case .greater: return order > 0
    case .greaterOrEqual: return order >= 0
    default: return false
    }
  }

  /// By value: a Decimal holds every Int64, and every double of the generator that is near one.
  private func numbers(_ left: SQLValue, _ right: SQLValue) -> Int {
    func exact(_ value: SQLValue) -> Decimal {
      switch value {
      case .integer(let number): Decimal(number)
      case .real(let number):
        abs(number) < 1e17
          ? Decimal(string: "\(number)") ?? 0
          : number > 0
            ? Decimal(sign: .plus, exponent: 60, significand: 1)
            : Decimal(sign: .minus, exponent: 60, significand: 1)
      default: 0
      }
    }
    let (a, b) = (exact(left), exact(right))
    return a < b ? -1 : a > b ? 1 : 0
  }

  private func strings(_ a: String, _ comparison: ComparisonOperator, _ b: String) -> Bool {
    let (left, right) = (Array(a.unicodeScalars), Array(b.unicodeScalars))
    switch comparison {
    case .equal: return left == right
    case .less: return left.lexicographicallyPrecedes(right)
    case .lessOrEqual: return !right.lexicographicallyPrecedes(left)
    case .greater: return right.lexicographicallyPrecedes(left)
    case .greaterOrEqual: return !left.lexicographicallyPrecedes(right)
    case .beginsWith: return left.starts(with: right)
    case .endsWith: return left.reversed().starts(with: right.reversed())
    case .contains: return right.isEmpty || left.indices.contains { left[$0...].starts(with: right) }
    case .like: return like(left[...], right[...])
    case .notEqual: return left != right
    }
  }

  private func like(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    switch first {
    case "*": return (text.startIndex...text.endIndex).contains { like(text[$0...], pattern.dropFirst()) }
    case "?": return !text.isEmpty && like(text.dropFirst(), pattern.dropFirst())
    case "\\" where pattern.count > 1:
      let literal = pattern[pattern.index(after: pattern.startIndex)]
      return text.first == literal && like(text.dropFirst(), pattern.dropFirst(2))
    case "\\": return text.isEmpty
    default: return text.first == first && like(text.dropFirst(), pattern.dropFirst())
    }
  }

  /// The generator's own letters, folded by a table and not by the library's function.
  private func fold(_ text: String, _ options: StringOptions) -> String {
    var result = text
    if options.contains(.diacriticInsensitive) {
      for (marked, plain) in [("Ä", "A"), ("é", "e"), ("e\u{301}", "e")] {
        result = result.replacingOccurrences(of: marked, with: plain, options: .literal)
      }
    }
    if options.contains(.caseInsensitive) {
      result = result.replacingOccurrences(of: "ß", with: "ss", options: .literal)
      result = String(
        String.UnicodeScalarView(
          result.unicodeScalars.map { scalar in
            scalar == "Ä"
              ? "ä" : (65...90).contains(scalar.value) ? Unicode.Scalar(scalar.value + 32) ?? scalar : scalar
          }))
    }
    return result
  }
}
