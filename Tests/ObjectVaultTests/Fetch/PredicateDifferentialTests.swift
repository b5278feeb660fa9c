// Generated predicates: the results of SQL and of the evaluation in memory are compared with a second
// evaluation of the same tree on plain values. PendingFetchTests covers unsaved changes.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .slow)) struct PredicateDifferential {
  static let names = [
    "Ann", "ann", "Änn", "Strasse", "Straße", "STRAẞE", "", "The Watch", "x*y", "50%_", "北京", "é",
    "e\u{301}", "한국",
  ]

  @Test func `random predicates find what a plain evaluation finds`() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 4711)
    var random = SeededGenerator(seed: seed)
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let pairs = Self.fill(context, &random)
    try context.save()
    for (object, plain) in pairs { plain.id = (object as? Book)?.id.rowID ?? 0 }
    let books = pairs.compactMap { $0.0 is Book ? $0.1 : nil }.sorted { $0.id < $1.id }
    let reader = temporary.store.makeContext()
    var failures = 0
    for round in 0..<(isTorture ? 100_000 : 800) {
      let node = Self.node(depth: round % 10 == 9 ? 5 : 3, &random)
      let expected = books.filter { PredicateEvaluation($0).holds(node) }.map(\.id)
      let evaluator = PredicateEvaluator([node], entity: "Book", schema: library)
      let evaluated = books.filter { evaluator.holds(for: $0) }.map(\.id)
      let fetch = reader.fetch(Book.self).where(node)
      let found: [Int64]
      do { found = try fetch.ids().map(\.rowID).sorted() } catch {
        Issue.record("seed \(seed), round \(round): \(node)\n\(error)")
        continue
      }
      guard found != expected || evaluated != expected else { continue }
      Issue.record(
        """
        seed \(seed), round \(round): \(node)
        \(try fetch.sql)
        found \(found.count), in memory \(evaluated.count), expected \(expected.count)
        """)
      failures += 1
      if failures > 5 { break }
    }
  }

  @Test func `the generator uses every operator, function and quantifier`() {
    var random = SeededGenerator(seed: 4711)
    var seen = SeenParts()
    for _ in 0..<2000 { seen.note(Self.node(depth: 3, &random)) }
    #expect(seen.comparisons == Set(ComparisonOperator.allCases))
    #expect(seen.calculations == Set(ArithmeticOperator.allCases))
    #expect(seen.functions == Set(PredicateFunction.allCases))
    #expect(seen.collections == Set(CollectionFunction.allCases))
    #expect(seen.casts == [.string, .int, .double, .decimal, .date])
    #expect(seen.hasList && seen.hasPosition && seen.hasConditional && seen.hasDistinct && seen.hasFiltered)
    #expect(seen.quantifiers == Set(Quantifier.allCases))
  }

  @Test func `the format language has the name of each function`() throws {
    for function in PredicateFunction.allCases {
      let count = [.raise, .periodStart, .shuffled].contains(function) ? 2 : 1
      let format =
        "\(function.rawValue.uppercased())(\([String](repeating: "title", count: count).joined(separator: ", "))) == 3"
      let operand = PredicateOperand.path(PropertyPath(["title"]))
      let three = PredicateOperand.value(PredicateValue(type: .int, stored: .integer(3)))
      let operands = [PredicateOperand](repeating: operand, count: count)
      let node = PredicateNode.comparison(.call(function, operands), .equal, three, [])
      #expect(try PredicateNode(format: format) == node)
      #expect(try JSONDecoder().decode(PredicateNode.self, from: JSONEncoder().encode(node)) == node)
    }
  }

  /// Inserts genres, authors and books, and returns them with their plain counterparts.
  static func fill(_ context: ObjectContext, _ random: inout SeededGenerator) -> [(
    ManagedObject, PlainObject
  )] {
    var pairs: [(ManagedObject, PlainObject)] = []
    func plain(_ object: ManagedObject, _ values: [String: SQLValue]) -> PlainObject {
      let plain = PlainObject()
      plain.values = values
      pairs.append((object, plain))
      return plain
    }
    let genres = ["crime", "Crime", "poem", ""].map { name in
      let genre = context.insert(Genre.self) { $0.name = name }
      return (genre, plain(genre, ["name": .text(name)]))
    }
    let authors = Self.names.enumerated().map { index, name in
      let nick: String? = index % 3 == 0 ? nil : name
      let age = [0, 1, 30, 150][index % 4]
      let author = context.insert(Author.self) {
        $0.name = "\(name)!"
        $0.nick = nick
        $0.age = age
      }
      let values: [String: SQLValue] = [
        "name": .text("\(name)!"), "nick": nick.map { .text($0) } ?? .null, "age": .integer(Int64(age)),
      ]
      return (author, plain(author, values))
    }
    for number in 0..<80 {
      let book = context.insert(Book.self)
      let object = plain(book, [:])
      change(book, object, number, &random)
      if let author = Bool.random(using: &random) ? authors.randomElement(using: &random) : nil {
        book.author = author.0
        object.one["author"] = author.1
        author.1.many["books", default: []].append(object)
      }
      for genre in genres where Int.random(in: 0..<3, using: &random) == 0 {
        book.genres.insert(genre.0)
        object.many["genres", default: []].append(genre.1)
        genre.1.many["books", default: []].append(object)
      }
    }
    return pairs
  }

  /// Gives a book random values.
  static func change(_ book: Book, _ plain: PlainObject, _ number: Int, _ random: inout SeededGenerator) {
    let title = (names.randomElement(using: &random) ?? "") + (number % 2 == 0 ? "" : " II")
    book.title = title.isEmpty ? "~" : title
    book.year = [0, -1, 10, 1999, 2000, 1 << 53, (1 << 53) + 1].randomElement(using: &random) ?? 0
    book.rating = [nil, 0, -0.0, 0.1, 1.5, 4, 9_007_199_254_740_992].randomElement(using: &random) ?? nil
    book.price =
      (["0.1", "10", "100.25", "-3", "2000", "9007199254740993", "9007199254740993.5", nil] as [String?])
      .randomElement(using: &random)?.flatMap { Decimal(string: $0) }
    plain.values = [
      "title": .text(book.title), "year": .integer(Int64(book.year)),
      "rating": book.rating.map { .real($0) } ?? .null, "price": book.price.map { .text("\($0)") } ?? .null,
    ]
  }

  // MARK: Generating

  static func node(depth: Int, _ random: inout SeededGenerator) -> PredicateNode {
    if depth > 0 {
      switch Int.random(in: 0..<9, using: &random) {
      case 0: return .and((0..<2).map { _ in node(depth: depth - 1, &random) })
      case 1: return .or((0..<2).map { _ in node(depth: depth - 1, &random) })
      case 2, 3: return .not(node(depth: depth - 1, &random))
      case 4, 5:
        let quantifier = [Quantifier.any, .all, .none].randomElement(using: &random) ?? .any
        // Paths to members, each with the property that a condition compares.
        let ways: [([String], String)] = [
          (["genres"], "name"), (["author", "books"], "title"), (["author", "books", "genres"], "name"),
          (["genres", "books", "author"], "nick"), (["genres", "books"], "title"),
        ]
        let way = ways.randomElement(using: &random) ?? ways[0]
        let inner =
          Int.random(in: 0..<5, using: &random) == 0
          ? number(&random, isOuter: false) : text(.path(PropertyPath(depth: 1, [way.1])), &random)
        return .quantified(
          quantifier, PropertyPath(way.0), Bool.random(using: &random) ? inner : .not(inner))
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

  private static let numbers: [PredicateOperand] = {
    let (year, rating) = (PropertyPath(["year"]), PropertyPath(["rating"]))
    let (price, age) = (PropertyPath(["price"]), PropertyPath(["author", "age"]))
    return [
      .path(year), .path(rating), .path(price), .path(age), .count(PropertyPath(["genres"])),
      .count(PropertyPath(["author", "books"])), .arithmetic(.path(year), .add, .value(integer(1))),
      .arithmetic(.path(price), .multiply, .value(integer(3))),
      .arithmetic(.coalesce(.path(price), .value(integer(0))), .add, .path(age)),
      .arithmetic(.path(year), .subtract, .value(integer(2000))),
      .arithmetic(.path(year), .divide, .value(integer(7))),
      .arithmetic(.path(year), .remainder, .value(integer(7))),
      .arithmetic(.path(rating), .divide, .value(real(0.5))), .call(.absolute, [.path(price)]),
      .call(.absolute, [.arithmetic(.path(year), .subtract, .value(integer(2000)))]),
      .call(.absolute, [.arithmetic(.path(rating), .subtract, .value(real(2)))]),
      .call(.length, [.path(PropertyPath(["title"]))]),
      .arithmetic(.call(.length, [.path(PropertyPath(["author", "nick"]))]), .add, .path(age)),
      .call(.floor, [.path(rating)]), .call(.ceiling, [.path(price)]), .call(.trunc, [.path(price)]),
      .call(.floor, [.path(price)]), .call(.squareRoot, [.path(age)]), .call(.logarithm, [.path(year)]),
      .call(.naturalLogarithm, [.path(rating)]), .call(.exponential, [.path(rating)]),
      .call(.raise, [.path(rating), .value(integer(2))]), .call(.shuffled, [.path(age), .value(integer(7))]),
      .cast(
        .call(
          .periodStart,
          [
            .cast(.arithmetic(.path(rating), .multiply, .value(real(100_000))), .date),
            .value(PredicateValue(type: .string, stored: .text("day"))),
          ]), .double),
      .cast(.path(rating), .int), .cast(.path(price), .int), .cast(.path(price), .double),
      .cast(.path(age), .decimal), .cast(.path(PropertyPath(["title"])), .int),
      .list(.maximum, [.path(rating), .path(age)]), .list(.minimum, [.path(price), .path(age), .path(year)]),
      .list(.sum, [.path(price), .path(age)]), .list(.count, [.path(price), .path(rating)]),
      .list(.average, [.path(age), .count(PropertyPath(["genres"]))]), .list(.sum, [.path(rating)]),
      .conditional(
        .comparison(.path(year), .greater, .value(integer(10)), []), .path(rating), .path(age)),
      .arithmetic(.path(rating), .add, .value(real(0.5))), .coalesce(.path(rating), .value(real(1.5))),
      .coalesce(.path(price), .value(integer(0))),
      .position(.path(PropertyPath([])), [5, 2, 5_000_000, 1, 7, 2]),
    ]
  }()

  /// Functions of members, by paths with a to-one in front, through several to-manys, and with conditions
  /// that use the fetched object. Their depths are those of conditions on the fetched object.
  private static let outer: [PredicateOperand] = {
    let (mates, genres) = (PropertyPath(["author", "books"]), PropertyPath(["genres"]))
    let year = PredicateOperand.path(PropertyPath(depth: 1, ["year"]))
    let others = PredicateNode.comparison(year, .less, .path(PropertyPath(["year"])), [])
    let rich = PredicateNode.comparison(
      .path(PropertyPath(depth: 1, ["price"])), .greater, .value(integer(5)), [])
    let choice = PredicateOperand.conditional(
      .quantified(
        .any, genres,
        .comparison(.path(PropertyPath(depth: 1, ["name"])), .equal, .path(PropertyPath(["title"])), [])),
      .path(PropertyPath(["year"])), .count(mates))
    return [
      MemberAggregate(.count, of: PropertyPath(["author", "books", "genres"])),
      MemberAggregate(.count, of: PropertyPath(["genres", "books"])),
      MemberAggregate(.count, of: mates, where: others), MemberAggregate(.sum, of: mates, value: ["year"]),
      MemberAggregate(.sum, of: mates, value: ["rating"]), MemberAggregate(.sum, of: mates, value: ["price"]),
      MemberAggregate(.sum, of: PropertyPath(["genres", "books", "author", "age"])),
      MemberAggregate(.average, of: mates, value: ["year"], where: rich),
      MemberAggregate(.average, of: PropertyPath(["genres", "books"]), value: ["author", "age"]),
      MemberAggregate(.minimum, of: mates, value: ["price"]),
      MemberAggregate(.maximum, of: PropertyPath(["genres", "books"]), value: ["rating"], where: others),
      MemberAggregate(.maximum, of: mates, value: ["year"], where: .not(rich)),
      MemberAggregate(.median, of: mates, value: ["year"]),
      MemberAggregate(.mode, of: mates, value: ["price"]),
      MemberAggregate(.deviation, of: mates, value: ["rating"]),
      MemberAggregate(.count, of: PropertyPath(["genres", "books", "title"]), isDistinct: true),
      MemberAggregate(.sum, of: PropertyPath(["genres", "books"]), value: ["price"], isDistinct: true),
      MemberAggregate(
        .count, of: PropertyPath(["genres", "books"]),
        where: .quantified(
          .any, PropertyPath(depth: 1, ["genres"]),
          .comparison(
            .path(PropertyPath(depth: 2, ["name"])), .beginsWith,
            .value(PredicateValue(type: .string, stored: .text("p"))), []))),
      MemberAggregate(
        .count, of: genres,
        where: .comparison(
          .aggregate(MemberAggregate(.maximum, of: PropertyPath(depth: 1, ["books"]), value: ["year"])),
          .greater,
          .path(PropertyPath(["year"])), [])),
    ].map { .aggregate($0) } + [choice]
  }()

  private static let constants: [PredicateValue] = [
    integer(0), integer(1), integer(2), integer(10), integer(1999), integer(1 << 53), integer((1 << 53) + 1),
    real(0.1), real(1.5), real(1998.5), real(9_007_199_254_740_992), real(-0.0), real(1e300), real(-1e300),
    real(.infinity), real(-.infinity), real(.nan), decimal("0.3"), decimal("0.1"), decimal("5"),
    decimal("100.250"), decimal("9007199254740993.5"), decimal("9007199254740992"), .null,
  ]

  private static func number(_ random: inout SeededGenerator, isOuter: Bool = true) -> PredicateNode {
    let operand = { (random: inout SeededGenerator) -> PredicateOperand in
      if isOuter, Int.random(in: 0..<5, using: &random) == 0 {
        return outer.randomElement(using: &random) ?? outer[0]
      }
      return numbers.randomElement(using: &random) ?? numbers[0]
    }
    let constant = { (random: inout SeededGenerator) in
      PredicateOperand.value(constants.randomElement(using: &random) ?? .null)
    }
    let subject = operand(&random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return .between(subject, constant(&random), constant(&random))
    case 1: return .isIn(subject, (0..<3).map { _ in constant(&random) }, [])
    case 2: return .isIn(subject, [operand(&random), constant(&random)], [])
    case 3: return .isIn(constant(&random), [operand(&random), constant(&random)], [])
    case 4: return .comparison(constant(&random), comparison(&random), subject, [])
    case 5: return .comparison(subject, comparison(&random), operand(&random), [])
    default: return .comparison(subject, comparison(&random), constant(&random), [])
    }
  }

  private static func text(_ path: PredicateOperand, _ random: inout SeededGenerator) -> PredicateNode {
    var path = path
    switch Int.random(in: 0..<12, using: &random) {
    case 0: path = .call(.lowercase, [path])
    case 1: path = .call(.uppercase, [path])
    case 3: path = .call(.canonical, [path])
    case 4: path = .cast(.path(PropertyPath(["year"])), .string)
    case 5:
      path = .conditional(
        .comparison(.path(PropertyPath(["year"])), .less, .value(integer(1999)), []), path,
        .path(PropertyPath(["title"])))
    case 2: path = .call(.uppercase, [.coalesce(path, .call(.lowercase, [.path(PropertyPath(["title"]))]))])
    default: break
    }
    let words =
      names + ["A", "s", "ß", "SS", "*a*", "?nn!", "*?n*", "\\*", "Watch", " II", "crime", "\u{308}", "하"]
    let value = PredicateOperand.value(
      Int.random(in: 0..<12, using: &random) == 0
        ? .null : PredicateValue(type: .string, stored: .text(words.randomElement(using: &random) ?? "")))
    let options = StringOptions(rawValue: [0, 0, 1, 2, 3].randomElement(using: &random) ?? 0)
    if Int.random(in: 0..<8, using: &random) == 0 {
      return .isIn(path, [value, .path(PropertyPath(["author", "nick"]))], options)
    }
    if Int.random(in: 0..<10, using: &random) == 0 {
      let pattern = ["[A-Za-z]+", ".*II", "Ann!?|The Watch"].randomElement(using: &random) ?? ".*II"
      return .comparison(path, .matches, .value(PredicateValue(type: .string, stored: .text(pattern))), [])
    }
    let kinds: [ComparisonOperator] = [
      .contains, .beginsWith, .endsWith, .like, .equal, .notEqual, .less, .greaterOrEqual,
    ]
    return .comparison(path, kinds.randomElement(using: &random) ?? .equal, value, options)
  }

  /// The operators, functions and quantifiers that occurred in predicates.
  private struct SeenParts {
    var comparisons: Set<ComparisonOperator> = []
    var calculations: Set<ArithmeticOperator> = []
    var functions: Set<PredicateFunction> = []
    var collections: Set<CollectionFunction> = []
    var casts: Set<AttributeType> = []
    var (hasList, hasConditional, hasDistinct, hasFiltered) = (false, false, false, false)
    var hasPosition = false
    var quantifiers: Set<Quantifier> = []

    mutating func note(_ node: PredicateNode) {
      if case .comparison(_, let comparison, _, _) = node { comparisons.insert(comparison) }
      if case .quantified(let quantifier, _, _) = node { quantifiers.insert(quantifier) }
      for operand in node.operands { note(operand) }
      for condition in node.conditions { note(condition) }
    }

    mutating func note(_ operand: PredicateOperand) {
      switch operand {
      case .value, .variable, .path, .count, .coalesce: break
      case .position: hasPosition = true
      case .arithmetic(_, let operation, _): calculations.insert(operation)
      case .call(let function, _): functions.insert(function)
      case .list: hasList = true
      case .conditional: hasConditional = true
      case .cast(_, let type): casts.insert(type)
      case .aggregate(let members):
        collections.insert(members.function)
        hasDistinct = hasDistinct || members.isDistinct
        hasFiltered = hasFiltered || members.condition != .constant(true)
      }
      for part in operand.parts { note(part) }
      if let condition = operand.condition { note(condition) }
    }
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
  private static func decimal(_ text: String) -> PredicateValue {
    PredicateValue(type: .decimal, stored: .text(text))
  }
}
