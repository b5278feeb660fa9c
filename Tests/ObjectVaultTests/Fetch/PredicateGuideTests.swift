// The examples of Apple's "Predicate Format String Syntax" and "Using Predicates" as a table, and attempts
// to write SQL or language into values.

import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Human: ManagedObject {
  @Attribute var name: String
  @Attribute var firstName: String
  @Attribute var lastName: String
  @Attribute var age: Int
  @Attribute var salary: Double?
  @Attribute var birthday: Date
  @Attribute var isHidden: Bool = false
  @Attribute var any: Int = 0
  @ToOne var parent: Human?
  @ToMany(inverse: \Human.parent) var children: [Human]
}

@Suite struct PredicateGuide {
  private let temporary: TemporaryStore
  private let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(Schema { Entity(Human.self) })
    context = temporary.store.makeContext()
    let people: [(String, String, Int, Double?, String, Bool)] = [
      ("Ben", "Smith", 40, 100, "1980-05-01", false), ("Melissa", "Small", 17, nil, "2005-01-01", true),
      ("Nick", "Ünger", 12, 19.75, "2010-12-31", false), ("Sheila", "smith", 33, 9.2e-5, "1990-06-15", false),
    ]
    var humans: [Human] = []
    for (first, last, age, salary, birthday, isHidden) in people {
      humans.append(
        context.insert(Human.self) {
          ($0.name, $0.firstName, $0.lastName, $0.age, $0.salary) = (first, first, last, age, salary)
          $0.birthday = (try? Date("\(birthday)T00:00:00Z", strategy: .iso8601)) ?? .distantPast
          ($0.isHidden, $0.any) = (isHidden, age % 2)
        })
    }
    // Ben has the children Nick and Melissa, in this order.
    humans[0].children = [humans[2], humans[1]]
    try context.save()
  }

  static let examples: [(format: String, arguments: [any Sendable], names: String)] = [
    // Basic comparisons
    ("age = 40", [], "Ben"), ("age == 40", [], "Ben"), ("age >= 33", [], "Ben Sheila"),
    ("age => 33", [], "Ben Sheila"),
    ("age <= 17", [], "Melissa Nick"), ("age =< 17", [], "Melissa Nick"), ("age > 33", [], "Ben"),
    ("age < 17", [], "Nick"),
    ("age != 12", [], "Ben Melissa Sheila"), ("age <> 12", [], "Ben Melissa Sheila"),
    ("1 BETWEEN { 0 , 33 }", [], "Ben Melissa Nick Sheila"),
    ("age BETWEEN { 0 , 33 }", [], "Melissa Nick Sheila"),
    ("age BETWEEN %@", [[1, 12]], "Nick"),
    // Boolean values
    ("TRUEPREDICATE", [], "Ben Melissa Nick Sheila"), ("FALSEPREDICATE", [], ""),
    ("isHidden == YES", [], "Melissa"),
    ("isHidden == NO", [], "Ben Nick Sheila"), ("isHidden = TRUE", [], "Melissa"),
    ("isHidden = false", [], "Ben Nick Sheila"),
    ("isHidden == %@", [true], "Melissa"),
    // Compound predicates
    ("firstName like 'Nick' AND age > 3", [], "Nick"), ("age > 39 OR age < 13", [], "Ben Nick"),
    ("age > 39 || age < 13", [], "Ben Nick"),
    ("age > 10 && NOT isHidden", [], "Ben Nick Sheila"), ("!(age > 20)", [], "Melissa Nick"),
    ("age > 39 OR age > 10 AND isHidden", [], "Ben Melissa"),
    // Strings
    ("lastName BEGINSWITH 'Sm'", [], "Ben Melissa"), ("lastName beginswith[c] 's'", [], "Ben Melissa Sheila"),
    ("lastName CONTAINS 'mi'", [], "Ben Sheila"), ("SELF.lastName ENDSWITH[cd] 'UNGER'", [], "Nick"),
    ("lastName LIKE 'S?i*'", [], "Ben"), ("lastName like[cd] %@", ["u*"], "Nick"),
    ("lastName like[c] \"S*\"", [], "Ben Melissa Sheila"),
    (
      "(lastName like[cd] %@) AND (birthday > %@)", ["s*", Date(timeIntervalSinceReferenceDate: 0)], "Melissa"
    ),
    ("lastName MATCHES 'S.*h|.nger'", [], "Ben Nick"),
    ("lastName MATCHES[c] 's[a-z]{4}'", [], "Ben Melissa Sheila"),
    // Aggregate operations
    ("ANY children.age < 18", [], "Ben"), ("SOME children.age < 13", [], "Ben"),
    ("ALL children.age < 18", [], "Ben Melissa Nick Sheila"),
    ("NONE children.age < 18", [], "Melissa Nick Sheila"),
    ("name IN { 'Ben', 'Melissa', 'Nick' }", [], "Ben Melissa Nick"),
    ("name IN %@", [["Ben", "Eve"]], "Ben"), ("NOT (name IN %@)", [["Ben", "Eve"]], "Melissa Nick Sheila"),
    ("children[0].name == 'Nick'", [], "Ben"), ("children[FIRST].age == 12", [], "Ben"),
    ("children[LAST].age == 17", [], "Ben"),
    ("children[SIZE] == 2", [], "Ben"), ("children.@count == 0", [], "Melissa Nick Sheila"),
    ("children.@sum.age == 29", [], "Ben"),
    ("children.@max.age > parent.age", [], ""), ("children.@avg.age == 14.5", [], "Ben"),
    ("children.@min.salary < 20", [], "Ben"),
    ("SUBQUERY(children, $x, $x.age > 13 AND $x.isHidden == YES).@count != 0", [], "Ben"),
    ("SUBQUERY(children, $c, $c.age < age).@count == children.@count AND children.@count > 0", [], "Ben"),
    ("parent.children.@distinctUnionOfObjects.age.@count == 2", [], "Melissa Nick"),
    // Literals
    ("name == 'Nick'", [], "Nick"), ("name == \"Nick\"", [], "Nick"), ("parent == NULL", [], "Ben Sheila"),
    ("parent == nil", [], "Ben Sheila"),
    ("salary == 19.75", [], "Nick"), ("salary == 9.2e-5", [], "Sheila"), ("age == 0x11", [], "Melissa"),
    ("age == 0o14", [], "Nick"),
    ("age == 0b101000", [], "Ben"), ("SELF != nil", [], "Ben Melissa Nick Sheila"),
    ("#any == 1", [], "Melissa Sheila"),
    // Expressions
    ("age + 1 == 41", [], "Ben"), ("age - 1 == 11 OR age * 2 == 34", [], "Melissa Nick"),
    ("age / 2 == 20 OR 6 ** 2 == age + 3", [], "Ben Sheila"),
    ("sum({1, age, 3}) == 44", [], "Ben"), ("max({age, 39}) == 40", [], "Ben"),
    ("average({age, 40}) == 40", [], "Ben"),
    ("modulus:by:(age, 5) == 2", [], "Melissa Nick"), ("sqrt(age + 4) == 4", [], "Nick"),
    ("floor(salary) == 19", [], "Nick"),
    ("trunc(salary) == 0 AND ceiling(salary) == 1", [], "Sheila"), ("uppercase(name) == 'BEN'", [], "Ben"),
    ("lowercase:(name) == 'ben'", [], "Ben"),
    ("CAST(birthday, 'NSNumber') < 0", [], "Ben Sheila"),
    ("birthday < CAST('1981-01-01', 'NSDate')", [], "Ben"),
    ("birthday < now()", [], "Ben Melissa Nick Sheila"),
    ("TERNARY(age > 18, 'adult', 'minor') == 'minor'", [], "Melissa Nick"),
    ("%K like %@", ["name", "N*"], "Nick"), ("%K.@max.age == 17", ["children"], "Ben"),
    ("%K == 17", ["children.@max.age"], "Ben"), ("%K > %d", ["age", 33], "Ben"),
    ("parent.name == %@", ["Ben"], "Melissa Nick"),
  ]

  @Test(arguments: examples.indices)
  func `each example of the guide finds the objects that it names`(_ index: Int) throws {
    let example = Self.examples[index]
    let node = try PredicateNode(format: example.format, arguments: example.arguments)
    let found = try context.fetch(Human.self).where(node).sorted(by: \.name).all().map(\.name)
    #expect(found.joined(separator: " ") == example.names, "\(example.format)")
    // In memory: all objects are changed and changed back.
    for human in try context.fetch(Human.self).all() {
      let any = human.any
      (human.any, human.any) = (-1, any)
    }
    let evaluated = try context.fetch(Human.self).where(node).sorted(by: \.name).all().map(\.name)
    #expect(evaluated == found, "\(example.format)")
  }

  @Test func `variables of the guide get their values by substitution`() throws {
    let node = try PredicateNode(
      format: "age BETWEEN {$LOWER, $UPPER} AND firstName BEGINSWITH[cd] $FIRST_NAME")
    let found = try node.substituting(["LOWER": 10, "UPPER": 20, "FIRST_NAME": "n"])
    #expect(try context.fetch(Human.self).where(found).one().name == "Nick")
    let query = try PredicateNode(
      format: "SUBQUERY(children, $c, $c.age > $age).@count == 1 AND max($age, 3) == 13")
    #expect(try context.fetch(Human.self).where(query.substituting(["age": 13])).one().name == "Ben")
    let sum = try PredicateNode(format: "sum($ages) == age")
    #expect(try context.fetch(Human.self).where(sum.substituting(["ages": [30, 3]])).one().name == "Sheila")
  }

  @Test(arguments: [
    "UTI-CONFORMS-TO", "UTI-EQUALS",
  ])
  func `operators for file types are refused`(_ word: String) {
    #expect(throws: StoreError.self) { try PredicateNode(format: "name \(word) 'public.text'") }
  }

  @Test func `texts from outside stay values`() throws {
    let attacks = [
      "'; DROP TABLE Human; --", "' OR 1=1 --", "\") OR (\"1\"=\"1", "%@", "$x", "\\", "\\'", "*",
      "\0', 1) --", "x' OR 'x'='x",
      "'), (SELECT key FROM vault_meta)", "(?x", "[", "name", "SELF", "@count", "CAST(SELF, 'Human')",
    ]
    let formats = [
      "name == %@", "name CONTAINS[cd] %@", "name LIKE %@", "name IN {%@, 'y'}", "children.@max.name == %@",
      "canonical(name) == %@",
      "SUBQUERY(children, $c, $c.name == %@).@count > 0", "TERNARY(name == %@, 1, 2) == 1",
      "CAST(age, 'String') == %@",
    ]
    for attack in attacks {
      for format in formats where !(format.contains("LIKE") && attack == "*") {
        let fetch = try context.fetch(Human.self).where(format, attack)
        #expect(try fetch.all().isEmpty, "\(format), \(attack)")
      }
      // A name is a value nowhere but after %K, which accepts only names.
      #expect(throws: StoreError.self, "\(attack)") {
        _ = try context.fetch(Human.self).where(
          "%K == 'x'", attack == "name" || attack == "SELF" ? "\(attack) x" : attack
        ).all()
      }
      // As a variable, and as the text of an object.
      let node = try PredicateNode(format: "name == $name", variables: ["name": attack])
      #expect(try context.fetch(Human.self).where(node).count() == 0)
    }
    for format in [
      "CAST(SELF, 'Human\"; --').age == 1", "CAST(SELF, 'x)').age == 1", "CAST(SELF, '').age == 1",
    ] {
      #expect(throws: StoreError.self) { _ = try context.fetch(Human.self).where(format).all() }
    }
    for name in [
      "(Human) --", "children[0] --", "children[-1]", "children[0", "(Human",
      "children[99999999999999999999]", "x\"",
    ] {
      let node = PredicateNode.comparison(
        .path(PropertyPath([name, "age"])), .equal, .path(PropertyPath(["age"])), [])
      #expect(throws: StoreError.self, "\(name)") { _ = try context.fetch(Human.self).where(node).all() }
    }
    #expect(try context.fetch(Human.self).count() == 4)
  }
}
