// Predicates at the limits run on both engines and on a small stack. Predicates beyond a limit are errors
// of the library.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PredicateLimits {
  let temporary: TemporaryStore

  init() async throws { temporary = try await TemporaryStore(library) }

  /// Parses and runs on a thread with 512 KiB of stack.
  private func run(_ make: @escaping @Sendable (Fetch<Book>) throws -> Fetch<Book>) async throws {
    let store = temporary.store
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      let thread = Thread {
        done.resume(
          with: Result {
            _ = try make(store.makeContext().fetch(Book.self)).sorted(by: \.title).limit(3).all()
          })
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
  }

  private func run(_ format: String) async throws { try await run { try $0.where(format) } }

  private func expectPredicateError(
    _ reason: String, _ location: SourceLocation = #_sourceLocation,
    _ make: @escaping @Sendable (Fetch<Book>) throws -> Fetch<Book>
  ) async {
    do {
      try await run(make)
      Issue.record("no error", sourceLocation: location)
    } catch StoreError.predicate(let error) {
      #expect(error.reason.contains(reason), sourceLocation: location)
      #expect(error.description.utf8.count < 1500, sourceLocation: location)
    } catch { Issue.record(error, sourceLocation: location) }
  }

  private func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

  @Test func `formats at the limits of depth and length run`() async throws {
    let deep = PredicateError.maximumDepth
    try await run(repeated("(", deep) + "year == 1" + repeated(")", deep))
    try await run(repeated("NOT ", deep) + "year == 1")
    try await run(repeated("NOT (", deep / 2) + "year < 1" + repeated(")", deep / 2))
    try await run("year == " + repeated("-", deep) + "year")
    // Each AND and OR is one level, whichever side is the deep one.
    for (open, close) in [("(year == 1 AND (year == 2 OR ", "))"), ("(year == 1 OR (year == 2 AND ", "))")] {
      try await run(
        repeated(open, deep / 2 - 1) + "author.nick LIKE[cd] 'a*'" + repeated(close, deep / 2 - 1))
    }
    try await run(
      repeated("(", deep - 2) + "year == 1" + repeated(" AND year < 3) OR year == 2", 0)
        + repeated(")", deep - 2))
    try await run("year == 1" + repeated(" + 1", PredicateError.maximumOperands - 2))
    try await run("year > " + repeated("(1 + ", deep - 1) + "year" + repeated(")", deep - 1))
    let half = PredicateError.maximumConditions - 2
    try await run("year == nil" + repeated(" AND year != nil", half))
    try await run("year == nil" + repeated(" OR title == author.name", half))
    try await run("year == 1" + repeated(" OR year == 2", PredicateError.maximumValues - 1))
    try await run("title IN {'x'" + repeated(", 'y'", 5000) + "}")
  }

  @Test func `predicate trees at the limits run`() async throws {
    let (nick, age) = (PropertyPath(["author", "nick"]), PropertyPath(["author", "age"]))
    let text = { PredicateOperand.value(PredicateValue(type: .string, stored: .text($0))) }
    let number = PredicateOperand.value(PredicateValue(type: .int, stored: .integer(7)))
    var (chain, sum) = (PredicateOperand.path(nick), PredicateOperand.path(age))
    for _ in 2..<PredicateError.maximumOperands {
      chain = .coalesce(.path(nick), chain)
      sum = .coalesce(.arithmetic(sum, .add, number), number)
    }
    let leaves: [PredicateNode] = [
      .comparison(.path(nick), .contains, text("é"), [.caseInsensitive, .diacriticInsensitive]),
      .isIn(.path(nick), (0...200).map { text("\($0)") } + [.path(nick)], [.caseInsensitive]),
      .comparison(.path(PropertyPath(["price"])), .equal, .path(PropertyPath(["rating"])), []),
      .comparison(.count(PropertyPath(["author", "books"])), .less, .count(PropertyPath(["genres"])), []),
      .comparison(chain, .beginsWith, .path(nick), [.caseInsensitive]),
      .comparison(.arithmetic(.path(age), .add, number), .less, .coalesce(.path(age), number), []),
    ]
    #expect(throws: StoreError.self) {
      try temporary.store.makeContext().fetch(Book.self).where(.comparison(sum, .less, number, [])).ids()
    }
    for leaf in leaves { try await trees(with: leaf) }
  }

  private func trees(with leaf: PredicateNode) async throws {
    // Nested members with conditions on each level, and the remaining depth above them.
    var members = 0
    func nested(depth: Int, quantifiers: Int) -> PredicateNode {
      var node = leaf
      for level in (0..<depth).reversed() {
        let other = PredicateNode.not(
          .comparison(.path(PropertyPath(["year"])), .less, .path(PropertyPath(["author", "age"])), []))
        node = level % 2 == 0 ? .and([other, node]) : .or([other, node])
      }
      for level in (0..<quantifiers).reversed() {
        let path = PropertyPath(depth: level, [level % 2 == 0 ? "genres" : "books"])
        let other = PredicateNode.comparison(
          .path(PropertyPath(["author", "nick"])), .beginsWith,
          .value(PredicateValue(type: .string, stored: .text("x"))), [])
        node = .quantified(level % 2 == 0 ? .any : .all, path, .or([other, node]))
        members += 1
      }
      return node
    }
    let most = PredicateError.maximumMemberDepth
    for node in [
      nested(depth: PredicateError.maximumDepth - 4 - 2 * most, quantifiers: most),
      nested(depth: PredicateError.maximumDepth - 4, quantifiers: 0),
      nested(depth: 0, quantifiers: most),
    ] {
      try await run { $0.where(node) }
      try await run { $0.where(.not(node)) }
    }
    #expect(members > 0)
  }

  /// A balanced tree of AND and OR, which no order of its parts makes flat.
  @Test func `a full predicate tree of nine levels runs`() async throws {
    func tree(_ depth: Int) -> PredicateNode {
      guard depth > 0 else {
        return .not(
          .comparison(
            .path(PropertyPath(["author", "nick"])), .like, .path(PropertyPath(["title"])), [.caseInsensitive]
          ))
      }
      let parts = [tree(depth - 1), tree(depth - 1)]
      return depth % 2 == 0 ? .and(parts) : .or(parts)
    }
    let node = tree(8)
    try await run { $0.where(node) }
    try await run { $0.where(.quantified(.none, PropertyPath(["genres"]), node)) }
  }

  @Test func `a predicate beyond a limit is an error and no crash`() async throws {
    for format in [
      repeated("(", 30_000), repeated("{", 60_000), repeated("-", 10_000), repeated("NOT ", 15_000),
      repeated("(", 51) + "year == 1" + repeated(")", 51), "year == " + repeated("-", 60) + "1",
      "year == 1 AND NOT " + repeated("(NOT ", 60) + "year == 1" + repeated(")", 60),
      repeated("ANY ", 16_000) + "x", repeated("SOME ", 13_000) + "x", repeated("ALL ", 16_000) + "x",
      repeated("NONE ", 13_000) + "x", repeated("ANY NOT -", 7_000), repeated("! ", 30_000) + "x",
      repeated("ANY x IN {", 6_000), repeated("x == (", 10_000), repeated("x + (y * ", 7_000),
    ] {
      await expectPredicateError("nested deeper") { try $0.where(format) }
    }
    await expectPredicateError("operands") {
      try $0.where("year == 30" + String(repeating: "+0", count: 30_000))
    }
    await expectPredicateError("operands") {
      try $0.where("year == 30" + String(repeating: "+0", count: 900))
    }
    await expectPredicateError("1000 conditions") {
      try $0.where("year == nil" + String(repeating: " AND year != nil", count: 1000))
    }
    await expectPredicateError("at most 900 are allowed") {
      try $0.where("title BEGINSWITH 'a'" + String(repeating: " OR title BEGINSWITH 'b'", count: 500))
    }
    await expectPredicateError("bytes") { try $0.where(String(repeating: "x", count: 70_000)) }
    await expectPredicateError("arguments") {
      $0.where(try PredicateNode(format: "year == %@", arguments: [Any?](repeating: 1, count: 901)))
    }
    await expectPredicateError("at most 1000000 are allowed") {
      try $0.where("year IN %@", Array(0...1_000_000))
    }
  }

  @Test func `a list of as many ids or values as are allowed runs`() async throws {
    let count = isTorture ? PredicateError.maximumListCount : 60_000
    let temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      for number in 0..<50 {
        context.insert(Book.self) {
          ($0.title, $0.year) = ("book \(number * (count / 20))", number * (count / 20))
        }
      }
    }
    let context = temporary.store.makeContext()
    let books = context.fetch(Book.self).sorted(by: \.id)
    let numbers = Array(0..<count)
    #expect(try books.where("year IN %@", numbers).count() == 20)
    #expect(try books.where("NOT year IN %@", numbers).all().map(\.year).min() == count)
    #expect(
      try books.where("title IN %@", numbers.map { "book \($0)" }).all().map(\.year).max() == count / 20 * 19)
    #expect(try books.where("id IN %@", numbers).all().count == 50)
    let set = Set(numbers)
    #expect(try books.where(#Predicate { set.contains($0.year) }).count() == 20)
    // A change that is not saved counts, too.
    let changed = try #require(try books.first())
    changed.year = count + 1
    #expect(try books.where("year IN %@", numbers).count() == 19)
  }

  @Test func `subqueries, choices and functions at the limits run`() async throws {
    @Sendable func subquery(_ levels: Int, _ leaf: String) -> String {
      (0..<levels).reversed().reduce(leaf) { inner, level in
        let path = level == 0 ? "genres" : "$x\(level - 1).\(level % 2 == 0 ? "genres" : "books")"
        return "SUBQUERY(\(path), $x\(level), $x\(level) != nil AND (\(inner))).@count == 1"
      }
    }
    @Sendable func ternary(_ levels: Int, _ leaf: String) -> String {
      (0..<levels).reduce(leaf) { inner, level in "TERNARY(\(inner), year, \(level)) == rating" }
    }
    let most = PredicateError.maximumMemberDepth
    let deep = PredicateError.maximumDepth
    try await run(subquery(most, "year == 1"))
    try await run("NOT " + subquery(most, repeated("(", 4) + "author.nick LIKE[cd] 'a*'" + repeated(")", 4)))
    try await run(ternary(deep / 4 - 1, "year == 1"))
    try await run("NOT " + ternary(deep / 4 - 1, "author.nick LIKE[cd] 'a*'"))
    try await run(subquery(2, ternary(3, "$x1.title == title")))
    try await run(
      repeated("abs(", PredicateError.maximumCalls) + "year" + repeated(")", PredicateError.maximumCalls)
        + " > 1")
    try await run("max(" + repeated("year, ", PredicateError.maximumOperands - 3) + "1) > 1")
    try await run("year IN {" + repeated("author.books.@sum.year, ", 30) + "1}")
    await expectPredicateError("nested deeper") { try $0.where(subquery(most + 1, "year == 1")) }
    await expectPredicateError("nested deeper") { try $0.where(ternary(deep / 4, "year == 1")) }
    await expectPredicateError("nested deeper") {
      try $0.where("author.books.@sum.year > 1 AND " + subquery(most, "$x3.genres.@max.name == 'x'"))
    }
    await expectPredicateError("operands") {
      try $0.where("sum(" + String(repeating: "1, ", count: 200) + "1) > 1")
    }
    for format in [
      repeated("SUBQUERY(genres, $x, ", 3000), repeated("TERNARY(", 8000), repeated("sum(", 15_000),
      repeated("CAST(", 12_000), repeated("x[0].", 12_000), repeated("max(1, ", 9000),
      repeated("2 ** ", 13_000) + "2",
    ] {
      await expectPredicateError(" ") { try $0.where(format) }
    }
  }

  @Test func `decoding a tree that is too deep throws, even on a small stack`() async throws {
    let path = #"{"path":{"_0":{"depth":0,"names":["year"]}}}"#
    let sum = #"{"arithmetic":{"_0":\#(path),"_1":"+","_2":"#
    for (start, open, leaf, close, end) in [
      ("", #"{"not":{"_0":"#, #"{"constant":{"_0":true}}"#, "}}", ""),
      ("", #"{"and":{"_0":["#, #"{"constant":{"_0":true}}"#, "]}}", ""),
      (#"{"truth":{"_0":"#, sum, path, "}}", "}}"),
      (#"{"truth":{"_0":"#, #"{"coalesce":{"_0":\#(path),"_1":"#, path, "}}", "}}"),
      (#"{"truth":{"_0":"#, #"{"call":{"_0":"length","_1":["#, path, "]}}", "}}"),
      (#"{"truth":{"_0":"#, #"{"list":{"_0":"sum","_1":["#, path, "]}}", "}}"),
      (#"{"truth":{"_0":"#, #"{"cast":{"_1":"int","_0":"#, path, "}}", "}}"),
      (
        "", #"{"truth":{"_0":{"conditional":{"_1":\#(path),"_2":\#(path),"_0":"#,
        #"{"constant":{"_0":true}}"#, "}}}}", ""
      ),
      (
        "",
        #"{"truth":{"_0":{"aggregate":{"_0":{"function":"sum","value":[],"isDistinct":false,"path":{"depth":0,"names":[]},"condition":"#,
        #"{"constant":{"_0":true}}"#, "}}}}}", ""
      ),
    ] {
      for depth in [101, 150, 200, 245, 2_000] {
        let text = start + repeated(open, depth) + leaf + repeated(close, depth) + end
        await #expect(throws: (any Error).self) {
          try await run { fetch in
            fetch.where(try JSONDecoder().decode(PredicateNode.self, from: Data(text.utf8)))
          }
        }
      }
    }
    // As deep as the limits allow.
    let leaf = #"{"comparison":{"_0":\#(repeated(sum, 99))\#(path)\#(repeated("}}", 99)),"_1":"less","_2":"#
    let text = repeated(#"{"not":{"_0":"#, 31) + leaf + path + #","_3":0}}"# + repeated("}}", 31)
    try await run { fetch in
      fetch.where(try JSONDecoder().decode(PredicateNode.self, from: Data(text.utf8)))
    }
  }

  @Test func `a predicate tree survives a JSON round trip, and invalid JSON throws`() throws {
    let (year, one) = (PredicateOperand.path(PropertyPath(["year"])), try PredicateValue(1))
    let node = PredicateNode.and([
      .or([.constant(true), .not(.truth(year))]),
      .comparison(
        .coalesce(year, .value(one)), .like, .count(PropertyPath(depth: 1, ["genres"])), [.caseInsensitive]),
      .between(.arithmetic(year, .remainder, .value(.id(3, of: "Author"))), year, year),
      .isIn(year, [.value(one), .value(.null), .variable("x")], []), .truth(.call(.length, [year])),
      .quantified(.none, PropertyPath(["genres"]), .constant(false)),
      .truth(.conditional(.truth(year), .list(.median, [year]), .cast(year, .date))),
      .truth(
        .aggregate(
          MemberAggregate(
            .deviation, of: PropertyPath(["genres", "books"]), value: ["year"], isDistinct: true,
            where: .comparison(year, .matches, year, [])))),
    ])
    #expect(try JSONDecoder().decode(PredicateNode.self, from: JSONEncoder().encode(node)) == node)
    for text in [
      "{}", "[]", "3", #"{"not":{}}"#, #"{"nought":{"_0":1}}"#, #"{"and":{"_0":[]},"or":{"_0":[]}}"#,
    ] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(PredicateNode.self, from: Data(text.utf8))
      }
    }
  }

  @Test func `trees that are built in code are measured before any recursion`() async throws {
    // On a thread whose stack is large enough for releasing the tree.
    let store = temporary.store
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      let thread = Thread {
        var node = PredicateNode.constant(true)
        for _ in 0..<20_000 { node = .not(node) }
        var operand = PredicateOperand.path(PropertyPath(["year"]))
        for _ in 0..<20_000 { operand = .arithmetic(operand, .add, operand) }
        let fetch = store.makeContext().fetch(Book.self)
        #expect(throws: StoreError.self) { try fetch.where(node).all() }
        for _ in 0..<20_000 { node = .and([node, node]) }
        #expect(throws: StoreError.self) { try fetch.where(node).all() }
        #expect(throws: StoreError.self) { try fetch.where(.truth(operand)).all() }
        done.resume()
      }
      thread.stackSize = 64 << 20
      thread.start()
    }
    let year = PredicateOperand.path(PropertyPath(["year"]))
    for node in [
      PredicateNode.truth(.path(PropertyPath(depth: -1, ["year"]))),
      .truth(.path(PropertyPath(depth: 1, ["year"]))),
      .quantified(.any, PropertyPath(depth: -3, ["genres"]), .constant(true)),
      .comparison(year, .equal, .value(PredicateValue(type: .int, stored: .text("1"))), []),
      .comparison(year, .equal, .value(PredicateValue(type: nil, stored: .integer(1))), []),
      .comparison(year, .equal, .value(PredicateValue(type: .decimal, stored: .text("12abc"))), []),
      .comparison(year, .equal, .path(PropertyPath([String](repeating: "author", count: 70))), []),
    ] {
      #expect(throws: StoreError.self) { try store.makeContext().fetch(Book.self).where(node).ids() }
    }
  }

  @Test func `a path may have the maximum number of to-ones, and more are an error`() async throws {
    let chain = try await TemporaryStore(Schema { Entity(Link.self) })
    let context = chain.store.makeContext()
    func names(_ count: Int) -> String { String(repeating: "next.", count: count) + "number == 1" }
    #expect(try context.fetch(Link.self).where(names(PredicateError.maximumSteps - 1)).ids().isEmpty)
    let both = names(30) + " AND " + String(repeating: "other.", count: 30) + "number == 1"
    #expect(try context.fetch(Link.self).where(both).ids().isEmpty)
    #expect(throws: StoreError.self) { try context.fetch(Link.self).where(names(70)).ids() }
    #expect(throws: StoreError.self) {
      try context.fetch(Link.self).where(both + " AND other.next.number == 1").ids()
    }
  }

  @Test func `parsing or refusing a long text takes less than five seconds`() throws {
    let texts = [
      repeated("(", 40) + "year ==", repeated("(", 40) + "year CONATINS 3" + repeated(")", 40),
      "year == 1 " + repeated("AND (year == 1) ", 900), "title IN {" + repeated("'x', ", 12_000),
      "title == " + repeated("ａ", 20_000), repeated("(year + ", 45), repeated("x.", 30_000),
      repeated("sum(", 30) + "1" + repeated(", 2)", 30) + " > 1", repeated("max(1, ", 30),
      repeated("TERNARY(x == 1, ", 30),
      repeated("SUBQUERY(", 30) + "x", "a" + repeated(":a", 20_000), repeated("a[", 20_000),
      repeated("0x1 + ", 8_000),
    ]
    for text in texts {
      let time = threadTime { _ = try? PredicateNode(format: text) }
      #expect(time < 5, "\(text.prefix(30))")
    }
  }
}

final class Link: ManagedObject {
  @Attribute var number = 0
  @ToOne var next: Link?
  @ToOne var other: Link?
}
