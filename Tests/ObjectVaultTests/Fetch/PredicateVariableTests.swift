// Variables in predicates ($name in the format language), bound while parsing or later, compared with the
// same text with the values in place.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PredicateVariables {
  static let id = UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8") ?? UUID()

  /// A format with variables, their values, and the same format with placeholders.
  static let forms:
    [(format: String, values: [String: any Sendable], plain: String, arguments: [any Sendable])] =
      [
        ("year > $low AND year < $high", ["low": 3, "high": 9], "year > %@ AND year < %@", [3, 9]),
        ("$low <= year", ["low": 3], "%@ <= year", [3]),
        ("title ==[c] $t", ["t": "x"], "title ==[c] %@", ["x"]),
        ("year BETWEEN {$a, $b}", ["a": 1, "b": 2], "year BETWEEN {%@, %@}", [1, 2]),
        ("year IN $years", ["years": [1, 2, 3]], "year IN %@", [[1, 2, 3]]),
        ("year IN {$a, 7, $b}", ["a": 1, "b": 2], "year IN {%@, 7, %@}", [1, 2]),
        ("year + $a * 2 > -$b", ["a": 1, "b": 2.5], "year + %@ * 2 > 0 - %@", [1, 2.5]),
        (
          "ANY genres.name == $n OR NOT price != $p", ["n": "c", "p": Decimal(3)],
          "ANY genres.name == %@ OR NOT price != %@", ["c", Decimal(3)]
        ),
        ("author == $who", ["who": ObjectID<Author>(rowID: 7)], "author == %@", [ObjectID<Author>(rowID: 7)]),
      ]

  @Test(arguments: forms.indices)
  func `a bound variable gives the same values to SQL as a placeholder`(_ index: Int) async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let form = Self.forms[index]
    let plain = try context.fetch(Book.self).where(
      PredicateNode(format: form.plain, arguments: form.arguments)
    ).sql
    let open = try PredicateNode(format: form.format)
    let bound = try open.substituting(form.values.mapValues { $0 as Any? })
    #expect(try context.fetch(Book.self).where(bound).sql.bindings == plain.bindings)
    #expect(throws: StoreError.self) { try context.fetch(Book.self).where(open).sql }
    let kept = try JSONDecoder().decode(PredicateNode.self, from: JSONEncoder().encode(open))
    #expect(kept == open)
  }

  @Test func `a variable bound while parsing equals a placeholder in every position`() throws {
    let author = ObjectID<Author>(rowID: 7)
    let pairs: [(String, [String: Any?], String, Any?)] = [
      ("year > $x", ["x": 3], "year > %@", 3), ("rating == $x", ["x": nil], "rating == %@", nil),
      ("$x IN genres", ["x": author], "%@ IN genres", author),
      ("genres CONTAINS $x", ["x": author], "genres CONTAINS %@", author),
      ("title CONTAINS $x", ["x": ""], "title CONTAINS %@", ""),
      ("year BETWEEN $x", ["x": [1, 2]], "year BETWEEN %@", [1, 2]),
      ("uuid == $x", ["x": Self.id, "unused": 1], "uuid == %@", Self.id),
      ("-$x < year", ["x": 3], "-3 < year", 0),
    ]
    for (format, variables, plain, argument) in pairs {
      let arguments = plain.contains("%@") ? [argument] : []
      let expected = try PredicateNode(format: plain, arguments: arguments)
      #expect(try PredicateNode(format: format, variables: variables) == expected, "\(format)")
    }
    let mixed = try PredicateNode(format: "year > $x AND title == %@", "t", variables: ["x": 3])
    #expect(try mixed == PredicateNode(format: "year > 3 AND title == 't'"))
  }

  private func reason(_ body: () throws -> Void) -> String {
    do { try body() } catch StoreError.predicate(let error) { return error.reason } catch {
      return "\(error)"
    }
    return "no error"
  }

  @Test func `the error about a missing or unsuitable value names the variable`() async throws {
    #expect(
      reason { _ = try PredicateNode(format: "year > $limt", variables: ["limit": 3]) }
        .contains("$limt has no value; did you mean \"limit\""))
    #expect(
      reason { _ = try PredicateNode(format: "year > $x", variables: ["x": ["k": 1]]) }.hasPrefix("$x is a"))
    let open = try PredicateNode(format: "year > $x AND year IN $years")
    #expect(reason { _ = try open.substituting(["x": [1, 2]]) }.contains("the value of $x is a list"))
    #expect(reason { _ = try open.substituting(["x": ["k": 1]]) }.hasPrefix("$x is a"))
    let half = try open.substituting(["years": [1, 2]])
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    #expect(reason { _ = try context.fetch(Book.self).where(half).sql }.contains("$x has no value"))
    #expect(reason { _ = try context.fetch(Book.self).where("year > $x").sql }.contains("$x has no value"))
    let whole = try half.substituting(["x": 0])
    #expect(try whole == PredicateNode(format: "year > 0 AND year IN {1, 2}"))
    #expect(try context.fetch(Book.self).where(whole).count() == 0)
  }

  @Test func `a value captured by a #Predicate is a constant of its tree, without a name`() throws {
    let (low, name): (Int, String?) = (3, nil)
    let node = try PredicateNode(#Predicate<Book> { $0.year > low && $0.author?.name == name })
    #expect(try node == PredicateNode(format: "year > 3 AND author.name == nil"))
    let text = String(decoding: try JSONEncoder().encode(node), as: UTF8.self)
    #expect(!text.contains("variable") && !text.contains("source"))
  }
}
