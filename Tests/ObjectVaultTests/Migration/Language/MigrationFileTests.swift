import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct MigrationFiles {
  func step(_ body: String) throws -> MigrationStep {
    try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(body)")
  }

  @Test(arguments: [
    ("", 1, 1, "format: 1"), ("format: 2\n[up]\n", 1, 1, "format 2"), ("format: 1\n", 3, 1, "no [up]"),
    ("format: 1\nnmae: x\n[up]", 2, 1, "\"nmae\" is not a header; did you mean \"name\" or \"note\"?"),
    ("format: 1\n[up]\n  ad attribute U.a int", 3, 3, "not an operation"),
    ("format: 1\n[up]\nadd atribute U.a int", 3, 5, "attribute"),
    ("format: 1\n[up]\nadd attribute U.a strin", 3, 19, "\"strin\" is not a type; did you mean \"string\"?"),
    (
      "format: 1\n[up]\nadd attribute U.a int?", 3, 19,
      "\"int?\" is not a type; for an attribute that may be nil, write optional after its type: int optional."
    ),
    ("format: 1\n[up]\nadd attribute Ua string", 3, 15, "Entity.property"),
    (
      "format: 1\n[up]\nadd attribute U.a filling 3", 3, 19,
      "the type is missing before filling; write it after"
    ),
    (
      "format: 1\n[up]\nadd attribute U.a int filling", 3, 30,
      "a value is missing after filling; write a whole"
    ),
    (
      "format: 1\n[up]\nadd attribute U.a int optional filling 3", 3, 32,
      "remove optional, or remove filling"
    ),
    ("format: 1\n[up]\nadd attribute U.a int filling nil", 3, 31, "to allow nil, write optional"),
    ("format: 1\n[up]\nset default of U.a to nil", 3, 23, "write none"),
    ("format: 1\n[up]\nmake U.a required filling null", 3, 27, "to allow nil, write optional"),
    (
      "format: 1\n[up]\nadd attribute U.a string filling (upper($U.n))", 3, 34,
      "write a text in quotes; for values that differ"
    ),
    ("format: 1\n[up]\nadd attribute U.a string filling 'x'", 3, 34, "write a text in double quotes"),
    ("format: 1\n[up]\nadd attribute U.a int filling = 3", 3, 31, "write the value directly after filling"),
    ("format: 1\n[up]\nadd relationship U.r -> D filling 3", 3, 27, "write required after the entity"),
    (
      "format: 1\n[up]\nadd relationship U.r -> D required filling x", 3, 44,
      "write the id of an object, such as"
    ),
    ("format: 1\n[up]\ndrop attribute U.cafe\u{301}", 3, 16, "write it with composed letters"),
    (
      "format: 1\n[up]\nadd attribute U.a string uniqe", 3, 26,
      "\"uniqe\" is not an option; did you mean \"unique\"?"
    ),
    ("format: 1\n[up]\nadd attribute U.a string default x", 3, 34, "is not a value"),
    ("format: 1\n[up]\nrename attribute U.a b", 3, 22, "->"),
    ("format: 1\n[up]\ndrop entity U V", 3, 15, "no meaning"),
    ("format: 1\n[up]\ncreate entity U {\n attribute a string", 3, 1, "not closed"),
    ("format: 1\n[up]\ntransform sql { UPDATE x", 3, 1, "not closed"),
    ("format: 1\n[up]\ntransform swift f", 3, 18, "on is missing"),
    ("format: 1\n[up]\ntransform swift f on U batch many", 3, 30, "the size of the batches"),
    ("format: 1\n[up]\nrequire { SELECT 1 }", 3, 9, "quotes"), ("format: 1\nreader: x\n[up]", 2, 1, "number"),
    ("format: 1\n[up]\nadd relationship U.r -> D inverse E.x", 3, 35, "property of D"),
    ("format: 1\nbackup: sometimes\n[up]", 2, 1, "backup: always"),
    ("format: 1\n[up]\nretype U.a to int using CAST(x", 3, 25, "( … )"),
    ("format: 1\n[up]\nretype U.n to string using ($U.n) unique nonsense", 3, 35, "after )"),
    ("format: 1\n[up]\nretype U.n to string using nonsense ($U.n)", 3, 28, "( … )"),
    ("format: 1\n[up]\nretype U.n to string using (')'", 3, 28, "not closed on this line"),
    ("format: 1\n[up]\nretype U.n to string using (')", 3, 28, "not closed on this line"),
    (
      "format: 1\n[up]\nretype U.n to int using (length($U.n) -- c\n)", 3, 39, "includes the rest of the line"
    ),
    (
      "format: 1\n[up]\ntransform sql {\n UPDATE x SET y = 'a }\n}\n", 4, 19,
      "text that begins here is not closed"
    ),
    ("format: 1\n[up]\ntransform sql { UPDATE x /* }\n", 3, 26, "comment is not closed"),
    ("format: 1\n[up]\nretype U.n to string using ()", 3, 28, "the parentheses are empty"),
    ("format: 1\n[up]\ntransform sql twice { SELECT 1 }", 3, 15, "{ is missing"),
    ("format: 1\n[up]\nseeding { SELECT 1 }", 3, 1, "\"seeding\" is not an operation; operations begin with"),
    ("format: 1\n[up]\nrequire \"x {\" maybe { SELECT 1 }", 3, 15, "{ is missing"),
    ("format: 1\n[up]\nadd attribute U.a string default \"abc", 3, 34, "this text is not closed"),
    ("format: 1\n[up]\nadd attribute U.a int8 default 1000", 3, 32, "is not a valid int8"),
    ("format: 1\n[up]\ncreate entity U {\n attribute a uuid default \"x\"\n}", 4, 27, "is not a valid uuid"),
  ])
  func `a text that is no migration is an error with line and column`(
    _ text: String, _ line: Int, _ column: Int, _ word: String
  ) {
    do {
      _ = try MigrationStep(number: 1, name: "s", text: text)
      Issue.record("it was accepted")
    } catch StoreError.migrationSyntax(let error) {
      #expect(error.line == line && error.column == column, "\(error)")
      #expect("\(error)".contains(word), "\(error)")
    } catch { Issue.record(error) }
  }

  @Test func `line ends, a byte order mark, comments and spaces do not change the checksum`() throws {
    let plain =
      "format: 1\n[up]\nadd attribute U.a string optional\ntransform sql {\n  UPDATE x SET y = '--no {comment}'\n}\n"
    let other =
      "\u{FEFF}format:   1\r\nnote: new\r\n# licence\r\n[up]\r\n\r\n  add   attribute U.a string  optional # why\r\n"
      + "transform sql { -- hello\r\n  UPDATE x SET y = '--no {comment}' /* there */\r\n }\r\n"
    let first = try MigrationStep(number: 1, name: "a", text: plain)
    let second = try MigrationStep(number: 1, name: "a", text: other)
    #expect(first.checksum == second.checksum, "\(first.canonicalText)\n\(second.canonicalText)")
    let changed = try MigrationStep(
      number: 1, name: "a", text: plain.replacingOccurrences(of: "'--no", with: "'--yes"))
    #expect(first.checksum != changed.checksum)
  }

  @Test func `the canonical text of every operation is parsed as the same operation`() throws {
    for step in try MigrationSet.embedded(MicroblogMigrations.steps).steps {
      let again = try MigrationStep(number: step.number, name: step.name, text: step.text)
      #expect(again.operations == step.operations && again.checksum == step.checksum)
    }
    let all = try step(
      """
      create entity E {
          attribute a string optional unique default "q\\"uo\\\\te"
          relationship r -> E many inverse E.s on delete deny
          relationship s -> E required inverse E.r
          index (a, s) unique
      }
      retype E.a to int using (length($E.a))
      retype E.a to string using (replace($E.a, ')', '(') || '"' || [a ( b])
      make E.a required filling -3
      set default of E.a to none
      drop index E(a, s)
      require "it \\"is\\" so" { SELECT 1 }
      """)
    #expect(try MigrationStep(number: 1, name: "s", text: all.text).operations == all.operations)
  }

  @Test func `an operation is recognized by its words, with any white space between them`() throws {
    for gap in ["  ", "\t"] {
      let lines = "create\(gap)entity E {\n attribute a int\n}\nseed\(gap){ SELECT 1 }"
      #expect(try step(lines).operations == step(lines.replacing(gap, with: " ")).operations)
    }
    #expect(
      try step("transform  swift\tf on U").operations
        == [.transformSwift(SwiftTransform(name: "f", entity: "U"))])
  }

  @Test func `gaps and duplicates in the numbers of steps are errors`() throws {
    let one = try step("drop entity A")
    let three = try MigrationStep(number: 3, name: "c", text: "format: 1\n[up]\n")
    #expect(throws: StoreError.historyConflict(.gap(2))) { try MigrationSet([one, three]) }
    #expect(throws: StoreError.historyConflict(.duplicate(number: 1, files: [one.fileName]))) {
      try MigrationSet([one, one])
    }
  }

  @Test func `any bytes as a migration file are an error or a step, never a crash`() throws {
    var random = SeededGenerator(seed: 3)
    let seeds = try MigrationSet.embedded(MicroblogMigrations.steps).steps
    for _ in 0..<2000 {
      let seed = try #require(seeds.randomElement(using: &random))
      var bytes = Array(seed.text.utf8)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 1: bytes.remove(at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + 20))
        }
        if bytes.isEmpty { bytes = [10] }
      }
      guard
        let step = try? MigrationStep(
          number: seed.number, name: seed.name, text: String(decoding: bytes, as: UTF8.self))
      else { continue }
      _ = try? MigrationSet([step]).model(at: 1)
    }
  }
}
