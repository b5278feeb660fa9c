// Numbers, nil and lists in predicates, for which a simple translation would find wrong rows.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.sampled, .slow)) struct PredicateValues {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  /// Inserts a book for each price.
  private func fill(_ prices: [String?]) throws {
    for (index, price) in prices.enumerated() {
      context.insert(Book.self) {
        $0.title = price ?? "nil"
        $0.year = index
        $0.price = price.flatMap { Decimal(string: $0) }
      }
    }
    try context.save()
  }

  private func titles(_ format: String, _ arguments: Any?...) throws -> Set<String> {
    let node = try PredicateNode(format: format, arguments: arguments)
    return Set(try context.fetch(Book.self).where(node).all().map(\.title))
  }

  // MARK: Decimal

  @Test func `a Decimal keeps its order and exactness in every operation`() throws {
    try fill(["100.25", "10", "5", "0.1", "-3", "9007199254740993.5", nil])
    let five = Decimal(5)
    let found = try context.fetch(Book.self).where(#Predicate { ($0.price ?? 0) > five }).all().map(\.title)
    #expect(Set(found) == ["100.25", "10", "9007199254740993.5"])
    #expect(try titles("price * 3 == 0.3") == ["0.1"])
    #expect(try titles("price + 0.2 == 0.3") == ["0.1"])
    #expect(try titles("price / 4 == 2.5") == ["10"])
    #expect(try titles("price - 100 IN {0.25, 7}") == ["100.25"])
    #expect(try titles("price * 10 BETWEEN {1, 50}") == ["0.1", "5"])
    #expect(try titles("price > -1e300").count == 6)
    #expect(try titles("price < 1e300 AND price > -3.0000000000000000000000000000000000000000001").count == 6)
    #expect(try titles("price == 100.2500") == ["100.25"])
    #expect(try titles("year == 5 AND price > 9007199254740993").count == 1)
    #expect(try titles("price == 9007199254740993.5") == ["9007199254740993.5"])
  }

  @Test func `numbers of all types compare by value, also between columns`() throws {
    try fill(["0", "1.5", "2", "3", "9007199254740993.5"])
    for book in try context.fetch(Book.self).all() { book.rating = [0.1, 1.5, 3, 3, 1e300][book.year] }
    try context.save()
    #expect(try titles("price == year") == ["0", "2", "3"])
    #expect(try titles("year < price") == ["1.5", "9007199254740993.5"])
    #expect(try titles("price == rating") == ["1.5", "3"])
    #expect(try titles("rating > price") == ["0", "2", "9007199254740993.5"])
    let large = try #require(try context.fetch(Book.self).where("year == 4").first())
    large.year = 9_007_199_254_740_994
    try context.save()
    #expect(try titles("year == %@", Decimal(string: "9007199254740993.5")).isEmpty)
    #expect(try titles("year > %@", Decimal(string: "9007199254740993.5")).count == 1)
    large.year = 9_007_199_254_740_993
    try context.save()
    #expect(try titles("year > 9007199254740992.0") == ["9007199254740993.5"])
    #expect(try titles("year == %@", Decimal(string: "9007199254740993.5")).isEmpty)
  }

  @Test func `a calculation whose result is out of range gives nil and never traps`() throws {
    try fill(["99999999999999999999999999999999999999", "0"])
    let huge = Decimal.greatestFiniteMagnitude
    #expect(try titles("price * %@ == nil", huge) == ["99999999999999999999999999999999999999"])
    #expect(try titles("1 / price == nil") == ["0"])
    #expect(try titles("%@ * %@ == nil", Decimal(string: "1e-100"), Decimal(string: "1e-100")).isEmpty)
    #expect(try titles("year == -%@", Int.min).isEmpty)
    #expect(try titles("year * %@ == nil", Int.max).isEmpty)
    #expect(try titles("(year + 2) * %@ == nil", Int.max).count == 2)
  }

  @Test func `infinity is beyond every number, and NaN equals nothing`() throws {
    try fill(["1", nil])
    for attribute in ["price", "year"] {
      let known = try titles("\(attribute) != nil")
      #expect(try titles("\(attribute) < %@", Double.infinity) == known)
      #expect(try titles("\(attribute) >= %@", -Double.infinity) == known)
      #expect(try titles("\(attribute) > %@", Double.infinity).isEmpty)
      #expect(try titles("\(attribute) == %@", Double.infinity).isEmpty)
      for comparison in ["==", "<", ">=", "<=", ">"] {
        #expect(try titles("\(attribute) \(comparison) %@", Double.nan).isEmpty)
      }
      #expect(try titles("\(attribute) != %@", Double.nan).count == 2)
    }
    // NaN is not nil either, although the engine stores it as NULL.
    for format in ["%@ == nil", "%@ IN {nil}", "%@ IN {year + 1, nil}", "%@ BETWEEN {nil, nil}"] {
      #expect(try titles(format, Double.nan).isEmpty, "\(format)")
      #expect(try titles("NOT (\(format))", Double.nan).count == 2, "\(format)")
    }
    #expect(try titles("%@ != nil", Double.nan).count == 2)
    let (number, none) = (Double.nan, Decimal.nan)
    #expect(try context.fetch(Book.self).where(#Predicate { $0.rating == number }).ids().isEmpty)
    #expect(try context.fetch(Book.self).where(#Predicate { $0.rating != number }).count() == 2)
    #expect(try context.fetch(Book.self).where(#Predicate { $0.price == none }).ids().isEmpty)
    let far = [1.5, .infinity]
    for value in far + far {
      #expect(try context.fetch(Book.self).where(#Predicate { ($0.rating ?? 0) < value }).count() == 2)
    }
  }

  @Test func `calculations with infinity and NaN give Foundation's results`() throws {
    let (far, none, step, never) = (Double.infinity, Double.nan, 1.0, 0.0)
    let ratings: [Double?] = [nil, 0, 1.5, -2, far, -far]
    for rating in ratings {
      context.insert(Book.self) { ($0.title, $0.rating) = ("\(rating as Any)", rating) }
    }
    let predicates: [Predicate<Book>] = [
      #Predicate { ($0.rating ?? step) > -far }, #Predicate { ($0.rating ?? step) >= -far },
      #Predicate { ($0.rating ?? step) == -far }, #Predicate { ($0.rating ?? -far) < never },
      #Predicate { ($0.rating ?? step) * step == ($0.rating ?? step) },
      #Predicate { ($0.rating ?? step) + step > never }, #Predicate { -($0.rating ?? step) < never },
      #Predicate { ($0.rating ?? step) - far < never }, #Predicate { ($0.rating ?? step) / far == never },
      #Predicate { ($0.rating ?? none) == step }, #Predicate { ($0.rating ?? none) != step },
      #Predicate { ($0.rating ?? none) > never }, #Predicate { [step, far].contains($0.rating ?? none) },
      #Predicate { ($0.rating ?? far) + far == far },
    ]
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      let books = try context.fetch(Book.self).all()
      for (number, predicate) in predicates.enumerated() {
        let expected = try books.filter { try predicate.evaluate($0) }.map(\.title)
        #expect(try context.fetch(Book.self).where(predicate).all().map(\.title) == expected, "\(number)")
        #expect(try context.fetch(Book.self).where(predicate).count() == expected.count, "\(number)")
      }
    }
  }

  @Test func `nil compares as nil, whatever type a tree gives it`() throws {
    try fill(["1", nil])
    let price = PredicateOperand.path(PropertyPath(["price"]))
    for type in AttributeType.allCases {
      var null = PredicateValue(type: type, stored: .null)
      for entity in [nil, "Author"] {
        null.entity = entity
        let nodes: [(PredicateNode, Int)] = [
          (.comparison(price, .equal, .value(null), []), 1),
          (.comparison(.value(null), .equal, price, []), 1),
          (.comparison(price, .notEqual, .value(null), []), 1),
          (.comparison(price, .less, .value(null), []), 0),
          (.isIn(price, [.value(null)], []), 1), (.isIn(.value(null), [.value(null)], []), 2),
          (.comparison(.value(null), .equal, .value(.null), []), 2),
          (.between(price, .value(null), .value(null)), 0),
          (.comparison(.path(PropertyPath(["title"])), .contains, .value(null), []), 0),
          (.comparison(.path(PropertyPath(["author"])), .equal, .value(null), []), 2),
          (.comparison(.coalesce(.value(null), price), .equal, .value(null), []), 1),
        ]
        for (node, count) in nodes {
          #expect(try context.fetch(Book.self).where(node).count() == count, "\(type) \(node)")
        }
      }
    }
  }

  @Test func `a captured value that cannot be stored is an error of the predicate`() async throws {
    let samples = try await TemporaryStore(Schema { Entity(Odd.self) })
    let context = samples.store.makeContext()
    let (never, relative) = (
      Date(timeIntervalSinceReferenceDate: .nan), URL(string: "x", relativeTo: URL(string: "https://a.b/"))!
    )
    let (failing, maybe) = (Failing(), Optional(Failing()))
    for predicate in [
      #Predicate<Odd> { $0.date == never }, #Predicate { $0.url == relative },
      #Predicate { $0.failing == failing },
      #Predicate { $0.maybe == maybe },
    ] {
      #expect {
        try context.fetch(Odd.self).where(predicate).all()
      } throws: { error in
        guard case StoreError.predicate(let error) = error else { return false }
        return error.reason.contains("cannot be compared")
      }
    }
    for argument in [never, relative, failing, [never]] as [Any] {
      #expect {
        try context.fetch(Odd.self).where("date == %@", argument)
      } throws: { error in
        guard case StoreError.predicate(let error) = error else { return false }
        return error.reason.contains("argument 1")
      }
    }
    #expect(throws: StoreError.self) { try PredicateValue(never) }
    // The name contains "nan", but the value is not NaN.
    #expect(throws: StoreError.self) { try PredicateValue(Fruit.banana) }
  }

  // MARK: Lists

  @Test func `IN matches nil on both of its sides`() throws {
    let author = context.insert(Author.self) { $0.name = "A" }
    for (title, rating) in [("a", nil), ("b", 30.0)] as [(String, Double?)] {
      context.insert(Book.self) {
        $0.title = title
        $0.rating = rating
        $0.author = title == "b" ? author : nil
      }
    }
    try context.save()
    #expect(try titles("rating IN {author.age}") == ["a", "b"])
    #expect(try titles("author.nick IN {title, nil}") == ["a", "b"])
    #expect(try titles("nil IN {rating, 30}") == ["a"])
    #expect(try titles("nil IN {rating, nil}") == ["a", "b"])
    #expect(try titles("30 IN {rating, author.age}") == ["b"])
    #expect(try titles("NOT rating IN {author.age, 7}").isEmpty)
    #expect(try titles("NOT nil IN {rating, 30}") == ["b"])
    #expect(try titles("nil IN {}").isEmpty)
  }

  @Test func `a list may have a hundred thousand values of any type`() async throws {
    let samples = try await TemporaryStore(Schema { Entity(Typed.self) })
    let context = samples.store.makeContext()
    let (day, id) = (Date(timeIntervalSinceReferenceDate: 0.1), UUID())
    context.insert(Typed.self) {
      $0.string = "x77777é"
      $0.date = day
      $0.uuid = id
      $0.int = .max - 77_777
      $0.double = 0.1
      $0.decimal = Decimal(string: "77777.5") ?? 0
      $0.data = Data([1, 2])
    }
    context.insert(Typed.self) { $0.string = "other" }
    try context.save()
    let (numbers, fewer) = (0..<99_999, 70_000..<80_000)
    let lists: [(String, [Any])] = [
      ("string", numbers.map { "x\($0)é" }),
      ("date", numbers.map { Date(timeIntervalSinceReferenceDate: 0.1 + Double($0)) }),
      ("uuid", numbers.map { _ in UUID() } + [id]), ("int", numbers.map { Int.max - $0 }),
      ("double", fewer.map { -0.5 - Double($0) } + numbers.prefix(5).map { 0.1 + Double($0) }),
      ("decimal", fewer.map { Decimal($0) + 0.5 }),
      ("data", fewer.map { Data([1, UInt8(truncatingIfNeeded: $0)]) }),
    ]
    for (attribute, list) in Rotation.part(of: lists, oneIn: 3) {
      let count = try context.fetch(Typed.self).where("%K IN %@", attribute, list).count()
      #expect(count == 1, "\(attribute)")
    }
    #expect(
      try context.fetch(Typed.self).where("NOT uuid IN %@", [id] + fewer.map { _ in UUID() }).count() == 1)
  }
}

final class Odd: ManagedObject {
  @Attribute var date: Date
  @Attribute var url: URL
  @Attribute var failing: Failing
  @Attribute var maybe: Failing?
}

struct Failing: Codable, Equatable, AttributeValue {
  var number = 0
  init() {}
  static var placeholder: Failing { Failing() }
  func encode(to encoder: any Encoder) throws { throw CancellationError() }
}

/// Is declared to be stored as a number, but has none.
enum Fruit: AttributeValue {
  case banana
  static var attributeType: AttributeType { .double }
  static var placeholder: Fruit { .banana }
  func stored() throws -> SQLValue { throw CancellationError() }
  init?(stored value: SQLValue) { nil }
}

final class Typed: ManagedObject {
  @Attribute var flag = false
  @Attribute var string = ""
  @Attribute var date = Date(timeIntervalSinceReferenceDate: -1)
  @Attribute var uuid = UUID()
  @Attribute var int = -1
  @Attribute var double = -1.0
  @Attribute var decimal = Decimal(-1)
  @Attribute var data = Data()
}
